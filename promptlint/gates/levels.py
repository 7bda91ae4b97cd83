"""The gates and levels: what ends a shared prefix too early, and how loudly to say so.

Rules read the verdicts (``Request.breaks``) and add words; none of them repeats a gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import inf
from pathlib import PurePath
from typing import Literal

from promptlint.finding import Applicability, Confidence, Finding, Fix, Option, Region, Scope, Severity
from promptlint.provider import Facts
from promptlint.request import (
    WRAPPED,
    Axis,
    Break,
    Breakpoint,
    Carrier,
    Cause,
    Kind,
    Moment,
    Mutator,
    Request,
    Segment,
)
from promptlint.span import Span, Step
from promptlint.tokens import UNKNOWN, ZERO, Interval

HOUR, HALF_DAY, DAY = 3_600.0, 43_200.0, 86_400.0
Options = tuple[tuple[str, str], ...]
"""Ways out of a finding: the title of each, and what comes of it."""

MANY_BREAKS = 4
"""Breaks of one request and scope that are reported at their full level."""
MANY_LISTS, MANY_PARTS = 8, 80
"""Segments of kept turns, and of all kinds, beyond which it is a guess where a vague value or one in a turn stands."""
WORTH_A_LINE = 256
"""Tokens below which a lost prefix is not worth a word, also where an engine caches every token."""

_PER_TURN = frozenset({Axis.CALL, Axis.TURN})
_PER_CONVERSATION = _PER_TURN | {Axis.CONVERSATION, Axis.USER}
_PER_PROCESS = frozenset({Axis.PROCESS, Axis.HASH_SEED, Axis.MACHINE, Axis.DEPLOYMENT})

_SERIOUS = frozenset({"opaque", "opaque-call", "unknown-call", "name-match", "assumed-entry", "bound"})
"""Approximations of which two leave little certainty; any other lowers it by one step in all."""

_DOUBTS = {
    "opaque-call": "a value goes through code that is not looked into",
    "bound": "not all of the code on the way was followed",
    "name-match": "a method was found by its name",
    "fallback": "the value is used only where none was stored",
    "assumed-entry": "nothing shows that this code is called again",
    "library-entry": "who calls it again is outside the project",
    "history-by-name": "that turns are kept is read off a name",
    "history-by-shape": "that turns are kept is read off the messages",
}
"""What features say, for a finding that is less than certain; others are no approximations in themselves."""

_RENDERED = frozenset({"time", "random", "counter", "environment", "unordered", "json", "signed"})
"""Causes that spoil a history when it is rendered anew for each request; what users and tools say belongs in it."""

_FOUND = frozenset({"environment", "counter"})
"""Causes that belong in what a tool found out, which is kept as it was then."""

_ORDERS = frozenset({"unordered", "json"})
"""Causes that are an order: what is listed stays the same, be it as text or as JSON."""

_PLACES = {
    Region.TOOLS: "in the tools",
    Region.SYSTEM: "in the system text",
    Region.FIRST_MESSAGE: "in the first message",
    Region.MID_HISTORY: "among the old messages",
    Region.LAST_MESSAGE: "in the newest message",
    Region.PARAMETERS: "in the parameters",
}
_SHARERS = {
    Scope.TURN: "the next turn",
    Scope.CONVERSATION: "another conversation",
    Scope.PROCESS: "another process",
    Scope.REQUEST: "the request",
}
_GUARDS = {
    "threshold": "above a threshold",
    "error": "on an error path",
    "command": "on a command of the user",
    "round": "in one round of a loop",
    "configuration": "with an option switched on",
}


# --- what rules and the engine ask for -------------------------------------------------------------------------------


def breaks(request: Request, gap: float) -> tuple[Break, ...]:
    """The places where the prefix of this request stops being shared, in wire order, with what each costs.

    ``gap`` is the typical time between two turns in seconds. A cause is reported once, for the scope in which it is
    loudest, and only if text that could be reused stands behind it. The first break of each scope is ``earliest``; one
    that is a mere remark does not make a finding behind it a later one.
    """
    if not request.facts.caches or not (request.reuse.turns or request.reuse.repeats):
        return ()
    found: list[Break] = []
    losses: dict[tuple[int, Scope, Moment, bool], Interval] = {}
    for index, segment in enumerate(request.segments):
        for cause in segment.causes:
            candidates = tuple(_candidates(request, index, cause, gap, losses))
            if not candidates:
                continue
            loudest = max(candidates, key=lambda b: b.severity)
            known = next((n for n, b in enumerate(found) if _same_fault(b, index, cause)), None)
            if known is not None and _tells_as_much(found[known], loudest):
                continue
            # A date and then a time of the same clock: the finer one is the fault.
            rest = found if known is None else [*found[:known], *found[known + 1 :]]
            found = [*rest, replace(loudest, earliest=not any(_hides(b, loudest) for b in rest))]
    return tuple(_fewer(found))


def _hides(ahead: Break, broken: Break) -> bool:
    """Whether a break ahead of another one costs all that it does: it is of its scope, and no mere remark."""
    return ahead.scope is broken.scope and ahead.severity >= min(broken.severity, Severity.WARNING)


def _fewer(found: list[Break]) -> Iterator[Break]:
    """The first break of a scope as loud as it is; later ones that cost the same once more, up to ``MANY_BREAKS``.

    What is beyond that is for the next run: whoever moves the first values out of the way sees the others then.
    """
    seen: Counter[Scope] = Counter()
    ordered = sorted(found, key=lambda b: b.segment)
    for index, broken in enumerate(ordered):
        if broken.severity > Severity.INFO:
            seen[broken.scope] += 1
            # One that happens less often does not hide one that happens on every turn, nor a guess what is surer.
            covered = broken.confidence < Confidence.HIGH and any(_covers(b, broken) for b in ordered[:index])
            if seen[broken.scope] > MANY_BREAKS or covered:
                broken = replace(broken, severity=Severity.INFO)
        yield broken


def _covers(ahead: Break, broken: Break) -> bool:
    """Whether a break ahead of another one is of its kind and costs all that it does, at least as surely."""
    as_loud = ahead.severity >= broken.severity and ahead.confidence >= broken.confidence
    alike = ahead.cause.kind == broken.cause.kind or {ahead.cause.kind, broken.cause.kind} <= _VAGUE
    return ahead.scope is broken.scope and alike and as_loud


_VAGUE = frozenset(("state", "user", "counter", "conditional", "opaque"))


def _tells_as_much(known: Break, other: Break) -> bool:
    """Whether a break says all that another one of the same fault does: that a text is there or not says less."""
    vague = known.cause.kind == "conditional" and other.cause.kind not in _VAGUE
    return known.severity > other.severity or (known.severity == other.severity and not vague)


def _same_fault(known: Break, index: int, cause: Cause) -> bool:
    """One origin is one fault; so are several vague causes of one value, since which of them it is changes nothing."""
    if known.cause.kind in _VAGUE and cause.kind in _VAGUE:
        # Text that comes and goes in one place and text that varies in another are put right one by one.
        alike = (known.cause.kind == "conditional") is (cause.kind == "conditional")
        return known.segment == index or (alike and known.cause.origin == cause.origin)
    alike = known.cause.kind == cause.kind or "conditional" in (known.cause.kind, cause.kind)
    return alike and known.cause.origin == cause.origin


def reaches_minimum(tokens: Interval, facts: Facts) -> Literal["yes", "maybe", "no"]:
    """Whether that much text can be cached at all by the provider."""
    minimum = max(facts.minimum, WORTH_A_LINE)
    if tokens.low >= minimum:
        return "yes"
    return "maybe" if tokens.high >= minimum else "no"


def one_step_down(confidence: Confidence) -> Confidence:
    """The next lower confidence; LOW stays LOW."""
    return Confidence(max(confidence - 1, Confidence.LOW))


def certainty(request: Request, features: frozenset[str] = frozenset()) -> Confidence:
    """The confidence left after the approximations of the request, of its reuse and of a cause or mutator."""
    taken = features | request.reuse.features
    if len(taken & _SERIOUS) > 1 or request.confidence is Confidence.LOW:
        return Confidence.LOW
    return Confidence.MEDIUM if taken or request.confidence < Confidence.HIGH else Confidence.HIGH


def doubts(request: Request, features: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The approximations behind ``certainty`` in words."""
    return tuple(words for feature, words in _DOUBTS.items() if feature in features | request.reuse.features)


