"""Jinja templates: the template decides the order of the pieces, the call that renders it fills them in."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlint.code.expression import At
from promptlint.code.index import Function, Module, Parameter
from promptlint.frozen import replace
from promptlint.link import conditions, containers, loops
from promptlint.link.joining import join
from promptlint.link.texts import strings
from promptlint.link.values import Const, Hole, One, Origins, Piece, Rest, Text, Value, listed, stored, truth, union
from promptlint.link.values import History as KeptTurns
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

ENVIRONMENT, TEMPLATE = "jinja2.Environment", "jinja2.Template"
MAX_UNROLL = 40
"""Known elements of a loop that are rendered one by one."""
_METHODS = frozenset(("trim", "upper", "lower", "title", "capitalize", "replace"))
_FUNCTIONS = {"length": "len", "count": "len", "sort": "sorted", "list": "list"}
_INNER = re.compile(r"'[^']*'|\"[^\"]*\"|[(\[{]|[)\]}]|\|")


@dataclass(frozen=True, slots=True)
class Marks:
    """What begins and ends a value in the text of a template."""

    begin: str = "{{"
    end: str = "}}"


@dataclass(frozen=True, slots=True)
class _Output:
    expression: str


@dataclass(frozen=True, slots=True)
class _Branch:
    test: str
    yes: tuple[_Node, ...]
    no: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    targets: tuple[str, ...]
    iterable: str
    body: tuple[_Node, ...]
    otherwise: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Assignment:
    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class _Include:
    name: str


@dataclass(frozen=True, slots=True)
class _Extends:
    name: str


@dataclass(frozen=True, slots=True)
class _Block:
    name: str
    body: tuple[_Node, ...]


_Node = Piece | _Output | _Branch | _Loop | _Assignment | _Include | _Extends | _Block
Load = Callable[[str], Text | None]
"""The text of another template of the same environment, where it is there to be read."""
_Token = Piece | _Output | str
_FOR = re.compile(r"for\s+(.+?)\s+in\s+(.+?)(?:\s+if\s+.+|\s+recursive)?$", re.DOTALL)


def render(
    ev: Evaluator,
    template: Text,
    names: Mapping[str, Value],
    rest: Origins,
    span: Span,
    module: Module,
    at: At,
    level: int,
    marks: Marks,
    load: Load,
) -> Text:
    """``template.render(**names)``; ``rest`` is what names that are not known to be given may depend on."""
    renderer = _Renderer(ev, rest, span, module, at, level, marks, load)
    return Text(tuple(renderer.run(_nodes(template, marks), dict(names))))


def _nodes(template: Text, marks: Marks) -> tuple[_Node, ...]:
    return _Parser(tuple(_tokens(template, marks))).run()


# --- the text of a template ------------------------------------------------------------------------------------------


def _tokens(template: Text, marks: Marks) -> Iterator[_Token]:
    begin, end = re.escape(marks.begin), re.escape(marks.end)
    comment, value, word = r"{#(-?).*?(-?)#}", rf"{begin}(-?)(.*?)(-?){end}", r"{%([-+]?)(.*?)([-+]?)%}"
    tag = re.compile(f"{comment}|{value}|{word}", re.DOTALL)
    strip = False
    for piece in template.pieces:
        source, at = piece.text, 0
        if source is None:
            yield piece
            continue
        for match in tag.finditer(source):
            before = source[at : match.start()]
            before = before.lstrip() if strip else before
            before = before.rstrip() if "-" in match.group(1, 3, 6) else before
            if before:
                yield replace(piece, text=before)
            at, strip = match.end(), "-" in match.group(2, 5, 8)
            if match[4] is not None:
                yield _Output(match[4].strip())
            elif match[7] is not None:
                yield match[7].strip()
        rest = source[at:].lstrip() if strip else source[at:]
        if rest:
            strip = False
            yield replace(piece, text=rest)


class _Parser:
    """Tags into nested nodes; tags that are not known put nothing into the text."""

    def __init__(self, tokens: tuple[_Token, ...]) -> None:
        self.tokens = tokens
        self.at = 0

    def run(self) -> tuple[_Node, ...]:
        nodes: list[_Node] = []
        while self.at < len(self.tokens):
            body, _ = self.body(())
            nodes += body
        return tuple(nodes)

    def body(self, ends: tuple[str, ...]) -> tuple[tuple[_Node, ...], str]:
        """The nodes up to a tag that begins with one of ``ends``, and that tag ("" at the end of the text)."""
        nodes: list[_Node] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if not isinstance(token, str):
                nodes.append(token)
                continue
            word, _, rest = token.partition(" ")
            if word in ends:
                return tuple(nodes), token
            if word == "if":
                nodes.append(self.branch(rest))
            elif word == "for" and (loop := _FOR.match(token)):
                body, end = self.body(("else", "endfor"))
                otherwise = self.body(("endfor",))[0] if end == "else" else ()
                targets = tuple(t.strip() for t in loop[1].strip("()").split(","))
                nodes.append(_Loop(targets, loop[2], body, otherwise))
            elif word == "set" and "=" in rest:
                name, _, value = rest.partition("=")
                nodes.append(_Assignment(name.strip(), value.strip()))
            elif word == "macro":
                self.body(("endmacro",))
            elif word == "block":
                nodes.append(_Block(rest.split()[0] if rest else "", self.body(("endblock",))[0]))
            elif word in ("include", "extends"):
                nodes.append(_Include(rest) if word == "include" else _Extends(rest))
        return tuple(nodes), ""

    def branch(self, test: str) -> _Branch:
        yes, end = self.body(("elif", "else", "endif"))
        if end.startswith("elif"):
            return _Branch(test, yes, (self.branch(end.partition(" ")[2]),))
        no = self.body(("endif",))[0] if end == "else" else ()
        return _Branch(test, yes, no)


# --- what a call puts into it ----------------------------------------------------------------------------------------


class _Renderer:
    def __init__(
        self,
        ev: Evaluator,
        rest: Origins,
        span: Span,
        module: Module,
        at: At,
        level: int,
        marks: Marks,
        load: Load,
    ) -> None:
        self.ev, self.rest, self.span = ev, rest, span
        self.module, self.at, self.level = module, at, level
        self.marks, self.load = marks, load
        self.inside: tuple[str, ...] = ()
        """The templates that are being put into each other."""
        self.blocks: dict[str, tuple[_Block, ...]] = {}
        """What templates put in the place of blocks, the one that decides first."""

    def run(self, nodes: Sequence[_Node], scope: dict[str, Value]) -> Iterator[Piece]:
        base = next((n for n in nodes if isinstance(n, _Extends)), None)
        if base is not None:
            yield from self.extended(base, nodes, scope)
            return
        for node in nodes:
            match node:
                case Piece():
                    yield node
                case _Output(expression):
                    value = self.value(expression, scope)
                    yield from strings.formatted(self.ev, value, None, self.span).pieces
                case _Assignment(name, expression):
                    scope[name] = self.value(expression, scope)
                case _Branch():
                    yield from self.branch(node, scope)
                case _Loop():
                    yield from self.loop(node, scope)
                case _Include(name):
                    yield from self.other(name, scope)
                case _Block():
                    yield from self.block((*self.blocks.get(node.name, ()), node), scope)

    def extended(self, base: _Extends, nodes: Sequence[_Node], scope: dict[str, Value]) -> Iterator[Piece]:
        """The template that this one is based on, with the blocks that it gives."""
        for node in nodes:
            if isinstance(node, _Assignment):
                scope[node.name] = self.value(node.expression, scope)
            elif isinstance(node, _Block):
                self.blocks[node.name] = (*self.blocks.get(node.name, ()), node)
        yield from self.other(base.name, scope)

    def block(self, ways: tuple[_Block, ...], scope: dict[str, Value]) -> Iterator[Piece]:
        """What stands in a block: the first of ``ways``, in which ``super()`` is the next one."""
        for node in ways[0].body:
            if node == _Output("super()") and len(ways) > 1:
                yield from self.block(ways[1:], scope)
            else:
                yield from self.run((node,), scope)

    def other(self, name: str, scope: dict[str, Value]) -> Iterator[Piece]:
        """Another template where a tag names it: text of which nothing is known, if it is not found."""
        known = re.match(r"""(['"])(.+?)\1""", name)
        text = self.load(known[2]) if known is not None and known[2] not in self.inside else None
        if known is None or text is None:
            yield Piece(self.span, None, self.rest, name=f"the template {name}", persistent=True)
            return
        outer, self.inside = self.inside, (*self.inside, known[2])
        yield from self.run(_nodes(text, self.marks), scope)
        self.inside = outer

    def branch(self, node: _Branch, scope: dict[str, Value]) -> Iterable[Piece]:
        test = self.value(node.test, scope)
        certain = truth(test)
        if certain is not None:
            return self.run(node.yes if certain else node.no, scope)
        ways = [Text(tuple(self.run(way, dict(scope)))) for way in (node.yes, node.no)]
        decided = conditions.decided_by(join(ways), ways, lambda: test, cheap=True)
        return decided.pieces if isinstance(decided, Text) else ()

    def loop(self, node: _Loop, scope: dict[str, Value]) -> Iterator[Piece]:
        name = node.targets[0]
        sequence = containers.as_seq(self.ev, self.value(node.iterable, scope), self.span)
        if not sequence.items:
            yield from self.run(node.otherwise, dict(scope))
            return
        order = listed(sequence.order, self.span)
        one_by_one = sequence.known and len(sequence.items) <= MAX_UNROLL
        for item in sequence.items:
            if isinstance(item, Rest):
                element = loops.any_element(replace(sequence, items=(item,)), self.span, name)
            else:
                element = stored(item.value) if isinstance(item, KeptTurns) else item.value
            inner = {**scope, "loop": Hole("loop", self.span), **self.bound(node.targets, element)}
            sure = one_by_one or (isinstance(item, One) and not item.optional)
            for piece in self.run(node.body, inner):
                piece = piece.with_deps(union(piece.deps, order)) if order else piece
                yield piece if sure else replace(piece, optional=True, repeats=not isinstance(item, One))

    def bound(self, targets: tuple[str, ...], element: Value) -> dict[str, Value]:
        if len(targets) == 1:
            return {targets[0]: element}
        keys = (Const(n, self.span) for n in range(len(targets)))
        return {t: containers.item(element, k, self.span, t) for t, k in zip(targets, keys, strict=True)}

    def value(self, expression: str, scope: Mapping[str, Value]) -> Value:
        """An expression of a template: that of Python, with filters."""
        base, *filters = _filtered(expression)
        base = base.replace(" is not defined", " is None").replace(" is defined", " is not None")
        try:
            node = ast.parse(base, mode="eval")
        except SyntaxError:
            known = [v.origins() for n, v in scope.items() if re.search(rf"\b{n}\b", expression)]
            return Hole(expression, self.span, union(*known))
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        tree = node.body
        for spec in filters:
            tree = _applied(tree, spec)
        missing: Value = Const(None, self.span)
        given = {n: scope[n] if n in scope else Hole(n, self.span, self.rest) if self.rest else missing for n in read}
        found = self.evaluated(tree, given)
        return replace(found, name=expression) if isinstance(found, Hole) else found

    def evaluated(self, tree: ast.expr, given: dict[str, Value]) -> Value:
        arguments = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        function = ast.Lambda(arguments, tree)
        for node in ast.walk(function):
            if isinstance(node, (ast.expr, ast.arg)):
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = self.at
        parameters = tuple(Parameter(n, "positional", None, None) for n in given)
        made = Function(self.module, "<template>", "<template>", function, None, self.module.body, parameters)
        frame = self.ev.new_frame(made, self.level)
        frame.arguments = dict(given)
        return self.ev.result(frame, made, self.span)


def _filtered(expression: str) -> list[str]:
    """The expression ahead of the first filter, and the filters."""
    parts, depth, start = [], 0, 0
    for match in _INNER.finditer(expression):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        elif match[0] == "|" and depth == 0:
            parts.append(expression[start : match.start()].strip())
            start = match.end()
    return [*parts, expression[start:].strip()]


def _applied(value: ast.expr, spec: str) -> ast.expr:
    """``value | spec`` as an expression of Python; filters that only change how it looks leave the value as it is."""
    try:
        node = ast.parse(spec, mode="eval").body
    except SyntaxError:
        return value
    name = node.func if isinstance(node, ast.Call) else node
    args = node.args if isinstance(node, ast.Call) else []
    match name.id if isinstance(name, ast.Name) else "":
        case "default" | "d" if args:
            return ast.BoolOp(ast.Or(), [value, args[0]])
        case "join":
            separator = args[0] if args else ast.Constant("")
            return ast.Call(ast.Attribute(separator, "join", ast.Load()), [value], [])
        case method if method in _METHODS:
            return ast.Call(ast.Attribute(value, "strip" if method == "trim" else method, ast.Load()), args, [])
        case function if function in _FUNCTIONS:
            return ast.Call(ast.Name(_FUNCTIONS[function], ast.Load()), [value], [])
        case "first" | "last" as end:
            index = ast.Constant(0) if end == "first" else ast.UnaryOp(ast.USub(), ast.Constant(1))
            return ast.Subscript(value, index, ast.Load())
        case _:
            return value
