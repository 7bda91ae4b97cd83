"""What could end a finding: the edits for each rule, and whether they change more than the order of what is sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from promptlint.finding import Applicability, Edit, Finding, Fix, Region, Scope
from promptlint.fix import clocks, frozen, history, markers, moves, objects, order, remarks
from promptlint.fix.files import Files
from promptlint.fix.module import Module
from promptlint.gates.levels import takes_one_marker
from promptlint.report import Report
from promptlint.request import Breakpoint, Cause, Request
from promptlint.span import Hop, Span

ORDER = frozenset(["unordered-text", "unstable-json", "unordered-tools"])
"""The rules about collections without an order, one of which can be behind several findings."""

_KINDS = frozenset(["unordered", "json"])
_DAY = 86_400
_CONVERSE = frozenset(["boto3.converse", "boto3.converse_stream"])
"""Requests with breakpoints that are blocks of their own."""
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix, and the findings that it is for. ``origin``: the unordered collection, where it is about one."""

    fix: Fix
    findings: tuple[Finding, ...]
    origin: Span | None = None
    told: Edit | None = None
    """The edit that puts what another one takes away into a message, which has to be sent."""
    other: Proposal | None = None
    """What to try for the same findings when this one fails."""

    def all(self) -> Iterator[Proposal]:
        """This one and the others for the same findings, best first."""
        yield self
        if self.other is not None:
            yield from self.other.all()


@dataclass(frozen=True, slots=True)
class _Way:
    """One way out of a finding; without edits where the code does not have the shape for it."""

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...]
    told: Edit | None = None


def make(report: Report, findings: Iterable[Finding], files: Files) -> list[Proposal]:
    """The proposals for findings, the best one for each of them; they have not been tried."""
    wanted = list(findings)
    made = list(_ordered(report, [f for f in wanted if f.rule in ORDER], files))
    for finding in wanted:
        propose = _BY_RULE.get(finding.rule)
        place = _place(finding)
        module = files.get(place.path) if propose is not None and place.cell is None else None
        if propose is None or module is None:
            continue
        proposal: Proposal | None = None
        for way in reversed([way for way in propose(finding, report, module) if way.edits]):
            fix = Fix(way.applicability, way.title, way.edits)
            proposal = Proposal(fix, (finding,), told=way.told, other=proposal)
        if proposal is not None:
            made.append(proposal)
    return made


def _place(finding: Finding) -> Span:
    """Where the fix of a finding begins."""
    if finding.rule in _AT_SITE:
        return finding.site.span
    return finding.origin if finding.origin is not None and finding.rule in _AT_ORIGIN else finding.primary


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
            listed = next((step.span for step in cause.flow if step.hop is Hop.LISTED), None)
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


def _marker(report: Report, span: Span) -> Breakpoint | None:
    return next((mark for request in report.requests for mark in request.breakpoints if mark.span == span), None)


def _request(report: Report, finding: Finding) -> Request | None:
    return next((request for request in report.requests if request.site == finding.site), None)


