"""What a layout of prompts costs: simulated turn by turn, in prices of an uncached input token and in dollars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import ceil, floor

from promptlint import simulator
from promptlint.prices import Price
from promptlint.provider import Facts
from promptlint.simulator import Block, Call, Outcome
from promptlint.simulator.exchange import ago
from promptlint.simulator.window import MODE

_MOST = 200_000_000
"""Tokens times turns times turns, where each request is compared with all before it token by token."""
_STRIDE = 10**9  # no two texts of a layout share ids
_HOUR = 3600
_MOMENT = 0.001
"""Seconds from the making of a cache object to its first use."""

Turn = tuple[Outcome, ...]
"""What the requests of one turn come to; there are two where a cache object is made first."""


@dataclass(frozen=True, slots=True)
class Break:
    """How code as it is written breaks a prefix: a text that changes with every turn stands in it.

    ``ahead`` tokens of the prefix stand in front of that text; ``marked_ahead`` and ``marked_behind`` say whether a
    marker stands in front of it, or behind it.
    """

    ahead: int
    marked_ahead: bool = False
    marked_behind: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Turns that share a prefix of ``prefix`` tokens, ``gap`` seconds apart, with ``new`` tokens each.

    With ``grow`` the new tokens, and ``output`` tokens of each answer, are carried on to the next turn (a
    conversation); without, each turn is a question of its own behind the prefix. ``written`` is what the code makes of
    the prefix where it does not keep it whole.
    """

    prefix: int
    new: int
    turns: int
    gap: float = 60.0
    grow: bool = False
    output: int = 0
    written: Break | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The sum over all turns under one assumption: ``weight`` in uncached tokens, ``hits`` the turns that read.

    ``written`` are tokens by the lifetime that they were written for; ``storage`` the token-hours that a cache object
    was kept.
    """

    name: str
    read: int
    written: tuple[tuple[str, int], ...]
    uncached: int
    storage: float
    weight: float
    dollars: float | None
    hits: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one layout costs with one model and lifetime.

    ``pays_from`` is the number of requests from which caching the prefix is cheaper than not, by lifetime (``None``:
    never); ``best`` the lifetime that costs least at the layout's gap, "" where not caching does. ``objects``: the
    lifetimes are those of a cache object.
    """

    facts: Facts
    layout: Layout
    ttl: str
    rows: tuple[Row, ...]
    by_ttl: tuple[tuple[str, Row], ...]
    best: str
    pays_from: tuple[tuple[str, int | None], ...]
    notes: tuple[str, ...]
    objects: bool = False


def estimate(layout: Layout, facts: Facts, ttl: str | None = None, price: Price | None = None) -> Estimate:
    """Simulates the layout: without caching, with every turn in time, at the layout's gap, and with turns that miss.

    ``ttl`` is the lifetime that the markers ask for; "1h,5m" asks for one hour behind the prefix and for five minutes
    behind what a conversation adds to it. Where the provider has cache objects it is how long one for the prefix is
    kept ("20m"). Raises ``ValueError`` for a lifetime that the model does not offer, and for a layout too large for a
    cache that is simulated token by token.
    """
    objects = bool(facts.object_conflicts and ttl)
    offered = (ttl or "",) if objects else _lifetimes(facts)
    chosen = _checked(ttl, offered, layout, facts) if ttl else facts.default_ttl or ""
    if objects and layout.prefix < facts.minimum:
        raise ValueError(f"{_who(facts)} refuses a cache object of fewer than {facts.minimum:,} tokens")
    if facts.policy not in ("markers", "window") and _size(layout, layout.turns) * layout.turns**2 > _MOST:
        raise ValueError(f"so many turns of so many tokens take too long to simulate at {facts.provider}: take fewer")
    plain = [(Outcome(0, _size(layout, turn)),) for turn in range(layout.turns)]
    alone = [_turns(layout, facts, chosen, [0.0], first=turn)[0] for turn in range(layout.turns)]
    ideal = _turns(layout, facts, chosen, [float(turn) for turn in range(layout.turns)])
    times = [turn * layout.gap for turn in range(layout.turns)]
    rows = [
        _row("no caching", plain, facts, price),
        _row("every turn in time", ideal, facts, price),
        _row(f"at a gap of {ago(layout.gap)}", _turns(layout, facts, chosen, times), facts, price),
    ]
    if layout.written:
        rows.append(_row("as the code is written", _turns(layout, facts, chosen, times, layout.written), facts, price))
    some = layout.turns // 5
    if some and _hits(ideal) > some and not objects:
        rows.append(_row(f"{some} of {layout.turns} turns hit", [*alone[:-some], *ideal[-some:]], facts, price))
    if not objects:
        rows.append(_row("no turn hits", alone, facts, price))
    compared = (*offered, *_mixed(offered, layout, facts))
    by_ttl = tuple((name, _row(name, _turns(layout, facts, name, times), facts, price)) for name in compared)
    cheapest = min([("", rows[0]), *(by_ttl or (("", rows[2]),))], key=lambda pair: pair[1].weight)[0]
    pays_from = tuple((name, pays(facts, name, objects)) for name in offered or ("",))
    notes = tuple(_notes(layout, facts, objects))
    return Estimate(facts, layout, chosen, tuple(rows), by_ttl, cheapest, pays_from, notes, objects)


