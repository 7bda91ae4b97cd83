"""What is kept of a request to compare later ones with: hashes and sizes of its parts, and its body, packed."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from promptlint import provider, tokens
from promptlint.provider import Facts
from promptlint.simulator import Block, Call
from promptlint.simulator.exchange import rendered
from promptlint.trace import parameters, redaction, wire
from promptlint.trace.format import Exchange, Frame
from promptlint.trace.parts import Part
from promptlint.trace.usage import Usage, reported
from promptlint.trace.wire import Wire

SESSION = "x-session-id"
GUESSED = "x-promptlint-markers"
"""Header of an imported request of which it is not known where its cache markers stood."""

_MEDIA = 1500
"""Tokens that an image or a document is taken for: its bytes say nothing about them."""
_BITS = 24
"""Of a token id that count the tokens of one part; the others tell parts apart."""
_REMEMBERED = 200_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of a trace.

    ``keys`` are hashes of its parts as the model sees them, ``nameless`` those without ids, ``chain`` hashes of all
    parts up to each, ``sizes`` tokens by estimate, ``shapes`` region, kind and role, ``marks`` the lifetimes that
    markers ask for by index. ``site`` are the frames of the call, innermost first. ``status`` is 0 when no answer
    came. ``packed`` is the body.
    """

    number: int
    id: str
    at: float
    begins: float
    lasts: float
    api: str
    endpoint: str
    facts: Facts
    site: tuple[Frame, ...]
    keys: array[int]
    nameless: array[int]
    chain: array[int]
    sizes: array[int]
    shapes: tuple[tuple[str, str, str], ...]
    marks: Mapping[int, str]
    parameters: Mapping[str, str]
    automatic: str | None
    previous: str | None
    session: str | None
    uses: str | None
    usage: Usage
    status: int | None
    response_id: str | None
    retry_of: str | None
    pid: int | None
    headers: Mapping[str, str]
    redacted: str | None
    packed: bytes

    @property
    def marked(self) -> bool:
        """Whether it asks for caching."""
        return bool(self.marks) or self.automatic is not None

    @property
    def guessed(self) -> bool:
        """Whether nobody knows where its markers stood, so that nothing can be said about them."""
        return GUESSED in self.headers and self.facts.trigger == "explicit"

    @property
    def pool(self) -> tuple[str, str | None, str | None]:
        """Provider, model, and the key that texts are hashed with: nothing is shared, or can be, between two pools."""
        return self.facts.provider, self.facts.model, self.redacted

    @property
    def estimated(self) -> int:
        """Input tokens by estimate."""
        return sum(self.sizes)

    @property
    def scale(self) -> float:
        """What an estimated token is in tokens as the provider counts them."""
        return self.usage.total / self.estimated if self.usage.total and self.estimated else 1.0

    @property
    def total(self) -> int:
        """Input tokens: those that the provider reports, or the estimate."""
        return self.usage.total if self.usage.total is not None else self.estimated

    @property
    def weight(self) -> int:
        """Bytes of memory, roughly."""
        return len(self.packed) + 400 * len(self.keys) + 1500

    def wire(self) -> Wire:
        """The request in full."""
        body = wire.load(zlib.decompress(self.packed).decode("utf-8", "surrogatepass"))
        return wire.parse(body, self.api, self.facts, self.headers)

    def parts(self) -> tuple[Part, ...]:
        """The parts as the model sees them."""
        return tuple(rendered(self.wire().parts, self.facts))


