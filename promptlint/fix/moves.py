"""Text that changes with each turn, moved out of the system text into the newest message, which is kept with it.

Done only where all of it is in sight: the text stands on a line, or in a sentence, of an f-string; what it is made of
can be had where the message is made; and that is one place, at which the message goes into the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst import metadata as meta

from promptlint.finding import Edit
from promptlint.fix.known import is_string
from promptlint.fix.module import Module
from promptlint.span import Span

_BREAK = re.compile(r"\\n|\n|(?<=[.!?])[ ]+")
"""What ends a line or a sentence in the text of an f-string, as it is written."""
_KEEPS = frozenset(["append", "extend"])


@dataclass(frozen=True, slots=True)
class _Cut:
    """An f-string in parts, without quotes: what stands around a value on its line, and what is left."""

    before: str
    behind: str
    rest: str

    @property
    def is_whole(self) -> bool:
        """Whether a line can be taken out: it opens no bracket that it does not close, nor the other way round."""
        around = self.before + self.behind
        paired = all(around.count(a) == around.count(b) for a, b in ("()", "[]", "{}", "<>"))
        return paired and "\\\\" not in around and bool(self.rest.strip())


def to_newest(module: Module, value: Span, near: Sequence[Span]) -> tuple[Edit, ...]:
    """The edits that move the text around a value into the newest user message.

    ``near`` are places in the functions that make that message: where a request is sent, and where turns are kept. The
    last edit is that of the message.
    """
    node = module.at(value)
    hole = module.parents.get(node) if node is not None else None
    if node is None or not isinstance(hole, cst.FormattedStringExpression) or not _is_plain(hole):
        return ()
    whole = module.parents[hole]
    if not isinstance(whole, cst.FormattedString) or not _is_text(module, whole):
        return ()
    content, cut = _message(module, near), _cut(module, whole, hole)
    here = _obtained(module, node, content) if content is not None else None
    if content is None or cut is None or here is None or not cut.is_whole:
        return ()
    text, removed = here
    start, end, inner = module.span(hole), module.span(hole), module.outer(node)
    opening = module.between(replace(start, end_line=inner.line, end_column=inner.column))
    closing = module.between(replace(end, line=inner.end_line, column=inner.end_column))
    said = _written(module, content, f"{cut.before}{opening}{text}{closing}{cut.behind}".strip())
    if said is None:
        return ()
    return (*removed, module.replaced(whole, _left(module, whole, cut.rest)), module.replaced(content, said))


def _is_plain(hole: cst.FormattedStringExpression) -> bool:
    """Whether a hole says nothing but its value, in a form that is written out."""
    return hole.equal is None and all(isinstance(part, cst.FormattedStringText) for part in hole.format_spec or ())


def _is_text(module: Module, whole: cst.FormattedString) -> bool:
    """Whether an f-string is used as it is: no part of a longer literal, no template, no raw one."""
    above = module.parents[whole]
    if isinstance(above, cst.Attribute):
        return above.attr.value in ("strip", "lstrip", "rstrip")
    return not isinstance(above, cst.ConcatenatedString) and "r" not in whole.start.lower()


def _cut(module: Module, whole: cst.FormattedString, hole: cst.FormattedStringExpression) -> _Cut | None:
    """The line around a value taken out; ``None`` where it holds other values."""
    before, behind = "", ""
    at = next(number for number, part in enumerate(whole.parts) if part is hole)
    head, tail = whole.parts[:at], whole.parts[at + 1 :]
    if head and isinstance(head[-1], cst.FormattedStringText):
        before = head[-1].value
        head = head[:-1]
    if tail and isinstance(tail[0], cst.FormattedStringText):
        behind = tail[0].value
        tail = tail[1:]
    starts = [found.end() for found in _BREAK.finditer(before)]
    end = _BREAK.search(behind)
    if (not starts and head) or (end is None and tail):
        return None
    start = starts[-1] if starts else 0
    stop = end.start() if end is not None else len(behind)
    kept_before = "".join(module.between(module.span(part)) for part in head) + before[:start]
    kept_behind = (behind[end.end() :] if end is not None else "") + "".join(
        module.between(module.span(part)) for part in tail
    )
    if not kept_behind and not isinstance(module.parents[whole], cst.BinaryOperation):
        kept_before = re.sub(r"(?:\\n|\n|[ ])+$", "", kept_before)
    return _Cut(before[start:], behind[:stop], kept_before + kept_behind)


def _left(module: Module, whole: cst.FormattedString, rest: str) -> str:
    """What takes the place of an f-string that has become shorter: one of its values alone, text, or an f-string."""
    only = re.fullmatch(r"\{([A-Za-z_]\w*)\}", rest)
    if only:
        named = [
            part.expression
            for part in whole.parts
            if isinstance(part, cst.FormattedStringExpression) and module.source(part.expression) == only[1]
        ]
        if named and is_string(module, named[0]):
            return only[1]
    start = whole.start if "{" in rest else whole.start.replace("f", "").replace("F", "")
    return f"{start}{rest if '{' in rest else rest.replace('}}', '}')}{whole.end}"


# -- the newest message ----------------------------------------------------------------------------------------------


def _message(module: Module, near: Sequence[Span]) -> cst.BaseExpression | None:
    """The text of the one user message that is made and kept in the functions around these places."""
    homes = {id(module.function(place)) for place in near if place.path == module.path}
    found = [
        content
        for node in module.expressions.values()
        if isinstance(node, cst.Dict)
        and (content := _content(node)) is not None
        and id(module.function(module.span(node))) in homes
        and _is_kept(module, node)
    ]
    return found[0] if len(found) == 1 and is_string(module, found[0]) else None


def _content(message: cst.Dict) -> cst.BaseExpression | None:
    """The content of a message of the user that is written out."""
    parts = {
        part.key.evaluated_value: part.value
        for part in message.elements
        if isinstance(part, cst.DictElement) and isinstance(part.key, cst.SimpleString)
    }
    role = parts.get("role")
    if isinstance(role, cst.SimpleString) and role.evaluated_value == "user":
        return parts.get("content")
    return None


def _is_kept(module: Module, message: cst.BaseExpression) -> bool:
    """Whether a message becomes part of a list that is there already, itself or by the one name that it is given."""
    above = module.parents[message]
    match above:
        case cst.Arg():
            call = module.parents[above]
            return (
                isinstance(call, cst.Call)
                and isinstance(call.func, cst.Attribute)
                and call.func.attr.value in _KEEPS
                and isinstance(module.parents[call], cst.Expr)
            )
        case cst.Element():
            listed = module.parents[above]
            around = module.parents.get(listed)
            if isinstance(around, cst.Arg):
                return isinstance(listed, cst.BaseExpression) and _is_kept(module, listed)
            return isinstance(around, cst.AugAssign) and isinstance(around.operator, cst.AddAssign)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            bound = module.bindings(name)
            uses = [access.node for access in bound[0].references] if len(bound) == 1 else []
            return any(isinstance(use, cst.Name) and _is_kept(module, use) for use in uses)
    return False


def _written(module: Module, content: cst.BaseExpression, moved: str) -> str | None:
    """The content of a message with a line behind it, which is made after it: whoever types takes his time."""
    quote = next((mark for mark in ('"', "'") if mark not in moved), None)
    if quote is None or "\n" in moved:
        return None
    if isinstance(content, cst.Name):
        return f"f{quote}{{{content.value}}}\\n\\n{moved}{quote}"
    text = module.source(content)
    simple = bool(content.lpar) or isinstance(content, cst.Call | cst.BaseString | cst.Subscript | cst.Attribute)
    simple = simple or (isinstance(content, cst.BinaryOperation) and isinstance(content.operator, cst.Add))
    return f"{text if simple else f'({text})'} + f{quote}\\n\\n{moved}{quote}"


# -- what the text is made of ----------------------------------------------------------------------------------------


def _obtained(module: Module, value: cst.BaseExpression, place: cst.CSTNode) -> tuple[str, tuple[Edit, ...]] | None:
    """How a value is written at another place, and the assignments that go when it was all that used their names."""
    gone: list[Edit] = []
    text = _spelt(module, value, place, gone)
    return (text, tuple(gone)) if text is not None else None


def _spelt(module: Module, value: cst.BaseExpression, place: cst.CSTNode, gone: list[Edit]) -> str | None:
    if isinstance(value, cst.Name) and not _is_there(module, value, place):
        return _looked_up(module, value, place, gone)
    span = module.span(value)
    text, column = "", span.column
    for name in [] if isinstance(value, cst.Name) else _names(value):
        if name is None or span.line != span.end_line:
            return None
        if not _is_there(module, name, place):
            made = _looked_up(module, name, place, gone)
            if made is None:
                return None
            where = module.span(name)
            text += module.lines[span.line - 1][column - 1 : where.column - 1] + made
            column = where.end_column
    return text + module.between(Span(span.path, span.line, column, span.end_line, span.end_column))


def _looked_up(module: Module, name: cst.Name, place: cst.CSTNode, gone: list[Edit]) -> str | None:
    """The call whose result a name stands for, which is made at the other place instead."""
    bound = module.bindings(name)
    made = module.assigned(bound[0]) if len(bound) == 1 else None
    line = module.statement(made) if isinstance(made, cst.Call) else None
    text = _spelt(module, made, place, gone) if isinstance(made, cst.Call) else None
    if text is not None and line is not None and len(list(bound[0].references)) == 1:
        removed = module.removed(line)
        if removed is None or module.has_comment(line):
            return None
        gone.append(removed)
    return text


def _names(value: cst.BaseExpression) -> Iterator[cst.Name | None]:
    """The names that an expression reads; ``None`` for what depends on where it stands in other ways."""
    match value:
        case cst.Name():
            yield value
        case cst.Attribute(value=inner):
            yield from _names(inner)
        case cst.Call(func=func, args=args):
            yield from _names(func)
            for arg in args:
                yield from _names(arg.value)
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            yield from _names(inner)
            yield from _names(key)
        case cst.BinaryOperation(left=left, right=right):
            yield from _names(left)
            yield from _names(right)
        case cst.SimpleString() | cst.Integer() | cst.Float():
            pass
        case _:
            yield None


def _is_there(module: Module, name: cst.Name, place: cst.CSTNode) -> bool:
    bound = module.bindings(name)
    if not bound:
        return False
    if all(isinstance(b, meta.BuiltinAssignment) for b in bound):
        return True
    scope, line = module.scopes.get(place), module.statement(place)
    if len(bound) != 1 or not isinstance(bound[0], meta.Assignment) or line is None:
        return False
    node = bound[0].node
    if isinstance(bound[0].scope, meta.GlobalScope) and not isinstance(scope, meta.GlobalScope):
        return not isinstance(node, cst.Name) or isinstance(module.parents[module.home(node)], cst.Module)
    if bound[0].scope is not scope:
        return False
    if isinstance(node, cst.Param):
        return True
    home = module.home(node)
    blocks = [above for above, _ in module.around(place)]
    return module.parents[home] in blocks and module.is_above(home, line)