def under_guard(guard: str | None, severity: Severity, confidence: Confidence) -> tuple[Severity, Confidence]:
    """The level of something that only happens under a guard ("always" or ``None``: no guard)."""
    if guard in (None, "always"):
        return severity, confidence
    if guard in ("command", "round"):
        return min(severity, Severity.WARNING), min(confidence, Confidence.MEDIUM)
    return Severity.INFO, confidence


def keeps_history(request: Request) -> bool:
    """Whether a later request repeats the turns of this one."""
    return request.reuse.turns


def per_turn(cause: Cause) -> bool:
    """Whether what a value depends on differs from one turn of a conversation to the next."""
    return _differs(cause, Scope.TURN, Moment.CALL)


def per_call(cause: Cause) -> bool:
    """Whether what a value depends on differs between any two requests, also of one conversation."""
    return (
        cause.kind != "opaque" and cause.conditional is None and Axis.CALL in cause.axes and cause.moment >= Moment.CALL
    )


def per_conversation(cause: Cause) -> bool:
    """Whether what a value depends on differs from one conversation, or one user, to the next."""
    return cause.kind != "opaque" and _differs(cause, Scope.CONVERSATION, Moment.SESSION)


def seldom_filled(request: Request, keeps: int) -> bool:
    """Whether only long conversations have more messages than a window keeps.

    A step of a loop that asks nobody, or that calls tools, adds two; a program that asks a known number of questions
    may take two steps for each.
    """
    newest = (s for s in request.segments if s.region is Region.LAST_MESSAGE)
    asks = request.reuse.repeats != "loop" or any(c.kind == "user" for s in newest for c in s.causes)
    steps = not asks or any(segment.region is Region.TOOLS for segment in request.segments)
    all_turns = inf if request.reuse.at_most is None else 4 * request.reuse.at_most
    return keeps > (100 if steps else 40) or keeps >= all_turns


