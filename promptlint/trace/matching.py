"""What was seen at run time beside what the analysis of the code predicts at the same call: each tests the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptlint.finding import Finding, Scope
from promptlint.span import Span
from promptlint.trace.explain import Cause
from promptlint.trace.format import Frame
from promptlint.trace.tally import Tally
from promptlint.trace.texts import Change

_HISTORY = ("rewritten-history", "transient-decoration", "lossy-replay", "stripped-thinking", "forked-prefix")
_TOOLS = ("unordered-tools", "changing-tools", "volatile-tool-definition", "forked-prefix")
_TEXT = (
    *("volatile-user", "volatile-state", "volatile-environment", "volatile-counter", "volatile-random"),
    *("conditional-system", "misordered-segments", "unordered-text", "forked-prefix", "volatile-time"),
)

EXPLAINS: dict[Cause | Change, tuple[str, ...]] = {
    Change.CLOCK: ("volatile-time", "volatile-counter", "volatile-tool-definition", "transient-decoration"),
    Change.ID: (
        *("volatile-random", "volatile-environment", "volatile-tool-definition", "volatile-user", "lossy-replay"),
        *("regenerated-media-url", "volatile-state"),
    ),
    Change.NUMBER: ("volatile-counter", "volatile-time", "volatile-random", "volatile-state", "volatile-environment"),
    Change.PERMUTATION: ("unordered-text", "unordered-tools", "unstable-json", "volatile-environment"),
    Change.WHITESPACE: ("lossy-replay", "rewritten-history", "unstable-json"),
    Change.KEYS: ("unstable-json", "lossy-replay", "volatile-tool-definition", "unordered-tools"),
    Change.IDS: ("lossy-replay", "volatile-random"),
    Change.FRONT: ("sliding-window", "rewritten-history"),
    Change.PREPENDED: ("prepended-history", "volatile-state", "rewritten-history"),
    Change.MIDDLE: (*_HISTORY, "sliding-window", "volatile-state", "regenerated-media-url", "prepended-history"),
    Change.TEXT: (*_TEXT, *_HISTORY),
    Change.TOOL_ADDED: _TOOLS,
    Change.TOOL_REMOVED: _TOOLS,
    Change.TOOL_REORDERED: _TOOLS,
    Cause.PARAMETER: ("toggled-parameter", "varying-output-schema", "forked-prefix", "cache-key"),
    Cause.MODEL: ("model-switch", "forked-prefix"),
    Cause.BELOW: ("prefix-below-minimum",),
    Cause.UNMARKED: ("missing-breakpoint",),
    Cause.DROPPED: ("missing-breakpoint", "invalid-breakpoint"),
    Cause.PARALLEL: ("parallel-cold-start",),
    Cause.EXPIRED: ("ttl-mismatch",),
    Cause.LOOKBACK: ("lookback-overflow",),
    Cause.UNSTORED: ("missing-breakpoint", "breakpoint-on-volatile", "unrecovered-write"),
    Cause.THINKING: ("stripped-thinking",),
    Cause.ROUTING: ("cache-key", "cache-salt"),
    Cause.REFUSED: (
        *("too-many-breakpoints", "ttl-order", "invalid-breakpoint", "unsupported-cache-field"),
        "cached-content-conflict",
    ),
}
"""The rules that predict a cause."""


@dataclass(frozen=True, slots=True)
class Match:
    """A finding beside the trace: "confirmed" by a loss of its kind, "not seen" in requests from its place that could
    have shown it, or "not exercised" where none could.
    """

    finding: Finding
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """``predicted`` has the findings that tell each group ahead, by the number of the group in ``Tally.ranked``."""

    predicted: tuple[tuple[Finding, ...], ...]
    matches: tuple[Match, ...]

    def count(self, verdict: str) -> int:
        """Findings with this verdict."""
        return sum(match.verdict == verdict for match in self.matches)


def compared(tally: Tally, findings: Sequence[Finding]) -> Comparison:
    """What the findings in a project predict of a trace."""
    active = [finding for finding in findings if finding.suppressed is None]
    spans = [[site.span for site in (finding.site, *finding.also)] for finding in active]
    groups = tally.ranked()
    predicted = [
        tuple(
            finding
            for finding, places in zip(active, spans, strict=True)
            if finding.rule in EXPLAINS.get(group.cause, ()) and passes(group.site, places)
        )
        for group in groups
    ]
    confirmed = {id(finding) for found in predicted for finding in found}
    matches = []
    for finding, places in zip(active, spans, strict=True):
        sites = [site for site in tally.sites if passes(site, places)]
        unseen = "not seen" if _exercised(finding.scope, sites, tally) else "not exercised"
        matches.append(Match(finding, "confirmed" if id(finding) in confirmed else unseen))
    return Comparison(tuple(predicted), tuple(matches))


def _exercised(scope: Scope, sites: Sequence[Sequence[Frame]], tally: Tally) -> bool:
    """Whether requests from these places could show a loss of this scope: two turns, two conversations, two processes.

    Two runs that were recorded as one trace are two processes.
    """
    chosen = [tuple(site) for site in sites]
    match scope:
        case Scope.REQUEST:
            return bool(chosen)
        case Scope.TURN:
            return sum(tally.sites[site].requests for site in chosen) > 1
        case Scope.CONVERSATION:
            return len({name for site in chosen for name in tally.spreads[site].conversations}) > 1
        case Scope.PROCESS:
            return len({name for site in chosen for name in tally.spreads[site].processes}) > 1


def passes(site: Sequence[Frame], spans: Iterable[Span]) -> bool:
    """Whether a call goes through one of these places."""
    return any(_same(frame, span) for frame in site for span in spans)


def _same(frame: Frame, span: Span) -> bool:
    """Frames name files from the folder of their project on, spans as they were given."""
    if not span.line <= frame.line <= max(span.line, span.end_line):
        return False
    parts = Path(frame.file).parts
    return Path(span.path).resolve().parts[-len(parts) :] == parts
