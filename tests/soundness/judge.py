"""Whether what is reported of a program agrees with what it sends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from promptlint.finding import Finding, Scope, Severity
from tests.soundness.truth import Run, Sent, divergence, frames

ENOUGH = 12_000
"""Characters of constant text, well above the tokens that a provider starts to cache at."""

_MARK = re.compile(r"#((?: (?:s\d|m|t))+)$")


def marks(files: dict[str, str]) -> dict[tuple[str, int], frozenset[str]]:
    """The marks at the end of each line."""
    return {
        (name, number): frozenset(found[1].split())
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _MARK.search(line))
    }


def faults(files: dict[str, str], runs: tuple[Run, Run], findings: Sequence[Finding]) -> Iterator[str]:
    """What is wrong with the findings, in words: first false alarms, then misses."""
    lines = marks(files)
    yield from _false_alarms(lines, runs, findings)
    yield from _misses(lines, runs, findings)


def kind(fault: str) -> str:
    """A fault without what is peculiar to one program."""
    plain = re.sub(r"s?\d+", "#", fault)
    return plain if plain.startswith("nothing names") else plain[:60]


def named(finding: Finding, lines: dict[tuple[str, int], frozenset[str]]) -> frozenset[str]:
    """The marks of the lines that a finding names: its origins, its primary place and its flow."""
    spans = [finding.primary, *(step.span for step in finding.flow), *([finding.origin] if finding.origin else [])]
    spans += [span for span, words in finding.related if words == "varies here as well"]
    return frozenset().union(*(lines.get((Path(s.path).name, s.line), frozenset()) for s in spans))


def _false_alarms(
    lines: dict[tuple[str, int], frozenset[str]], runs: tuple[Run, Run], findings: Sequence[Finding]
) -> Iterator[str]:
    for finding in findings:
        if finding.severity < Severity.WARNING:
            continue
        told = f"{finding.severity.name.lower()} {finding.rule} at line {finding.primary.line}: {finding.message}"
        if finding.rule == "missing-breakpoint":
            if any(r.markers for run in runs for r in run.requests):
                yield f"{told}, but there are markers"
            elif len(runs[0].requests) < 2:
                yield f"{told}, but there is one request"
        elif finding.rule == "too-many-breakpoints":
            if max(r.markers for run in runs for r in run.requests) <= 4:
                yield f"{told}, but there are no more than four markers"
        elif finding.rule == "prefix-below-minimum":
            if min(sum(len(b.text) for b in r.blocks) for r in runs[0].requests) > ENOUGH:
                yield f"{told}, but there is more text"
        elif finding.rule == "breakpoint-on-volatile":
            scopes = [Scope.TURN, Scope.CONVERSATION, *[Scope.PROCESS] * ("one conversation" in finding.message)]
            pairs = (pair for scope in scopes for pair in _pairs(scope, runs))
            if all(divergence(one, other) is None for one, other in pairs):
                yield f"{told}, but it never differs"
        elif len(runs[0].requests) < 2:
            yield f"{told}, but there is one request"
        elif finding.scope is not Scope.TURN and (finding.rule == "volatile-counter" or "next(TICKETS)" in told):
            continue  # a count starts anew with each process, and most programs here hold one conversation
        else:
            tags = named(finding, lines)
            if tags and not any(_varies(tag, finding.scope, runs) for tag in tags):
                yield f"{told}, but {', '.join(sorted(tags))} never differs there"
            elif not tags and not _structure_changes(finding.scope, runs):
                yield f"{told}, but nothing changes there"


def _varies(tag: str, scope: Scope, runs: tuple[Run, Run]) -> bool:
    """Whether what is rendered for a mark differs between two requests that share a scope."""
    if tag in ("m", "t"):
        return _structure_changes(scope, runs)
    scopes = (scope, Scope.PROCESS) if scope is Scope.CONVERSATION else (scope,)
    pairs = (pair for wider in scopes for pair in _pairs(wider, runs))
    return any(_values(one, tag) != _values(other, tag) for one, other in pairs)


def _values(request: Sent, tag: str) -> list[str | None]:
    """What is rendered between the tags, in each block that a later request repeats."""
    return [block.tags().get(tag) for block in request.blocks if block.region != "messages"] + [
        block.tags().get(tag) for block in request.blocks if block.region == "messages" and tag in block.tags()
    ][:1]


def _pairs(scope: Scope, runs: tuple[Run, Run]) -> Iterator[tuple[Sent, Sent]]:
    """Requests that could share a prefix in a scope, the earlier one first."""
    a, b = (run.conversations() for run in runs)
    kept = any(len([x for x in r.blocks if x.region == "messages"]) > 1 for r in runs[0].requests)
    match scope:
        case Scope.TURN:
            for conversation in (*a, *b) if kept else ():
                yield from pairwise(conversation)
        case Scope.CONVERSATION:
            for run, conversations in zip(runs, (a, b), strict=True):
                firsts = [c[0] for c in conversations] if kept else list(run.requests)
                yield from pairwise(firsts)
        case _:
            for one, other in zip(a, b, strict=True):
                yield from zip(one, other, strict=True)


def _structure_changes(scope: Scope, runs: tuple[Run, Run]) -> bool:
    found = (divergence(frames(one), frames(other)) for one, other in _pairs(scope, runs))
    return any(d is not None for d in found)


def _misses(
    lines: dict[tuple[str, int], frozenset[str]], runs: tuple[Run, Run], findings: Sequence[Finding]
) -> Iterator[str]:
    known = set().union(*lines.values()) if lines else set()
    if len(runs[0].requests) < 2:  # nothing shows that it is sent again
        return
    told: set[tuple[Scope, str]] = set()
    for scope in (Scope.TURN, Scope.CONVERSATION, Scope.PROCESS):
        for one, other in _pairs(scope, runs):
            found = divergence(one, other)
            if found is None:
                continue
            history = [b for b in one.blocks if b.region == "messages"]
            if scope is Scope.TURN and (found.last or len(history) < 2):
                continue
            if scope is Scope.CONVERSATION and (found.block.region == "messages" or found.behind < ENOUGH):
                continue
            if scope is Scope.PROCESS and (found.block.region != "tools" or found.tag or found.behind < ENOUGH):
                continue
            mark = found.tag or ("t" if found.block.region == "tools" else "m")
            if mark not in known or (scope, mark) in told:
                continue
            told.add((scope, mark))
            scopes = {Scope.TURN: (Scope.TURN,), Scope.CONVERSATION: (Scope.TURN, Scope.CONVERSATION)}
            fitting = scopes.get(scope, tuple(Scope))
            if not any(mark in named(f, lines) and f.scope in fitting for f in findings):
                yield f"nothing names {mark}, where the {found.block.region} first differ for another {scope.value}"
