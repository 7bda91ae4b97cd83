"""OpenAI from gpt-5.6 on: up to four writes a request, one of them by itself, read among the latest breakpoints.

Without a choice ("implicit") the provider writes at the end of the newest message and at the latest three markers;
``prompt_cache_options.mode`` "explicit" leaves the latest four markers. Earlier writes are found at the request's own
markers (the latest ``window`` of them) and, in implicit mode, at the ends of the 20 messages before and of the leading
developer text. Nothing is rounded. Any change of a parameter that the facts name misses everything.

Source: OpenAI, "Prompt caching" guide of 2026-10-02 and the SDK's types (O1, O3); where they differ (80, 52 or 50
breakpoints) the smallest window is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.provider import Facts
from promptlint.simulator.exchange import Block, Call, Entry, Outcome, Prefixes, ago, bucket, ordered, refusal, sizes
from promptlint.simulator.markers import Key, settle

MODE = "prompt_cache_options.mode"
_ENDS = 20  # earlier ends of messages that implicit mode looks at


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: dict[Key, Entry] = {}
    prefixes = Prefixes()
    return [_one(call, ordered(call, facts), store, prefixes, facts) for call in calls]


def _one(call: Call, blocks: Sequence[Block], store: dict[Key, Entry], prefixes: Prefixes, facts: Facts) -> Outcome:
    problem = _refused(blocks, facts)
    if problem:
        return refusal(problem)
    keys, at = [], 0
    for block in blocks:
        at = prefixes.step(at, (block.region, block.role, block.kind, block.tokens))
        keys.append((at, bucket(call, facts)))
    ends = sizes(blocks)
    implicit = call.parameters.get(MODE, "implicit") != "explicit"
    own = [(i, block.marker or facts.default_ttl or "") for i, block in enumerate(blocks) if block.marker is not None]
    finish = _message_ends(blocks)
    slots = facts.max_breakpoints or len(blocks)
    writes = dict(own[-(slots - 1) :] if implicit else own[-slots:])
    if implicit and finish:
        writes.setdefault(finish[-1], call.automatic or facts.default_ttl or "")
    places = {i for i, _ in own[-(facts.window or len(own)) :]} if own else set()
    if implicit:
        places |= {*finish[-_ENDS - 1 :], *_leading(blocks)}
    readable = sorted((i for i in places if ends[i] >= facts.minimum), reverse=True)
    found = next((i for i in readable if (entry := store.get(keys[i])) and entry.alive(call.at)), -1)
    marks = sorted((i, ttl) for i, ttl in writes.items() if ends[i] >= facts.minimum)
    why = _why(call, ends, found, marks, readable, keys, store, facts)
    outcome = settle(call, ends, keys, found, marks, store, facts)
    return Outcome(outcome.read, outcome.uncached, outcome.written, why)


def _refused(blocks: Sequence[Block], facts: Facts) -> str:
    for block in blocks:
        if block.marker and facts.ttls and block.marker not in facts.ttls:
            return f"no lifetime {block.marker!r}: {' or '.join(facts.ttls)}"
        if block.marker is not None and block.region == "tools":
            return "a tool definition cannot carry prompt_cache_breakpoint"
    return ""


def _message_ends(blocks: Sequence[Block]) -> list[int]:
    """The last block of each message that the provider may write behind: no answer of the model's own."""
    ends = []
    for i, block in enumerate(blocks):
        last = i + 1 == len(blocks) or (blocks[i + 1].region, blocks[i + 1].role) != (block.region, block.role)
        if block.region == "messages" and block.role != "assistant" and last:
            ends.append(i)
    return ends


def _leading(blocks: Sequence[Block]) -> list[int]:
    """The end of the leading developer text, if there is any."""
    lead = [i for i, block in enumerate(blocks) if block.region == "system"]
    return lead[-1:]


def _why(
    call: Call,
    ends: Sequence[int],
    found: int,
    marks: Sequence[tuple[int, str]],
    readable: Sequence[int],
    keys: Sequence[Key],
    store: dict[Key, Entry],
    facts: Facts,
) -> str:
    if found >= 0:
        since = ago(call.at - store[keys[found]].used)
        return f"reads up to block {found + 1} of {len(ends)}, last used {since} before"
    if not marks:
        if ends and ends[-1] >= facts.minimum:
            return "explicit mode without a breakpoint: no caching, and no fee for writing"
        return f"{ends[-1] if ends else 0:,} tokens, and caching starts at {facts.minimum:,}"
    for i in readable:
        if entry := store.get(keys[i]):
            if not entry.begun(call.at):
                return "sent before the response that stores the same prefix had begun"
            return f"the prefix stored {ago(call.at - entry.used)} before has expired"
    if not store:
        return "the first request"
    if {prefix for prefix, _ in store} & {prefix for prefix, _ in keys}:
        known = {prefix: i for i, (prefix, _) in enumerate(keys)}
        same = max(known[prefix] for prefix, _ in store if prefix in known)
        if keys[same] in store:
            return f"what was stored ends at block {same + 1}, where this request has no breakpoint"
        return "the same prefix was stored with other parameters"
    return "no stored prefix is the beginning of this request"