def break_even(requests: int, facts: Facts, ttl: str | None = None) -> int:
    """The smallest prefix, in tokens, that is worth padding up to the model's minimum for that many requests.

    Source: OpenAI, "Prompt caching" guide: minimum * (read + (write - read) / requests).
    """
    read = 1.0 if facts.read is None else facts.read
    least = facts.minimum * (read + (facts.write_price(ttl) - read) / requests)
    return floor(least + 1e-9) + 1


def padding_pays(prefix: int, facts: Facts) -> int | None:
    """From how many requests on it is cheaper to pad a prefix up to the model's minimum; ``None``: never."""
    read = 1.0 if facts.read is None else facts.read
    gained = prefix - facts.minimum * read
    if gained <= 0 or read >= 1:
        return None
    return max(1, floor(facts.minimum * (facts.write_price() - read) / gained + 1e-9) + 1)


def pays(facts: Facts, ttl: str, objects: bool = False) -> int | None:
    """The first number of requests n with write + (n - 1) reads < n; ``None``: never.

    A cache object is read by every request, and is paid for while it is kept: 1 + storage + n reads < n.
    """
    read = 1.0 if facts.read is None else facts.read
    if read >= 1 or facts.policy == "none" or not facts.caches:
        return None
    fixed = 1 + (facts.storage or 0.0) * seconds(ttl) / _HOUR if objects else facts.write_price(ttl) - read
    return max(2, floor(fixed / (1 - read) + 1e-9) + 1)


def seconds(text: str) -> float:
    """A time as people write it: 90, 90s, 5m, 2h, 1d. Raises ``ValueError``."""
    units = {"s": 1, "m": 60, "h": _HOUR, "d": 24 * _HOUR}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ValueError(f"{text!r} is no time; write seconds, or 5m, or 2h")
    return found


def _lifetimes(facts: Facts) -> tuple[str, ...]:
    """The lifetimes with a price of their own, or that a request can choose."""
    if not facts.caches:
        return ()
    priced = tuple(ttl for ttl, _ in facts.write)
    chosen = facts.ttls or tuple(name for name in facts.retentions if "-" not in name)  # "in-memory" is "in_memory"
    return tuple(ttl for ttl in chosen if not priced or ttl in priced)


def _mixed(offered: Sequence[str], layout: Layout, facts: Facts) -> Sequence[str]:
    """Two lifetimes in one request: a longer one for the prefix than for what grows behind it."""
    if not (layout.grow and facts.policy == "markers" and facts.longer_ttl_first and len(offered) == 2):
        return ()
    return (",".join(sorted(offered, key=lambda ttl: -(facts.lifetime(ttl) or 0))),)