def assumed(request: Request) -> bool:
    """Whether nothing in the project shows that the code which sends is called again."""
    return request.reuse.repeats == "assumed" or "assumed-entry" in request.reuse.features


def unmarked(request: Request) -> bool:
    """Whether the provider caches nothing here today, because it wants a breakpoint and none is set."""
    facts = request.facts
    if WRAPPED in request.open:
        return False
    return facts.trigger == "explicit" and facts.max_breakpoints is not None and not request.breakpoints


def leaves_out_history(request: Request) -> bool:
    """Whether breakpoints are set, all of them ahead of the kept turns, which nothing keeps from being read again."""
    turns = [i for i, segment in enumerate(request.segments) if _kept(segment)]
    if not (turns and request.breakpoints) or any(_position(request, m) >= turns[0] for m in request.breakpoints):
        return False
    spoiled = any(b.scope is Scope.TURN and b.segment <= turns[-1] for b in request.breaks)
    return request.facts.trigger == "explicit" and not (spoiled or request.mutators)


def takes_no_marker(request: Request) -> bool:
    """Whether the form of a request has no place for its provider's marker: OpenAI's, sent to Anthropic."""
    return request.site.provider == "anthropic" and request.api.startswith("openai.")


def takes_one_marker(request: Request) -> bool:
    """Whether kept turns are cached with one field of the request, which marks the newest block of each turn."""
    taken = request.api.startswith("anthropic.") and "request cache_control" not in request.facts.refuses
    return taken and keeps_history(request)


def worth_a_word(tokens: Interval) -> bool:
    """Whether enough tokens are known of for a remark."""
    return tokens.low >= WORTH_A_LINE


def shared_prefix(request: Request) -> Interval:
    """Tokens at the start of the request that every conversation of the program sends alike.

    Unknown text in a message may be what is asked: what stands behind it counts as possible only.
    """
    total, sure = ZERO, True
    for segment in request.segments:
        if _kept(segment) or any(_differs(c, Scope.CONVERSATION, Moment.SESSION) for c in segment.causes):
            break
        sure = sure and (constant(segment) or segment.region in (Region.TOOLS, Region.SYSTEM))
        weight = _weight(segment)
        total += weight if sure else Interval(0, weight.high)
    return total


def constant(segment: Segment) -> bool:
    """Whether the segment is known to be the same in every request of the program."""
    known = segment.text is not None or segment.persistent or segment.kind is Kind.TOOL
    return known and not segment.causes and not segment.repeats


def spoiled_marker(request: Request, broken: Break) -> Breakpoint | None:
    """The breakpoint that stands on the very block whose tail varies: an entry that is written and never read.

    ``None`` when something behind the break is lost as well (then the value itself is in the wrong place).
    """
    segment = request.segments[broken.segment]
    if request.facts.trigger != "explicit" or broken.scope is Scope.PROCESS or segment.region is Region.TOOLS:
        return None
    end = _last_marked(request)
    if history_behind(request, broken) or end < broken.segment:
        return None
    behind = sum((_weight(s) for s in request.segments[broken.segment + 1 : end + 1] if not s.causes), ZERO)
    if segment.region is not Region.LAST_MESSAGE and reaches_minimum(behind, request.facts) != "no":
        return None
    return next(_markers_over(request, broken.segment), None)


