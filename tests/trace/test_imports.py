"""What others have recorded becomes the same trace: samples in the public schema of each format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from promptlint.cli import run
from promptlint.trace.analysis import Analysis, verdicts
from promptlint.trace.explain import Cause, Verdict
from promptlint.trace.format import Exchange, Problem
from promptlint.trace.imports import exchanges
from promptlint.trace.tally import Tally
from promptlint.trace.texts import Change
from tests.trace.traces import GPT, RULES, dialogue

D = dialogue(6)
START = 1_764_460_000
USAGE = {"input": 2400, "read": 0, "written": 2300, "output": 20}


def systems(clock: bool) -> Iterator[str]:
    for turn in range(1, 5):
        yield f"It is 2025-11-30 10:0{turn}:11. {RULES}" if clock else RULES


def otlp(clock: bool) -> Iterator[dict[str, Any]]:
    """Spans as the file exporter of the collector writes them (GenAI conventions 1.37 and later)."""
    for turn, system in enumerate(systems(clock), 1):
        messages = [
            {"role": ("assistant" if n % 2 else "user"), "parts": [{"type": "text", "content": text}]}
            for n, text in enumerate(D[: 2 * turn - 1])
        ]
        values = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "claude-sonnet-5",
            "gen_ai.response.id": f"msg_{turn}",
            "gen_ai.conversation.id": "c1",
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": system}]),
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "find", "parameters": {}}]),
            "code.file.path": "app/chat.py",
            "code.function.name": "turn",
        }
        read = 0 if clock or turn == 1 else 2000 + 210 * turn
        numbers = {
            "gen_ai.usage.input_tokens": 2100 + 400 * turn,
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.cache_creation.input_tokens": 2090 + 400 * turn - read,
            "gen_ai.usage.output_tokens": 20,
            "code.line.number": 12,
        }
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        attributes += [{"key": key, "value": {"intValue": str(value)}} for key, value in numbers.items()]
        span = {
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": f"eee19b7ec3c1b17{turn}",
            "name": "chat claude-sonnet-5",
            "kind": 3,
            "startTimeUnixNano": str((START + 10 * turn) * 10**9),
            "endTimeUnixNano": str((START + 10 * turn + 2) * 10**9),
            "attributes": attributes,
            "status": {},
        }
        yield {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]}


def litellm(clock: bool) -> Iterator[dict[str, Any]]:
    """``StandardLoggingPayload`` of a callback."""
    for turn, system in enumerate(systems(clock), 1):
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(D[: 2 * turn - 1])]
        total = 2100 + 400 * turn
        yield {
            "id": f"chatcmpl-{turn}",
            "trace_id": "t1",
            "session_id": "s1",
            "call_type": "acompletion",
            "custom_llm_provider": "openai",
            "status": "success",
            "startTime": START + 10.5 * turn,
            "endTime": START + 10.5 * turn + 2,
            "completionStartTime": START + 10.5 * turn + 1,
            "model": GPT,
            "api_base": "https://api.openai.com/v1/",
            "messages": [{"role": "system", "content": system}, *messages],
            "model_parameters": {"temperature": 0, "stream": False},
            "response": {
                "id": f"chatcmpl-{turn}",
                "choices": [{"message": {"role": "assistant", "content": "Yes."}}],
                "usage": {
                    "prompt_tokens": total,
                    "completion_tokens": 20,
                    "prompt_tokens_details": {"cached_tokens": 0 if clock or turn == 1 else (total - 410) // 128 * 128},
                },
            },
            "metadata": {"user_api_key_hash": "x"},
        }


def langfuse(clock: bool) -> Iterator[dict[str, Any]]:
    """Observations as the API and the exports have them."""
    yield {"id": "span", "traceId": "t", "type": "SPAN", "startTime": "2025-11-29T23:46:30.000Z", "input": "x"}
    for turn, system in enumerate(systems(clock), 1):
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(D[: 2 * turn - 1])]
        read = 0 if clock or turn == 1 else (1690 + 400 * turn) // 128 * 128
        yield {
            "id": f"obs-{turn}",
            "traceId": f"t{turn}",
            "type": "GENERATION",
            "name": "answer",
            "startTime": f"2025-11-29T23:47:{10 * turn:02}.000Z",
            "endTime": f"2025-11-29T23:47:{10 * turn + 2:02}.500Z",
            "completionStartTime": None,
            "model": GPT,
            "modelParameters": {"temperature": "0.2"},
            "input": {"messages": [{"role": "system", "content": system}, *messages], "tools": []},
            "output": {"role": "assistant", "content": "Yes."},
            "usageDetails": {
                "input": 2100 + 400 * turn - read,
                "input_cached_tokens": read,
                "output": 20,
                "total": 2120 + 400 * turn,
            },
            "level": "DEFAULT",
            "statusMessage": None,
            "sessionId": "s1",
        }


def pairs(clock: bool) -> Iterator[dict[str, Any]]:
    """What a logging proxy writes: a request and its response."""
    for record in litellm(clock):
        body = {"model": record["model"], "messages": record["messages"], "temperature": 0}
        url = "https://api.openai.com/v1/chat/completions?key=AIzaSyA1234567890abcdefghijklmnopqrstuvw"
        headers = {"Authorization": "Bearer abcdefghijklmnop123456"}
        yield {
            "timestamp": record["startTime"],
            "request": {"method": "POST", "url": url, "headers": headers, "body": body},
            "response": {"status_code": 200, "body": record["response"]},
            "latency_ms": 2000,
        }


FORMATS: dict[str, Callable[[bool], Iterator[dict[str, Any]]]] = {
    "otlp": otlp,
    "litellm": litellm,
    "langfuse": langfuse,
    "pairs": pairs,
}


def written(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def judged(path: Path) -> tuple[list[Verdict], list[Problem]]:
    problems: list[Problem] = []
    return list(verdicts(exchanges(path, problems.append), Analysis((), Tally()))), problems


@pytest.mark.parametrize("name", FORMATS)
def test_a_clock_is_found(name: str, tmp_path: Path) -> None:
    found, problems = judged(written(tmp_path / "t.jsonl", FORMATS[name](True)))
    assert not problems
    assert [verdict.cause for verdict in found] == [Cause.FIRST, *[Change.CLOCK] * 3]
    assert {verdict.region for verdict in found[1:]} == {"system"}
    assert {verdict.conversation for verdict in found} == {1}
    assert [verdict.sent.usage.total for verdict in found] == [2500, 2900, 3300, 3700]


@pytest.mark.parametrize("name", FORMATS)
def test_a_sound_conversation_hits(name: str, tmp_path: Path) -> None:
    found, _ = judged(written(tmp_path / "t.jsonl", FORMATS[name](False)))
    assert [verdict.cause for verdict in found] == [Cause.FIRST, *[Cause.HIT] * 3]
    assert all(round(later.sent.at - sooner.sent.at) in (10, 11) for sooner, later in pairwise(found))


def test_one_document_is_read_like_lines(tmp_path: Path) -> None:
    rows = list(langfuse(True))
    for number, document in enumerate((rows, {"data": rows, "meta": {"page": 1}})):
        for indent in (None, 2):
            path = tmp_path / f"{number}{indent}.json"
            path.write_text(json.dumps(document, indent=indent))
            assert len(judged(path)[0]) == 4
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(rows).encode()))
    assert len(judged(packed)[0]) == 4


def only(path: Path, record: dict[str, Any]) -> Exchange:
    (found,) = exchanges(written(path, iter([record])), lambda problem: None)
    return found


def test_a_span_keeps_its_call_site_tools_and_calls(tmp_path: Path) -> None:
    record = next(otlp(False))
    span = record["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    use = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"order": 1}}
    back = {"type": "tool_call_response", "id": "c1", "response": "gone"}
    messages = [{"role": "assistant", "parts": [use]}, {"role": "tool", "parts": [back]}]
    for pair in span["attributes"]:
        if pair["key"] == "gen_ai.input.messages":
            pair["value"] = {"stringValue": json.dumps(messages)}
    found = only(tmp_path / "t.jsonl", record)
    body = json.loads(found.body)
    assert (found.stack[0].file, found.stack[0].line, found.stack[0].function) == ("app/chat.py", 12, "turn")
    assert body["tools"][0]["name"] == "find"
    assert body["messages"][0]["content"][0]["input"] == {"order": 1}
    assert body["messages"][1]["content"][0]["content"] == "gone"


def test_older_spans_have_numbered_attributes(tmp_path: Path) -> None:
    values = {
        "gen_ai.system": "OpenAI",
        "llm.request.type": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Hello.",
        "llm.request.functions.0.name": "find",
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    attributes.append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": 9}})
    span = {"spanId": "1", "startTimeUnixNano": str(START * 10**9), "attributes": attributes}
    found = only(tmp_path / "t.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    body = json.loads(found.body)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["tools"], found.endpoint) == ([{"name": "find"}], "https://api.openai.com")


def test_a_span_cannot_tell_that_a_marker_is_missing(tmp_path: Path) -> None:
    """Where markers stood is not in a span: none of the verdicts that rest on it is given."""
    found, _ = judged(written(tmp_path / "t.jsonl", otlp(False)))
    assert not {Cause.UNMARKED, Cause.UNSTORED, Cause.LOOKBACK, Cause.ROUTING} & {verdict.cause for verdict in found}
    assert all(verdict.predicted is None for verdict in found)


def test_batches_of_openai(tmp_path: Path) -> None:
    record = {
        "custom_id": "request-1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello."}]},
    }
    found = only(tmp_path / "t.jsonl", record)
    assert (found.id, found.endpoint, json.loads(found.body)["model"]) == (
        "request-1",
        "/v1/chat/completions",
        "gpt-4o",
    )


def test_anthropic_pairs(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 0, "output_tokens": 5}
    record = {
        "request": {"model": "claude-sonnet-5", "system": RULES, "messages": [{"role": "user", "content": "Hello."}]},
        "response": {"id": "msg_1", "type": "message", "usage": usage},
        "created_at": "2025-11-29T23:47:10Z",
    }
    found = only(tmp_path / "t.jsonl", record)
    assert (found.id, found.response_id, found.usage, found.at) == ("msg_1", "msg_1", usage, 1764460030.0)


def test_what_is_no_request_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    lines = [*map(json.dumps, pairs(True)), '{"event": "started"}', "{cut"]
    path.write_text("\n".join(lines))
    assert run(["trace", str(path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "t.jsonl:5: no request of a format that is known here" in out and "t.jsonl:6: not JSON" in out


@pytest.mark.parametrize("form", ["full", "json", "html"])
def test_secrets_do_not_get_through(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 20

    def leaking() -> Iterator[dict[str, Any]]:
        for turn, record in enumerate(pairs(True)):
            record["request"]["body"]["messages"][0]["content"] = f"{'x' * turn}{secret}{turn} {RULES}"
            yield record

    run(["trace", str(written(tmp_path / "t.jsonl", leaking())), "--output-format", form])
    out = capsys.readouterr().out
    for part in ("Ab1Ab1", "AIzaSyA", "abcdefghijklmnop123456"):
        assert part not in out
