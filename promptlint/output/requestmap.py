"""``promptlint map``: each request as the analyser sees it, segment by segment in wire order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from rich.cells import cell_len, set_cell_size

from promptlint.output import describe, words
from promptlint.output.frame import clip
from promptlint.output.jsonformat import VERSION, dumps, interval, point
from promptlint.output.lifetime import Lifetime, lifetime
from promptlint.output.paint import Paint
from promptlint.report import Report
from promptlint.request import Axis, Request
from promptlint.tokens import Interval

_HEADINGS = ("#", "region", "tokens", "lifetime", "marker", "origin", "content")
_STYLE = {Lifetime.TURN: "yellow", Lifetime.CALL: "red"}
_INK = dict(zip(Lifetime, "#=-~.", strict=True))
_BARS = {
    Lifetime.CONSTANT: "blue",
    Lifetime.PROCESS: "cyan",
    Lifetime.CONVERSATION: "magenta",
    Lifetime.TURN: "yellow",
    Lifetime.CALL: "red",
}
_WIDEST = 100


def _rows(request: Request) -> list[tuple[str, ...]]:
    markers: dict[int, list[str]] = {}
    for mark in request.breakpoints:
        markers.setdefault(mark.segment, []).append(describe.marker(mark))
    return [
        (
            str(number),
            segment.region.value,
            describe.number(segment.tokens),
            str(lifetime(segment)),
            ", ".join(markers.get(number - 1, [])),
            words.spot(describe.origin(segment)),
            describe.content(segment),
        )
        for number, segment in enumerate(request.segments, 1)
    ]


def _folded(rows: Sequence[tuple[str, ...]], end: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The rows with the indices of their first segments; several that say the same are one, but not across ``end``."""
    runs = groupby(enumerate(rows), key=lambda pair: (pair[0] >= end, pair[1][1:]))
    for _, run in runs:
        first, *rest = run
        if len(rest) < 2:
            yield from (first, *rest)
        else:
            number, row = first
            yield number, (f"{row[0]}-{rest[-1][1][0]}", *row[1:-1], f"{row[-1]} ({len(rest) + 1} alike)")


def _table(request: Request, width: int, paint: Paint) -> Iterator[str]:
    end, border = describe.shared(request), describe.border(request)
    folded = list(_folded(_rows(request), end))
    rows = [row for _, row in folded]
    columns = [column for column in range(len(_HEADINGS)) if any(row[column] for row in rows)]
    fixed = columns[:-1]
    sizes = {column: max(cell_len(row[column]) for row in [_HEADINGS, *rows]) for column in fixed}
    room = max(20, width - sum(sizes.values()) - 2 * len(fixed) - 2)

    def line(row: Sequence[str]) -> str:
        cells = [
            row[column].rjust(sizes[column])
            if _HEADINGS[column] in ("#", "tokens")
            else set_cell_size(row[column], sizes[column])
            for column in fixed
        ]
        return "  " + "  ".join([*cells, clip(row[columns[-1]], room)]).rstrip()

    yield paint(line(_HEADINGS), "dim")
    for index, row in folded:
        if index == end:
            yield paint(f"  --- {border}", "bold")
        style = _STYLE.get(lifetime(request.segments[index]))
        yield paint(line(row), style) if style else line(row)
    if end == len(request.segments):
        yield paint(f"  --- {border}", "bold")


def _cells(request: Request, room: int) -> list[int]:
    """The cells of the bar that each segment gets: by its tokens, and at least one where there is room."""
    sizes = [describe.drawn(segment) for segment in request.segments]
    least = 1 if len(sizes) <= room else 0
    total, rest = sum(sizes) or 1, room - least * len(sizes)
    ends = [round(end / total * rest) for end in accumulate(sizes)]
    return [least + end - start for start, end in zip([0, *ends], ends, strict=False)]


def _bar(request: Request, width: int, paint: Paint) -> Iterator[str]:
    """The segments to scale with the end of the shared prefix; below, breakpoints and where caching starts."""
    cells = _cells(request, max(20, min(width, _WIDEST) - 3))
    end = describe.shared(request)
    bar, ruler, left = "", "", request.facts.minimum
    for index, (segment, room) in enumerate(zip(request.segments, cells, strict=True)):
        if index == end:
            bar, ruler = bar + paint("]", "bold"), ruler + " "
        bar += paint(_INK[lifetime(segment)] * room, _BARS[lifetime(segment)])
        line = [" "] * room
        size = describe.drawn(segment)
        if room and 0 < left <= size and request.facts.caches:
            line[min(room - 1, left * room // size)] = "|"
        left -= size
        if room and any(mark.segment == index for mark in request.breakpoints):
            line[-1] = "^"
        ruler += "".join(line)
    yield f"  {bar}{paint(']', 'bold') if end == len(cells) else ''}"
    if ruler.strip():
        yield f"  {ruler.rstrip()}"


_LEGEND = (
    "Bars: # constant, = per process, - per conversation, ~ per turn, . per call; ] the shared prefix ends, "
    "^ breakpoint, | caching starts."
)


def _request(request: Request, width: int, paint: Paint) -> Iterator[str]:
    yield f"{paint(words.spot(request.site.span), 'bold')} {request.api}"
    for fact in describe.about(request):
        yield f"  {fact}"
    if request.segments:
        yield from _bar(request, width, paint)
        yield from _table(request, width, paint)
    else:
        yield "  nothing of its prompt could be resolved"
    yield ""


def block(request: Request, width: int) -> str:
    """One request as ``promptlint map`` prints it, without colour, for editors to show."""
    return "\n".join(_request(request, width, Paint(False))).rstrip()


def render(report: Report, *, color: bool, width: int) -> str:
    """A block for each request, then the totals."""
    paint = Paint(color)
    lines = [line for request in report.requests for line in _request(request, width, paint)]
    lines += [*words.unread(report)]
    lines.append(f"{words.count(len(report.requests), 'request')} in {words.count(report.files, 'file')}.")
    lines.append(_LEGEND if report.requests else words.NO_REQUEST)
    return "".join(f"{line}\n" for line in lines)


def _segment_json(index: int, request: Request) -> dict[str, object]:
    segment = request.segments[index]
    axes = {axis for cause in segment.causes for axis in cause.axes}
    mark = next((mark for mark in request.breakpoints if mark.segment == index), None)
    return {
        "region": segment.region.value,
        "kind": segment.kind.value,
        "text": None if segment.text is None else words.discreet(segment.text),
        "tokens": interval(segment.tokens),
        "lifetime": str(lifetime(segment)),
        "variation": [axis.value for axis in Axis if axis in axes],
        "breakpoint": {"ttl": mark.ttl} if mark else None,
        "origin": point(describe.origin(segment)),
    }


def _tokens(size: Interval | None) -> dict[str, int | None] | None:
    return None if size is None else interval(size)


def render_json(report: Report) -> str:
    """The requests as other programs read them, version 1."""
    requests = [
        {
            **point(request.site.span),
            "provider": request.site.provider,
            "model": request.site.model,
            "api": request.api,
            "calls": [point(step.span) for step in request.path],
            "fallback": request.fallback,
            "minimum": request.facts.minimum,
            "shared_segments": describe.shared(request),
            "shared_tokens": interval(request.before(describe.shared(request))),
            "lost_behind": _tokens(describe.lost(request)),
            "growth_per_turn": _tokens(describe.growth(request)),
            "segments": [_segment_json(index, request) for index in range(len(request.segments))],
        }
        for request in report.requests
    ]
    return dumps({"version": VERSION, "requests": requests})
