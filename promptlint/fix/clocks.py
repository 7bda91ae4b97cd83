"""Clocks in prompt text that print the day and nothing finer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from promptlint.finding import Edit
from promptlint.fix.edits import put_in
from promptlint.fix.module import Module
from promptlint.span import Span

_DAY = re.compile(r"%-?[dejuwaAxcDF]")
_FINER = re.compile(r"%[-:]?[HIklMSfpPzZsXTRrcs]")
_STRETCH = re.compile(
    rf"[ ,T@]*(?:\bat )?(?:{_FINER.pattern})(?:[ :.,+hm]*(?:{_FINER.pattern}))*(?: ?(?:UTC|GMT|Z)\b)?"
)
_CLOCKS = frozenset(["now", "utcnow", "today", "fromtimestamp"])
"""Methods of ``datetime`` that give a clock with all its digits."""


def by_the_day(module: Module, origin: Span, rendered: frozenset[int]) -> tuple[Edit, ...]:
    """What makes text of a clock a date; ``rendered`` are the lines on which that may happen to a value with a name.

    Nothing where the text shows no date to begin with, or where not all of what is rendered is understood.
    """
    node = module.at(origin)
    if not isinstance(node, cst.Call):
        return ()
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "strftime" and node.args:
        return _form(module, node.args[0].value)
    if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _CLOCKS:
        return ()
    edits: list[Edit] = []
    for value in _values(module, node, rendered):
        made = _text(module, value)
        if not made:
            return ()
        edits += made
    return tuple(dict.fromkeys(edits))


def of_helper(module: Module, rendered: Span) -> tuple[Edit, ...]:
    """The same where a function that returns a clock is called: its format says that it is one."""
    node = module.at(rendered)
    if not isinstance(node, cst.Call):
        return ()
    match module.parents[node]:
        case cst.FormattedStringExpression(format_spec=[cst.FormattedStringText()]):
            return _text(module, node)
        case cst.Attribute(attr=cst.Name(value="strftime")):
            return _text(module, node)
    return ()


def _values(module: Module, clock: cst.BaseExpression, rendered: frozenset[int]) -> Iterator[cst.BaseExpression]:
    """The clock, or the uses of the name that it is given."""
    above = module.parents[clock]
    match above:
        case (
            cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]) | cst.AnnAssign(target=cst.Name() as name)
        ):
            for bound in module.bindings(name):
                for access in getattr(bound, "references", ()):
                    if isinstance(access.node, cst.Name) and module.span(access.node).line in rendered:
                        yield access.node
        case _:
            yield clock


def _text(module: Module, value: cst.BaseExpression) -> tuple[Edit, ...]:
    """The edits for one place where a ``datetime`` is made text."""
    above = module.parents[value]
    span = module.span(value)
    match above:
        case cst.Attribute(attr=cst.Name(value=method)):
            call = module.parents[above]
            if not isinstance(call, cst.Call) or call.func is not above:
                return ()
            if method == "strftime" and call.args:
                return _form(module, call.args[0].value)
            if method == "isoformat":
                dot, end = module.span(above.attr), module.span(call)
                rest = Span(module.path, dot.line, dot.column, end.end_line, end.end_column)
                return (Edit(rest, "date().isoformat()"),)
            return _text(module, call) if method in ("astimezone", "replace") else ()
        case cst.FormattedStringExpression(conversion=None, format_spec=spec, equal=None):
            if spec is None:
                return (put_in(module.path, span.end_line, span.end_column, ":%Y-%m-%d"),)
            if len(spec) == 1 and isinstance(spec[0], cst.FormattedStringText):
                return _cut(module, spec[0], spec[0].value)
        case cst.Arg(keyword=None, star=""):
            call = module.parents[above]
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "str":
                return (put_in(module.path, span.end_line, span.end_column, ".date()"),)
    return ()


def _form(module: Module, node: cst.BaseExpression) -> tuple[Edit, ...]:
    """A format string that is written out, without what is finer than a day."""
    return _cut(module, node, module.source(node)) if isinstance(node, cst.SimpleString) else ()


def _cut(module: Module, node: cst.CSTNode, text: str) -> tuple[Edit, ...]:
    short = coarse(text)
    return (Edit(module.span(node), short),) if short is not None and short != text else ()


def coarse(form: str) -> str | None:
    """A ``strftime`` format that says the day and nothing finer; ``None`` where it says no day."""
    form = form.replace("%c", "%Y-%m-%d")
    short = _STRETCH.sub("", form)
    if _FINER.search(short) or not _DAY.search(short):
        return None
    return re.sub(r"[ ,]+(?=['\"]*$)", "", short)
