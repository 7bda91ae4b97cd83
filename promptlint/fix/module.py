"""A file that is being fixed, as LibCST reads it: what stands where, and the edits that change just that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
from libcst import metadata as meta

from promptlint.files.source import LINE_BREAK
from promptlint.finding import Edit
from promptlint.fix.edits import put_in
from promptlint.span import Span

CHANGE = frozenset(["add", "update", "symmetric_difference_update", "append", "extend", "insert"])
"""Methods that put something into a collection."""

Part = cst.Arg | cst.BaseDictElement | cst.BaseElement
"""What calls, dict and list displays are made of."""


@dataclass(frozen=True)
class Module:
    """A parsed file. Raises ``libcst.ParserSyntaxError`` when its text is not what LibCST can read."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return LINE_BREAK.split(self.text)

    @cached_property
    def _wrapper(self) -> meta.MetadataWrapper:
        return meta.MetadataWrapper(cst.parse_module(self.text), unsafe_skip_copy=True)  # a fresh tree shares no nodes

    def parse(self) -> None:
        """Reads the text. Raises ``libcst.ParserSyntaxError``, and RecursionError when it is nested too deeply."""
        self._wrapper  # noqa: B018

    @property
    def top(self) -> Sequence[cst.CSTNode]:
        """The statements of the file that are part of no other."""
        return self._wrapper.module.body

    @cached_property
    def _places(self) -> Mapping[cst.CSTNode, object]:
        return self._wrapper.resolve(meta.PositionProvider)

    @cached_property
    def _stretches(self) -> Mapping[cst.CSTNode, object]:
        return self._wrapper.resolve(meta.WhitespaceInclusivePositionProvider)

    @cached_property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The node around each node."""
        return self._wrapper.resolve(meta.ParentNodeProvider)

    @cached_property
    def scopes(self) -> Mapping[cst.CSTNode, object]:
        """The scope of each node, where LibCST knows it."""
        return self._wrapper.resolve(meta.ScopeProvider)

    @cached_property
    def expressions(self) -> Mapping[tuple[int, int, int, int], cst.BaseExpression]:
        """The outermost expression at each place."""
        found: dict[tuple[int, int, int, int], cst.BaseExpression] = {}
        for node, place in self._places.items():
            if isinstance(node, cst.BaseExpression) and isinstance(place, meta.CodeRange):
                found.setdefault(_numbers(place), node)
        return found

    def at(self, span: Span) -> cst.BaseExpression | None:
        """The expression that a span of this file covers."""
        return self.expressions.get((span.line, span.column, span.end_line, span.end_column))

    def inside(self, span: Span) -> Iterator[cst.BaseExpression]:
        """The expressions within a span."""
        for (line, column, end_line, end_column), node in self.expressions.items():
            starts = (line, column) >= (span.line, span.column)
            if starts and (end_line, end_column) <= (span.end_line or span.line, span.end_column):
                yield node

    def around(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Each node around one with its child on the way, innermost first."""
        while (above := self.parents.get(node)) is not None:
            yield above, node
            node = above

    def bindings(self, name: cst.Name) -> list[meta.BaseAssignment]:
        """What may have given a name its value."""
        scope = self.scopes.get(name)
        return list(scope[name.value]) if isinstance(scope, meta.Scope) else []

    def is_builtin(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a name means the built-in function at a node."""
        scope = self.scopes.get(node)
        return not isinstance(scope, meta.Scope) or all(isinstance(a, meta.BuiltinAssignment) for a in scope[name])

    def value(self, name: cst.Name) -> cst.BaseExpression | cst.Annotation | None:
        """The only value of a name that nothing is added to, or its annotation where it is a parameter."""
        bound = self.bindings(name)
        if len(bound) != 1 or not isinstance(bound[0], meta.Assignment):
            return None
        if isinstance(bound[0].node, cst.Param):
            return bound[0].node.annotation
        changed = any(
            isinstance(above := self.parents.get(access.node), cst.Attribute) and above.attr.value in CHANGE
            for access in bound[0].references
        )
        return None if changed else self.assigned(bound[0])

    def assigned(self, bound: meta.BaseAssignment) -> cst.BaseExpression | None:
        """The value of an assignment to nothing but one name."""
        if not isinstance(bound, meta.Assignment) or not isinstance(bound.node, cst.Name):
            return None
        match self.parents.get(bound.node):
            case cst.AnnAssign(value=value):
                return value
            case cst.AssignTarget() as target:
                statement = self.parents[target]
                return statement.value if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
        return None

    # -- places and edits -----------------------------------------------------------------------------------------

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands, without parentheses around it."""
        return self._span(self._places[node])

    def is_above(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether a node begins on an earlier line than another."""
        return self.span(one).line < self.span(other).line

    def outer(self, node: cst.BaseExpression) -> Span:
        """Where an expression stands with the parentheses around it."""
        return self._span(self._stretches[node]) if getattr(node, "lpar", ()) else self.span(node)

    def _span(self, place: object) -> Span:
        assert isinstance(place, meta.CodeRange)
        return Span(self.path, *_numbers(place))

    def source(self, node: cst.BaseExpression) -> str:
        """The text of an expression, with the parentheses around it."""
        return self.between(self.outer(node))

    def between(self, span: Span) -> str:
        """The text that a span covers."""
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        first, *inner = self.lines[span.line - 1 : span.end_line]
        return "\n".join([first[span.column - 1 :], *inner[:-1], inner[-1][: span.end_column - 1]])

    def indent(self, line: int) -> str:
        """The white space that a line begins with."""
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t"))]

    def wrapped(self, node: cst.CSTNode, before: str, after: str) -> tuple[Edit, Edit]:
        """A node with text on both sides, inside of the parentheses around it."""
        span = self.span(node)
        return (
            put_in(self.path, span.line, span.column, before),
            put_in(self.path, span.end_line, span.end_column, after),
        )

    def replaced(self, node: cst.BaseExpression, text: str) -> Edit:
        """Other text in place of an expression."""
        return Edit(self.outer(node), text)

    def without(self, parts: Sequence[Part], *gone: cst.CSTNode) -> tuple[Edit, ...]:
        """Elements, or arguments, less: with their lines where they have them to themselves, else with their commas."""
        spans = [self._part(part) for part in parts]
        edits, number = [], 0
        while number < len(parts):
            last = number
            while last < len(parts) and any(parts[last] is part for part in gone):
                last += 1
            if last > number:
                edits.append(self._less(spans, number, last - 1))
            number = last + 1
        return tuple(edits)

    def _less(self, spans: Sequence[Span], first: int, last: int) -> Edit:
        start, end = spans[first], spans[last]
        before = self.lines[start.line - 1][: start.column - 1]
        after = self.lines[end.end_line - 1][end.end_column - 1 :]
        if not before.strip() and after.partition("#")[0].strip() in ("", ",") and end.end_line < len(self.lines):
            return self._cut(start.line, 1, end.end_line + 1, 1)
        if last + 1 < len(spans):
            return self._cut(start.line, start.column, spans[last + 1].line, spans[last + 1].column)
        if first:
            return self._cut(spans[first - 1].end_line, spans[first - 1].end_column, end.end_line, end.end_column)
        comma = 1 + len(after) - len(after.lstrip()) if after.lstrip().startswith(",") else 0
        return self._cut(start.line, start.column, end.end_line, end.end_column + comma)

    def _cut(self, line: int, column: int, end_line: int, end_column: int) -> Edit:
        return Edit(Span(self.path, line, column, end_line, end_column), "")

    def _part(self, part: cst.CSTNode) -> Span:
        match part:
            case cst.DictElement(key=key, value=value):
                first = self.outer(key)
            case cst.Arg(keyword=cst.Name() as keyword, value=value):
                first = self.span(keyword)
            case cst.Arg(star="", value=value) | cst.Element(value=value):
                first = self.outer(value)
            case _:
                return self.span(part)
        last = self.outer(value)
        return Span(self.path, first.line, first.column, last.end_line, last.end_column)

    def added(self, parts: Sequence[Part], text: str) -> tuple[Edit, ...]:
        """One element, or argument, more behind the last one, on a line of its own where those have theirs."""
        last, first = self._part(parts[-1]), self._part(parts[0])
        line, column = last.end_line, last.end_column
        after = self.lines[line - 1][column - 1 :]
        code = after.partition("#")[0].strip()
        alone = not self.lines[last.line - 1][: last.column - 1].strip()
        if not alone or code not in ("", ",") or (len(parts) > 1 and first.line == last.line):
            return (put_in(self.path, line, column, f", {text}"),)
        comma = "" if code else ","
        end = len(self.lines[line - 1]) + 1
        made = f"\n{self.indent(last.line)}{text}{code}"
        if end == column:  # two edits of one place have no order
            return (put_in(self.path, line, end, f"{comma}{made}"),)
        return (*([put_in(self.path, line, column, comma)] if comma else ()), put_in(self.path, line, end, made))

    def statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The statement around a node that stands on lines of its own: compound, or simple and alone."""
        for above, _ in self.around(node):
            if isinstance(above, cst.BaseCompoundStatement):
                return above
            if isinstance(above, cst.SimpleStatementLine):
                return above if len(above.body) == 1 else None
            if isinstance(above, cst.SimpleStatementSuite):
                return None
        return None

    def home(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that a node is, or is part of, alone or beside others on its line."""
        while not isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement | cst.Module):
            node = self.parents[node]
        return node

    def function(self, place: Span) -> cst.FunctionDef | None:
        """The innermost function around a place; ``None`` at the top of the file."""
        holding = [
            node
            for node, where in self._places.items()
            if isinstance(node, cst.FunctionDef) and isinstance(where, meta.CodeRange)
            if where.start.line <= place.line <= where.end.line
        ]
        return max(holding, key=lambda node: self.span(node).line, default=None)

    def behind(self, statement: cst.CSTNode, text: str) -> Edit:
        """Lines behind a statement, with its indentation."""
        span = self.span(statement)
        indent = self.indent(span.line)
        made = "".join(f"{indent}{line}\n" for line in text.split("\n"))
        if span.end_line >= len(self.lines):
            return put_in(self.path, span.end_line, len(self.lines[span.end_line - 1]) + 1, f"\n{made.rstrip()}")
        return put_in(self.path, span.end_line + 1, 1, made)

    def has_comment(self, statement: cst.CSTNode) -> bool:
        """Whether a comment stands behind a simple statement, or on the lines ahead of it."""
        if not isinstance(statement, cst.SimpleStatementLine):
            return False
        comments = [statement.trailing_whitespace.comment, *(line.comment for line in statement.leading_lines)]
        return any(comment is not None for comment in comments)

    def removed(self, statement: cst.CSTNode) -> Edit | None:
        """A statement less, with its lines; ``None`` where nothing would be left of the block around it."""
        block = self.parents.get(statement)
        if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
            return None
        span = self.span(statement)
        return self._cut(span.line, 1, span.end_line + 1, 1)


def _numbers(place: meta.CodeRange) -> tuple[int, int, int, int]:
    return place.start.line, place.start.column + 1, place.end.line, place.end.column + 1