class Observer:
    """Makes ``Sent`` of exchanges; remembers how many tokens parts have, which come again with every turn."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def __call__(self, exchange: Exchange, number: int) -> Sent:
        """What is kept of an exchange. Raises ``BodyError`` for a body that is no request."""
        try:
            return self._observed(exchange, number)
        except RecursionError:
            raise wire.BodyError("the body is nested too deeply") from None

    def _observed(self, exchange: Exchange, number: int) -> Sent:
        body = wire.load(exchange.body)
        model = wire.model(body, exchange.endpoint)
        name = exchange.provider or provider.identify(api=None, base_url=exchange.endpoint, model=model)
        facts = provider.facts(name, model)
        request = wire.parse(body, exchange.api or "", facts, exchange.headers)
        parts = tuple(rendered(request.parts, facts))
        keys = [_hash(part, part.text) for part in parts]
        calls = ("tool_use", "tool_result")
        nameless = [
            _hash(part, part.nameless) if part.kind in calls else key for key, part in zip(keys, parts, strict=True)
        ]
        sizes = [self._size(key, part, facts) for key, part in zip(keys, parts, strict=True)]
        return Sent(
            number=number,
            id=exchange.id,
            at=exchange.at,
            begins=exchange.began or exchange.lasted or 0.0,
            lasts=exchange.lasted or 0.0,
            api=request.api,
            endpoint=exchange.endpoint,
            facts=facts,
            site=exchange.stack,
            keys=array("Q", keys),
            nameless=array("Q", nameless),
            chain=array("Q", chained(keys)),
            sizes=array("L", sizes),
            shapes=tuple(_shape(part.region, part.kind, part.role) for part in parts),
            marks={index: part.marker for index, part in enumerate(parts) if part.marker is not None},
            parameters=_shared(parameters.deciding(request.parameters, facts)),
            automatic=request.automatic,
            previous=request.previous,
            session=_session(body, exchange.headers),
            uses=request.uses,
            usage=reported(exchange.usage, facts),
            status=exchange.status if exchange.status is not None or not exchange.error else 0,
            response_id=exchange.response_id,
            retry_of=exchange.retry_of,
            pid=exchange.pid,
            headers=exchange.headers,
            redacted=exchange.redacted,
            packed=zlib.compress(exchange.body.encode("utf-8", "surrogatepass"), 1),
        )

    def _size(self, key: int, part: Part, facts: Facts) -> int:
        known = self._sizes.get(key)
        if known is None:
            if len(self._sizes) >= _REMEMBERED:
                self._sizes.clear()
            known = self._sizes[key] = _tokens(part, facts)
        return known


def _session(body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """The conversation that a request says it belongs to."""
    metadata = body.get("metadata") if isinstance(body.get("metadata"), Mapping) else {}
    held = body.get("conversation")
    names = [headers.get(SESSION), headers.get("x-grok-conv-id"), body.get("session_id"), held]
    names += [metadata.get(key) for key in ("session_id", "conversation_id", "thread_id")] if metadata else []
    names += [held.get("id")] if isinstance(held, Mapping) else []
    return next((name for name in names if isinstance(name, str) and name), None)


_settings: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}


def _shared(found: dict[str, str]) -> Mapping[str, str]:
    """One object for all that are equal, of the first thousands of them."""
    key = tuple(found.items())
    return _settings.setdefault(key, found) if len(_settings) < 10_000 else _settings.get(key, found)


_shapes: dict[tuple[str, str, str], tuple[str, str, str]] = {}


def _shape(*shape: str) -> tuple[str, str, str]:
    """One object for all that are equal."""
    region, kind, role = shape
    return _shapes.setdefault((region, kind, role), (region, kind, role))


def _hash(part: Part, text: str) -> int:
    data = f"{part.region}\0{part.role}\0{part.kind}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def chained(keys: Sequence[int]) -> Iterator[int]:
    """A hash of all keys up to each."""
    at = 0
    for key in keys:
        at = hash((at, key)) & 0xFFFF_FFFF_FFFF_FFFF
        yield at


def _tokens(part: Part, facts: Facts) -> int:
    if part.kind in ("image", "document") or '"data:' in part.text[:400]:
        return _MEDIA
    if "#[" in part.text and (length := redaction.original_length(part.text)) is not None:
        return max(1, length // 4)
    counted = tokens.count(part.text, facts.model, facts.provider)
    return round((counted.low + counted.high) / 2)


def calls(requests: Sequence[Sent]) -> list[Call]:
    """The requests for the simulator, with parts sized as in the last of them; equal parts have equal ids."""
    scale = requests[-1].scale
    return [_call(request, scale) for request in requests]


def _call(request: Sent, scale: float) -> Call:
    blocks, at, whole = [], 0.0, 0
    for index, (key, size, (region, kind, role)) in enumerate(
        zip(request.keys, request.sizes, request.shapes, strict=True)
    ):
        at += size * scale
        end = max(round(at), whole)
        start = key >> _BITS << _BITS
        blocks.append(Block(region, range(start, start + end - whole), kind, role, request.marks.get(index)))
        whole = end
    return Call(
        tuple(blocks),
        at=request.at,
        begins=request.begins,
        lasts=request.lasts,
        parameters=request.parameters,
        automatic=request.automatic,
        uses=request.uses,
    )
