"""Request parameters that differ between the requests of one conversation, and what each such change costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from textwrap import shorten
from typing import TypeVar

from promptlint.finding import Confidence, Finding, Region, Scope, Severity
from promptlint.gates.levels import (
    certainty,
    evidence,
    keeps_history,
    one_step_down,
    per_turn,
    shared_prefix,
    unmarked,
)
from promptlint.provider import Invalidation
from promptlint.request import (
    LAST_EXCHANGE,
    LEFT_OUT,
    Branch,
    Carrier,
    Cause,
    Kind,
    Mutator,
    Parameter,
    Request,
    Siblings,
)
from promptlint.span import Hop, Span
from promptlint.tokens import Interval

FORMATS = frozenset(("response_format", "text.format", "text_format", "output_config.format", "output_format"))
"""Parameters that hold an output schema."""
ELSEWHERE = frozenset(("tools", "system", "prompt_cache_key", "truncation", "context_management", "betas"))
"""What the provider lists among the parameters and other rules look at."""
UNSEEN = frozenset(("reasoning.summary", "thinking.display"))
"""Fields that say what the reply holds: no part of the prompt."""

MANY_KINDS = 3
"""Kinds of causes beyond which what is known of a value is what is known of all that is sent."""
SENTENCE = 40
"""Characters of text that are a question of the program's own, and no label of what somebody said."""

T = TypeVar("T", "Toggle", "Difference")
_REGIONS = {"tools": "tools", "system": "system text", "messages": "history"}


@dataclass(frozen=True, slots=True)
class Toggle:
    """A parameter whose value depends on the turn, with what decides about it and what the provider drops then."""

    parameter: Parameter
    cause: Cause
    row: Invalidation
    severity: Severity
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Fork:
    """A request that sends the turns of ``main`` without what ``main`` sends ahead of them in ``region``."""

    main: Request
    side: Request
    region: Region
    place: Span
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Difference:
    """A parameter that two requests of one conversation send differently, and where the way to ``side`` parts."""

    name: str
    main: Request
    side: Request
    values: tuple[str, str]
    row: Invalidation
    place: Span
    severity: Severity
    confidence: Confidence


def topic(name: str) -> str:
    """The rule whose business a parameter is: "model", "format", "elsewhere" or "toggle"."""
    if name == "model":
        return "model"
    if name == "text" or any(name == f or name.startswith(f + ".") for f in FORMATS):
        return "format"
    return "elsewhere" if name in UNSEEN or name.partition(".")[0] in ELSEWHERE else "toggle"


def toggles(request: Request, about: str) -> Iterator[Toggle]:
    """The parameters of one topic that change between the turns of this request's conversation, each once."""
    seen: set[str] = set()
    if not keeps_history(request) or not request.facts.caches:
        return
    for parameter in request.parameters.values():
        row = request.facts.invalidates(parameter.name)
        if row is None or topic(parameter.name) != about or parameter.head in seen or parameter.text is not None:
            continue
        if parameter.alternatives and len({_written(a, row) for a in parameter.alternatives}) < 2:
            continue
        if about == "model" and not parameter.alternatives:
            continue  # what the code does not name is picked by somebody, mostly for good
        if not parameter.alternatives and len({c.kind for c in parameter.causes}) > MANY_KINDS:
            continue  # what was put under a key that is not known may be anything that is sent
        causes = [c for c in parameter.causes if per_turn(c) and c.kind != "opaque" and not _of_a_round(c, parameter)]
        if causes:
            cause = min(causes, key=lambda c: (_asked_for(c, parameter), len(c.features)))
            seen.add(parameter.head)
            yield Toggle(parameter, cause, row, *_level(request, cause, parameter))


def as_intended(found: T) -> T:
    """The same, no louder than what is mostly done on purpose deserves."""
    return replace(found, severity=min(found.severity, Severity.WARNING), confidence=one_step_down(found.confidence))


