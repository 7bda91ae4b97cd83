"""Automatic caches that keep whole blocks of tokens: vLLM, OpenAI before gpt-5.6, Gemini, Groq, xAI, Mistral and more.

Each block of ``granularity`` tokens is known together with all that precede it, from any earlier request; a request
reads the blocks from its start that are known, if they reach the minimum. The last token is always computed anew, so a
prompt that was sent before to the letter reads one block less where it is filled exactly. SGLang's radix tree is the
same with blocks of one token.

What is not promised is taken as kept: where the facts know no lifetime, the result is the most that can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.provider import Facts
from promptlint.simulator.exchange import (
    Bucket,
    Call,
    Entry,
    Outcome,
    ago,
    bucket,
    common,
    flat,
    ordered,
    refusal,
    words,
)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The tokens of an earlier request, with the parameters that it was processed with."""

    tokens: tuple[int, ...]
    bucket: Bucket
    entry: Entry


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    store: list[_Stored] = []
    outcomes = []
    for call in calls:
        problem = next((f"{field} is not taken by {facts.model}" for field in facts.refuses if call.marked), "")
        outcomes.append(refusal(problem) if problem else _one(call, flat(ordered(call, facts)), store, facts))
    return outcomes


def _one(call: Call, tokens: tuple[int, ...], store: list[_Stored], facts: Facts) -> Outcome:
    if not facts.caches:
        return Outcome(0, len(tokens), why=f"{facts.model or facts.provider} does not cache prompts")
    if facts.trigger == "explicit" and facts.request_marker not in call.parameters:
        return Outcome(0, len(tokens), why=f"nothing in the request asks for caching ({facts.request_marker})")
    size, parameters = max(1, facts.granularity), bucket(call, facts)
    shared = [(_full(common(s.tokens, tokens), tokens, size), s) for s in store]
    alive = [(n, s) for n, s in shared if s.bucket == parameters and s.entry.alive(call.at)]
    read, source = max(alive, key=lambda pair: (pair[0], pair[1].entry.used), default=(0, None))
    if read < facts.minimum:
        read = 0
    why = _why(call, tokens, read, source, shared, parameters, facts)
    fee = facts.write_price(call.automatic) != 1.0 and len(tokens) >= facts.minimum
    written = len(tokens) // size * size - read if fee else 0
    _keep(call, tokens, store, parameters, tokens[:read], source, facts)
    by_ttl = ((call.automatic or facts.default_ttl or "", written),) if written else ()
    return Outcome(read, len(tokens) - read - written, by_ttl, why)


def _full(shared: int, tokens: tuple[int, ...], size: int) -> int:
    """Full blocks in the common prefix; the last token of the request is never one of them."""
    return min(shared, max(0, len(tokens) - 1)) // size * size


def _keep(
    call: Call,
    tokens: tuple[int, ...],
    store: list[_Stored],
    parameters: Bucket,
    used: tuple[int, ...],
    source: _Stored | None,
    facts: Facts,
) -> None:
    """Stores the request, and renews the part that it read, which stays readable meanwhile."""
    lifetime = facts.lifetime(call.automatic)
    ready = float("-inf") if facts.concurrent else call.at + call.begins
    new = [_Stored((*tokens, *call.answer[:-1]), parameters, Entry(ready, call.at, lifetime))]
    if used and source is not None:
        new.append(_Stored(used, parameters, Entry(source.entry.ready, call.at, lifetime)))
    store += new


def _why(
    call: Call,
    tokens: tuple[int, ...],
    read: int,
    source: _Stored | None,
    shared: Sequence[tuple[int, _Stored]],
    parameters: Bucket,
    facts: Facts,
) -> str:
    if read and source is not None:
        rounded = f", in steps of {facts.granularity:,}" if facts.granularity > 1 else ""
        idle = ago(call.at - source.entry.used)
        return f"reads {read:,} of {len(tokens):,} tokens{rounded}, last used {idle} before"
    if not shared:
        return "the first request"
    if len(tokens) < facts.minimum:
        return f"{len(tokens):,} tokens, and caching starts at {facts.minimum:,}"
    most, best = max(shared, key=lambda pair: (pair[0], pair[1].bucket == parameters, pair[1].entry.used))
    if most < max(facts.minimum, 1):
        return f"equal to an earlier request for no more than {words(most)}"
    if best.bucket != parameters:
        return "the same prefix was sent with other parameters"
    if not best.entry.begun(call.at):
        return "sent before the response that stores the same prefix had begun"
    return f"the prefix stored {ago(call.at - best.entry.used)} before has expired"