def unread_marker(request: Request, broken: Break) -> Breakpoint | None:
    """The breakpoint on a block of the system text that ends in what changes on every turn, ahead of kept turns.

    What it writes is never read, wherever else the value does harm; ``None`` when nothing is written there, or when the
    block begins with the value, so that no better place in it exists.
    """
    index, segments = broken.segment, request.segments
    if (
        segments[index].region is not Region.SYSTEM
        or broken.severity < Severity.ERROR
        or not history_behind(request, broken)
    ):
        return None
    marker = next((m for m in _markers_over(request, index) if not m.automatic), None)
    if marker is None or reaches_minimum(request.before(marker.segment + 1), request.facts) == "no":
        return None
    ahead = sum((_weight(s) for s in segments[:index] if s.message == segments[index].message), ZERO)
    behind = sum((_weight(s) for s in segments[index + 1 : marker.segment + 1] if not s.causes), ZERO)
    return marker if ahead.low > behind.low else None


def one_time_markers(request: Request) -> Iterator[tuple[Breakpoint, Cause, Interval]]:
    """The breakpoints of a loop that close a text of one iteration, behind a text with a breakpoint of its own that is
    the same in all: each with what varies and the tokens that it writes each time for nobody.

    A text of an outer loop is read by the requests of the inner one, and that of a kept history by the next turn.
    """
    marks = sorted((m for m in request.breakpoints if m.problem is None and not m.optional), key=lambda m: m.segment)
    for before, marker in pairwise(marks) if request.reuse.repeats == "loop" and not request.reuse.turns else ():
        own = request.segments[before.segment + 1 : marker.segment + 1]
        once = (c for s in own for c in s.causes if c.moment is Moment.LOOP and not (c.conditional or c.features))
        cause = next((c for c in once if Axis.CALL in c.axes), None)
        constant_ahead = not any(segment.causes for segment in request.segments[: before.segment + 1])
        if cause and constant_ahead and request.before(marker.segment + 1).low >= request.facts.minimum:
            yield marker, cause, sum((segment.tokens for segment in own), ZERO)


def _markers_over(request: Request, index: int) -> Iterator[Breakpoint]:
    """The breakpoints that close the block of the segment at ``index``; for the newest message, all behind it."""
    segment = request.segments[index]
    for marker in request.breakpoints:
        marked = request.segments[_position(request, marker)]
        same_block = (marked.region, marked.message) == (segment.region, segment.message)
        if (
            marker.problem is None
            and _position(request, marker) >= index
            and (same_block or segment.region is Region.LAST_MESSAGE)
        ):
            yield marker


def text_breaks(request: Request, kind: str) -> Iterator[Break]:
    """The breaks by causes of one kind in prompt text, except those that are the fault of a breakpoint's place.

    A random value in a kept turn is the fault of how the turn is sent again: see ``replay_breaks``.
    """
    for broken in request.breaks:
        segment = request.segments[broken.segment]
        elsewhere = segment.region is Region.TOOLS or (kind == "random" and _kept(segment))
        if broken.cause.kind == kind and not elsewhere and not spoiled_marker(request, broken):
            yield broken


def replay_breaks(request: Request) -> Iterator[Break]:
    """The breaks by random values that are put anew into turns which were sent before."""
    for broken in request.breaks:
        if broken.cause.kind == "random" and _kept(request.segments[broken.segment]):
            yield broken


def repaid(request: Request, mutator: Mutator) -> tuple[Severity, str]:
    """What it costs that a turn is stored in another form than it was sent in, as a level and in words.

    Nothing that was written to the cache from that turn on is read by the next one. How much that is depends on what
    was sent behind it, and on whether an earlier breakpoint keeps what stands ahead of it.
    """
    marked = [_position(request, m) for m in request.breakpoints if m.problem is None]
    if request.facts.trigger == "explicit" and marked and max(marked) >= mutator.position:
        history = [i for i, s in enumerate(request.segments) if i < mutator.position and _kept(s)]
        if history and not any(history[-1] <= m < mutator.position for m in marked):
            return Severity.ERROR, "what the breakpoint on it writes to the cache, the history included, is never read"
        return Severity.WARNING, "what the breakpoint on it writes to the cache is never read"
    if mutator.behind:
        return Severity.WARNING, "the next turn cannot reuse it, nor the steps that were sent behind it"
    return Severity.INFO, "the next turn reads it again"


