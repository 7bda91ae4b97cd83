"""Caches that are written where the request says so: Anthropic's on every platform, Bedrock's, Qwen's explicit one.

A marker stores the prefix that ends with its block, and nothing else. A request looks for stored prefixes from its last
marker backwards, ``lookback`` positions for each (a run of tool calls, or of tool results, is one position), and reads
the longest. What is not stored in between: blocks without a marker, however often they were sent.

Source: Anthropic, "Prompt caching" (tags A1, A2 of providers.toml). Taken where the page is silent: an entry is found
whatever lifetime it was written with and keeps it; a marker inside the part that is read stores nothing new. Left out:
the markers that server tools add inside a response.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.provider import Facts
from promptlint.simulator.exchange import (
    Block,
    Call,
    Entry,
    Outcome,
    Prefixes,
    ago,
    bucket,
    ordered,
    refusal,
    sizes,
)

Key = tuple[int, tuple[tuple[str, str], ...]]
"""A prefix and the parameters it was processed with."""

_RUNS = ("tool_use", "tool_result")


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: dict[Key, Entry] = {}
    prefixes = Prefixes()
    seen: list[list[Key]] = []
    outcomes = []
    for call in calls:
        blocks = ordered(call, facts)
        problem = refused(call, blocks, facts)
        if problem:
            outcomes.append(refusal(problem))
            continue
        keys = _keys(call, blocks, facts, prefixes)
        marks = markers(call, blocks, facts)
        outcomes.append(_one(call, blocks, keys, marks, store, seen, facts))
        seen.append(keys)
    return outcomes


def refused(call: Call, blocks: Sequence[Block], facts: Facts) -> str:
    """Why the API answers with an error, "" when it does not."""
    explicit = [block for block in blocks if block.marker is not None]
    automatic = call.automatic is not None
    if automatic and not facts.request_marker:
        return f"{facts.provider} takes no cache marker for the whole request"
    same = automatic and bool(blocks) and blocks[-1].marker is not None
    if same and _ttl(blocks[-1].marker, facts) != _ttl(call.automatic, facts):
        return "the marker of the request and that of its last block ask for different lifetimes"
    count = len(explicit) + (automatic and not same)
    if facts.max_breakpoints is not None and count > facts.max_breakpoints and facts.too_many == "error":
        return f"A maximum of {facts.max_breakpoints} blocks with cache_control may be provided. Found {count}."
    for block in explicit:
        if block.kind in facts.unmarkable:
            return f"a {block.kind} block cannot carry a marker"
        if block.kind == "text" and not block.tokens:
            return "cache_control cannot be set for empty text blocks"
        if facts.ttls and _ttl(block.marker, facts) not in facts.ttls:
            return f"no lifetime {block.marker!r}: {' or '.join(facts.ttls)}"
    if call.parameters.get("max_tokens") == "0":
        for clash in facts.prewarm_refuses:
            name, _, value = clash.partition("=")
            if name in call.parameters and value in ("", call.parameters[name].lower()):
                return f"max_tokens = 0 cannot stand beside {clash}"
    if facts.longer_ttl_first:
        lives = [facts.lifetime(_ttl(block.marker, facts)) or 0 for block in explicit]
        lives += [facts.lifetime(_ttl(call.automatic, facts)) or 0] if automatic and not same else []
        if lives != sorted(lives, reverse=True):
            return "a marker with a longer lifetime must not come after one with a shorter lifetime"
    return ""


def markers(call: Call, blocks: Sequence[Block], facts: Facts) -> list[tuple[int, str]]:
    """The marked blocks, in wire order, with their lifetimes; the request's own marker stands on the last fit block."""
    marks = {i: _ttl(block.marker, facts) for i, block in enumerate(blocks) if block.marker is not None}
    if call.automatic is not None:
        fit = (i for i in range(len(blocks) - 1, -1, -1) if blocks[i].kind not in facts.unmarkable and blocks[i].tokens)
        last = next(fit, None)
        if last is not None:
            marks.setdefault(last, _ttl(call.automatic, facts))
    kept = sorted(marks.items())
    return kept[-facts.max_breakpoints :] if facts.max_breakpoints else kept


def _ttl(marker: str | None, facts: Facts) -> str:
    return marker or facts.default_ttl or ""


def _keys(call: Call, blocks: Sequence[Block], facts: Facts, prefixes: Prefixes) -> list[Key]:
    """The key of the prefix that ends with each block.

    The regions behind a change of parameters lose their cache, those ahead of it do not; an image anywhere in the
    request is such a parameter for the messages.
    """
    images = (("images", "yes"),) if any(block.kind == "image" for block in blocks) else ()
    buckets = {region: bucket(call, facts, (region,)) for region in facts.order}
    buckets["messages"] += images
    keys, at = [], 0
    for block in blocks:
        at = prefixes.step(at, (block.region, block.role, block.kind, block.tokens))
        keys.append((at, buckets[block.region]))
    return keys


