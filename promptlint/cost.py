"""What a layout of prompts costs: simulated turn by turn, in prices of an uncached input token and in dollars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from promptlint import simulator
from promptlint.prices import Price
from promptlint.provider import Facts
from promptlint.simulator import Block, Call, Outcome
from promptlint.simulator.exchange import ago
from promptlint.simulator.window import MODE

_MOST = 20_000_000
_STRIDE = 10**9  # no two texts of a layout share ids


@dataclass(frozen=True, slots=True)
class Layout:
    """Turns that share a prefix of ``prefix`` tokens, ``gap`` seconds apart, with ``new`` tokens each.

    With ``grow`` the new tokens, and ``output`` tokens of each answer, are carried on to the next turn (a
    conversation); without, each turn is a question of its own behind the prefix.
    """

    prefix: int
    new: int
    turns: int
    gap: float = 60.0
    grow: bool = False
    output: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """The sum over all turns under one assumption: ``weight`` in uncached tokens, ``hits`` the turns that read."""

    name: str
    read: int
    written: int
    uncached: int
    weight: float
    dollars: float | None
    hits: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one layout costs with one model and lifetime.

    ``pays_from`` is the number of requests from which caching the prefix is cheaper than not, by lifetime (``None``:
    never); ``best`` the lifetime that costs least at the layout's gap, "" where not caching does.
    """

    facts: Facts
    layout: Layout
    ttl: str
    rows: tuple[Row, ...]
    by_ttl: tuple[tuple[str, Row], ...]
    best: str
    pays_from: tuple[tuple[str, int | None], ...]
    notes: tuple[str, ...]


def estimate(layout: Layout, facts: Facts, ttl: str | None = None, price: Price | None = None) -> Estimate:
    """Simulates the layout: without caching, with every turn in time, at the layout's gap, and with turns that miss.

    ``ttl`` is the lifetime that the markers ask for. Raises ``ValueError`` for one that the model does not offer, and
    for a layout too large for a cache that is simulated token by token.
    """
    offered = _lifetimes(facts)
    if ttl and offered and ttl not in offered:
        raise ValueError(f"{_who(facts)} offers lifetimes of {' and '.join(offered)}, not {ttl}")
    if facts.policy not in ("markers", "window") and _size(layout, layout.turns) * layout.turns > _MOST:
        raise ValueError(f"more than {_MOST:,} tokens in all turns are not simulated; fewer turns tell the same")
    chosen = ttl or facts.default_ttl or ""
    plain = [Outcome(0, _size(layout, turn)) for turn in range(layout.turns)]
    alone = [_outcomes(layout, facts, chosen, [0.0], first=turn)[0] for turn in range(layout.turns)]
    ideal = _outcomes(layout, facts, chosen, [float(turn) for turn in range(layout.turns)])
    actual = _at_gap(layout, facts, chosen)
    rows = [
        _row("no caching", plain, facts, price),
        _row("every turn in time", ideal, facts, price),
        _row(f"at a gap of {ago(layout.gap)}", actual, facts, price),
    ]
    some = layout.turns // 5
    if some and _hits(ideal) > some:
        rows.append(_row(f"{some} of {layout.turns} turns hit", [*alone[:-some], *ideal[-some:]], facts, price))
    rows.append(_row("no turn hits", alone, facts, price))
    by_ttl = tuple((name, _row(name, _at_gap(layout, facts, name), facts, price)) for name in offered)
    cheapest = min([("", rows[0]), *(by_ttl or (("", rows[2]),))], key=lambda pair: pair[1].weight)[0]
    pays_from = tuple((name, _pays_from(facts, name)) for name in offered or ("",))
    return Estimate(facts, layout, chosen, tuple(rows), by_ttl, cheapest, pays_from, tuple(_notes(layout, facts)))


def break_even(requests: int, facts: Facts, ttl: str | None = None) -> int:
    """The smallest prefix, in tokens, that is worth padding up to the model's minimum for that many requests.

    Source: OpenAI, "Prompt caching" guide: minimum * (read + (write - read) / requests).
    """
    read = 1.0 if facts.read is None else facts.read
    least = facts.minimum * (read + (facts.write_price(ttl) - read) / requests)
    return floor(least + 1e-9) + 1


def _lifetimes(facts: Facts) -> tuple[str, ...]:
    """The lifetimes with a price of their own, or that a request can choose."""
    priced = tuple(ttl for ttl, _ in facts.write)
    return tuple(ttl for ttl in facts.ttls if not priced or ttl in priced)