def overlooked(request: Request) -> Breakpoint | None:
    """The breakpoint at the end that does not look back as far as the end of the turn before; ``None`` if it does.

    Between the two lie the blocks that the newest turn adds and a reply of one block at least; the breakpoint's own
    block counts as the first. One on what was kept, or among the new blocks, keeps an entry within reach.
    """
    reach, last = request.facts.lookback, _last_history(request)
    if reach is None or request.facts.trigger != "explicit" or last < 0 or request.added + 2 <= reach:
        return None
    behind = [m for m in request.breakpoints if m.problem is None and _position(request, m) > last]
    kept = any(m.problem is None and _kept(request.segments[_position(request, m)]) for m in request.breakpoints)
    return behind[0] if len(behind) == 1 and behind[0].count.high <= 1 and not kept else None


def tool_breaks(request: Request) -> Iterator[tuple[Break, Literal["order", "set", "definition"]]]:
    """The breaks in the tools: whether the order of tools, the set of them or the text of one differs."""
    for broken in request.breaks:
        segment, kind = request.segments[broken.segment], broken.cause.kind
        if segment.region is not Region.TOOLS:
            continue
        if kind == "unordered" and not broken.cause.within:
            yield broken, "order"
        elif kind in ("time", "random", "environment", "unordered") or not (
            segment.optional or segment.repeats or kind == "conditional"
        ):
            yield broken, "definition"
        else:
            yield broken, "set"


def history_behind(request: Request, broken: Break) -> bool:
    """Whether kept turns are part of what the next turn loses."""
    return broken.scope is Scope.TURN and _last_history(request) >= broken.segment


# --- findings and their words ----------------------------------------------------------------------------------------


def report(
    request: Request,
    broken: Break,
    advice: str,
    subject: str = "",
    loss: str = "",
    kind: str = "",
    options: Options = (),
) -> Finding:
    """The finding for a break: what varies, where, how often, and what that costs.

    ``subject`` and ``loss`` replace the words for the cause in its place and for what becomes of the tokens. Where the
    user has to choose between several ways out, ``options`` are these, each with what comes of it.
    """
    cause, segment = broken.cause, request.segments[broken.segment]
    changes, subject = how_often(broken), subject or f"{cause.what} {_PLACES[segment.region]}"
    loss = loss or ("cannot be reused" if broken.scope is Scope.TURN else "cannot be shared")
    told = cause.conditional in ("threshold", "error", "configuration") and not _is_reached(cause)
    guard = f" ({_GUARDS[cause.conditional or '']})" if told else ""
    later = f", even once {_earlier(request, broken)} is fixed" if not broken.earliest else ""
    message = f"{subject} {changes}{guard}: {cost(request, broken)} {loss}{later}"
    if unmarked(request):
        message += "; nothing is cached here yet (no breakpoint is set), and this would defeat one"
    return Finding(
        message=message,
        primary=segment.span,
        severity=broken.severity,
        confidence=broken.confidence,
        scope=broken.scope,
        region=segment.region,
        site=request.site,
        label=changes,
        advice=advice,
        origin=cause.origin,
        flow=cause.flow or _beginning(cause, segment),
        related=evidence(request),
        tokens_lost=broken.lost,
        doubts=doubts(request, cause.features),
        kind=kind,
        fix=choice(advice, options),
    )


def _beginning(cause: Cause, segment: Segment) -> tuple[Step, ...]:
    """Where a value comes from of which no step is known, when that is another place than where it becomes text."""
    elsewhere = cause.origin.line > 0 and (cause.origin.path, cause.origin.line) != (
        segment.span.path,
        segment.span.line,
    )
    return (Step(cause.origin, cause.what),) if elsewhere else ()


def _earlier(request: Request, broken: Break) -> str:
    """The first break of the same scope, with its place."""
    first = next((b for b in request.breaks if b.earliest and _hides(b, broken)), None)
    if first is None:
        return "the earlier break"
    place = request.segments[first.segment].span
    return f"the earlier break ({PurePath(place.path).name}:{place.at})"


def choice(advice: str, options: Options) -> Fix:
    """Advice as a fix that changes no code."""
    return Fix(Applicability.DISPLAY, advice, options=tuple(Option(title, effect) for title, effect in options))


