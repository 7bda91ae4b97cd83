"""What a rule reports: one frozen record for every renderer, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from enum import IntEnum, StrEnum

from promptlint.span import Span, Step
from promptlint.tokens import Interval


class Severity(IntEnum):
    """How much is lost and how often."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Confidence(IntEnum):
    """How sure the analysis is; every approximation taken on the way lowers it."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    def __str__(self) -> str:
        return self.name.lower()


class Scope(StrEnum):
    """The reuse that is lost: the next turn, other conversations, other processes, or the request (API error)."""

    TURN = "turn"
    CONVERSATION = "conversation"
    PROCESS = "process"
    REQUEST = "request"


class Region(StrEnum):
    """The part of the request a finding is about."""

    TOOLS = "tools"
    SYSTEM = "system"
    FIRST_MESSAGE = "first-message"
    MID_HISTORY = "mid-history"
    LAST_MESSAGE = "last-message"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a request is sent: the line on which the sink call starts, and to whom."""

    span: Span
    provider: str
    model: str | None = None


class Applicability(StrEnum):
    """What a fix may change.

    ``SAFE``: nothing that the model reads but its order. ``UNSAFE``: what the model reads or what requests cost, so it
    is made only when asked for. ``DISPLAY``: advice without a change of the code.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Text that takes the place of a stretch of a file, or is put in where the stretch is empty."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Option:
    """One way out of a finding, and what comes of it besides."""

    title: str
    effect: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What ends a finding: the title in words, and the edits, which ``DISPLAY`` has none of."""

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...] = ()
    options: tuple[Option, ...] = ()
    """The ways out that a person has to choose between, when there is more than one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What ``promptlint probe`` found out about a finding: "confirmed", "refuted" or "inconclusive", when, and why."""

    ruling: str
    on: date
    reason: str

    def __str__(self) -> str:
        return f"{self.ruling} on {self.on}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at one place.

    ``primary`` is where the value becomes prompt text (or the mutator, or the sink for something missing); ``origin``
    is the source expression. ``tokens_lost`` counts the longer-lived tokens behind the break, ``None`` when nothing is
    lost that can be counted (an API error). ``rule``, ``code`` and ``kind`` are filled in by the registry.
    """

    message: str
    primary: Span
    severity: Severity
    confidence: Confidence
    scope: Scope
    region: Region
    site: Site
    label: str = ""
    advice: str = ""
    origin: Span | None = None
    flow: tuple[Step, ...] = ()
    related: tuple[tuple[Span, str], ...] = ()
    tokens_lost: Interval | None = None
    also: tuple[Site, ...] = ()
    doubts: tuple[str, ...] = ()
    """What the confidence lacks, in words: the approximations that were taken on the way."""
    rule: str = ""
    code: str = ""
    kind: str = ""
    fingerprint: str = ""
    fix: Fix | None = None
    """From a rule only advice (``DISPLAY``); edits are worked out by ``promptlint.fix`` for those who ask for them."""
    suppressed: str | None = None
    """The reason in the comment that suppresses this finding ("" without one); ``None`` = not suppressed."""
    measured: Measured | None = None

    def stamped(self, rule: str, code: str, kind: str) -> Finding:
        """The same finding, signed by the rule that made it ; its advice is the fix unless it has one."""
        advice = Fix(Applicability.DISPLAY, self.advice) if self.advice else None
        return replace(self, rule=rule, code=code, kind=self.kind or kind, fix=self.fix or advice)
