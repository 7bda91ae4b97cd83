"""Bodies of every API become the same parts, and the simulator gets what the provider would see."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import simulator
from promptlint.provider import facts
from promptlint.trace.parts import Part, stripped
from promptlint.trace.wire import BodyError, Wire, call, load, model, parse

CLAUDE = facts("anthropic", "claude-sonnet-5")
TOOL = {"name": "find", "description": "Find an order.", "input_schema": {"type": "object", "properties": {}}}


def seen(wire: Wire) -> list[tuple[str, str, str, str | None]]:
    return [(part.region, part.kind, part.text, part.marker) for part in wire.parts]


def test_messages_in_wire_order() -> None:
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 10,
        "messages": [
            {"role": "user", "content": "Hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "find", "input": {"b": 1, "a": 2}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "none"}],
                        "cache_control": {"type": "ephemeral", "ttl": "1h"},
                    }
                ],
            },
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [TOOL, {**TOOL, "name": "late", "defer_loading": True}],
    }
    wire = parse(body, "messages", CLAUDE)
    assert [part.path for part in wire.parts] == [
        "tools[0]",
        "system[0].text",
        "messages[0].content",
        "messages[1].content[0]",
        "messages[1].content[1]",
        "messages[2].content[0]",
    ]
    assert [part.kind for part in wire.parts] == ["tool", "text", "text", "thinking", "tool_use", "tool_result"]
    assert [part.marker for part in wire.parts] == [None, "", None, None, None, "1h"]
    assert wire.parts[4].text == '{"type":"tool_use","id":"t1","name":"find","input":{"b":1,"a":2}}'
    assert wire.parts[5].value == {"type": "tool_result", "tool_use_id": "t1", "content": "none"}
    assert wire.parameters == {"model": "claude-sonnet-5", "max_tokens": "10"}


def test_a_text_is_the_same_as_a_single_block_of_it() -> None:
    one = parse({"system": "S", "messages": [{"role": "user", "content": "U"}]}, "messages", CLAUDE)
    blocks = {"role": "user", "content": [{"type": "text", "text": "U"}]}
    two = parse({"system": [{"type": "text", "text": "S"}], "messages": [blocks]}, "messages", CLAUDE)
    assert seen(one) == seen(two)


def test_leading_system_messages_of_a_chat_are_system_text() -> None:
    body = {
        "model": "gpt-5",
        "messages": [
            {"role": "developer", "content": "D"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "U"}, {"type": "image_url", "image_url": {"url": "x"}}],
            },
            {"role": "assistant", "content": None, "reasoning_content": "R", "tool_calls": [{"id": "1"}]},
            {"role": "tool", "tool_call_id": "1", "content": "T"},
            {"role": "system", "content": "late"},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    }
    wire = parse(body, "chat", facts("openai", "gpt-5"))
    assert [(part.region, part.kind) for part in wire.parts] == [
        ("tools", "tool"),
        ("system", "text"),
        ("messages", "text"),
        ("messages", "image"),
        ("messages", "thinking"),
        ("messages", "tool_use"),
        ("messages", "tool_result"),
        ("messages", "text"),
    ]
    assert wire.parameters["response_format.json_schema"] == '{"name":"n","schema":{"type":"object"}}'


def test_responses_items_lose_what_the_model_does_not_see() -> None:
    item = {
        "type": "function_call",
        "id": "fc_1",
        "status": "completed",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
    }
    body = {
        "model": "gpt-6-sol",
        "instructions": "I",
        "input": [
            {"role": "developer", "content": "D"},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "U", "prompt_cache_breakpoint": {"mode": "explicit"}}],
            },
            item,
            {"type": "function_call_output", "call_id": "c", "output": "O"},
        ],
        "previous_response_id": "resp_1",
        "prompt_cache_options": {"mode": "explicit", "ttl": "12h"},
    }
    wire = parse(body, "responses", facts("openai", "gpt-6-sol"))
    assert [(part.region, part.path, part.kind) for part in wire.parts] == [
        ("system", "instructions", "text"),
        ("system", "input[0].content", "text"),
        ("messages", "input[1].content[0].text", "text"),
        ("messages", "input[2]", "tool_use"),
        ("messages", "input[3]", "tool_result"),
    ]
    assert wire.parts[3].value == {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert wire.parts[2].marker == ""
    assert (wire.previous, wire.automatic) == ("resp_1", "12h")


def test_converse_points_mark_what_stands_before_them() -> None:
    point = {"cachePoint": {"type": "default"}}
    body = {
        "system": [{"text": "S"}, point],
        "messages": [
            {
                "role": "user",
                "content": [{"text": "U"}, {"cachePoint": {"type": "default", "ttl": "1h"}}, {"text": "V"}],
            }
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, point], "toolChoice": {"auto": {}}},
    }
    wire = parse(body, "converse", facts("bedrock_anthropic", "anthropic.claude-sonnet-5"))
    assert seen(wire) == [
        ("tools", "tool", '{"toolSpec":{"name":"f"}}', ""),
        ("system", "text", "S", ""),
        ("messages", "text", "U", "1h"),
        ("messages", "text", "V", None),
    ]
    assert "toolChoice.auto" in wire.parameters


@pytest.mark.parametrize("system", ["systemInstruction", "system_instruction"])
def test_gemini(system: str) -> None:
    body = {
        system: {"parts": [{"text": "S"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "U"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}],
        "cachedContent": "cachedContents/1",
    }
    wire = parse(body, "generate", facts("gemini", "gemini-2.5-pro"))
    assert [part.path for part in wire.parts[:3]] == [
        "tools[0].functionDeclarations[0]",
        "tools[0].functionDeclarations[1]",
        "tools[1]",
    ]
    assert [(part.kind, part.role) for part in wire.parts[3:]] == [
        ("text", "system"),
        ("text", "user"),
        ("tool_use", "model"),
    ]
    assert wire.uses == "cachedContents/1"


def test_the_shape_tells_where_the_api_is_not_known() -> None:
    messages = [{"role": "user", "content": "U"}]
    shapes: dict[str, dict[str, Any]] = {
        "messages": {"system": "S", "messages": messages},
        "chat": {"messages": messages},
        "responses": {"input": "U"},
        "converse": {"messages": [{"role": "user", "content": [{"text": "U"}]}]},
        "generate": {"contents": [{"parts": [{"text": "U"}]}]},
        "completions": {"prompt": "U"},
    }
    for api, body in shapes.items():
        assert parse(body, "", CLAUDE).api == api
    assert [part.text for part in parse({"anthropic_version": "b", **shapes["messages"]}, "invoke", CLAUDE).parts] == [
        "S",
        "U",
    ]
    with pytest.raises(BodyError):
        parse({"x": 1}, "", CLAUDE)
    for text in ("[]", "{", "[" * 100_000):
        with pytest.raises(BodyError):
            load(text)


def test_the_model_may_stand_in_the_address() -> None:
    assert model({"model": "m"}, "https://api.openai.com/v1/chat/completions") == "m"
    assert model({}, "https://x/v1beta/models/gemini-2.5-pro:generateContent") == "gemini-2.5-pro"
    assert model({}, "https://x/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse") == "gemini-2.5-pro"
    assert (
        model({}, "https://x/model/anthropic.claude-sonnet-5-v1%3A0/converse-stream")
        == "anthropic.claude-sonnet-5-v1:0"
    )
    assert model({}, "https://x/v1/messages") is None


def test_a_tool_argument_that_is_called_like_a_marker_stays() -> None:
    schema = {"properties": {"cache_control": {"type": "string"}}}
    assert stripped(schema) == schema


def test_a_marker_on_a_message_is_misplaced() -> None:
    message = {"role": "user", "content": "U", "cache_control": {"type": "ephemeral"}}
    wire = parse({"messages": [message]}, "messages", CLAUDE)
    assert wire.misplaced == ("messages[0].cache_control",)
    assert [part.marker for part in wire.parts] == [None]


def test_a_parameter_that_says_what_leaving_it_out_says_decides_nothing() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "U"}], "max_tokens": 5}
    plain = call(parse(body, "messages", CLAUDE), CLAUDE)
    explicit = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}, "speed": "standard"}
    same = call(parse(body | explicit, "messages", CLAUDE), CLAUDE)
    forced = call(parse(body | {"tool_choice": {"type": "any"}}, "messages", CLAUDE), CLAUDE)
    assert same.parameters == plain.parameters
    assert forced.parameters != plain.parameters


def test_older_models_forget_the_thinking_of_earlier_turns() -> None:
    old, new = facts("anthropic", "claude-sonnet-4-5"), CLAUDE
    thinking = {"type": "thinking", "thinking": "T", "signature": "s"}
    turns = [
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": [thinking, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "R"}]},
    ]
    spoken = [*turns, {"role": "assistant", "content": "A"}, {"role": "user", "content": "V"}]

    def kinds(messages: list[Any], known: Any) -> list[str]:
        return [block.kind for block in call(parse({"messages": messages}, "messages", known), known).blocks]

    assert "thinking" in kinds(turns, old)
    assert "thinking" not in kinds(spoken, old)
    assert "thinking" in kinds(spoken, new)


def test_the_simulator_reads_what_a_marker_stored() -> None:
    system = [{"type": "text", "text": "You answer questions. " * 400, "cache_control": {"type": "ephemeral"}}]
    bodies = [{"system": system, "messages": [{"role": "user", "content": text}]} for text in ("One?", "Two?")]
    calls = [call(parse(body, "messages", CLAUDE), CLAUDE, at=number) for number, body in enumerate(bodies)]
    first, second = simulator.predict(calls, CLAUDE)
    assert first.written and second.read == sum(tokens for _, tokens in first.written)


FIELDS = ("messages", "system", "tools", "input", "contents", "role", "content", "type", "text", "parts", "toolConfig")
BODIES = st.dictionaries(
    st.sampled_from(FIELDS),
    st.recursive(
        st.sampled_from([None, True, 1, "", "text", "tool", {}, [], {"type": "ephemeral"}]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
        max_leaves=12,
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(BODIES, st.sampled_from(["messages", "chat", "responses", "converse", "invoke", "generate", "completions"]))
def test_no_body_makes_it_fail(body: dict[str, Any], api: str) -> None:
    wire = parse(body, api, CLAUDE)
    assert all(isinstance(part, Part) and isinstance(part.text, str) for part in wire.parts)
