"""What is put to the test: each finding with a pair of requests from its place, and each other place that sends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from promptlint.finding import Finding, Region, Scope
from promptlint.output.words import place
from promptlint.probe.offline import Forecast, forecast
from promptlint.probe.pairs import Pair, candidates
from promptlint.probe.samples import Sample, Unusable
from promptlint.trace import wire
from promptlint.trace.matching import EXPLAINS, passes
from promptlint.trace.texts import Change

ABSENT = frozenset(("missing-breakpoint", "prefix-below-minimum", "unsupported-cache-field"))
"""Rules that say that nothing is cached at all: the same request twice reads nothing."""

_UNSUITED = {
    "parallel-cold-start": "it is about requests sent at the same time, and the probe sends one after the other",
    "ttl-mismatch": "it is about the time between requests, and the probe does not wait that long",
    "unrecovered-write": "it is about how often a prefix is sent, not about what two requests share",
    "unread-usage": "it is about what the program does with the answer",
}
_CODE_ONLY = frozenset(("syntax-error", "unused-ignore"))


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing to find out. ``finding`` is ``None`` for a place of which the analysis says nothing.

    ``pair`` is ``None`` where there are no two requests to compare; ``missing`` says why. ``sample`` is the request
    that the API is said to refuse.
    """

    site: str
    finding: Finding | None
    pair: Pair | None = None
    forecast: Forecast | None = None
    sample: Sample | None = None
    missing: str = ""
    axis: str = ""
    """What the two runs that the pair is from differ in, where one thing alone makes the difference."""

    @property
    def absent(self) -> bool:
        """Whether the claim is that nothing is cached at all."""
        return self.finding is not None and self.finding.rule in ABSENT

    @property
    def futile(self) -> str:
        """Why a count could not decide it, "" when it could: requests that ask for no caching get none."""
        if self.pair is None or self.forecast is None or self.absent or self.forecast.control:
            return ""
        asks = wire.call(self.pair.first.wire, self.pair.first.facts).marked
        if asks or self.pair.first.facts.trigger != "explicit":
            return ""
        return f"the same request twice is not cached: {self.forecast.control_why}"

    @property
    def shows(self) -> bool:
        """Whether the pair differs where the finding says so; true for a place without a finding."""
        if self.forecast is None:
            return False
        return self.finding is None or _shows(self.finding, self.forecast)


def claims(findings: Iterable[Finding], samples: Sequence[Sample | Unusable]) -> list[Claim]:
    """One claim for each finding and for each place without one, the dearest first."""
    usable = [sample for sample in samples if isinstance(sample, Sample)]
    rest = [sample for sample in samples if isinstance(sample, Unusable)]
    by_site: dict[str, list[Sample]] = defaultdict(list)
    for sample in usable:
        by_site[sample.site].append(sample)
    made: list[Claim] = []
    covered: set[str] = set()
    for finding in findings:
        if finding.rule in _CODE_ONLY or finding.suppressed is not None:
            continue
        sites = [site for site, sent in by_site.items() if any(_sent_by(finding, sample) for sample in sent)]
        covered.update(sites)
        made.append(_claim(finding, sites, by_site, rest))
    for site, sent in by_site.items():
        if site not in covered:
            made.append(_compared(site, None, sent))
    return sorted(made, key=lambda claim: (claim.finding is None, -_weight(claim)))


def _weight(claim: Claim) -> int:
    return claim.forecast.lost if claim.forecast else 0


def _claim(finding: Finding, sites: Sequence[str], by_site: dict[str, list[Sample]], rest: Sequence[Unusable]) -> Claim:
    where = f"{place(finding.site.span.path)}:{finding.site.span.at}"
    if finding.rule in _UNSUITED:
        return Claim(where, finding, missing=f"no pair of requests shows it: {_UNSUITED[finding.rule]}")
    if not sites:
        why = rest[0].reason if rest else "no request was seen from there"
        return Claim(where, finding, missing=why)
    made = [_compared(site, finding, by_site[site]) for site in sites]
    return max(made, key=lambda claim: (claim.shows and bool(claim.forecast and claim.forecast.breaks), _weight(claim)))


def _compared(site: str, finding: Finding | None, sent: Sequence[Sample]) -> Claim:
    """The claim about one place with the pair that shows it best."""
    if finding is not None and finding.scope is Scope.REQUEST:
        return Claim(site, finding, sample=sent[0])
    answered = [sample for sample in sent if (sample.exchange.status or 200) < 400]
    pairs = candidates(
        answered, finding.scope if finding else None, finding is not None and finding.region in _MESSAGES
    )
    if not pairs:
        few = "only one request was seen" if answered else "no request was answered"
        return Claim(site, finding, missing=f"{few} from there")
    if stateful := next((pair for pair in pairs if pair.second.wire.previous), None):
        known = stateful.second.wire.previous
        return Claim(site, finding, missing=f"the provider itself keeps the history (previous_response_id {known})")
    made: list[Claim] = []
    for pair in pairs[:_MOST]:
        found = forecast(pair)
        claim = Claim(site, finding, pair, found)
        if (found.breaks or found.refused) and claim.shows:
            return claim
        made.append(claim)
    return _longest(made)


_MOST = 50
"""Pairs of one place that are compared; the first ones tell as much as the last."""


def _longest(made: Sequence[Claim]) -> Claim:
    """Of pairs of the first kind, the one with the longest prompt."""
    first = made[0].pair
    same = [c for c in made if c.pair and first and c.pair.relation is first.relation]
    return max(same, key=lambda c: c.forecast.total if c.forecast else 0)


def _sent_by(finding: Finding, sample: Sample) -> bool:
    return passes(sample.exchange.stack, [site.span for site in (finding.site, *finding.also)])


_MESSAGES = (Region.FIRST_MESSAGE, Region.MID_HISTORY, Region.LAST_MESSAGE)
_TELLING = (Change.CLOCK, Change.ID)
"""Differences that show what kind of value they come from."""
_REGIONS = {Region.TOOLS: "tools", Region.SYSTEM: "system"}


def _shows(finding: Finding, found: Forecast) -> bool:
    if finding.scope is Scope.REQUEST or finding.rule in ABSENT:
        return True
    if finding.region is Region.PARAMETERS:
        return bool(found.parameters)
    if found.difference is None:  # equal texts that the cache does not find again: out of reach of a marker
        return found.breaks and not found.parameters
    if found.difference.region != _REGIONS.get(finding.region, "messages"):
        return False
    told = finding.rule in EXPLAINS[found.difference.change] or not finding.rule.startswith("volatile-")
    return told or found.difference.change not in _TELLING
