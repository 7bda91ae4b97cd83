"""What would be sent, to whom, and what it may cost at most. Nothing else is ever sent."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from promptlint import tokens
from promptlint.prices import ceiling
from promptlint.probe import bodies
from promptlint.probe.claims import Claim
from promptlint.probe.samples import Sample

FILL, CONTROL, PAIR, ALONE = "fills the cache", "control: the same again", "the second request", "accepted or refused?"

_HOSTS = {"api.anthropic.com": "https://api.anthropic.com", "api.openai.com": "https://api.openai.com/v1"}
_FRAME = 12
"""Tokens by which a provider may frame a part."""
_HIDDEN = 500
"""Tokens that a provider may add by itself, for the use of tools for instance."""
_IMAGE = 10_000
"""More tokens than any provider counts for one image, whose bytes are no text."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where requests go: the SDK, "anthropic" or "openai", and the base URL that it gets."""

    sdk: str
    url: str

    @property
    def server(self) -> str:
        """Host and port: one cache, whichever of its APIs is spoken."""
        return urlsplit(self.url).netloc

    @property
    def local(self) -> bool:
        """Whether it is this machine or a private network: then no key is needed, and nothing has to settle."""
        host = urlsplit(self.url).hostname or ""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host == "localhost"
        return address.is_private or address.is_loopback


@dataclass(frozen=True, slots=True)
class Step:
    """One request to be sent. ``tokens`` and ``dollars`` are upper bounds; without a known price ``None``."""

    purpose: str
    sample: Sample
    body: dict[str, Any]
    tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """Requests that are sent one after the other, and the claims that their answers decide."""

    claims: tuple[Claim, ...]
    destination: Destination
    steps: tuple[Step, ...]

    @property
    def dollars(self) -> float | None:
        """The upper bound of all steps."""
        return _sum(self.steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """All trials, and the claims that are not put to the test with the reason."""

    trials: tuple[Trial, ...]
    left: tuple[tuple[Claim, str], ...] = ()

    @property
    def requests(self) -> int:
        """How many requests are sent if none has to be repeated."""
        return sum(len(trial.steps) for trial in self.trials)

    @property
    def tokens(self) -> int:
        """Upper bound of all input tokens."""
        return sum(step.tokens for trial in self.trials for step in trial.steps)

    @property
    def dollars(self) -> float | None:
        """Upper bound of the costs."""
        return _sum([step for trial in self.trials for step in trial.steps])

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models without a known price."""
        steps = (step for trial in self.trials for step in trial.steps)
        return tuple(dict.fromkeys(step.sample.wire.model or "?" for step in steps if step.dollars is None))


def _sum(steps: Sequence[Step]) -> float | None:
    known = [step.dollars for step in steps if step.dollars is not None]
    return sum(known) if len(known) == len(steps) else None


def make(
    claims: Sequence[Claim],
    *,
    base_url: str | None = None,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> Plan:
    """The trials that fit into the budget, in the order of the claims."""
    trials: list[Trial] = []
    left: list[tuple[Claim, str]] = []
    requests, spent = 0, 0.0
    for group in _groups(claims):
        sample = group[0].pair.second if group[0].pair else group[0].sample
        if sample is None or all(claim.futile for claim in group):
            left += [(claim, claim.missing or claim.futile) for claim in group]
            continue
        where = destination(sample, base_url)
        if isinstance(where, str):
            left += [(claim, where) for claim in group]
            continue
        trial = Trial(group, where, tuple(_steps(group[0])))
        cost = trial.dollars
        if max_requests is not None and requests + len(trial.steps) > max_requests:
            left += [(claim, f"not sent: --max-requests allows {max_requests}") for claim in group]
        elif max_usd is not None and (cost is None or spent + cost > max_usd):
            unknown = f"the price of {sample.wire.model or 'the model'} is not known"
            why = unknown if cost is None else f"it may cost ${cost:.4f}"
            left += [(claim, f"not sent: {why}, and --max-usd allows ${max_usd:g}") for claim in group]
        else:
            requests, spent = requests + len(trial.steps), spent + (cost or 0.0)
            trials.append(trial)
    return Plan(tuple(trials), tuple(left))


def _groups(claims: Sequence[Claim]) -> Iterator[tuple[Claim, ...]]:
    """Claims that the same requests decide."""
    groups: dict[tuple[object, ...], list[Claim]] = {}
    for number, claim in enumerate(claims):
        key: tuple[object, ...] = (number,)
        if claim.pair is not None:
            key = (claim.site, *((s.run, s.exchange.id) for s in (claim.pair.first, claim.pair.second)))
        elif claim.sample is not None:
            key = (claim.site, claim.sample.run, claim.sample.exchange.id)
        groups.setdefault(key, []).append(claim)
    yield from (tuple(group) for group in groups.values())


def _steps(claim: Claim) -> Iterator[Step]:
    if claim.pair is None:
        assert claim.sample is not None
        yield _step(ALONE, claim.sample)
        return
    yield _step(FILL, claim.pair.first)
    yield _step(CONTROL, claim.pair.first)
    yield _step(PAIR, claim.pair.second)


def _step(purpose: str, sample: Sample) -> Step:
    body = bodies.minimal(sample)
    size = upper(sample)
    worst = ceiling(sample.facts)
    return Step(purpose, sample, body, size, worst(size, bodies.output(body)) if worst else None)


def upper(sample: Sample) -> int:
    """More input tokens than the request can have."""
    total = float(_HIDDEN)
    for part in sample.wire.parts:
        size = tokens.count(part.text, sample.wire.model, sample.facts.provider).high
        total += _FRAME + (min(size, _IMAGE) if part.kind == "image" else size)
    return round(total)


def destination(sample: Sample, base_url: str | None) -> Destination | str:
    """Where the probe sends a request; a reason in words where it does not.

    An address that stands only in a trace gets no request and no key: the user has to name it.
    """
    if sample.wire.api not in bodies.SENDABLE:
        return f"neither of the two SDKs sends requests of this kind ({sample.wire.api})"
    sdk = "anthropic" if sample.wire.api == "messages" else "openai"
    if base_url is None:
        known = _HOSTS.get(sample.host)
        if known is None:
            return f"it went to {sample.host or 'an unknown address'}: name the address with --base-url to probe there"
        return Destination(sdk, known)
    url = base_url.rstrip("/")
    if sdk == "anthropic":
        return Destination(sdk, url.removesuffix("/v1"))
    return Destination(sdk, url if urlsplit(url).path else f"{url}/v1")
