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
from dataclasses import dataclass, replace

from promptlint.provider import Facts
from promptlint.simulator.exchange import (
    Block,
    Bucket,
    Call,
    Entry,
    Outcome,
    Prefixes,
    ago,
    buckets,
    ordered,
    refusal,
    sizes,
)

Key = tuple[int, Bucket]
"""A prefix and the parameters it was processed with."""

Marks = Sequence[tuple[int, str]]
"""Marked blocks in wire order, with the lifetimes that are asked for."""

_RUNS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A call as a cache sees it: its blocks in wire order, and of each the key and the size of the prefix up to it."""

    call: Call
    blocks: tuple[Block, ...]
    keys: tuple[Key, ...]
    ends: tuple[int, ...]

    @property
    def total(self) -> int:
        """All tokens."""
        return self.ends[-1] if self.ends else 0


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: dict[Key, Entry] = {}
    prefixes = Prefixes()
    seen: list[Prompt] = []
    outcomes = []
    for call in calls:
        blocks = ordered(call, facts)
        problem = refused(call, blocks, facts)
        if problem:
            outcomes.append(refusal(problem))
            continue
        prompt = Prompt(call, blocks, _keys(call, blocks, facts, prefixes), sizes(blocks))
        outcomes.append(_one(prompt, store, seen, facts))
        seen.append(prompt)
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


def _keys(call: Call, blocks: Sequence[Block], facts: Facts, prefixes: Prefixes) -> tuple[Key, ...]:
    """The key of the prefix that ends with each block.

    The regions behind a change of parameters lose their cache, those ahead of it do not; an image anywhere in the
    request is such a parameter for the messages.
    """
    images = (("images", "yes"),) if any(block.kind == "image" for block in blocks) else ()
    decisive = buckets(call, facts)
    decisive["messages"] += images
    numbers = prefixes.of(blocks)
    return tuple((number, decisive[block.region]) for number, block in zip(numbers, blocks, strict=True))


def _positions(blocks: Sequence[Block]) -> list[int]:
    """A number for each block that counts a run of tool calls or tool results once."""
    positions, at = [], 0
    for index, block in enumerate(blocks):
        joined = index and block.kind in _RUNS and blocks[index - 1].kind == block.kind
        at += 0 if joined else 1
        positions.append(at)
    return positions


def _one(prompt: Prompt, store: dict[Key, Entry], seen: Sequence[Prompt], facts: Facts) -> Outcome:
    marks = markers(prompt.call, prompt.blocks, facts)
    valid = [(index, ttl) for index, ttl in marks if facts.caches and prompt.ends[index] >= facts.minimum]
    if not valid:
        return Outcome(0, prompt.total, why=_nothing(marks, prompt, facts))
    found = _hit(prompt, valid, store, facts)
    # In words before the entries are touched.
    why = _missed(prompt, valid[-1][0], store, seen) if found is None else hit_in_words(prompt, found, store)
    return replace(settle(prompt, found, valid, store, facts), why=why)


def _hit(prompt: Prompt, marks: Marks, store: dict[Key, Entry], facts: Facts) -> int | None:
    """The block up to which the longest prefix within reach of a marker is stored."""
    positions = _positions(prompt.blocks)
    for index, _ in reversed(marks):
        for at in range(index, -1, -1):
            if facts.lookback is not None and positions[index] - positions[at] >= facts.lookback:
                break
            if (entry := store.get(prompt.keys[at])) and entry.alive(prompt.call.at):
                return at
    return None


def settle(prompt: Prompt, found: int | None, marks: Marks, store: dict[Key, Entry], facts: Facts) -> Outcome:
    """Bills a request that reads up to block ``found``, renews what it used, stores what it marks.

    Up to the highest hit A tokens are read; from there each marker's lifetime prices the tokens up to it, so that with
    the longer lifetimes first B - A are 1-hour and C - B are 5-minute writes.
    """
    now = prompt.call.at
    read = at = 0 if found is None else prompt.ends[found]
    written: dict[str, int] = {}
    if found is not None:
        store[prompt.keys[found]].used = now
    for index, ttl in marks:
        entry = store.get(prompt.keys[index])
        if found is not None and index <= found:
            if entry and entry.alive(now):
                entry.used = now
            continue
        if prompt.ends[index] > at:
            written[ttl] = written.get(ttl, 0) + prompt.ends[index] - at
            at = prompt.ends[index]
        ready = now + prompt.call.begins
        if entry and not entry.begun(now):  # another request is about to store the same
            ready = min(ready, entry.ready)
        store[prompt.keys[index]] = Entry(ready, now, facts.lifetime(ttl))
    return Outcome(read, prompt.total - at, tuple(written.items()))


def hit_in_words(prompt: Prompt, found: int, store: dict[Key, Entry]) -> str:
    """What a request reads."""
    since = ago(prompt.call.at - store[prompt.keys[found]].used)
    return f"reads up to block {found + 1} of {len(prompt.blocks)}, last used {since} before"


def unreadable_in_words(entry: Entry, now: float) -> str:
    """Why a stored prefix cannot be read, "" when it can."""
    if not entry.begun(now):
        return "sent before the response that stores the same prefix had begun"
    return "" if entry.alive(now) else f"the prefix stored {ago(now - entry.used)} before has expired"


def _nothing(marks: Marks, prompt: Prompt, facts: Facts) -> str:
    if not facts.caches:
        return f"{facts.model or facts.provider} does not cache prompts"
    if not marks:
        return "nothing in the request asks for caching"
    size = prompt.ends[marks[-1][0]]
    return f"the marked prefix has {size:,} tokens, and caching starts at {facts.minimum:,}"


def _missed(prompt: Prompt, last: int, store: dict[Key, Entry], seen: Sequence[Prompt]) -> str:
    """Why nothing is read up to the last marker."""
    positions = _positions(prompt.blocks)
    for at in range(last, -1, -1):
        if entry := store.get(prompt.keys[at]):
            far = positions[last] - positions[at]
            out_of_reach = f"what was stored ends {far} blocks ahead of the last marker, out of reach"
            return unreadable_in_words(entry, prompt.call.at) or out_of_reach
    parameters_of = dict(store.keys())
    for prefix, parameters in prompt.keys:
        if prefix in parameters_of:
            changed = sorted({name for name, _ in {*parameters} ^ {*parameters_of[prefix]}})
            return f"the same prefix was stored with another {' and '.join(changed)}"
    shared = max((_shared(prompt.keys, other.keys) for other in seen), default=0)
    if shared == 0:
        return "nothing that begins like it was sent before" if seen else "the first request"
    place = f"block {shared + 1} ({prompt.blocks[shared].region})" if shared < len(prompt.blocks) else "the end"
    return f"equal to an earlier request up to {place}, and nothing was stored up to there"


def _shared(keys: Sequence[Key], other: Sequence[Key]) -> int:
    """How many blocks two requests have in common."""
    pairs = zip(keys, other, strict=False)
    return next((n for n, (one, two) in enumerate(pairs) if one != two), min(len(keys), len(other)))
