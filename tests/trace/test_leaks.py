"""Whatever a program sends and gets: no key, no token and no redacted text is in anything that promptlint prints."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import output
from promptlint.probe import plan, render, samples
from promptlint.probe.claims import claims
from promptlint.recorder.session import listening
from promptlint.testing import PromptCache
from promptlint.trace.analysis import analyse
from promptlint.trace.format import Exchange, encode
from promptlint.trace.outcomes import writing

ADDRESS = "https://api.anthropic.com/v1/messages"
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
RULES = "Answer each question about the orders of the shop with care. " * 150
PLACES = ("front", "end", "tool", "message", "answer", "parameter")

tokens = st.text(LETTERS, min_size=24, max_size=40).filter(lambda text: not text.isalpha())
words = st.text(LETTERS.upper(), min_size=9, max_size=14)


def body(turn: int, place: str, said: str) -> dict[str, Any]:
    """A turn of a conversation in which what is said changes at one place."""
    texts = [f"{said} Question {n}?" if place == "message" and not n else f"Question {n}?" for n in range(turn + 1)]
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"{said if turn else ''} Yes."},
        ]
    head = f"{said} {turn}. " if place == "front" else ""
    tail = f" {said}" if place == "end" else ""
    system = [{"type": "text", "text": f"{head}{RULES}{tail}", "cache_control": {"type": "ephemeral"}}]
    tool = {"name": "find", "description": f"Find {said if place == 'tool' else ''}.", "input_schema": {}}
    chosen = {"type": "tool", "name": said} if place == "parameter" else {"type": "auto"}
    asked = {"model": "claude-sonnet-5", "max_tokens": 9, "system": system, "messages": messages[:-1]}
    return asked | {"tools": [tool], "tool_choice": chosen}


def recorded(
    bodies: list[dict[str, Any]], key: str, answer: dict[str, Any], status: int, redact: bool
) -> list[Exchange]:
    found: list[Exchange] = []
    headers = {"x-api-key": key, "authorization": f"Bearer {key}"}
    with listening(found.append, redact_content=redact):
        client = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(status, json=answer)))
        for one in bodies:
            client.post(ADDRESS, json=one, headers=headers)
    return found


def printed(exchanges: list[Exchange]) -> Iterator[str]:
    """Everything that can be made of them."""
    yield from map(encode, exchanges)
    with tempfile.TemporaryDirectory() as folder:
        trace, rows = Path(folder) / "t.jsonl", Path(folder) / "o.jsonl"
        trace.write_text("".join(f"{encode(exchange)}\n" for exchange in exchanges))
        with writing(rows) as written:
            analysis = analyse([trace], each=written.add)
        yield rows.read_text()
    for form in output.TRACE_FORMATS:
        yield output.render_trace(analysis, None, form, color=False, width=200)
    made = claims((), list(samples.read(exchanges)))
    planned = plan.make(made)
    yield render.plan(planned, color=False, width=200)
    yield render.offline(made, color=False, width=200)
    yield render.as_json(planned, made, None)
    seen = PromptCache(exchanges)
    for check in (seen.prefix_stable, seen.no_errors, partial(seen.min_hit_ratio, 0.9)):
        try:
            check()
        except AssertionError as error:
            yield str(error)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    tokens, tokens, words, words, st.sampled_from(PLACES), st.booleans(), st.sampled_from([200, 200, 400, 429]),
    st.sampled_from(["sk-ant-{}", "Bearer {}", "https://x.example/?key={}", "api_key={}", "ghp_{}"]),
)  # fmt: skip
def test_nothing_leaks(
    key: str, other: str, one: str, two: str, place: str, redact: bool, status: int, form: str
) -> None:
    said = [f"{one} {form.format(key)}", f"{two} {form.format(other)}", f"{one} {two}"]
    bodies = [body(turn, place, text) for turn, text in enumerate(said)]
    usage = {"input_tokens": 2000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "note": key}
    answer = {"id": "msg_1", "usage": usage, "error": {"type": "bad", "message": f"{one} {key}"}}
    for text in printed(recorded(bodies, key, answer, status, redact)):
        assert key not in text and other not in text
        assert not (redact and (one in text or two in text)), text[:2000]
        assert json.dumps(key)[1:-1] not in text