def report_mutator(
    request: Request,
    mutator: Mutator,
    message: str,
    advice: str,
    severity: Severity,
    confidence: Confidence,
    options: Options = (),
) -> Finding:
    """The finding for a change to what was already sent; ``severity`` and ``confidence`` hold without a guard."""
    severity, confidence = under_guard(mutator.guard, severity, confidence)
    guard = f" ({_GUARDS[mutator.guard]})" if mutator.guard in _GUARDS else ""
    return Finding(
        message=message + guard,
        primary=mutator.span,
        severity=severity,
        confidence=min(confidence, certainty(request, mutator.features)),
        scope=Scope.TURN,
        region=Region.MID_HISTORY,
        site=request.site,
        label=mutator.what,
        advice=advice,
        origin=mutator.origin,
        flow=mutator.flow,
        related=evidence(request),
        tokens_lost=UNKNOWN,
        doubts=doubts(request, mutator.features),
        fix=choice(advice, options),
    )


def evidence(request: Request) -> tuple[tuple[Span, str], ...]:
    """Why the prefix counts as sent again, as a related place."""
    return ((request.reuse.span, request.reuse.why),) if request.reuse.span else ()


TRIFLE = 20
"""Tokens that are known of a text of unknown length (a line break, a label) say nothing about it up to here."""


def in_words(tokens: Interval) -> str:
    """A number of tokens for a message: "at least 2,400 tokens"."""
    if tokens.high == inf:
        return f"at least {tokens.low:,} tokens" if tokens.low > TRIFLE else "an unknown number of tokens"
    high = int(tokens.high)
    if tokens.low == high:
        return f"{high:,} token{'s' if high != 1 else ''}"
    return f"{tokens.low:,} to {high:,} tokens" if tokens.low else f"up to {high:,} tokens"


def cost(request: Request, broken: Break) -> str:
    """What a break loses, for a message."""
    if history_behind(request, broken):
        known = Interval(broken.lost.low, broken.lost.low)
        return f"{in_words(known)} and the whole history" if known.low > TRIFLE else "the whole history"
    return in_words(broken.lost)


def _is_reached(cause: Cause) -> bool:
    """Whether it is the outcome of a test that changes, once a conversation is as long as the test says."""
    return cause.kind == "conditional" and cause.conditional == "threshold"


def how_often(broken: Break) -> str:
    """When the bytes of the cause change, for a message: "changes on every turn"."""
    cause, per_turn = broken.cause, broken.scope is Scope.TURN
    if cause.kind == "conditional" and cause.conditional == "command" and cause.said:
        return "changes with what the user says"
    if cause.conditional in ("command", "round") or _is_reached(cause):
        return f"changes {_GUARDS[cause.conditional or '']}"
    if broken.scope is Scope.PROCESS:
        return "differs from machine to machine" if cause.axes == {Axis.MACHINE} else "differs from process to process"
    grain = cause.grain or 0
    if grain >= DAY:
        return "changes every day"
    if grain >= HALF_DAY:
        return "changes in the course of a day"
    if cause.moment is Moment.SESSION or not (cause.kind == "time" or grain or cause.axes & _PER_TURN):
        return "differs from user to user" if cause.axes == {Axis.USER} else "differs in every conversation"
    if grain >= 60:
        return f"changes every {'hour' if grain >= HOUR else 'minute'}"
    return "changes on every turn" if per_turn else "changes on every call"


# --- the verdict on one cause ----------------------------------------------------------------------------------------


def _candidates(
    request: Request, index: int, cause: Cause, gap: float, losses: dict[tuple[int, Scope, Moment, bool], Interval]
) -> Iterator[Break]:
    """The scopes that this cause breaks at this segment, each with its level; the widest loss comes first.

    ``losses`` keeps what a segment loses in a scope, which is the same for all causes of an order and for all others.
    """
    segment = request.segments[index]
    if cause.kind == "opaque":  # not known to vary: no evidence
        return
    for scope in (Scope.TURN, Scope.CONVERSATION, Scope.PROCESS):
        since = _since(request, scope)
        if since is None or not _differs(cause, scope, since) or not _stands(request, index, cause, scope):
            continue
        order = cause.kind in _ORDERS
        key = (index, scope, since, order)
        lost = losses.get(key) or losses.setdefault(key, _lost(request, index, scope, since, order))
        severity = _gated(request, index, scope, lost, _loudness(cause, scope, segment.region, gap))
        if severity is None:
            continue
        severity, confidence = under_guard(cause.conditional, severity, certainty(request, cause.features))
        perhaps = scope is not Scope.TURN and _idle(request) and reaches_minimum(lost, request.facts) == "maybe"
        if perhaps or ((cause.kind in _VAGUE or (_kept(segment) and cause.kind != "random")) and _muddled(request)):
            confidence = Confidence.LOW  # for one: what may be lost, or may be too little, is not cached today
        yield Break(index, cause, scope, severity, confidence, lost)