def _of_a_round(cause: Cause, parameter: Parameter) -> bool:
    """Whether a value that the code does not name is that of one round of a loop: of a model that is tried, say."""
    return not parameter.alternatives and cause.carrier is Carrier.LOOP_VARIABLE


def _asked_for(cause: Cause, parameter: Parameter) -> bool:
    """Whether a change is what somebody asks for now and then: a command, an option of the caller."""
    if cause.conditional not in (None, "round"):
        return True
    return cause.carrier is Carrier.PARAMETER and not (parameter.alternatives and cause.said)


def _level(request: Request, cause: Cause, parameter: Parameter) -> tuple[Severity, Confidence]:
    confidence = certainty(request, cause.features)
    if _asked_for(cause, parameter) or unmarked(request) or request.facts.trigger == "unknown":
        return Severity.INFO, confidence
    return (Severity.WARNING if parameter.alternatives else Severity.ERROR), confidence


def _written(text: str, row: Invalidation) -> str:
    return LEFT_OUT if text in row.default else text


def loss(row: Invalidation) -> str:
    """What of the cache a change costs, in words."""
    lost = [_REGIONS[r] for r in ("tools", "system", "messages") if r in (*row.drops, *row.may_drop)]
    return f"{', '.join(lost[:-1])} and {lost[-1]}" if len(lost) > 1 else lost[-1]


def _tokens(request: Request, row: Invalidation) -> Interval:
    return Interval(shared_prefix(request).low if "system" in (*row.drops, *row.may_drop) else 0, inf)


def report_toggle(request: Request, toggle: Toggle, message: str, advice: str) -> Finding:
    """The finding for a parameter whose value depends on the turn."""
    return Finding(
        message=message,
        primary=toggle.parameter.span,
        severity=toggle.severity,
        confidence=toggle.confidence,
        scope=Scope.TURN,
        region=Region.PARAMETERS,
        site=request.site,
        label="differs from turn to turn",
        advice=advice,
        origin=toggle.cause.origin,
        flow=toggle.cause.flow,
        related=evidence(request),
        tokens_lost=_tokens(request, toggle.row),
    )


def report_difference(found: Difference, what: str, advice: str) -> Finding:
    """The finding for a parameter, called ``what``, that two requests of one conversation send differently."""
    here, there = (f"{what} {shorten(v, 60, placeholder='…')}" if v else f"no {what}" for v in reversed(found.values))
    return Finding(
        message=f"this sends the same turns with {here}, others with {there}: each change drops the cache of the "
        f"{loss(found.row)}",
        primary=found.place,
        severity=found.severity,
        confidence=found.confidence,
        scope=Scope.TURN,
        region=Region.PARAMETERS,
        site=found.side.site,
        label=f"{here} here",
        advice=advice,
        flow=found.side.path,
        related=((found.main.site.span, f"sent with {there}"), *evidence(found.side)),
        tokens_lost=_tokens(found.main, found.row),
    )


# -- siblings ---------------------------------------------------------------------------------------------------------


def differences(siblings: Siblings, about: str) -> Iterator[Difference]:
    """The parameters of one topic that differ between requests which send the same turns to the same model."""
    for number, main in enumerate(siblings.requests):
        for other in siblings.requests[number + 1 :]:
            side, first = (other, main) if len(other.branches) >= len(main.branches) else (main, other)
            place = odd_place(first, side)
            meets = _meets(first, side) if place is not None and _comparable(first, side, about) else None
            if place is None or meets is None:
                continue
            for name in {**first.parameters, **side.parameters}:
                row = first.facts.invalidates(name)
                values = _value(first, name), _value(side, name)
                if row is None or topic(name) != about or None in values:
                    continue
                a, b = str(values[0]), str(values[1])
                if _written(a, row) != _written(b, row):
                    level = Severity.INFO if meets == "command" or unmarked(first) else Severity.WARNING
                    yield Difference(name, first, side, (a, b), row, place, level, one_step_down(certainty(side)))