def _who(facts: Facts) -> str:
    return facts.model or facts.provider


def _size(layout: Layout, turn: int) -> int:
    carried = turn * (layout.new + layout.output) if layout.grow else 0
    return layout.prefix + carried + layout.new


def _at_gap(layout: Layout, facts: Facts, ttl: str) -> list[Outcome]:
    return _outcomes(layout, facts, ttl, [turn * layout.gap for turn in range(layout.turns)])


def _outcomes(layout: Layout, facts: Facts, ttl: str, times: Sequence[float], first: int = 0) -> list[Outcome]:
    calls = [_call(layout, facts, ttl, first + number, time) for number, time in enumerate(times)]
    return simulator.predict(calls, facts)


def _call(layout: Layout, facts: Facts, ttl: str, turn: int, at: float) -> Call:
    """One turn, marked as the provider's documentation advises: behind the prefix, and what grows at its end."""
    mark = ttl if facts.marker else None
    blocks = [Block("system", range(layout.prefix), role="system", marker=mark)]
    for number in range(0 if layout.grow else turn, turn + 1):
        start = (2 * number + 1) * _STRIDE
        newest = number == turn
        growing = mark if newest and layout.grow and facts.policy == "markers" else None
        blocks.append(Block("messages", range(start, start + layout.new), marker=growing))
        if not newest and layout.output:
            answer = range(start + _STRIDE, start + _STRIDE + layout.output)
            blocks.append(Block("messages", answer, role="assistant"))
    parameters = {MODE: "implicit" if layout.grow else "explicit"} if facts.policy == "window" else {}
    if facts.trigger == "explicit" and not facts.marker:
        parameters[facts.request_marker] = "key"
    asked = ttl if not facts.marker or facts.policy == "window" else None
    return Call(tuple(blocks), at=at, parameters=parameters, automatic=asked or None)


def _hits(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.read > 0 for outcome in outcomes)


def _row(name: str, outcomes: Sequence[Outcome], facts: Facts, price: Price | None) -> Row:
    weights = [outcome.weight(facts) for outcome in outcomes]
    return Row(
        name,
        read=sum(outcome.read for outcome in outcomes),
        written=sum(tokens for outcome in outcomes for _, tokens in outcome.written),
        uncached=sum(outcome.uncached for outcome in outcomes),
        weight=sum(weights),
        dollars=sum(w * price(o.total) for w, o in zip(weights, outcomes, strict=True)) if price else None,
        hits=_hits(outcomes),
    )


def _pays_from(facts: Facts, ttl: str) -> int | None:
    """The first number of requests n with write + (n - 1) reads < n."""
    read = 1.0 if facts.read is None else facts.read
    if read >= 1 or facts.policy == "none" or not facts.caches:
        return None
    return max(2, floor((facts.write_price(ttl) - read) / (1 - read) + 1e-9) + 1)


def _notes(layout: Layout, facts: Facts) -> list[str]:
    """What the figures rest on, and what would spoil them."""
    notes = []
    if facts.policy == "none":
        notes.append(
            f"nothing is known about caching at {facts.provider}: everything is counted as uncached; "
            "name the provider with --provider (promptlint providers lists them)"
        )
        return notes
    if not facts.caches:
        return [f"{_who(facts)} does not cache prompts, or gives no discount for it"]
    if not facts.minimum_known:
        notes.append(f"no minimum is known for {_who(facts)}: {facts.minimum:,} tokens are assumed")
    if facts.read is None:
        notes.append(f"no price for reading is known for {_who(facts)}: reads are counted as uncached")
    if layout.prefix < facts.minimum and not (layout.grow and _size(layout, layout.turns - 1) >= facts.minimum):
        least = break_even(layout.turns, facts)
        verdict = f"from {least:,} tokens on" if least < facts.minimum else "never"
        notes.append(
            f"caching starts at {facts.minimum:,} tokens, so this prefix is not cached; padding it up to that pays for "
            f"{layout.turns} requests {verdict}"
        )
    if facts.lifetime() is None:
        notes.append(f"{facts.provider} promises no lifetime: hits are the most that can be expected")
    return notes


def thousands(tokens: float) -> str:
    """A large number of tokens as people write it: 655k, 1,010k, 980."""
    return f"{tokens / 1000:,.0f}k" if tokens >= 10_000 else f"{ceil(tokens):,}"
