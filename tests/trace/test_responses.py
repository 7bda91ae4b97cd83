"""Usage, id and text of an answer, in each of the forms in which vendors send them."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.trace.responses import Answer, understood


def sse(*events: Any, end: str = "\n\n") -> bytes:
    return "".join(f"data: {json.dumps(event)}{end}" for event in events).encode()


def frame(event: Any) -> bytes:
    payload, headers = json.dumps(event).encode(), b"\x0b:event-type\x07\x00\x05chunk"
    total = 16 + len(headers) + len(payload)
    return struct.pack(">III", total, len(headers), 0) + headers + payload + b"\0\0\0\0"


def packed(event: Any) -> dict[str, str]:
    return {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}


ANTHROPIC = (
    {
        "type": "message_start",
        "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}},
    },
    {"type": "ping"},
    {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "He"}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "llo"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
)
ANTHROPIC_ANSWER = Answer({"input_tokens": 9, "output_tokens": 7}, "msg_1", "Hello")
CHAT = {"id": "c1", "choices": [{"message": {"content": "Hello"}}], "usage": {"prompt_tokens": 3}}
CHAT_CHUNKS = (
    {"id": "c1", "choices": [{"delta": {"role": "assistant", "content": ""}}], "usage": None},
    {"id": "c1", "choices": [{"delta": {"content": "Hello"}}], "usage": None},
    {"id": "c1", "choices": [], "usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}},
)
RESPONSE = {
    "id": "resp_1",
    "output": [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hello"}]}],
    "usage": {"input_tokens": 4, "input_tokens_details": {"cached_tokens": 0}},
}
GEMINI = {
    "responseId": "g1",
    "candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}, {"text": "Hello"}]}}],
    "usageMetadata": {"promptTokenCount": 5, "cachedContentTokenCount": 1},
}
CONVERSE = {"output": {"message": {"content": [{"text": "Hello"}]}}, "usage": {"inputTokens": 6}}
SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
AWS = "application/vnd.amazon.eventstream"


@pytest.mark.parametrize(
    ("data", "kind", "answer"),
    [
        (sse(*ANTHROPIC), SSE, ANTHROPIC_ANSWER),
        (sse(*ANTHROPIC, end="\r\n\r\n"), "", ANTHROPIC_ANSWER),
        (b"".join(frame(packed(event)) for event in ANTHROPIC), AWS, ANTHROPIC_ANSWER),
        (json.dumps(CHAT).encode(), JSON, Answer({"prompt_tokens": 3}, "c1", "Hello")),
        (
            sse(*CHAT_CHUNKS) + b"data: [DONE]\n\n",
            SSE,
            Answer({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}, "c1", "Hello", done=True),
        ),
        (json.dumps(RESPONSE).encode(), JSON, Answer(RESPONSE["usage"], "resp_1", "Hello")),  # type: ignore[arg-type]
        (
            sse(
                {"type": "response.created", "response": {"id": "resp_1", "usage": None}},
                {"type": "response.output_text.delta", "delta": "Hello", "item_id": "m"},
                {"type": "response.output_text.done", "text": "Hello"},
                {"type": "response.completed", "response": RESPONSE},
            ),
            SSE,
            Answer(RESPONSE["usage"], "resp_1", "Hello"),  # type: ignore[arg-type]
        ),
        (json.dumps(GEMINI).encode(), JSON, Answer(GEMINI["usageMetadata"], "g1", "Hello")),  # type: ignore[arg-type]
        (json.dumps([GEMINI]).encode(), JSON, Answer(GEMINI["usageMetadata"], "g1", "Hello")),  # type: ignore[arg-type]
        (json.dumps(CONVERSE).encode(), JSON, Answer({"inputTokens": 6}, None, "Hello")),
        (
            frame({"contentBlockDelta": {"delta": {"text": "Hello"}}}) + frame({"usage": {"inputTokens": 6}}),
            AWS,
            Answer({"inputTokens": 6}, None, "Hello"),
        ),
        (
            b'{"message":{"content":"Hel"}}\n{"message":{"content":"lo"},"done":true,"prompt_eval_count":8}\n',
            "application/x-ndjson",
            Answer({"prompt_eval_count": 8}, None, "Hello"),
        ),
        (
            b'{"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}',
            JSON,
            Answer(error="rate_limit_error: Slow down."),
        ),
        (b"<html>Bad gateway</html>", "text/html", Answer()),
        (b"", JSON, Answer()),
    ],
)
def test_answers_are_understood(data: bytes, kind: str, answer: Answer) -> None:
    assert understood(data, kind) == answer


@pytest.mark.parametrize("data", [sse(*ANTHROPIC), b"".join(map(frame, map(packed, ANTHROPIC)))])
def test_of_a_cut_stream_what_came_is_understood(data: bytes) -> None:
    kind = SSE if data.startswith(b"data") else AWS
    half = understood(data[: len(data) * 3 // 4], kind)
    assert half.usage == {"input_tokens": 9, "output_tokens": 1} and half.response_id == "msg_1"


@given(st.binary(max_size=200) | st.text().map(str.encode), st.sampled_from([SSE, JSON, AWS, ""]))
def test_no_answer_is_too_odd(data: bytes, kind: str) -> None:
    understood(data, kind)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "usage",
                        "choices",
                        "message",
                        "content",
                        "delta",
                        "text",
                        "output",
                        "candidates",
                        "error",
                        "id",
                        "response",
                    ]
                ),
                x,
            )
        ),
    )
)
def test_no_json_is_too_odd(document: Any) -> None:
    understood(json.dumps(document).encode(), JSON)
