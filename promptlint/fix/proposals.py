"""What could end a finding: the edits for each rule, and whether they change more than the order of what is sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from promptlint.finding import Applicability, Edit, Finding, Fix
from promptlint.fix import clocks, history, markers, objects, order, remarks
from promptlint.fix.files import Files
from promptlint.fix.module import Module
from promptlint.link.values import LISTED
from promptlint.report import Report
from promptlint.request import Breakpoint, Cause, Request
from promptlint.span import Span

ORDER = frozenset(["unordered-text", "unstable-json", "unordered-tools"])
"""The rules about collections without an order, one of which can be behind several findings."""

_KINDS = frozenset(["unordered", "json"])
_DAY = 86_400
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix, and the findings that it is for. ``origin``: the unordered collection, where it is about one."""

    fix: Fix
    findings: tuple[Finding, ...]
    origin: Span | None = None


def make(report: Report, findings: Iterable[Finding], files: Files) -> list[Proposal]:
    """The proposals for findings, at most one for each of them; they have not been tried."""
    wanted = list(findings)
    made = list(_ordered(report, [f for f in wanted if f.rule in ORDER], files))
    for finding in wanted:
        propose = _BY_RULE.get(finding.rule)
        place = finding.site.span if finding.rule in _AT_SITE else finding.primary
        module = files.get(place.path) if propose is not None and place.cell is None else None
        if propose is None or module is None:
            continue
        fix = next((fix for fix in propose(finding, report, module) if fix.edits), None)
        if fix is not None:
            made.append(Proposal(fix, (finding,)))
    return made


# -- order -----------------------------------------------------------------------------------------------------------


def _causes(report: Report) -> Iterator[tuple[Cause, bool]]:
    """Each cause of an order that is not fixed, wherever it is rendered, and whether that is in a tool."""
    for request in report.requests:
        for segment in request.segments:
            yield from ((cause, segment.region == "tools") for cause in segment.causes if cause.kind in _KINDS)
        for parameter in request.parameters.values():
            yield from ((cause, False) for cause in parameter.causes if cause.kind in _KINDS)


def unordered(report: Report) -> set[Span]:
    """The collections whose order is rendered and not fixed."""
    return {cause.origin for cause, _ in _causes(report)}


def _origins(finding: Finding) -> list[Span]:
    """The collections that a finding is about."""
    places = (finding.origin, *(span for span, _ in finding.related))
    return [place for place in places if place is not None and place.cell is None]


def _ordered(report: Report, findings: Iterable[Finding], files: Files) -> Iterator[Proposal]:
    about: dict[Span, list[Finding]] = defaultdict(list)
    for finding in findings:
        for origin in _origins(finding):
            about[origin].append(finding)
    uses: dict[Span, set[Span]] = defaultdict(set)
    rows: dict[Span, str] = {}
    only_tools: dict[Span, bool] = defaultdict(lambda: True)
    for cause, tool in _causes(report):
        if cause.origin in about:
            listed = next((step.span for step in cause.flow if step.message == LISTED), None)
            uses[cause.origin].add(listed or about[cause.origin][0].primary)
            rows[cause.origin] = (cause.because or "").rpartition(": ")[2]
            only_tools[cause.origin] &= tool
    for origin in sorted(rows):
        disorder = order.Disorder(origin, frozenset(uses[origin]), rows[origin], only_tools[origin])
        modules = {path: files.get(path) for path in sorted({span.path for span in (origin, *uses[origin])})}
        edits = order.edits(disorder, {path: module for path, module in modules.items() if module is not None})
        if edits:
            yield Proposal(Fix(SAFE, "sort it where it is listed", edits), tuple(about[origin]), origin)


# -- markers ---------------------------------------------------------------------------------------------------------


def _fix(applicability: Applicability, title: str, edits: tuple[Edit, ...]) -> Fix:
    return Fix(applicability, title, edits)


def _marker(report: Report, span: Span) -> Breakpoint | None:
    return next((mark for request in report.requests for mark in request.breakpoints if mark.span == span), None)


def _request(report: Report, finding: Finding) -> Request | None:
    return next((request for request in report.requests if request.site == finding.site), None)


