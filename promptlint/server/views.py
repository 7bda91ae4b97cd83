"""What an editor shows beside the code: the map of a request on hover, and its size at the call."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from lsprotocol import types

from promptlint.output import describe, requestmap
from promptlint.request import Request
from promptlint.server.places import Places
from promptlint.span import Span

_WIDTH = 96
_LINES = 36
_MOST = 3
"""Requests shown in one hover; a prompt that all of a program shares is part of many."""


def hover(places: Places, path: str, position: types.Position, markdown: bool) -> types.Hover | None:
    """The map of each request that is sent here, or of which the text or the tool here becomes a part."""
    point = places.point(path, position)
    if point is None:
        return None
    file = os.path.abspath(path)
    found = [(size, request) for request in places.snapshot.report.requests if (size := _nearest(request, file, point))]
    if not found:
        return None
    best = min(size for size, _ in found)
    requests = [request for size, request in found if size == best]
    blocks = [_short(requestmap.block(request, _WIDTH)) for request in requests[:_MOST]]
    if len(requests) > _MOST:
        blocks.append(f"and {len(requests) - _MOST:,} more: promptlint map shows them all")
    text = "\n\n".join(blocks)
    if markdown:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
        text = f"{fence}text\n{text}\n{fence}"
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, text))


def _short(block: str) -> str:
    """The block, without most of the segments where there are too many to look at, but with the end of the prefix."""
    lines = block.splitlines()
    rest = lines[_LINES:]
    if len(rest) < 2:
        return block
    border = [line for line in rest if line.startswith("  ---")]
    said = f"  and {len(rest) - len(border):,} more segments: promptlint map shows them all"
    return "\n".join([*lines[:_LINES], *border, said])


def _nearest(request: Request, file: str, point: tuple[int, int]) -> tuple[int, int] | None:
    """The size, in lines and columns, of the smallest part of a request that holds a point; ``None`` without one."""
    spans = [request.site.span, *(segment.span for segment in request.segments)]
    spans += [cause.origin for segment in request.segments for cause in segment.causes]
    return min((_size(span) for span in spans if _holds(span, file, point)), default=None)


def _holds(span: Span, file: str, point: tuple[int, int]) -> bool:
    if span.end_line == 0 or span.cell is not None or os.path.abspath(span.path) != file:
        return False
    return (span.line, span.column) <= point <= (span.end_line, span.end_column)


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column if span.end_line == span.line else 0


def hints(places: Places, path: str, first: int, last: int) -> Iterator[types.InlayHint]:
    """At the end of each line on which a request is sent, between two lines from 0, how much of it can be cached."""
    file = os.path.abspath(path)
    by_line: dict[int, list[str]] = {}
    for request in places.snapshot.report.requests:
        span = request.site.span
        if span.cell is None and os.path.abspath(span.path) == file:
            by_line.setdefault(span.line, []).append(describe.verdict(request))
    for line, verdicts in sorted(by_line.items()):
        place = places.end_of_line(path, line)
        if place is not None and first <= place.line <= last:
            different = dict.fromkeys(verdicts)
            more = f" (and {len(different) - 1} other ways lead here)" if len(different) > 1 else ""
            yield types.InlayHint(place, verdicts[0] + more, padding_left=True)