def _checked(ttl: str, offered: Sequence[str], layout: Layout, facts: Facts) -> str:
    """The lifetime that was asked for, if the model offers it. Raises ``ValueError``."""
    if facts.object_conflicts:
        if seconds(ttl) <= 0:
            raise ValueError("a cache object is kept for some time, such as 1h")
        return ttl
    if facts.policy == "none":
        return ttl
    if not offered:
        raise ValueError(f"{_who(facts)} offers no choice of lifetimes")
    asked = ttl.split(",")
    for one in asked:
        if one not in offered:
            raise ValueError(f"{_who(facts)} offers lifetimes of {' and '.join(offered)}, not {one}")
    if len(asked) > 1 and ttl not in _mixed(offered, layout, facts):
        possible = _mixed(offered, layout, facts)
        told = f"{possible[0]}, the longer one first" if possible else "one lifetime"
        raise ValueError(f"this layout takes {told}, not {ttl}")
    return ttl


def _who(facts: Facts) -> str:
    return facts.model or facts.provider


def _size(layout: Layout, turn: int) -> int:
    carried = turn * (layout.new + layout.output) if layout.grow else 0
    return layout.prefix + carried + layout.new


def _turns(
    layout: Layout, facts: Facts, ttl: str, times: Sequence[float], written: Break | None = None, first: int = 0
) -> list[Turn]:
    """What becomes of the turns at these times, the first of which has the number ``first``."""
    if facts.object_conflicts and ttl and not written:
        return _with_object(layout, facts, ttl, times, first)
    calls = [_call(layout, facts, ttl, first + number, time, written) for number, time in enumerate(times)]
    return [(outcome,) for outcome in simulator.predict(calls, facts)]


def _call(layout: Layout, facts: Facts, ttl: str, turn: int, at: float, written: Break | None) -> Call:
    """One turn, marked as the provider's documentation advises, behind the prefix and what grows at its end, or as the
    code does.
    """
    longer, _, shorter = ttl.partition(",")
    by_blocks = bool(facts.marker) or facts.policy == "markers"  # Claude Code's harness sets them by itself
    mark = longer if by_blocks else None
    blocks = _prefix(layout, mark, turn, written)
    ends = layout.grow and facts.policy == "markers" and (written is None or written.marked_behind)
    for number in range(0 if layout.grow else turn, turn + 1):
        start = (2 * number + 1) * _STRIDE
        newest = number == turn
        growing = (shorter or mark) if newest and ends else None
        blocks.append(Block("messages", range(start, start + layout.new), marker=growing))
        if not newest:  # an answer without tokens, too, ends the message of the user
            answer = range(start + _STRIDE, start + _STRIDE + layout.output)
            blocks.append(Block("messages", answer, role="assistant"))
    asks = layout.grow or (written is not None and not any(block.marker is not None for block in blocks))
    parameters = {MODE: "implicit" if asks else "explicit"} if facts.policy == "window" else {}
    if facts.trigger == "explicit" and not facts.marker:
        parameters[facts.request_marker] = "key"
    asked = longer if not by_blocks or facts.policy == "window" else None
    said = tuple(block for block in blocks if block.tokens or block.role == "assistant")
    return Call(said, at=at, parameters=parameters, automatic=asked or None)


def _prefix(layout: Layout, mark: str | None, turn: int, written: Break | None) -> list[Block]:
    """The blocks of the prefix; the text that changes in it is taken to have one token."""
    prefix = range(layout.prefix)
    if written is None:
        return [Block("system", prefix, role="system", marker=mark)]
    ahead, behind = (mark if marked else None for marked in (written.marked_ahead, written.marked_behind))
    return [
        Block("system", prefix[: written.ahead], role="system", marker=ahead),
        Block("system", range(-1 - turn, -turn), role="system"),
        Block("system", prefix[written.ahead :], role="system", marker=behind),
    ]


