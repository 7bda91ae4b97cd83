"""Requests of a trace as the probe sees them: their bodies, their parts, and where they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from promptlint import provider
from promptlint.provider import Facts
from promptlint.trace import wire
from promptlint.trace.format import Exchange
from promptlint.trace.wire import BodyError, Wire

MOST = 100
"""Requests of one place that are looked at: a trace may hold a million, and the first ones tell as much."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request that a program sent. ``run`` tells the runs apart that it was seen in."""

    exchange: Exchange
    body: dict[str, Any]
    wire: Wire
    facts: Facts
    run: int = 0

    @property
    def site(self) -> str:
        """The place that sent it."""
        return site(self.exchange)

    @property
    def process(self) -> tuple[int, int | None]:
        """The run and the process in it."""
        return self.run, self.exchange.pid

    @property
    def host(self) -> str:
        """Where it went."""
        return urlsplit(self.exchange.endpoint).netloc


def site(exchange: Exchange) -> str:
    """The line that sent a request; the address where that is not known."""
    return f"{exchange.stack[0].file}:{exchange.stack[0].line}" if exchange.stack else exchange.endpoint


@dataclass(frozen=True, slots=True)
class Unusable:
    """A request that cannot be sent again, and why."""

    exchange: Exchange
    reason: str


def read(
    exchanges: Iterable[Exchange], *, served_by: str | None = None, base_url: str | None = None, run: int = 0
) -> Iterator[Sample | Unusable]:
    """The requests of a trace, without what an SDK sent once more by itself, and the first ``MOST`` of each place.

    ``served_by`` is the provider where the user says who it is, ``base_url`` where the probe will send to.
    """
    seen: Counter[str] = Counter()
    for exchange in exchanges:
        where = site(exchange)
        if exchange.retry_of is not None or seen[where] >= MOST:
            continue
        seen[where] += 1
        if exchange.redacted:
            yield Unusable(exchange, "the trace holds no texts (--redact-content)")
            continue
        try:
            body = wire.load(exchange.body)
            model = wire.model(body, exchange.endpoint)
            known = exchange.provider if base_url is None else None
            name = served_by or known or _provider(exchange, base_url, model)
            facts = provider.facts(name, model)
            yield Sample(exchange, body, wire.parse(body, exchange.api or "", facts, exchange.headers), facts, run)
        except BodyError as error:
            yield Unusable(exchange, str(error))


def _provider(exchange: Exchange, base_url: str | None, model: str | None) -> str:
    """Whose rules hold: those of the server that the probe sends to, else of the one that the request went to."""
    api = "anthropic" if exchange.api == "messages" else "openai" if exchange.api in ("chat", "responses") else None
    return provider.identify(api=api, base_url=base_url or exchange.endpoint, model=model)