def _refused_marker(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    marker = _marker(report, finding.primary)
    match marker.problem if marker is not None else None:
        case "empty" | "thinking" as problem:
            where = "the empty text" if problem == "empty" else "the thinking block"
            yield _fix(SAFE, f"take the breakpoint off {where}", markers.off(module, finding.primary))
        case "message":
            edits = markers.on_block(module, finding.primary)
            yield _fix(SAFE, "write the content as a block of text with the breakpoint on it", edits)


def _marker_loop(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    edits = markers.last_only(module, finding.primary)
    yield _fix(SAFE, "set the breakpoint once, on the last element", edits)


def _lifetime(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    wanted = {finding.primary, *(span for span, _ in finding.related)}
    marks = next((r.breakpoints for r in report.requests if wanted <= {m.span for m in r.breakpoints}), ())
    longer = next((mark for mark in marks if mark.span == finding.primary), None)
    if longer is None or longer.ttl is None:
        return
    earlier = {mark.span for mark in marks[: marks.index(longer)] if mark.ttl != longer.ttl}
    edits = [markers.same_lifetime(module, span, longer.ttl) if span.path == module.path else () for span in earlier]
    if all(edits):
        made = tuple(edit for some in edits for edit in some)
        yield _fix(SAFE, f"give what comes before it a lifetime of {longer.ttl} as well", made)


def _idle_marker(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    yield _fix(UNSAFE, "leave the breakpoint out", markers.off(module, finding.primary))


def _new_marker(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    request = _request(report, finding)
    if request is None or not request.api.startswith("anthropic."):
        return
    if request.reuse.turns and f"request {markers.MARKER}" not in request.facts.refuses:
        edits = markers.on_request(module, finding.site.span)
        yield _fix(UNSAFE, "let the API set a breakpoint on the newest block of each turn", edits)
    edits = markers.on_system(module, finding.site.span)
    yield _fix(UNSAFE, "set a breakpoint on the last block of the system text", edits)


# -- the rest --------------------------------------------------------------------------------------------------------


def _clock(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    origin = finding.origin
    grains = {c.grain for r in report.requests for s in r.segments for c in s.causes if c.origin == origin and c.grain}
    if origin is None or not grains or min(grains) >= _DAY:
        return
    if origin.path == module.path:
        places = (finding.primary, *(step.span for step in finding.flow))
        lines = frozenset(place.line for place in places if place.path == module.path)
        yield _fix(UNSAFE, "print the day and nothing finer", clocks.by_the_day(module, origin, lines))
    yield _fix(UNSAFE, "print the day and nothing finer", clocks.of_helper(module, finding.primary))


def _inserted(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    yield _fix(UNSAFE, "append the message instead", history.appended(module, finding.primary))


def _window(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    mutators = (m for request in report.requests for m in request.mutators if m.kind == "window")
    keeps = next((mutator.keeps for mutator in mutators if mutator.span == finding.primary), None)
    bulk = history.in_bulk(module, finding.primary, keeps)
    if bulk is not None:
        yield _fix(UNSAFE, f"cut in bulk, from more than {bulk.above} messages to {bulk.keeps}", bulk.edits)
    size = f"{keeps} messages" if keeps else "its size"
    steps = history.in_steps(module, finding.primary)
    yield _fix(UNSAFE, f"move the start of the window on by {size} at a time", steps)


def _cached_content(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    edits, complete = objects.fields(module, finding.site.span)
    if complete:
        yield _fix(SAFE, "leave to the cache object what belongs into it", edits)
    else:
        yield _fix(UNSAFE, "take out of the request what the cache object has to hold", edits)


def _comment(finding: Finding, report: Report, module: Module) -> Iterator[Fix]:
    edits = remarks.cleared(module, finding.primary, finding.message)
    yield _fix(SAFE, "remove what suppresses nothing", edits)


_AT_SITE = frozenset(["cached-content-conflict", "missing-breakpoint"])
"""Rules whose fix is where the request is sent, wherever the finding is."""
_BY_RULE: Mapping[str, Callable[[Finding, Report, Module], Iterator[Fix]]] = {
    "cached-content-conflict": _cached_content,
    "invalid-breakpoint": _refused_marker,
    "missing-breakpoint": _new_marker,
    "prefix-below-minimum": _idle_marker,
    "prepended-history": _inserted,
    "sliding-window": _window,
    "too-many-breakpoints": _marker_loop,
    "ttl-order": _lifetime,
    "unused-ignore": _comment,
    "volatile-time": _clock,
}
