"""Signatures of the frameworks that rows speak of, read out of wheels without importing anything.

``python tests/knowledge/signatures.py FOLDER`` writes ``signatures.txt`` beside this file from the wheels in a folder;
``make signatures`` downloads those that ``frameworks.txt`` names first. A line there is a name as a row has it and its
parameters, ``**`` at the end where any other keyword is taken, or an equals sign and the name of one with the same;
a name that the package of this version does not have is left out. The test of the rows reads that file only, so that
no framework has to be installed.
"""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from promptlint.knowledge import load
from promptlint.knowledge.rows import Knowledge

HERE = Path(__file__).parent
TABLE = HERE / "signatures.txt"
MAX_HOPS = 40


@dataclass(frozen=True)
class Signature:
    """The names of parameters in order, how many of them may be given by place, and whether any keyword is taken."""

    names: tuple[str, ...]
    positional: int
    anything: bool

    def __str__(self) -> str:
        by_place, by_name = self.names[: self.positional], self.names[self.positional :]
        return ", ".join([*by_place, *(("*", *by_name) if by_name else ()), *(("**",) if self.anything else ())])

    @classmethod
    def parse(cls, text: str) -> Signature:
        words = [w for w in text.split(", ") if w]
        anything = "**" in words
        words = [w for w in words if w != "**"]
        positional = words.index("*") if "*" in words else len(words)
        return cls(tuple(w for w in words if w != "*"), positional, anything)


def table() -> tuple[dict[str, str], dict[str, Signature]]:
    """The versions of the packages that were read, and the signatures by qualified name."""
    versions: dict[str, str] = {}
    found: dict[str, Signature] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("# "):
            name, _, version = line[2:].partition(" ")
            versions[name] = version
        elif " = " in line:
            name, _, same = line.partition(" = ")
            found[name] = found[same]
        elif line:
            name, _, rest = line.partition("(")
            found[name] = Signature.parse(rest.removesuffix(")"))
    return versions, found


# --- reading wheels --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A definition, or an expression, in a module."""

    module: Source
    node: ast.AST
    owner: Place | None = None