def odd_place(main: Request, side: Request) -> Span | None:
    """The last call that only the way to the side call takes; ``None`` for two implementations of one call."""
    shared = {step.span for step in main.path} | {main.site.span}
    calls = [step.span for step in side.path if step.hop is Hop.CALLED]
    own = [span for span in calls if span not in shared]
    if main.site.span in calls or (calls and not own and main.site.span.path != side.site.span.path):
        return None
    return own[-1] if own else side.site.span


def whole_history(request: Request) -> bool:
    """Whether the request certainly sends the kept turns."""
    return any(s.kind is Kind.HISTORY and not s.optional for s in request.segments)


def asides(siblings: Siblings) -> Iterator[Request]:
    """The requests that ask something of the program's own about the turns which others send behind their tools.

    What they write to a cache only the next question of the kind reads, and none may come. So do requests that look at
    no more than the last exchange of turns which others send.
    """
    for side in siblings.requests:
        others = [r for r in siblings.requests if r.site.span != side.site.span]
        if any(map(_is_glance, side.mutators)) and any(not any(map(_is_glance, r.mutators)) for r in others):
            yield side
            continue
        mains = (r for r in others if any(r.of(Region.TOOLS)))
        if not any(side.of(Region.TOOLS)) and _asks_by_itself(side) and any(_may_share(m, side) for m in mains):
            yield side


def as_aside(request: Request) -> Request:
    """A request that asks something of its own: with a look at the last exchange it takes none of the turns away."""
    return replace(request, aside=True, mutators=tuple(m for m in request.mutators if not _is_glance(m)))


def _is_glance(mutator: Mutator) -> bool:
    return mutator.kind == "window" and mutator.keeps is not None and mutator.keeps <= LAST_EXCHANGE


def _asks_by_itself(request: Request) -> bool:
    """Whether the newest message is a text of the program's own, with nothing in it that somebody said."""
    newest = [s for _, s in request.of(Region.LAST_MESSAGE)]
    told = any(s.text and len(s.text) >= SENTENCE for s in newest)
    return told and not any(c.kind in ("user", "state") for s in newest for c in s.causes)


def forks(siblings: Siblings) -> Iterator[Fork]:
    """The requests that send the same turns to the same model without the tools, or without any system text."""
    equipped = [r for r in siblings.requests if any(r.of(Region.TOOLS))]
    speaking = [r for r in siblings.requests if _has_system(r)]
    # Classes that share the code of a call have turns of their own.
    silent = {r.site.span for r in siblings.requests} - {r.site.span for r in speaking}
    for side in siblings.requests:
        tools = next((r for r in equipped if _may_share(r, side) and not _exclude_each_other(r, side)), None)
        system = next((r for r in speaking if side.site.span in silent and _both_run(r, side)), None)
        if tools is not None and _sends_all_turns(tools, side) and not any(side.of(Region.TOOLS)):
            yield from _fork(tools, side, Region.TOOLS, one_step_down(certainty(side)))
        elif system is not None and side.has_history and not any(side.of(Region.SYSTEM)):
            if [s.name for _, s in system.of(Region.TOOLS)] == [s.name for _, s in side.of(Region.TOOLS)]:
                yield from _fork(system, side, Region.SYSTEM, min(certainty(side), Confidence.MEDIUM))


def _sends_all_turns(main: Request, side: Request) -> bool:
    """Whether a request sends the kept turns: all of them certainly, or just those that the other one sends."""
    if whole_history(side):
        return True
    ours, theirs = ([(s.span, s.name) for s in r.segments if s.kind is Kind.HISTORY] for r in (side, main))
    return bool(ours) and ours == theirs


def _may_share(main: Request, side: Request) -> bool:
    """Whether the turns that both send may be those of one object."""
    kept = keeps_history(main) and keeps_history(side)
    return kept and not (main.keepers and side.keepers and main.keepers.isdisjoint(side.keepers))


