"""Claims about a function: run in worlds that differ, until each finding shows or there is nothing left to vary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from promptlint.finding import Finding
from promptlint.output.words import count
from promptlint.probe import samples
from promptlint.probe.claims import Claim, claims
from promptlint.probe.pairs import Relation
from promptlint.probe.samples import Sample, Unusable
from promptlint.probe.twice import BASE, DAY, MINUTE, MORE, Run, Stage, TwiceError, World, axes
from promptlint.trace.divergence import compare

Read = Callable[[Run, int], list[Sample | Unusable]]
Progress = Callable[[str, int, int], None]

_BY_CHANCE = ("unordered", "unsorted-json")
"""Kinds of findings whose values can be equal by chance."""
_MOST_RUNS = 2 + 1 + len(MORE) + 4


def reader(served_by: str | None, base_url: str | None) -> Read:
    """Turns the requests of a run into samples; see ``samples.read``."""
    return lambda run, number: list(samples.read(run.exchanges, served_by=served_by, base_url=base_url, run=number))


def examine(
    stage: Stage, findings: Sequence[Finding], read: Read, progress: Progress
) -> tuple[list[Claim], list[World]]:
    """The claims of a function, and the worlds that it was run in. Raises ``TwiceError`` when it makes no request."""
    worlds: list[World] = []
    seen: list[Sample | Unusable] = []
    made: list[Claim] = []
    for world in _worlds(made):
        progress("running", len(worlds), _MOST_RUNS)
        run = stage.run(world)
        if run.error:
            stage.notes.append(f"run {len(worlds) + 1} ended after {count(len(run.exchanges), 'request')}: {run.error}")
        seen += read(run, len(worlds))
        worlds.append(world)
        made[:] = claims(findings, seen) if len(worlds) > 1 else []
    if not seen:
        raise TwiceError(f"{stage.target} made no request to a language model")
    return made, worlds


def named(claims: Sequence[Claim], worlds: Sequence[World], stage: Stage, read: Read) -> list[Claim]:
    """The claims with the one thing that makes the difference between two runs, found by further runs."""
    alone = _Alone(stage, read)
    return [_named(claim, worlds, alone) for claim in claims]


def _worlds(made: Sequence[Claim]) -> Iterator[World]:
    yield from (BASE, MINUTE)
    if not all(_settled(claim) for claim in made):
        yield DAY
    for world in MORE:
        if any(claim.finding and claim.finding.kind in _BY_CHANCE and not _settled(claim) for claim in made):
            yield world


def _settled(claim: Claim) -> bool:
    """Whether another run would tell nothing new."""
    if claim.forecast is None:
        return bool(claim.sample) or claim.missing.startswith("no pair of requests")
    return claim.forecast.breaks and claim.shows


class _Alone:
    """Runs in worlds that differ in one thing from the first, each made once."""

    def __init__(self, stage: Stage, read: Read) -> None:
        self._stage, self._read = stage, read
        self._known: dict[World, list[Sample]] = {}

    def samples(self, world: World) -> list[Sample]:
        """The requests of the run in this world."""
        if world not in self._known:
            found = self._read(self._stage.run(world), 0)
            self._known[world] = [sample for sample in found if isinstance(sample, Sample)]
        return self._known[world]


def _named(claim: Claim, worlds: Sequence[World], alone: _Alone) -> Claim:
    """The claim with the one thing that makes its difference between two runs."""
    pair, found = claim.pair, claim.forecast
    if pair is None or found is None or found.difference is None or pair.relation is not Relation.RUN:
        return claim
    base = alone.samples(BASE)
    place = next((n for n, sample in enumerate(base) if sample.exchange.body == pair.first.exchange.body), None)
    if place is None:  # the first world itself is not the same twice
        return replace(claim, axis="nothing that the probe controls: two equal runs differ, too")
    for name, world in axes(worlds[pair.second.run], found.difference.change):
        other = alone.samples(world)
        if place < len(other):
            difference = compare(base[place].wire.parts, other[place].wire.parts)
            if difference is not None and difference.path == found.difference.path:
                return replace(claim, axis=name)
    return claim