@dataclass
class Source:
    """One module: its names with the statements that bind them, also those for type checkers only."""

    name: str
    is_package: bool
    text: str
    stars: list[str] = field(default_factory=list)

    @cached_property
    def names(self) -> dict[str, ast.AST]:
        found: dict[str, ast.AST] = {}
        for node in _statements(ast.parse(self.text).body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    if alias.name == "*" and isinstance(node, ast.ImportFrom):
                        self.stars.append(self.absolute(node))
                    else:
                        found.setdefault(alias.asname or alias.name.partition(".")[0], node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name) and node.value is not None:
                        found.setdefault(target.id, node.value)
        return found

    def lazy(self, name: str) -> Iterator[str]:
        """The modules that tables name for an import which is made when it is asked for."""
        for table in (n for n in self.names.values() if isinstance(n, ast.Dict)):
            for key, value in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Constant):
                    yield str(value.value).removeprefix(".")

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import is from."""
        if not node.level:
            return node.module or ""
        base = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        base = base[: len(base) - node.level + 1]
        return ".".join([*base, *([node.module] if node.module else [])])


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at the top level, with those in ``if`` and ``try`` blocks."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *(s for h in node.handlers for s in h.body), *node.orelse])
        else:
            yield node


class Wheels:
    """The modules of all wheels in a folder."""

    def __init__(self, folder: Path) -> None:
        self.versions: dict[str, str] = {}
        self.packages: dict[str, set[str]] = {}
        self.files: dict[str, tuple[zipfile.ZipFile, str]] = {}
        self.stubs: dict[str, tuple[zipfile.ZipFile, str]] = {}
        """For names that a module imports when they are asked for."""
        self.sources: dict[str, Source | None] = {}
        for path in sorted(folder.glob("*.whl")):
            wheel = zipfile.ZipFile(path)
            name, version = path.name.split("-")[:2]
            self.versions[name.replace("_", "-")] = version
            for file in wheel.namelist():
                if file.endswith((".py", ".pyi")):
                    module = re.sub(r"(/__init__)?\.pyi?$", "", file).replace("/", ".")
                    if file.endswith(".pyi"):
                        self.stubs[module] = (wheel, file)
                        continue
                    self.files.setdefault(module, (wheel, file))
                    self.packages.setdefault(name.replace("_", "-"), set()).add(module)

    def source(self, module: str) -> Source | None:
        if module not in self.sources:
            found = self.files.get(module)
            self.sources[module] = None
            if found is not None:
                wheel, file = found
                text = wheel.read(file).decode("utf-8", "replace")
                self.sources[module] = Source(module, file.endswith("/__init__.py"), text)
        return self.sources[module]

    def find(self, name: str, hops: int = 0) -> Place | None:
        """What a qualified name stands for."""
        parts = name.split(".")
        for size in range(len(parts) - 1, 0, -1):
            module = self.source(".".join(parts[:size]))
            if module is None:
                continue
            rest = parts[size:]
            place = self.member(module, rest[0], hops)
            for word in rest[1:]:
                place = self.attribute(place, word, hops) if place is not None else None
            return place
        return None

    def member(self, module: Source, name: str, hops: int = 0) -> Place | None:
        """What a name at the top level of a module stands for."""
        node = module.names.get(name)
        if hops > MAX_HOPS:
            return None
        patched = next((s for s in module.stars if s.endswith("._patch")), None)  # the last word, with Azure's clients
        if patched is not None and (over := self.find(f"{patched}.{name}", hops + 1)) is not None:
            return over
        if node is None and module.name in self.stubs:
            wheel, file = self.stubs[module.name]
            stub = Source(module.name, module.is_package, wheel.read(file).decode())
            return self.follow(Place(stub, stub.names[name]), name, hops) if name in stub.names else None
        if node is None:
            lazy = [f"{where}.{name}" for text in module.lazy(name) for where in (text, f"{module.name}.{text}")]
            found = (self.find(path, hops + 1) for path in (*(f"{star}.{name}" for star in module.stars), *lazy))
            return next((f for f in found if f is not None), None)
        return self.follow(Place(module, node), name, hops)

    def follow(self, place: Place, name: str, hops: int) -> Place | None:
        module, node = place.module, place.node
        if isinstance(node, ast.ImportFrom):
            alias = next(a for a in node.names if (a.asname or a.name) == name)
            return self.find(f"{module.absolute(node)}.{alias.name}", hops + 1)
        if isinstance(node, ast.Import):
            return None
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.named(module, node, hops + 1)
        if isinstance(node, ast.Call):  # an object of the module
            made = self.named(module, node.func, hops + 1)
            return made if made is not None and isinstance(made.node, ast.ClassDef) else place
        return place

    def named(self, module: Source, node: ast.expr, hops: int) -> Place | None:
        """What an expression that is only a name refers to; the first of several types, of an optional one the type."""
        if hops > MAX_HOPS:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.BinOp):
            return self.named(module, node.left, hops + 1) or self.named(module, node.right, hops + 1)
        if isinstance(node, ast.Subscript):
            head = ast.unparse(node.value).rpartition(".")[2]
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            return self.named(module, inner if head in ("Optional", "Annotated", "Union") else node.value, hops + 1)
        if isinstance(node, ast.Name):
            return self.member(module, node.id, hops + 1)
        if isinstance(node, ast.Attribute):
            head, _, rest = ast.unparse(node).partition(".")
            bound = module.names.get(head)
            if isinstance(bound, ast.Import):
                alias = next(a for a in bound.names if (a.asname or a.name.partition(".")[0]) == head)
                return self.find(f"{alias.name if alias.asname else head}.{rest}", hops + 1)
            if isinstance(bound, ast.ImportFrom):
                alias = next(a for a in bound.names if (a.asname or a.name) == head)
                return self.find(f"{module.absolute(bound)}.{alias.name}.{rest}", hops + 1)
            base = self.named(module, node.value, hops + 1)
            return self.attribute(base, node.attr, hops + 1) if base is not None else None
        return None

    def bases(self, place: Place, hops: int = 0) -> Iterator[Place]:
        """A class and those that it is made from, in order of lookup, as far as the wheels have them."""
        yield place
        if isinstance(place.node, ast.ClassDef) and hops < MAX_HOPS:
            for base in place.node.bases:
                found = self.named(place.module, base, hops)
                if found is not None and isinstance(found.node, ast.ClassDef):
                    yield from self.bases(found, hops + 1)

    def attribute(self, place: Place, name: str, hops: int = 0) -> Place | None:
        """A member of a class; of one that holds another object, by what it says the type of that is."""
        if name in ("with_raw_response", "with_streaming_response"):
            return place  # the same methods once more
        for owner in self.bases(place):
            body = list(_statements(owner.node.body)) if isinstance(owner.node, ast.ClassDef) else []
            functions = [n for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == name]
            if functions:
                kinds = {ast.unparse(d).rpartition(".")[2] for d in functions[0].decorator_list}
                if kinds & {"property", "cached_property"} and functions[0].returns is not None:
                    if ast.unparse(functions[0].returns) == "Self":
                        return place
                    return self.named(owner.module, functions[0].returns, hops)
                return Place(owner.module, functions[-1], owner)
            for node in body:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                if not any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    continue
                if isinstance(node, ast.AnnAssign):
                    if ast.unparse(node.annotation).strip("'\"") in ("Self", place_name(place)):
                        return place
                    return self.named(owner.module, node.annotation, hops)
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    return self.attribute(place, node.value.id, hops + 1)
            init = next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            for part in ast.walk(init) if init is not None else ():
                if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == f"self.{name}":
                    if f"self.{name}" in ast.unparse(part.value):
                        continue  # only wrapped
                    made = part.value.func if isinstance(part.value, ast.Call) else part.value
                    return self.named(owner.module, made, hops)
        return None

    def signature(self, name: str) -> Signature | None:
        """The parameters that a call of ``name`` takes."""
        place = self.find(name)
        if place is None:
            return None
        if isinstance(place.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self.of_function(place)
        return self.of_class(place) if isinstance(place.node, ast.ClassDef) else None

    def of_function(self, place: Place) -> Signature:
        """The parameters of a function, with those of its overloads."""
        node = place.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        around = place.owner.node.body if place.owner is not None else ast.parse(place.module.text).body  # type: ignore[attr-defined]
        same = [n for n in _statements(around) if isinstance(n, type(node)) and n.name == node.name]
        method = place.owner is not None and not any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)
        first = same[0] if node.args.vararg is not None and same else node  # how an overload says it
        by_place = [a.arg for a in (*first.args.posonlyargs, *first.args.args)][1 if method else 0 :]
        by_name = [a.arg for n in (node, *same) for a in (*n.args.kwonlyargs, *n.args.args)]
        names = dict.fromkeys([*by_place, *(n for n in by_name if n not in ("self", "cls"))])
        others = node.args.kwarg
        if others is not None and isinstance(others.annotation, ast.Subscript):
            typed = self.named(place.module, others.annotation.slice, 0)  # Unpack[Options]
            owners = list(self.bases(typed)) if typed is not None else []
            fields = dict.fromkeys(n for owner in owners for n in _fields(owner))
            return Signature(tuple({**names, **fields}), len(by_place), not fields)
        return Signature(tuple(names), len(by_place), others is not None)

    def of_class(self, place: Place) -> Signature:
        """The parameters of a constructor: its own, those of the classes that it hands others on to, and fields."""
        owners = list(self.bases(place))
        nodes = [o.node for o in owners if isinstance(o.node, ast.ClassDef)]
        model = any(ast.unparse(b).endswith(("BaseModel", "TypedDict")) for node in nodes for b in node.bases)
        records = any("dataclass" in ast.unparse(d) for node in nodes for d in node.decorator_list)
        names: dict[str, None] = {}
        first: Signature | None = None
        for owner, node in zip(owners, nodes, strict=True):
            makers = [n for n in _statements(node.body) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
            if makers:
                own = self.of_function(Place(owner.module, makers[-1], owner))
                first = first or own
                names |= dict.fromkeys(own.names)
                if not own.anything:
                    break
            if model or (records and first is None):
                names |= dict.fromkeys(_fields(owner))
        if first is None and records:
            by_place = dict.fromkeys(n for o in reversed(owners) for n in _fields(o, by_place=True))
            fields = dict.fromkeys(n for o in reversed(owners) for n in _fields(o))
            return Signature(tuple({**by_place, **fields}), len(by_place), False)
        anything = not model and (first is None or first.anything)
        return Signature(tuple(names), first.positional if first else 0, anything)


def _fields(owner: Place, by_place: bool = False) -> Iterator[str]:
    """The annotated fields of a class, and the names that they are given by; those only that may be given by place."""
    for node in _statements(owner.node.body) if isinstance(owner.node, ast.ClassDef) else ():
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if by_place and ast.unparse(node.annotation).endswith("KW_ONLY"):
                return
            given = "ClassVar" not in ast.unparse(node.annotation) and "init=False" not in ast.unparse(node)
            if given and not node.target.id.startswith("_"):
                yield node.target.id
            for keyword in getattr(node.value, "keywords", ()):
                if keyword.arg == "alias" and isinstance(keyword.value, ast.Constant):
                    yield str(keyword.value.value)


def place_name(place: Place) -> str:
    return place.node.name if isinstance(place.node, ast.ClassDef) else ""


class Row(NamedTuple):
    """A name that a row speaks of: the arguments of which it says something, and those by place."""

    name: str
    arguments: frozenset[str]
    positional: tuple[str, ...]
    may_take_none: bool = False
    """The object that is called knows the request."""


HOLDERS = {
    ("claude_agent_sdk", "options"): ("claude_agent_sdk.ClaudeAgentOptions",),
    ("agents", "model_settings"): ("agents.ModelSettings",),
    ("pydantic_ai", "model_settings"): (
        "pydantic_ai.models.openai.OpenAIChatModelSettings",
        "pydantic_ai.models.openai.OpenAIResponsesModelSettings",
        "pydantic_ai.models.anthropic.AnthropicModelSettings",
        "pydantic_ai.models.bedrock.BedrockModelSettings",
    ),
}
"""The classes whose fields an argument that is a whole object has, by library and name of the argument."""


def rows(knowledge: Knowledge) -> Iterator[Row]:
    """What the rows say of callables, each under every qualified name."""
    clients = [client for made in knowledge.clients.values() for client in made]
    for sink in knowledge.sinks:
        for name in [f"{t}.{sink.call}" for t in sink.types] or [sink.call]:
            parts = {n for n, part in sink.parts.items() if part != "ignore"} - {"*"}
            parts -= {"result"} if sink.decorates else set()
            yield Row(name, frozenset(parts), sink.positional, sink.stateful)
            yield from _held(name, sink.nested)
    for client in clients:
        parts = {n for n, part in client.constructor_parts.items() if part != "ignore"}
        yield Row(client.maker, frozenset(parts), client.positional)
        yield from _held(client.maker, client.nested)
        yield from (Row(f"{client.type}.{method}", frozenset(), ()) for method in client.decorators)
    for template in knowledge.templates.values():
        yield Row(template.maker, frozenset({template.messages or template.text}), template.positional)
        for method in (*template.fills, *template.partial):
            yield Row(f"{template.type}.{method}", frozenset(), ())
    for pipe in knowledge.pipes.values():
        yield Row(pipe.maker, frozenset(pipe.steps), pipe.positional)
    for window in knowledge.windows.values():
        named = {n for n in (window.messages, window.limit) if n}
        yield Row(window.name, frozenset(named), window.positional)


def _held(name: str, nested: dict[str, dict[str, str]]) -> Iterator[Row]:
    for argument, parts in nested.items():
        for holder in HOLDERS.get((name.partition(".")[0], argument), ()):
            yield Row(holder, frozenset(n for n, part in parts.items() if part != "ignore"), ())


def complaints(row: Row, signature: Signature) -> Iterator[str]:
    """What of a row one version of a library does not bear out; an argument may be one of another version."""
    if row.arguments and not row.may_take_none and not (signature.anything or row.arguments & set(signature.names)):
        yield f"{row.name} takes none of {sorted(row.arguments)}"
    known = [n for n in row.positional if n in signature.names]
    if known and list(signature.names[: len(known)]) != known:
        yield f"{row.name} takes {signature} by position"


def main(folder: Path) -> None:
    wheels = Wheels(folder)
    lines: dict[str, list[str]] = {}
    shown: dict[tuple[str, str], str] = {}
    for name in sorted({row.name for row in rows(load())}):
        head = name.split(".")
        package = next(
            (
                p
                for size in range(len(head), 0, -1)
                for p, modules in wheels.packages.items()
                if ".".join(head[:size]) in modules
            ),
            None,
        )
        found = wheels.signature(name) if package is not None else None
        if found is not None and package is not None:
            same = shown.setdefault((package, str(found)), name)
            lines.setdefault(package, []).append(f"{name}({found})" if same == name else f"{name} = {same}")
    text = "\n".join("\n".join([f"# {p} {wheels.versions[p]}", *lines[p]]) + "\n" for p in sorted(lines))
    TABLE.write_text(text, "utf-8")
    print(f"{sum(map(len, lines.values()))} signatures of {len(lines)} packages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
