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
from dataclasses import replace

from promptlint.provider import Facts
from promptlint.simulator.exchange import Block, Call, Entry, Outcome, Prefixes, bucket, ordered, refusal, sizes
from promptlint.simulator.markers import Key, Marks, Prompt, hit_in_words, settle, unreadable_in_words

MODE = "prompt_cache_options.mode"
_ENDS = 20  # earlier ends of messages that implicit mode looks at


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: dict[Key, Entry] = {}
    prefixes = Prefixes()
    outcomes = []
    for call in calls:
        blocks = ordered(call, facts)
        if problem := _refused(blocks, facts):
            outcomes.append(refusal(problem))
            continue
        parameters = bucket(call, facts)
        keys = tuple((number, parameters) for number in prefixes.of(blocks))
        outcomes.append(_one(Prompt(call, blocks, keys, sizes(blocks)), store, facts))
    return outcomes


def _one(prompt: Prompt, store: dict[Key, Entry], facts: Facts) -> Outcome:
    def long_enough(index: int) -> bool:
        return prompt.ends[index] >= facts.minimum

    marks = [(index, ttl) for index, ttl in _writes(prompt, facts) if long_enough(index)]
    readable = sorted(filter(long_enough, _places(prompt, facts)), reverse=True)
    stored = ((index, store.get(prompt.keys[index])) for index in readable)
    found = next((index for index, entry in stored if entry and entry.alive(prompt.call.at)), None)
    # In words before the entries are touched.
    why = _missed(prompt, marks, readable, store, facts) if found is None else hit_in_words(prompt, found, store)
    return replace(settle(prompt, found, marks, store, facts), why=why)


def _implicit(call: Call) -> bool:
    return call.parameters.get(MODE, "implicit") != "explicit"


def _marked(prompt: Prompt, facts: Facts) -> Marks:
    """The request's own markers."""
    blocks = enumerate(prompt.blocks)
    return [(index, block.marker or facts.default_ttl or "") for index, block in blocks if block.marker is not None]


def _writes(prompt: Prompt, facts: Facts) -> Marks:
    """Where the request writes: at its latest markers, and in implicit mode at the end of the newest message."""
    own, finish = _marked(prompt, facts), _message_ends(prompt.blocks)
    most = facts.max_breakpoints or len(prompt.blocks)
    if not _implicit(prompt.call):
        return _latest(own, most)
    writes = dict(_latest(own, most - 1))
    if finish:
        writes.setdefault(finish[-1], prompt.call.automatic or facts.default_ttl or "")
    return sorted(writes.items())


def _latest(marks: Marks, most: int) -> Marks:
    return marks[max(0, len(marks) - most) :]


def _places(prompt: Prompt, facts: Facts) -> set[int]:
    """Where the request looks for what earlier ones have written."""
    own = _marked(prompt, facts)
    places = {index for index, _ in _latest(own, len(own) if facts.window is None else facts.window)}
    if _implicit(prompt.call):
        lead = [index for index, block in enumerate(prompt.blocks) if block.region == "system"]
        places |= {*_message_ends(prompt.blocks)[-_ENDS - 1 :], *lead[-1:]}
    return places


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


def _missed(prompt: Prompt, marks: Marks, readable: Sequence[int], store: dict[Key, Entry], facts: Facts) -> str:
    """Why nothing is read."""
    if not marks:
        if prompt.total >= facts.minimum:
            return "explicit mode without a breakpoint: no caching, and no fee for writing"
        return f"{prompt.total:,} tokens, and caching starts at {facts.minimum:,}"
    for index in readable:
        if entry := store.get(prompt.keys[index]):
            return unreadable_in_words(entry, prompt.call.at)
    if not store:
        return "the first request"
    known = {prefix for prefix, _ in store}
    same = max((index for index, (prefix, _) in enumerate(prompt.keys) if prefix in known), default=None)
    if same is None:
        return "no stored prefix is the beginning of this request"
    if prompt.keys[same] in store:
        return f"what was stored ends at block {same + 1}, where this request has no breakpoint"
    return "the same prefix was stored with other parameters"
