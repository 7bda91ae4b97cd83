"""Automatic caches that keep whole blocks of tokens: vLLM, OpenAI before gpt-5.6, Gemini, Groq, xAI, Mistral and more.

Each block of ``granularity`` tokens is known together with all that precede it, from any earlier request; a request
reads the blocks from its start that are known, if they reach the minimum. The last token is always computed anew, so a
prompt that was sent before to the letter reads one block less where it is filled exactly. SGLang's radix tree is the
same with blocks of one token.

What is not promised is taken as kept: where the facts know no lifetime, the result is the most that can be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.provider import Facts
from promptlint.simulator.exchange import (
    Call,
    Entry,
    Outcome,
    Prefixes,
    ago,
    bucket,
    common,
    flat,
    ordered,
    refusal,
    words,
)

Key = tuple[int, tuple[tuple[str, str], ...]]


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: dict[Key, Entry] = {}
    prefixes = Prefixes()
    seen: list[tuple[int, ...]] = []
    outcomes = []
    for call in calls:
        problem = next((f"{field} is not taken by {facts.model}" for field in facts.refuses if call.marked), "")
        if problem:
            outcomes.append(refusal(problem))
            continue
        tokens = flat(ordered(call, facts))
        outcomes.append(_one(call, tokens, store, prefixes, seen, facts))
        seen.append(tokens)
    return outcomes


def _one(
    call: Call,
    tokens: tuple[int, ...],
    store: dict[Key, Entry],
    prefixes: Prefixes,
    seen: Sequence[tuple[int, ...]],
    facts: Facts,
) -> Outcome:
    if not facts.caches:
        return Outcome(0, len(tokens), why=f"{facts.model or facts.provider} does not cache prompts")
    if facts.trigger == "explicit" and facts.request_marker not in call.parameters:
        return Outcome(0, len(tokens), why=f"nothing in the request asks for caching ({facts.request_marker})")
    size = max(1, facts.granularity)
    keys = _keys((*tokens, *call.answer[:-1]), size, bucket(call, facts), prefixes)
    readable = max(0, len(tokens) - 1) // size
    known, cause = 0, ""
    for key in keys[:readable]:
        entry = store.get(key)
        if entry is None or not entry.alive(call.at):
            cause = _cause(entry, call)
            break
        known += 1
    read = known * size
    if 0 < read < facts.minimum:
        read, cause = 0, cause or f"{words(read)} are known, and caching starts at {facts.minimum:,}"
    idle = call.at - store[keys[known - 1]].used if read else 0.0
    fee = facts.write_price(call.automatic) != 1.0 and len(tokens) >= facts.minimum
    stored = len(tokens) // size * size - read if fee else 0
    lifetime = facts.lifetime(call.automatic)
    for number, key in enumerate(keys):
        entry = store.get(key)
        if entry is not None and number < known:
            entry.used = call.at
            continue
        ready = float("-inf") if facts.concurrent else call.at + call.begins
        if entry is not None and not entry.begun(call.at):
            ready = min(ready, entry.ready)
        store[key] = Entry(ready, call.at, lifetime)
    written = ((call.automatic or facts.default_ttl or "", stored),) if stored else ()
    return Outcome(read, len(tokens) - read - stored, written, _why(tokens, read, idle, cause, seen, facts))


def _keys(tokens: tuple[int, ...], size: int, parameters: tuple[tuple[str, str], ...], prefixes: Prefixes) -> list[Key]:
    """The key of the prefix that ends with each full block."""
    keys, at = [], 0
    for start in range(0, len(tokens) - size + 1, size):
        at = prefixes.step(at, tokens[start : start + size])
        keys.append((at, parameters))
    return keys


def _cause(entry: Entry | None, call: Call) -> str:
    if entry is None:
        return ""
    if not entry.begun(call.at):
        return "sent before the response that stores the same prefix had begun"
    return f"the prefix stored {ago(call.at - entry.used)} before has expired"


def _why(
    tokens: tuple[int, ...], read: int, idle: float, cause: str, seen: Sequence[tuple[int, ...]], facts: Facts
) -> str:
    if read:
        rounded = f", in steps of {facts.granularity:,}" if facts.granularity > 1 else ""
        return f"reads {read:,} of {len(tokens):,} tokens{rounded}, last used {ago(idle)} before"
    if cause:
        return cause
    if not seen:
        return "the first request"
    shared = max(common(tokens, other) for other in seen)
    if len(tokens) < facts.minimum:
        return f"{len(tokens):,} tokens, and caching starts at {facts.minimum:,}"
    if shared >= facts.granularity and shared >= facts.minimum:
        return "the same prefix was sent with other parameters"
    return f"equal to an earlier request for no more than {words(shared)}"