def _muddled(request: Request) -> bool:
    """Whether so many ways to build a request were joined that the place of a value in it is a guess."""
    return len(request.segments) > MANY_PARTS and sum(map(_kept, request.segments)) > MANY_LISTS


def why_silent(request: Request, index: int, cause: Cause, gap: float) -> str:
    """Which gate keeps a cause that is no break of the request from being one, in words."""
    if cause.kind == "opaque":
        return "it is not known to vary"
    reason = "no two requests that share a prefix differ in it"
    for scope in (Scope.PROCESS, Scope.CONVERSATION, Scope.TURN):
        since = _since(request, scope)
        if since is None or not _differs(cause, scope, since):
            continue
        if not _stands(request, index, cause, scope):
            reason = f"{_PLACES[request.segments[index].region]} it does no harm to {_SHARERS[scope]}"
            continue
        lost = _lost(request, index, scope, since, cause.kind in _ORDERS)
        if _gated(request, index, scope, lost, _loudness(cause, scope, request.segments[index].region, gap)) is None:
            least = f"{request.facts.minimum:,}"
            return f"behind it {_SHARERS[scope]} could reuse {in_words(lost)}, and caching starts at {least}"
        return "it is reported together with an earlier cause"
    return reason


def _since(request: Request, scope: Scope) -> Moment | None:
    """The first evaluation time that tells apart two requests of this scope; ``None``: the scope has no reuse."""
    repeats = request.reuse.repeats
    match scope:
        case Scope.TURN:
            return Moment.CALL if keeps_history(request) else None
        case Scope.CONVERSATION if repeats == "loop" and not keeps_history(request):
            return Moment.LOOP  # items of one batch: what was computed ahead of the loop is the same for all
        case Scope.CONVERSATION:
            return Moment.SESSION if repeats else None
        case _:
            return Moment.IMPORT


def _differs(cause: Cause, scope: Scope, since: Moment) -> bool:
    """Whether the bytes of this cause differ between two requests of the scope."""
    clock = cause.kind == "time" or cause.grain is not None
    match scope:
        case Scope.TURN:
            return cause.moment >= since and (clock or bool(cause.axes & _PER_TURN))
        case Scope.CONVERSATION:
            return cause.moment >= since and (clock or bool(cause.axes & _PER_CONVERSATION))
        case _:
            between = bool(cause.axes & _PER_PROCESS) or _differs(cause, Scope.CONVERSATION, Moment.SESSION)
            return between or cause.kind == "random" or (clock and (cause.grain or 0) < DAY)


def _stands(request: Request, index: int, cause: Cause, scope: Scope) -> bool:
    """Whether a cause in this place is a break at all."""
    segment = request.segments[index]
    if segment.region is Region.LAST_MESSAGE:  # harmless, unless a breakpoint caches it together with what precedes it
        marked = request.facts.trigger == "explicit" and _last_marked(request) >= index
        return marked and scope is Scope.CONVERSATION and not keeps_history(request) and not request.has_history
    if segment.region is Region.TOOLS and _is_of_an_answer(segment, cause):
        return False
    if (
        segment.kind is not Kind.HISTORY
        and segment.repeats
        and any(s.kind is Kind.HISTORY for s in request.segments[:index])
    ):
        return False  # what a loop that is over added behind the kept turns stays as it is, like a single message
    if _kept(segment):
        if segment.role == "tool" and cause.kind in _FOUND:
            return False
        # The order in which tasks finished is the order in which their results were kept.
        return cause.kind in _RENDERED and not (cause.kind == "unordered" and Axis.CALL in cause.axes)
    if segment.region in (Region.FIRST_MESSAGE, Region.MID_HISTORY):
        # A message behind kept turns was added to them and stays as it is; one ahead of all of them is made anew.
        first = next((i for i, s in enumerate(request.segments) if _kept(s)), -1)
        if first >= 0 and index > first:
            return False
        if cause.kind not in _RENDERED:
            return scope is Scope.TURN and index < first
    if scope is Scope.PROCESS:  # what differs in every conversation is judged there
        return cause.kind in _ORDERS or cause.kind == "environment" or cause.moment is Moment.IMPORT
    return True


