"""What of the code of one file a run has looked at, told apart from the rest, and where it stands.

Most bodies of a project are never asked what is in them: linking goes from requests to what they are made of. The
skeleton of a file is its lines without the bodies that nobody looked at, without docstrings that nobody read, and
without lines that hold nothing or only a comment; and of the bodies left out, what the index answered about them.
Two texts with the same skeleton give the same findings, at the places to which the lines of the one have gone in the
other.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from promptlint.code.index import EVERY, MESSAGES, Class, Function, FunctionStatement, Module, is_matched, is_said


@dataclass(frozen=True, slots=True)
class Looked:
    """What was asked of one parsed file (``index.Asked``), with functions and classes by name and number."""

    whole: bool
    seen: frozenset[str]
    judged: frozenset[str]
    documented: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    patterns: tuple[tuple[str, int], ...]
    texts: tuple[tuple[str, bool], ...]

    @classmethod
    def at(cls, module: Module) -> Looked:
        """What was asked of ``module`` so far."""
        asked, names = module.asked, _named(module)
        seen = set[Function]()
        for function in (f for f in names if isinstance(f, Function) and f.seen):
            around: Function | None = function
            while around is not None and around not in seen:
                seen.add(around)
                around = around.parent
        return cls(
            asked.whole,
            frozenset(names[f] for f in seen if f in names),
            frozenset(names[f] for f in asked.judged if f in names),
            frozenset(names[d] for d in asked.documented if d in names),
            frozenset(asked.names),
            frozenset(asked.words),
            tuple(sorted((pattern.pattern, pattern.flags) for pattern in asked.patterns)),
            tuple(sorted(asked.texts.items())),
        )

    def and_also(self, other: Looked) -> Looked:
        """What was asked of one file in two parts of a run."""
        return Looked(
            self.whole or other.whole,
            self.seen | other.seen,
            self.judged | other.judged,
            self.documented | other.documented,
            self.names | other.names,
            self.words | other.words,
            tuple(sorted({*self.patterns, *other.patterns})),
            tuple(sorted({*self.texts, *other.texts})),
        )


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The lines that were looked at, by number and text, and the answers about the others."""

    numbers: tuple[int, ...]
    lines: tuple[str, ...]
    answers: object

    def is_like(self, other: Skeleton) -> bool:
        """Whether all that was asked is answered by the other text as by this one."""
        return self.lines == other.lines and self.answers == other.answers


def of(module: Module, looked: Looked, stored: Set[str]) -> Skeleton:
    """The skeleton of a file for what was asked of it; ``stored``: the names of which it was asked who writes them."""
    names = _named(module)
    lines = module.source.lines
    left_out = bytearray(len(lines) + 1)
    kept = {f for d in names if isinstance(d, Class) for f in _around(d)}
    kept.update(f for f in module.functions if names[f] in looked.seen or names[f] in looked.documented)
    cut = set[Function]()
    for function in module.functions if not looked.whole else ():
        body = _own_lines(function) if function not in kept else None
        if body is not None:
            cut.add(function)
            _mark(left_out, *body)
    for definition, name in names.items():
        if name not in looked.documented and (text := _documentation(definition, lines)) is not None:
            _mark(left_out, *text)
    for number in _empty(module.body.node, lines):
        left_out[number] = 1
    numbers = tuple(n for n in range(1, len(lines) + 1) if not left_out[n])
    return Skeleton(numbers, tuple(lines[n - 1] for n in numbers), _answers(module, looked, stored, names, cut))


def _named(module: Module) -> dict[Function | Class, str]:
    """The functions and classes of a file, each with a name that no other one has."""
    count = Counter[str]()
    found: dict[Function | Class, str] = {module.body: "<module>"}
    for definition in (*module.functions, *module.definitions.values()):
        if definition not in found:
            kind = "class " if isinstance(definition, Class) else ""
            count[kind + definition.qualname] += 1
            found[definition] = f"{kind}{definition.qualname}#{count[kind + definition.qualname]}"
    return found


def _mark(left_out: bytearray, first: int, last: int) -> None:
    left_out[first : last + 1] = b"\1" * (last + 1 - first)


