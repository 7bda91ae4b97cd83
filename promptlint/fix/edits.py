"""Edits of texts: put in, held apart where they meet, and followed by the lines behind them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from promptlint.files.source import LINE_BREAK
from promptlint.finding import Edit
from promptlint.span import Span

_Point = tuple[int, int]


def _start(edit: Edit) -> _Point:
    return edit.span.line, edit.span.column


def _end(edit: Edit) -> _Point:
    return edit.span.end_line, edit.span.end_column


def put_in(path: str, line: int, column: int, text: str) -> Edit:
    """An edit that takes nothing away."""
    return Edit(Span(path, line, column, line, column), text)


def meet(one: Edit, other: Edit) -> bool:
    """Whether two different edits touch the same text, so that only one of them can be made at a time."""
    if one == other or one.span.path != other.span.path:
        return False
    if one.span == other.span:
        return True
    return _start(one) < _end(other) and _start(other) < _end(one)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits of it that do not meet, in the line ends of the text."""
    starts = [0, *(found.end() for found in re.finditer(LINE_BREAK, text))]
    first = re.search(LINE_BREAK, text)
    end_of_line = first[0] if first else "\n"
    parts, done = [], 0
    for edit in sorted(set(edits)):
        (line, column), (end_line, end_column) = _start(edit), _end(edit)
        begin = len(text) if line > len(starts) else starts[line - 1] + column - 1
        parts += [text[done:begin], edit.text.replace("\n", end_of_line)]
        done = len(text) if end_line > len(starts) else starts[end_line - 1] + end_column - 1
    return "".join([*parts, text[done:]])


class Lines:
    """Where the lines of a file are after edits of it."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        ordered = sorted(set(edits), key=_end)
        self._ends = [_end(edit) for edit in ordered]
        self._down = [0]
        for edit in ordered:
            taken = edit.span.end_line - edit.span.line
            self._down.append(self._down[-1] + edit.text.count("\n") - taken)

    def __getitem__(self, line: int) -> int:
        return line + self._down[bisect_right(self._ends, (line, 1))]
