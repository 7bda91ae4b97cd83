"""``promptlint map``: each request as the analyser sees it, segment by segment in wire order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf

from rich.cells import cell_len, set_cell_size

from promptlint.finding import Confidence
from promptlint.output import words
from promptlint.output.frame import clip
from promptlint.output.jsonformat import VERSION, dumps, interval, point
from promptlint.output.lifetime import Lifetime, lifetime
from promptlint.output.paint import Paint
from promptlint.report import Report
from promptlint.request import Axis, Breakpoint, Kind, Request, Segment
from promptlint.span import Span
from promptlint.tokens import Interval

_HEADINGS = ("#", "region", "tokens", "lifetime", "marker", "origin", "content")
_STYLE = {Lifetime.TURN: "yellow", Lifetime.CALL: "red"}


def _origin(segment: Segment) -> Span:
    """The source that makes the segment vary, or the place where it is written."""
    return segment.causes[0].origin if segment.causes else segment.span


def _number(value: Interval) -> str:
    if isinf(value.high):
        return f"{value.low:,}+" if value.low else "?"
    return f"{value.low:,}" if value.low == value.high else f"{value.low:,}-{round(value.high):,}"


def _marker(mark: Breakpoint) -> str:
    parts = [
        "automatic" if mark.automatic else "",
        mark.ttl or "ttl ?",
        f"x{_number(mark.count)}" if mark.count != Interval(1, 1) else "",
        "maybe" if mark.optional else "",
        f"refused: {mark.problem}" if mark.problem else "",
    ]
    return " ".join(part for part in parts if part)


def _content(segment: Segment) -> str:
    """The text itself in quotes, or what the code calls the value."""
    if segment.kind is Kind.TOOL:
        what = f"tool {segment.name}".rstrip() if segment.name or segment.text is None else segment.text
    elif segment.text is not None:
        what = f'"{words.plain(segment.text)}"'
    else:
        what = segment.name or ("kept turns" if segment.kind is Kind.HISTORY else f"unknown {segment.kind}")
    if segment.causes:
        what += f": {segment.causes[0].what}" if segment.causes[0].what not in what else ""
    notes = [note for note, holds in (("optional", segment.optional), ("repeated", segment.repeats)) if holds]
    return words.plain(what) + (f" ({', '.join(notes)})" if notes else "")


def shared(request: Request) -> int:
    """How many segments the next request repeats byte for byte; it is the next turn where there is one."""
    longest = Lifetime.CONVERSATION if request.reuse.turns else Lifetime.PROCESS
    ends = [index for index, segment in enumerate(request.segments) if lifetime(segment) > longest]
    ends += [mutator.position for mutator in request.mutators if mutator.guard == "always"]
    return min(ends, default=len(request.segments))


def as_layout(request: Request) -> tuple[int, str]:
    """The tokens that two requests of this site share, as one number for an estimate, and where it is from."""
    size = request.before(shared(request))
    number = size.low if isinf(size.high) else round((size.low + size.high) / 2)
    return number, f"Prefix of {words.spot(request.site.span)}: {words.quantity(size)}; {number:,} taken."


def _caching(request: Request) -> str:
    """When the provider caches, and from how many tokens on."""
    facts = request.facts
    who = facts.model or facts.provider
    if not facts.caches:
        return f"{who} does not cache prompts"
    minimum = f"{who} caches from {words.count(facts.minimum, 'token')}"
    if not facts.minimum_known:
        minimum += " at the least (depends on the model)"
    return f"{minimum}, where marked" if facts.trigger == "explicit" else minimum


def _verdict(request: Request, end: int) -> str:
    """What the provider makes of the shared prefix that ends before segment ``end``."""
    facts = request.facts
    size = request.before(end)
    if not facts.caches:
        return ""
    if size.high < facts.minimum:
        return "; too short to be cached"
    if facts.trigger == "explicit":
        marked = [mark.segment for mark in request.breakpoints if mark.problem is None and mark.segment < end]
        if not marked:
            return "; not cached: no marker in it" if not request.open else "; no marker seen in it"
        if max(marked) + 1 < end:
            return f"; cached up to its last marker, behind segment {max(marked) + 1}"
    return ""


def _facts(request: Request) -> Iterator[str]:
    yield f"to {words.recipient(request.site)}; {_caching(request)}"
    where = f" ({words.spot(request.reuse.span)})" if request.reuse.span else ""
    yield f"reuse: {words.plain(request.reuse.why) or 'no evidence that it is sent more than once'}{where}"
    if request.path:
        yield "called through: " + " > ".join(words.spot(step.span) for step in request.path)
    for mutator in request.mutators:
        guard = "" if mutator.guard == "always" else f", on {mutator.guard}"
        yield f"history changed at {words.spot(mutator.span)}: {words.plain(mutator.what)} ({mutator.kind}{guard})"
    if request.open:
        yield f"may also get, unseen: {', '.join(map(words.plain, request.open))}"
    if request.confidence is not Confidence.HIGH:
        yield f"confidence: {request.confidence}"


def _rows(request: Request) -> list[tuple[str, ...]]:
    markers: dict[int, list[str]] = {}
    for mark in request.breakpoints:
        markers.setdefault(mark.segment, []).append(_marker(mark))
    return [
        (
            str(number),
            segment.region.value,
            _number(segment.tokens),
            str(lifetime(segment)),
            ", ".join(markers.get(number - 1, [])),
            words.spot(_origin(segment)),
            _content(segment),
        )
        for number, segment in enumerate(request.segments, 1)
    ]


def _table(request: Request, width: int, paint: Paint) -> Iterator[str]:
    rows = _rows(request)
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

    end = shared(request)
    audience = "turn" if request.reuse.turns else "request"
    size = words.quantity(request.before(end))
    border = f"the prefix shared with the next {audience} ends here: {size}{_verdict(request, end)}"
    yield paint(line(_HEADINGS), "dim")
    for index, (segment, row) in enumerate(zip(request.segments, rows, strict=True)):
        if index == end:
            yield paint(f"  --- {border}", "bold")
        style = _STYLE.get(lifetime(segment))
        yield paint(line(row), style) if style else line(row)
    if end == len(rows):
        yield paint(f"  --- {border}", "bold")


def _request(request: Request, width: int, paint: Paint) -> Iterator[str]:
    yield f"{paint(words.spot(request.site.span), 'bold')} {request.api}"
    for fact in _facts(request):
        yield f"  {fact}"
    if request.segments:
        yield from _table(request, width, paint)
    else:
        yield "  nothing of its prompt could be resolved"
    yield ""


def block(request: Request, width: int) -> str:
    """One request as ``promptlint map`` prints it, without colour, for editors to show."""
    return "\n".join(_request(request, width, Paint(False))).rstrip()


def verdict(request: Request) -> str:
    """In a few words how much of a request the next one finds in the cache, for editors to show beside the call."""
    facts, size = request.facts, _number(request.size)
    if not facts.caches:
        return f"{facts.model or facts.provider} does not cache prompts"
    if not (request.reuse.turns or request.reuse.repeats):
        return f"{size} tokens, sent once as far as is known"
    prefix = request.before(shared(request))
    words = f"{_number(prefix)} of {size} tokens stay the same, caching starts at {facts.minimum:,}"
    if prefix.high < facts.minimum:
        return f"{words}: too few"
    marked = any(mark.problem is None for mark in request.breakpoints)
    return f"{words}, none are marked" if facts.trigger == "explicit" and not marked and not request.open else words


def render(report: Report, *, color: bool, width: int) -> str:
    """A block for each request, then the totals."""
    paint = Paint(color)
    lines = [line for request in report.requests for line in _request(request, width, paint)]
    lines += [*words.unread(report)]
    lines.append(f"{words.count(len(report.requests), 'request')} in {words.count(report.files, 'file')}.")
    if not report.requests:
        lines.append(words.NO_REQUEST)
    return "".join(f"{line}\n" for line in lines)


def _segment_json(index: int, request: Request) -> dict[str, object]:
    segment = request.segments[index]
    axes = {axis for cause in segment.causes for axis in cause.axes}
    mark = next((mark for mark in request.breakpoints if mark.segment == index), None)
    return {
        "region": segment.region.value,
        "text": segment.text,
        "tokens": interval(segment.tokens),
        "lifetime": str(lifetime(segment)),
        "variation": [axis.value for axis in Axis if axis in axes],
        "breakpoint": {"ttl": mark.ttl} if mark else None,
        "origin": point(_origin(segment)),
    }


def render_json(report: Report) -> str:
    """The requests as other programs read them, version 1."""
    requests = [
        {
            **point(request.site.span),
            "provider": request.site.provider,
            "model": request.site.model,
            "api": request.api,
            "segments": [_segment_json(index, request) for index in range(len(request.segments))],
        }
        for request in report.requests
    ]
    return dumps({"version": VERSION, "requests": requests})