def _is_of_an_answer(segment: Segment, cause: Cause) -> bool:
    """Whether tools were asked for elsewhere, and a number by which the answer was found is all that varies in them."""
    numbered = cause.kind == "counter" and segment.repeats
    return numbered or (cause.carrier is Carrier.LOOP_VARIABLE and "opaque-call" in cause.features)


def _loudness(cause: Cause, scope: Scope, region: Region, gap: float) -> Severity:
    """The level by scope and loss, before gates."""
    if scope is Scope.TURN:
        slow = cause.grain is not None and cause.grain > gap and cause.grain >= HOUR
        return Severity.INFO if slow else Severity.ERROR
    if scope is Scope.PROCESS:
        return Severity.WARNING if cause.kind == "unordered" and region is Region.TOOLS else Severity.INFO
    if region is Region.LAST_MESSAGE:
        return Severity.WARNING
    personal = cause.kind in ("user", "state", "environment", "conditional")
    return Severity.INFO if personal or (cause.grain or 0) >= HALF_DAY else Severity.WARNING


def _gated(request: Request, index: int, scope: Scope, lost: Interval, severity: Severity) -> Severity | None:
    """The level after the gates: enough text behind, reuse that was seen, a cache that is switched on."""
    history = _last_history(request)
    if scope is Scope.TURN and history >= 0:
        return severity if history >= index else None
    enough = reaches_minimum(lost, request.facts)
    if enough == "no":
        return None
    weak = enough == "maybe" or (scope is not Scope.TURN and (assumed(request) or _idle(request)))
    return Severity.INFO if weak else severity


def _idle(request: Request) -> bool:
    """Whether nothing is lost today for want of a breakpoint; a history that is kept is reason enough to set one."""
    return unmarked(request) and not keeps_history(request)


def _lost(request: Request, index: int, scope: Scope, since: Moment, order: bool) -> Interval:
    """Tokens that could be reused in this scope if the segment at ``index`` did not vary.

    Behind it that is all text that does not vary itself; when ``order`` is what varies, text without an order counts.
    With explicit breakpoints it is what they cover, which begins right behind the last breakpoint ahead of the segment:
    without one there, the text before it is lost too.
    """
    start, end = index + 1, len(request.segments) - 1
    if request.facts.trigger == "explicit" and request.breakpoints:
        end = _last_marked(request)
        if end >= index:
            start = max(
                (m.segment + 1 for m in request.breakpoints if m.segment < index and not m.automatic), default=0
            )
    last = _last_history(request) if scope is Scope.TURN else -1
    if scope is not Scope.TURN:  # another conversation has other turns: nothing behind them is shared
        end = min(end, next((i for i, s in enumerate(request.segments) if s.kind is Kind.HISTORY), end + 1) - 1)
        if end < index:
            return ZERO
    total = ZERO
    for position in range(min(start, index) if order else start, len(request.segments)):
        segment = request.segments[position]
        varies = any(_differs(c, scope, since) for c in segment.causes if not (order and c.kind in _ORDERS))
        if scope is Scope.TURN and _kept(segment):
            total += UNKNOWN if position >= index else ZERO
        elif position > end or (position == index and not (order and segment.repeats)):
            continue
        elif varies and segment.region is Region.LAST_MESSAGE and position > index:
            break  # the question itself: nothing behind it can be shared
        elif not varies and (last < 0 or position <= last):
            total += _weight(segment)
    return total


def _weight(segment: Segment) -> Interval:
    """Tokens of a segment; its lower bound counts only where the text is known to be there and to stay the same."""
    sure = constant(segment) and not segment.optional
    return Interval(segment.tokens.low if sure else 0, inf if segment.repeats else segment.tokens.high)


def _position(request: Request, marker: Breakpoint) -> int:
    """The segment that a breakpoint closes."""
    return len(request.segments) - 1 if marker.automatic else marker.segment


def _last_marked(request: Request) -> int:
    """The last segment that a breakpoint covers, -1 without one."""
    return max((_position(request, marker) for marker in request.breakpoints if marker.problem is None), default=-1)


def _last_history(request: Request) -> int:
    """The last segment that holds kept turns, -1 without one."""
    segments = request.segments
    return next((i for i in range(len(segments) - 1, -1, -1) if _kept(segments[i])), -1)


def _kept(segment: Segment) -> bool:
    turns = segment.region in (Region.FIRST_MESSAGE, Region.MID_HISTORY) and segment.repeats
    return segment.kind is Kind.HISTORY or turns