def _fork(main: Request, side: Request, region: Region, confidence: Confidence) -> Iterator[Fork]:
    apart = (main.site.span, main.path) != (side.site.span, side.path)
    shares = apart and main.facts.caches and _adds_nothing(main, side) and not _begins_otherwise(side, main)
    place = odd_place(main, side) if shares else None
    if place is not None and _goes_to_one_model(main, side):
        yield Fork(main, side, region, place, confidence)


def _adds_nothing(main: Request, side: Request) -> bool:
    """Whether what may have been added to a request unseen leaves the two apart: nothing, or the same on both ways."""
    return not side.open or (main.root == side.root and main.root is not None and set(side.open) <= set(main.open))


def _begins_otherwise(side: Request, main: Request) -> bool:
    """Whether words that the other request does not send stand ahead of the turns: a prompt of its own."""
    first = next((s for s in side.segments if s.region not in (Region.TOOLS, Region.SYSTEM)), None)
    words = first.text if first is not None and first.kind is not Kind.HISTORY else None
    return bool(words) and all(s.text != words for s in main.segments)


def _goes_to_one_model(main: Request, side: Request) -> bool:
    """Whether nothing shows that two requests go to different models: the way to one may not say which."""
    named = {r.site.model for r in (main, side)} - {None}
    return main.site.provider == side.site.provider and len(named) < 2


def _both_run(main: Request, side: Request) -> bool:
    """Whether both are sent in one conversation: on one way, or by two ways into the program to what is kept."""
    if any(b.guard == "error" for b in (*main.branches, *side.branches)) or not _may_share(main, side):
        return False
    return _meets(main, side) is not None if main.root == side.root else not _exclude_each_other(main, side)


def _exclude_each_other(main: Request, side: Request) -> bool:
    """Whether a test that comes out alike on every turn lets one of the two through and the other not."""
    passed = {(b.span, b.sense) for b in main.branches}
    return any((b.span, not b.sense) in passed and not any(map(per_turn, b.causes)) for b in side.branches)


def _has_system(request: Request) -> bool:
    """Whether some text is known to stand in front of the messages in every request."""
    return any(s.text and not s.optional and not s.causes for _, s in request.of(Region.SYSTEM))


def _comparable(main: Request, side: Request, about: str) -> bool:
    """Whether two requests send the same turns, and the same ahead of them, so that a parameter is what differs."""
    if main.aside or side.aside or main.open or side.open:
        return False
    if main.site.span == side.site.span and main.path == side.path:
        return False
    if main.site.provider != side.site.provider or (about != "model" and not _goes_to_one_model(main, side)):
        return False
    ahead = [(any(r.of(Region.TOOLS)), any(r.of(Region.SYSTEM))) for r in (main, side)]
    return ahead[0] == ahead[1] and whole_history(main) and whole_history(side)


def _meets(main: Request, side: Request) -> str | None:
    """How the two come to be sent in one conversation: "always", "command"; ``None`` when nothing shows that they do.

    Both begin in the same code, and every test that lets only one of them through comes out differently from turn to
    turn.
    """
    if main.root is None or main.root != side.root:
        return None
    ways = [{(b.span, b.sense, b.guard): b for b in r.branches} for r in (main, side)]
    extra: list[Branch] = [ways[n][key] for n in (0, 1) for key in ways[n].keys() - ways[1 - n].keys()]
    if any(b.guard == "error" or not any(map(per_turn, b.causes)) for b in extra):
        return None
    return "command" if any(b.guard == "command" for b in extra) else "always"


def _value(request: Request, name: str) -> str | None:
    """The constant value of a parameter, ``LEFT_OUT`` without it, ``None`` when it is not known."""
    parameter = request.parameters.get(name)
    if parameter is not None:
        return parameter.text
    fields = any(p.head == name.partition(".")[0] and p.text is None for p in request.parameters.values())
    return None if fields else LEFT_OUT