def _own_lines(function: Function) -> tuple[int, int] | None:
    """First and last line of a body that stands below its head."""
    node = function.node
    if not isinstance(node, FunctionStatement):
        return None
    first = _first(node.body[0])
    below = (part for part in ast.walk(node.args) if isinstance(part, (ast.expr, ast.arg)))
    head = max((part.end_lineno or 0 for part in (*below, *([node.returns] if node.returns else []))), default=0)
    return (first, node.end_lineno or first) if first > max(node.lineno, head) else None


def _first(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    if isinstance(node, (FunctionStatement, ast.ClassDef)):
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.lineno


def _documentation(definition: Function | Class, lines: Sequence[str]) -> tuple[int, int] | None:
    """First and last line of a docstring that has these lines for itself."""
    body = definition.node.body
    if not isinstance(body, list) or len(body) < 2 or not isinstance(body[0], ast.Expr):
        return None
    text = body[0].value
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return None
    first, last = text.lineno, text.end_lineno or text.lineno
    ahead = lines[first - 1].encode()[: text.col_offset]
    behind = lines[last - 1].encode()[text.end_col_offset :]
    return None if ahead.strip() or behind.strip() or _first(body[1]) <= last else (first, last)


_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


def _empty(tree: ast.AST, lines: Sequence[str]) -> Iterator[int]:
    """The lines that hold nothing or only a comment, and stand inside of no statement."""
    inside = bytearray(len(lines) + 1)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        blocks = [block for name in _BLOCKS if isinstance(block := getattr(node, name, None), list) and block]
        waiting.extend(inner for block in blocks for inner in block)
        waiting.extend(getattr(node, "decorator_list", ()))
        first, last = _extent(node)
        if blocks and first:  # its head ends in a line with code
            below = blocks[0][0]
            last = (_first(below) if isinstance(below, ast.stmt) else _extent(below)[0]) - 1
            while last > first and _is_empty(lines[last - 1]):
                last -= 1
        if last > first:
            _mark(inside, first, last)
    return (n for n in range(1, len(lines) + 1) if not inside[n] and _is_empty(lines[n - 1]))


def _extent(node: ast.AST) -> tuple[int, int]:
    """First and last line; 0 for a module."""
    place = node.pattern if isinstance(node, ast.match_case) else node
    return getattr(place, "lineno", 0), getattr(place, "end_lineno", None) or 0


def _is_empty(line: str) -> bool:
    text = line.lstrip()
    return not text or text.startswith("#")


def _answers(
    module: Module, looked: Looked, stored: Set[str], names: dict[Function | Class, str], cut: Set[Function]
) -> object:
    """What the index says where it was asked, and of bodies that are left out whatever it says without being asked."""
    asked = looked.names | stored
    every = EVERY in looked.names
    called = {n: [names[f] for f in functions] for n, functions in module.called.listed.items() if n in looked.names}
    written = {n: [names[f] for f in functions] for n, functions in module.attribute_stores.items() if n in asked}
    changed = [
        (names[f], kept)
        for f in (module.body, *module.functions)
        if (kept := sorted(f.stored if every else f.stored & looked.names))
    ]
    judged = [f for f in module.functions if names[f] in looked.judged]
    saying = {word: [names[f] for f in judged if f.hands_out and is_said(word, f)] for word in looked.words}
    matching = [
        (search.search(module.source.text) is not None, [names[f] for f in module.functions if is_matched(search, f)])
        for search in (re.compile(*pattern) for pattern in looked.patterns)
    ]
    plain = [(names[f], f in cut) for f in module.functions if f.name != "<lambda>"]
    alike = [(names[f], f.hands_out, f.declares, bool(f.edited)) for f in judged]
    passing = [names[f] for f in module.functions if MESSAGES in looked.names and f in module.keyword_messages]
    heads = [_head(f.node) for f in module.functions if any(a in cut for a in _around(f))]
    texts = [(text, text in module.source.text) for text, _ in looked.texts]
    return (
        called,
        written,
        changed,
        saying,
        plain,
        alike,
        passing,
        matching,
        heads,
        texts,
        module.stars,
        module.name,
        module.is_package,
    )


def _around(definition: Function | Class) -> Iterator[Function]:
    above = definition.parent
    while above is not None:
        yield above
        above = above.parent


def _head(node: ast.AST) -> str:
    """All of a nested function but its body."""
    if not isinstance(node, FunctionStatement):
        return ""
    parts = (*node.decorator_list, node.args, *([node.returns] if node.returns else []))
    return f"{type(node).__name__} {node.name} {[ast.dump(part) for part in parts]}"
