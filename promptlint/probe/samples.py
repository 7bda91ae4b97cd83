"""Requests of a trace as the probe sees them: their bodies, their parts, and where they go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from promptlint import provider
from promptlint.provider import Facts
from promptlint.trace import wire
from promptlint.trace.format import Exchange, Frame
from promptlint.trace.wire import BodyError, Wire


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
        """The line that sent it; the address where that is not known."""
        return place(self.exchange.stack[0]) if self.exchange.stack else self.exchange.endpoint

    @property
    def process(self) -> tuple[int, int | None]:
        """The run and the process in it."""
        return self.run, self.exchange.pid

    @property
    def host(self) -> str:
        """Where it went."""
        return urlsplit(self.exchange.endpoint).netloc


def place(frame: Frame) -> str:
    """A step of a call site in words."""
    return f"{frame.file}:{frame.line}"


@dataclass(frozen=True, slots=True)
class Unusable:
    """A request that cannot be sent again, and why."""

    exchange: Exchange
    reason: str


def read(
    exchanges: Iterable[Exchange], *, served_by: str | None = None, base_url: str | None = None, run: int = 0
) -> Iterator[Sample | Unusable]:
    """The requests of a trace, without what an SDK sent once more by itself.

    ``served_by`` is the provider where the user says who it is, ``base_url`` where the probe will send to.
    """
    for exchange in exchanges:
        if exchange.retry_of is not None:
            continue
        if exchange.redacted:
            yield Unusable(exchange, "the trace holds no texts (--redact-content)")
            continue
        try:
            body = wire.load(exchange.body)
            model = wire.model(body, exchange.endpoint)
            name = served_by or exchange.provider or _provider(exchange, base_url, model)
            facts = provider.facts(name, model)
            yield Sample(exchange, body, wire.parse(body, exchange.api or "", facts, exchange.headers), facts, run)
        except BodyError as error:
            yield Unusable(exchange, str(error))


def _provider(exchange: Exchange, base_url: str | None, model: str | None) -> str:
    """Whose rules hold: those of the server that the probe sends to, else of the one that the request went to."""
    api = "anthropic" if exchange.api == "messages" else "openai" if exchange.api in ("chat", "responses") else None
    return provider.identify(api=api, base_url=base_url or exchange.endpoint, model=model)