def _with_object(layout: Layout, facts: Facts, ttl: str, times: Sequence[float], first: int) -> list[Turn]:
    """Turns that read the prefix from a cache object, which is made again when it has expired.

    What is carried on behind it counts as uncached: nothing promises another cache beside an object.
    """
    lifetime, expires = seconds(ttl), float("-inf")
    calls: list[Call] = []
    sizes: list[int] = []
    for turn, time in enumerate(times, first):
        whole = _call(layout, facts, "", turn, time, None)
        prefix, rest = whole.blocks[:1], whole.blocks[1:]
        made = [Call(prefix, at=time, creates="it", parameters={"ttl": f"{lifetime}s"})] if time >= expires else []
        if made:
            expires = time + lifetime
        calls += [*made, Call(rest, at=time + _MOMENT, uses="it")]
        sizes.append(len(made) + 1)
    outcomes = iter(simulator.predict(calls, facts))
    return [tuple(islice(outcomes, size)) for size in sizes]


def _hits(turns: Sequence[Turn]) -> int:
    return sum(any(outcome.read for outcome in turn) for turn in turns)


def _row(name: str, turns: Sequence[Turn], facts: Facts, price: Price | None) -> Row:
    outcomes = list(chain.from_iterable(turns))
    weights = [outcome.weight(facts) for outcome in outcomes]
    written: dict[str, int] = {}
    for ttl, tokens in chain.from_iterable(outcome.written for outcome in outcomes):
        written[ttl] = written.get(ttl, 0) + tokens
    return Row(
        name,
        read=sum(outcome.read for outcome in outcomes),
        written=tuple(written.items()),
        uncached=sum(outcome.uncached for outcome in outcomes),
        storage=sum(outcome.storage for outcome in outcomes),
        weight=sum(weights),
        dollars=sum(w * price(o.total) for w, o in zip(weights, outcomes, strict=True)) if price else None,
        hits=_hits(turns),
    )


def _notes(layout: Layout, facts: Facts, objects: bool) -> Iterator[str]:
    """What the figures rest on, and what would spoil them."""
    if facts.policy == "none":
        yield (
            f"nothing is known about caching at {facts.provider}: everything is counted as uncached; "
            "name the provider with --provider (promptlint providers lists them)"
        )
        return
    if not facts.caches:
        yield f"{_who(facts)} does not cache prompts, or gives no discount for it"
        return
    if not facts.minimum_known:
        yield f"no minimum is known for {_who(facts)}: {facts.minimum:,} tokens are assumed"
    if facts.read is None:
        yield f"no price for reading is known for {_who(facts)}: reads are counted as uncached"
    if layout.prefix < facts.minimum and not (layout.grow and _size(layout, layout.turns - 1) >= facts.minimum):
        needed, least = padding_pays(layout.prefix, facts), break_even(layout.turns, facts)
        verdict = f"pays from {needed:,} requests on" if needed else "never pays"
        here = f"; for {layout.turns:,} requests from {least:,} tokens on" if least < facts.minimum else ""
        yield (
            f"caching starts at {facts.minimum:,} tokens, so this prefix is not cached; padding it up to that "
            f"{verdict}{here}"
        )
    if objects:
        yield (
            "a cache object costs for as long as it is kept, read or not"
            if facts.storage is not None
            else (f"no price for keeping a cache object is known for {_who(facts)}: it is left out")
        )
    elif facts.object_conflicts and facts.trigger != "automatic":
        yield f"{_who(facts)} caches what is in a cache object (client.caches.create) and nothing else: see --ttl 1h"
    elif facts.lifetime() is None:
        yield f"{facts.provider} promises no lifetime: hits are the most that can be expected"
        if facts.object_conflicts:
            yield "a cache object (client.caches.create) promises hits, at a price: see --ttl 1h"


def thousands(tokens: float) -> str:
    """A large number of tokens as people write it: 655k, 1,010k, 980."""
    return f"{tokens / 1000:,.0f}k" if tokens >= 10_000 else f"{ceil(tokens):,}"