def _positions(blocks: Sequence[Block]) -> list[int]:
    """A number for each block that counts a run of tool calls or tool results once."""
    positions, at = [], 0
    for index, block in enumerate(blocks):
        joined = index and block.kind in _RUNS and blocks[index - 1].kind == block.kind
        at += 0 if joined else 1
        positions.append(at)
    return positions


def _one(
    call: Call,
    blocks: Sequence[Block],
    keys: Sequence[Key],
    marks: Sequence[tuple[int, str]],
    store: dict[Key, Entry],
    seen: Sequence[Sequence[Key]],
    facts: Facts,
) -> Outcome:
    ends = sizes(blocks)
    total = ends[-1] if ends else 0
    valid = [(index, ttl) for index, ttl in marks if facts.caches and ends[index] >= facts.minimum]
    if not valid:
        return Outcome(0, total, why=_nothing(marks, ends, facts))
    positions = _positions(blocks)
    found = -1
    for index, _ in reversed(valid):
        for at in range(index, -1, -1):
            if facts.lookback is not None and positions[index] - positions[at] >= facts.lookback:
                break
            if (entry := store.get(keys[at])) and entry.alive(call.at):
                found = at
                break
        if found >= 0:
            break
    why = _why(call, blocks, keys, found, valid, store, seen, positions)  # before the entries are touched
    outcome = settle(call, ends, keys, found, valid, store, facts)
    return Outcome(outcome.read, outcome.uncached, outcome.written, why)


def settle(
    call: Call,
    ends: Sequence[int],
    keys: Sequence[Key],
    found: int,
    marks: Sequence[tuple[int, str]],
    store: dict[Key, Entry],
    facts: Facts,
) -> Outcome:
    """Bills a request that reads up to block ``found`` (-1: nothing), renews what it used, stores what it marks.

    Up to the highest hit A tokens are read; from there each marker's lifetime prices the tokens up to it, so that with
    the longer lifetimes first B - A are 1-hour and C - B are 5-minute writes.
    """
    read = at = ends[found] if found >= 0 else 0
    written: dict[str, int] = {}
    if found >= 0:
        store[keys[found]].used = call.at
    for index, ttl in marks:
        entry = store.get(keys[index])
        if index <= found:
            if entry and entry.alive(call.at):
                entry.used = call.at
            continue
        if ends[index] > at:
            written[ttl] = written.get(ttl, 0) + ends[index] - at
            at = ends[index]
        ready = call.at + call.begins
        if entry and not entry.begun(call.at):  # another request is about to store the same
            ready = min(ready, entry.ready)
        store[keys[index]] = Entry(ready, call.at, facts.lifetime(ttl))
    return Outcome(read, (ends[-1] if ends else 0) - at, tuple(written.items()))


def _nothing(marks: Sequence[tuple[int, str]], ends: Sequence[int], facts: Facts) -> str:
    if not facts.caches:
        return f"{facts.model or facts.provider} does not cache prompts"
    if not marks:
        return "nothing in the request asks for caching"
    return f"the marked prefix has {ends[marks[-1][0]]:,} tokens, and caching starts at {facts.minimum:,}"


def _why(
    call: Call,
    blocks: Sequence[Block],
    keys: Sequence[Key],
    found: int,
    marks: Sequence[tuple[int, str]],
    store: dict[Key, Entry],
    seen: Sequence[Sequence[Key]],
    positions: Sequence[int],
) -> str:
    """Where the reading ended and for what reason."""
    if found >= 0:
        since = ago(call.at - store[keys[found]].used)
        return f"reads up to block {found + 1} of {len(blocks)}, last used {since} before"
    for at in range(marks[-1][0], -1, -1):
        entry = store.get(keys[at])
        if entry is None:
            continue
        if not entry.begun(call.at):
            return "sent before the response that stores the same prefix had begun"
        if not entry.alive(call.at):
            return f"the prefix stored {ago(call.at - entry.used)} before has expired"
        far = positions[marks[-1][0]] - positions[at]
        return f"what was stored ends {far} blocks ahead of the last marker, out of reach"
    stored = dict(store.keys())
    for prefix, parameters in keys:
        if prefix in stored:
            changed = sorted({name for name, _ in {*parameters} ^ {*stored[prefix]}})
            return f"the same prefix was stored with another {' and '.join(changed)}"
    shared = max((_shared(keys, other) for other in seen), default=0)
    if shared == 0:
        return "nothing that begins like it was sent before" if seen else "the first request"
    place = f"block {shared + 1} ({blocks[shared].region})" if shared < len(blocks) else "the end"
    return f"equal to an earlier request up to {place}, and nothing was stored up to there"


def _shared(keys: Sequence[Key], other: Sequence[Key]) -> int:
    """How many blocks two requests have in common."""
    pairs = zip(keys, other, strict=False)
    return next((n for n, (one, two) in enumerate(pairs) if one != two), min(len(keys), len(other)))
