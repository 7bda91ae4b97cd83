"""Requests put together by hand, for tests of levels and rules."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from promptlint.finding import Confidence, Finding, Region, Site
from promptlint.gates.levels import breaks
from promptlint.provider import Facts, facts
from promptlint.registry import load
from promptlint.request import (
    Axis,
    Breakpoint,
    Cause,
    Conversation,
    Kind,
    Moment,
    Mutator,
    Parameter,
    Request,
    Reuse,
    Segment,
    Siblings,
)
from promptlint.span import Span
from promptlint.tokens import Interval

AUTOMATIC = Facts("openai", "gpt-4.1", "automatic", 1_024, True)
EXPLICIT = Facts("anthropic", "claude-sonnet-4-5", "explicit", 1_024, True, max_breakpoints=4, longer_ttl_first=True)
CLAUDE, GPT = facts("anthropic", "claude-opus-4-8"), facts("openai", "gpt-5.1")
"""The whole facts about a model of each kind, as the table has them."""
TURNS = Reuse(True, "loop", "the loop sends it again", Span("app.py", 1))
ENTRY = Reuse(False, "entry", "each web request sends it", Span("app.py", 1))
BATCH = Reuse(False, "loop", "each item sends it", Span("app.py", 1))
ONCE = Reuse(False, None, "")
ASSUMED = Reuse(False, "assumed", "nothing calls it")
GAP = 60.0


def cause(
    kind: str = "time",
    *axes: Axis,
    moment: Moment = Moment.LOOP,
    grain: float | None = None,
    line: int = 90,
    features: frozenset[str] = frozenset(),
    conditional: str | None = None,
) -> Cause:
    """A cause that differs on every call unless axes are given; a clock shows seconds unless a grain is given."""
    return Cause(
        kind,
        f"the {kind}",
        Span("app.py", line),
        moment,
        frozenset(axes or {Axis.CALL}),
        1.0 if kind == "time" and grain is None else grain,
        features=features,
        conditional=conditional,
    )


def text(tokens: int, region: Region = Region.SYSTEM, message: int = 0, optional: bool = False) -> Segment:
    """Constant text of known length."""
    span, size = Span("app.py", 20), Interval(tokens, tokens)
    return Segment(region, Kind.TEXT, span, size, "x", message=message, optional=optional)


def hole(*causes: Cause, region: Region = Region.SYSTEM, message: int = 0, high: float = 10) -> Segment:
    """Text that is not known."""
    return Segment(region, Kind.TEXT, Span("app.py", 30), Interval(0, high), message=message, causes=causes)


def tool(*causes: Cause, optional: bool = False, repeats: bool = False) -> Segment:
    span, size = Span("app.py", 10), Interval(100, 100)
    return Segment(
        Region.TOOLS, Kind.TOOL, span, size, causes=causes, optional=optional, repeats=repeats, name="search"
    )


def history(*causes: Cause) -> Segment:
    return Segment(Region.MID_HISTORY, Kind.HISTORY, Span("app.py", 40), Interval(0, inf), causes=causes)


def question(*causes: Cause) -> Segment:
    """The newest message; its text is the user's unless causes are given."""
    asked = causes or (cause("user", line=99),)
    return Segment(Region.LAST_MESSAGE, Kind.TEXT, Span("app.py", 50), Interval(0, inf), causes=asked)


def mark(segment: int, **changes: Any) -> Breakpoint:
    return Breakpoint(Span("app.py", 60 + segment), segment, **changes)


def parameter(name: str, *causes: Cause, values: tuple[str, ...] = ()) -> Parameter:
    """A parameter with one known value, with several, or, without any, with one that is not known."""
    known = values[0] if len(values) == 1 else None
    return Parameter(name, Span("app.py", 55), known, causes, values if len(values) > 1 else ())


def request(
    *segments: Segment,
    facts: Facts = AUTOMATIC,
    reuse: Reuse = TURNS,
    breakpoints: tuple[Breakpoint, ...] = (),
    mutators: tuple[Mutator, ...] = (),
    unseen: tuple[str, ...] = (),
    confidence: Confidence = Confidence.HIGH,
    parameters: tuple[Parameter, ...] = (),
) -> Request:
    """A request together with its breaks."""
    bare = Request(
        Site(Span("app.py", 70), facts.provider, facts.model),
        "test",
        facts,
        segments,
        breakpoints,
        {p.name: p for p in parameters},
        mutators=mutators,
        reuse=reuse,
        open=unseen,
        confidence=confidence,
    )
    return replace(bare, breaks=breaks(bare, GAP))


def check(name: str, subject: Request) -> list[Finding]:
    """What the rule of that name finds in the request, in its conversation, or in it alone among its siblings."""
    (info,) = load().matching(name)
    if info.subject is Siblings:
        return list(info.check(Siblings((subject,))))
    return list(info.check(Conversation(subject) if info.subject is Conversation else subject))


def everything(subject: Request) -> dict[str, list[Finding]]:
    """The findings of all built-in rules about the request, by name."""
    by_name = {info.name: check(info.name, subject) for info in load() if info.subject is not None}
    return {name: found for name, found in by_name.items() if found}