def _refused_marker(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    marker = _marker(report, finding.primary)
    match marker.problem if marker is not None else None:
        case "empty" | "thinking" as problem:
            where = "the empty text" if problem == "empty" else "the thinking block"
            yield _Way(SAFE, f"take the breakpoint off {where}", markers.off(module, finding.primary))
        case "message":
            edits = markers.on_block(module, finding.primary)
            yield _Way(SAFE, "write the content as a block of text with the breakpoint on it", edits)
            gone, instead = markers.off(module, finding.primary), markers.on_system(module, finding.site.span)
            if gone and instead and finding.site.span.path == module.path:
                title = "set the breakpoint on the last block of the system text instead"
                yield _Way(UNSAFE, title, (*gone, *instead))


def _marker_loop(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    edits = markers.last_only(module, finding.primary)
    yield _Way(SAFE, "set the breakpoint once, on the last element", edits)


def _lifetime(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    wanted = {finding.primary, *(span for span, _ in finding.related)}
    marks = next((r.breakpoints for r in report.requests if wanted <= {m.span for m in r.breakpoints}), ())
    longer = next((mark for mark in marks if mark.span == finding.primary), None)
    if longer is None or longer.ttl is None:
        return
    earlier = {mark.span for mark in marks[: marks.index(longer)] if mark.ttl != longer.ttl}
    edits = [markers.same_lifetime(module, span, longer.ttl) if span.path == module.path else () for span in earlier]
    if all(edits):
        made = tuple(edit for some in edits for edit in some)
        yield _Way(SAFE, f"give what comes before it a lifetime of {longer.ttl} as well", made)


def _idle_marker(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    yield _Way(UNSAFE, "leave the breakpoint out", markers.off(module, finding.primary))


def _new_marker(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    request = _request(report, finding)
    if request is None:
        return
    title = "set a breakpoint on the last block of the system text"
    if request.api in _CONVERSE:
        yield _Way(UNSAFE, title, markers.behind_system(module, finding.site.span))
    if not request.api.startswith("anthropic."):
        return
    if takes_one_marker(request):
        yield _Way(UNSAFE, finding.advice, markers.on_request(module, finding.site.span))
    yield _Way(UNSAFE, title, markers.on_system(module, finding.site.span))


# -- the rest --------------------------------------------------------------------------------------------------------


def _turn(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    """What changes with each turn, said in the message of the turn."""
    request = _request(report, finding)
    if request is not None and finding.region is Region.SYSTEM and finding.scope is Scope.TURN and request.reuse.turns:
        near = [finding.site.span, *([request.reuse.span] if request.reuse.span is not None else [])]
        edits = moves.to_newest(module, finding.primary, near)
        told = edits[-1] if edits else None
        yield _Way(UNSAFE, "say it in the newest message, which is stored", edits, told)


def _id(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    yield from _turn(finding, report, module)
    if finding.origin is not None and finding.origin.path == module.path:
        yield from _ahead_of_loop(finding, report, module)


def _ahead_of_loop(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    request = _request(report, finding)
    turns = request.reuse.span if request is not None and request.reuse.turns else None
    if finding.origin is not None and turns is not None and turns.path == module.path:
        edits = frozen.ahead_of_loop(module, finding.origin, turns)
        yield _Way(UNSAFE, "read it once, ahead of the loop", edits)


def _environment(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    if finding.origin is None or finding.scope is not Scope.TURN:
        return
    yield from _ahead_of_loop(finding, report, module)
    yield _Way(UNSAFE, "read it once for the process", frozen.once(module, finding.origin))


def _clock(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    origin = finding.origin
    grains = {c.grain for r in report.requests for s in r.segments for c in s.causes if c.origin == origin and c.grain}
    if origin is None or not grains or min(grains) >= _DAY:
        return
    if origin.path == module.path:
        places = (finding.primary, *(step.span for step in finding.flow))
        lines = frozenset(place.line for place in places if place.path == module.path)
        yield _Way(UNSAFE, "print the day and nothing finer", clocks.by_the_day(module, origin, lines))
    yield _Way(UNSAFE, "print the day and nothing finer", clocks.of_helper(module, finding.primary))
    yield from _turn(finding, report, module)


def _inserted(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    yield _Way(UNSAFE, "append the message instead", history.appended(module, finding.primary))


def _window(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    mutators = (m for request in report.requests for m in request.mutators if m.kind == "window")
    keeps = next((mutator.keeps for mutator in mutators if mutator.span == finding.primary), None)
    bulk = history.in_bulk(module, finding.primary, keeps)
    if bulk is not None:
        yield _Way(UNSAFE, f"cut in bulk, from more than {bulk.above} messages to {bulk.keeps}", bulk.edits)
    steps = history.in_steps(module, finding.primary, keeps)
    yield _Way(UNSAFE, f"move the start of the window on by {keeps} messages at a time", steps)


def _cached_content(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    edits, complete = objects.fields(module, finding.site.span)
    if complete:
        yield _Way(SAFE, "leave to the cache object what belongs into it", edits)
    else:
        yield _Way(UNSAFE, "take out of the request what the cache object has to hold", edits)


def _comment(finding: Finding, report: Report, module: Module) -> Iterator[_Way]:
    edits = remarks.cleared(module, finding.primary, finding.message)
    yield _Way(SAFE, "remove what suppresses nothing", edits)


_AT_SITE = frozenset(["cached-content-conflict", "missing-breakpoint"])
"""Rules whose fix is where the request is sent, wherever the finding is."""
_AT_ORIGIN = frozenset(["volatile-environment"])
"""Rules whose fix is where the value comes from."""
_BY_RULE: Mapping[str, Callable[[Finding, Report, Module], Iterator[_Way]]] = {
    "cached-content-conflict": _cached_content,
    "invalid-breakpoint": _refused_marker,
    "missing-breakpoint": _new_marker,
    "prefix-below-minimum": _idle_marker,
    "prepended-history": _inserted,
    "sliding-window": _window,
    "too-many-breakpoints": _marker_loop,
    "ttl-order": _lifetime,
    "unused-ignore": _comment,
    "volatile-environment": _environment,
    "volatile-random": _id,
    "volatile-state": _turn,
    "volatile-time": _clock,
}
