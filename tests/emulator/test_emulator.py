"""The emulator against the real SDKs: what it answers parses as the vendors' own types, and counts as they count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import anthropic
import openai
import pytest
from anthropic.types import CacheMissReason, Message, RawMessageStreamEvent
from google import genai
from google.genai.errors import ClientError
from google.genai.types import CreateCachedContentConfig, GenerateContentConfig, HttpOptions
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.emulator import Fault, Vendor, emulator

CLAUDE, GPT, OLD = "claude-sonnet-5", "gpt-5.6-sol", "gpt-4.1"
LONG = "Answer as the handbook says. " * 300
MARK = {"type": "ephemeral"}


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vendor(clock: Clock) -> Iterator[Vendor]:
    with emulator(clock=clock) as running:
        yield running


@pytest.fixture
def claude(vendor: Vendor) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=vendor.url, api_key="test", max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(vendor: Vendor) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=vendor.openai, api_key="test", max_retries=0) as client:
        yield client


def turn(text: str = "Hello", **more: Any) -> dict[str, Any]:
    """Keyword arguments of one request to Claude, its system text marked."""
    system = [{"type": "text", "text": LONG, "cache_control": MARK}]
    messages = [{"role": "user", "content": text}]
    return {"model": CLAUDE, "max_tokens": 5, "system": system, "messages": messages, **more}


def strict(kind: Any, value: Any) -> None:
    """The wire form is what the SDK's type says, not only what its lenient parser lets through."""
    TypeAdapter(kind).validate_python(value.to_dict() if hasattr(value, "to_dict") else value, strict=False)


# --- Anthropic --------------------------------------------------------------------------------------------------------


def test_a_message_and_its_three_counts(claude: anthropic.Anthropic) -> None:
    first, second = claude.messages.create(**turn()), claude.messages.create(**turn("And again"))
    strict(Message, first)
    assert first.usage.cache_read_input_tokens == 0
    assert first.usage.cache_creation_input_tokens == second.usage.cache_read_input_tokens
    assert (second.usage.cache_read_input_tokens or 0) > 1024
    assert first.usage.cache_creation and second.usage.cache_creation
    assert first.usage.cache_creation.ephemeral_5m_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.cache_creation_input_tokens == 0


def test_a_stream_of_messages(claude: anthropic.Anthropic) -> None:
    plain = claude.messages.create(**turn())
    with claude.messages.stream(**turn()) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == plain.content[0].text
    assert (final.usage.cache_read_input_tokens or 0) > 1024
    for event in claude.messages.create(stream=True, **turn()):
        strict(RawMessageStreamEvent, event)


def test_a_prewarming_request_answers_nothing_and_writes(claude: anthropic.Anthropic) -> None:
    warm = claude.messages.create(**turn(max_tokens=0))
    assert (warm.content, warm.stop_reason, warm.usage.output_tokens) == ([], "max_tokens", 0)
    assert claude.messages.create(**turn("x")).usage.cache_read_input_tokens == warm.usage.cache_creation_input_tokens
    with pytest.raises(anthropic.BadRequestError, match="cannot be used with stream"):
        claude.messages.create(stream=True, **turn(max_tokens=0))


def test_entries_expire(claude: anthropic.Anthropic, clock: Clock) -> None:
    claude.messages.create(**turn())
    clock.now += 290
    assert claude.messages.create(**turn()).usage.cache_read_input_tokens
    clock.now += 301
    assert not claude.messages.create(**turn()).usage.cache_read_input_tokens


TOOL = {"name": "find", "description": "Find an order.", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "claude-sonnet-4-6"}, "model_changed"),
        ({"tools": [TOOL]}, "tools_changed"),
        ({"system": "Other. " + LONG}, "system_changed"),
        ({"messages": [{"role": "user", "content": "Bye"}]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
    ],
)
def test_the_reasons_of_a_miss(claude: anthropic.Anthropic, change: dict[str, Any], reason: str) -> None:
    first = claude.messages.create(**turn(diagnostics={"previous_message_id": None}))
    assert first.diagnostics is None
    second = claude.messages.create(**(turn() | change), diagnostics={"previous_message_id": first.id})
    strict(Message, second)
    assert second.diagnostics and second.diagnostics.cache_miss_reason
    assert second.diagnostics.cache_miss_reason.type == reason
    assert isinstance(second.diagnostics.cache_miss_reason, get_args(get_args(CacheMissReason)[0]))


def test_diagnoses_without_a_reason(claude: anthropic.Anthropic, vendor: Vendor) -> None:
    first = claude.messages.create(**turn())
    asked = {"previous_message_id": first.id}
    longer = [*turn()["messages"], {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Bye"}]
    assert claude.messages.create(**turn(messages=longer, diagnostics=asked)).diagnostics is None
    lost = claude.messages.create(**turn(diagnostics={"previous_message_id": "msg_unknown"}))
    assert lost.diagnostics and lost.diagnostics.cache_miss_reason
    assert lost.diagnostics.cache_miss_reason.type == "previous_message_not_found"
    vendor.then(Fault(pending=True))
    pending = claude.messages.create(**turn("Bye", diagnostics=asked))
    assert pending.diagnostics and pending.diagnostics.cache_miss_reason is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": [{"role": "user", "content": "x", "cache_control": MARK}]}, "Extra inputs are not permitted"),
        (
            {"system": [{"type": "text", "text": "x", "cache_control": MARK}] * 5},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        ({"max_tokens": 1024, "thinking": {"type": "enabled", "budget_tokens": 1024}}, "budget_tokens"),
    ],
)
def test_what_claude_refuses(claude: anthropic.Anthropic, change: dict[str, Any], message: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=message):
        claude.messages.create(**(turn() | change))


def test_errors_are_the_ones_that_the_sdk_knows(vendor: Vendor, claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="no-such-model"):
        claude.messages.create(**turn(model="no-such-model"))
    for status, error in (
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ):
        vendor.then(Fault(status=status, headers={"retry-after": "7"}))
        with pytest.raises(error) as caught:
            claude.messages.create(**turn())
        assert caught.value.response.headers["retry-after"] == "7"
    assert [received.status for received in vendor.received] == [404, 401, 429, 500, 529]
    assert vendor.accepted == []


def test_a_key_of_its_own() -> None:
    with emulator(key="right") as vendor:
        with pytest.raises(anthropic.AuthenticationError):
            anthropic.Anthropic(base_url=vendor.url, api_key="wrong", max_retries=0).messages.create(**turn())
        assert anthropic.Anthropic(base_url=vendor.url, api_key="right").messages.create(**turn()).id


def test_hidden_retries_are_received(vendor: Vendor) -> None:
    vendor.then(Fault(status=529, headers={"retry-after-ms": "1"}), Fault())
    anthropic.Anthropic(base_url=vendor.url, api_key="k", max_retries=2).messages.create(**turn())
    assert [received.status for received in vendor.received] == [529, 200]


def test_cut_streams_and_answers(vendor: Vendor, claude: anthropic.Anthropic) -> None:
    vendor.then(Fault(cut=3), Fault(cut=0))
    with pytest.raises(Exception, match="peer closed"):
        list(claude.messages.create(stream=True, **turn()))
    with pytest.raises(anthropic.APIConnectionError):
        claude.messages.create(**turn())


def test_a_slow_answer_and_a_wrong_usage(vendor: Vendor) -> None:
    vendor.then(Fault(delay=0.5), Fault(usage={"cache_read_input_tokens": 7, "cache_creation": None}))
    client = anthropic.Anthropic(base_url=vendor.url, api_key="k", max_retries=0)
    with pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=0.1).messages.create(**turn())
    usage = client.messages.create(**turn()).usage
    assert (usage.cache_read_input_tokens, usage.cache_creation) == (7, None)


def test_another_machine_finds_nothing(vendor: Vendor, claude: anthropic.Anthropic) -> None:
    vendor.then(Fault(), Fault(cold=True))
    assert [claude.messages.create(**turn()).usage.cache_read_input_tokens for _ in range(2)] == [0, 0]


# --- Gemini -----------------------------------------------------------------------------------------------------------


def test_gemini_and_its_cache_objects(vendor: Vendor) -> None:
    client = genai.Client(api_key="key", http_options=HttpOptions(base_url=vendor.url))
    asked = {"model": "gemini-2.5-flash", "contents": f"{LONG * 3}And now?"}
    first, second = client.models.generate_content(**asked), client.models.generate_content(**asked)
    assert first.text == second.text
    assert first.usage_metadata.cached_content_token_count is None
    assert 2048 <= second.usage_metadata.cached_content_token_count < second.usage_metadata.prompt_token_count
    held = client.caches.create(
        model="gemini-2.5-flash", config=CreateCachedContentConfig(contents=[LONG * 3], ttl="600s")
    )
    uses = GenerateContentConfig(cached_content=held.name)
    answer = client.models.generate_content(model="gemini-2.5-flash", contents="And?", config=uses)
    assert answer.usage_metadata.cached_content_token_count > 2048
    uses.system_instruction = "Be short."
    with pytest.raises(ClientError, match="can not be used with"):
        client.models.generate_content(model="gemini-2.5-flash", contents="And?", config=uses)


# --- OpenAI -----------------------------------------------------------------------------------------------------------


def chat(text: str = "Hello", **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": LONG}, {"role": "user", "content": text}]
    return {"model": OLD, "max_completion_tokens": 5, "messages": messages, **more}


def test_a_completion_and_its_chunks(gpt: openai.OpenAI) -> None:
    first, second = gpt.chat.completions.create(**chat()), gpt.chat.completions.create(**chat("Bye"))
    strict(ChatCompletion, first)
    assert first.usage and first.usage.prompt_tokens_details and first.usage.prompt_tokens_details.cached_tokens == 0
    assert second.usage and second.usage.prompt_tokens_details
    cached = second.usage.prompt_tokens_details.cached_tokens or 0
    assert cached >= 1024
    assert cached % 128 == 0
    chunks = list(gpt.chat.completions.create(stream=True, stream_options={"include_usage": True}, **chat("Bye")))
    for chunk in chunks:
        strict(ChatCompletionChunk, chunk)
    assert chunks[-1].usage and chunks[-1].usage.prompt_tokens == second.usage.prompt_tokens
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert text == second.choices[0].message.content
    assert all(chunk.usage is None for chunk in gpt.chat.completions.create(stream=True, **chat()))


def test_deepseek_counts_in_fields_of_its_own(gpt: openai.OpenAI) -> None:
    gpt.chat.completions.create(**chat(model="deepseek-chat"))
    usage = gpt.chat.completions.create(**chat(model="deepseek-chat")).usage
    assert usage.model_extra["prompt_cache_hit_tokens"] > 1000
    assert usage.model_extra["prompt_cache_hit_tokens"] <= usage.prompt_tokens
    assert usage.model_extra["prompt_cache_miss_tokens"] < 1000


def response(text: str = "Hello", **more: Any) -> dict[str, Any]:
    lead = {"type": "input_text", "text": LONG, "prompt_cache_breakpoint": {"mode": "explicit"}}
    given = [{"role": "developer", "content": [lead]}, {"role": "user", "content": text}]
    return {"model": GPT, "max_output_tokens": 16, "input": given, **more}


def test_a_response_and_its_stream(gpt: openai.OpenAI) -> None:
    first, second = gpt.responses.create(**response()), gpt.responses.create(**response("Bye"))
    strict(Response, first)
    assert first.usage and second.usage
    assert first.usage.input_tokens_details.cache_write_tokens > 1024
    assert second.usage.input_tokens_details.cached_tokens > 1024
    assert first.usage.input_tokens_details.cache_write_tokens_details
    events = list(gpt.responses.create(stream=True, **response("Bye")))
    for event in events:
        strict(ResponseStreamEvent, event)
    assert events[-1].type == "response.completed"
    with gpt.responses.stream(**response("Bye")) as stream:
        final = stream.get_final_response()
    assert final.usage and final.usage.input_tokens == second.usage.input_tokens
    assert final.output_text == second.output_text


def test_prewarming_generates_nothing(gpt: openai.OpenAI) -> None:
    warm = gpt.responses.create(**response(prompt_cache_options={"prewarm": True}))
    assert warm.output == []
    assert warm.usage and warm.usage.input_tokens_details.cache_write_tokens


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "gpt-5.6-terra"}, "model_changed"),
        ({"prompt_cache_key": "other"}, "prompt_cache_key_changed"),
        ({"service_tier": "flex"}, "service_tier_changed"),
        ({"tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}]}, "tools_changed"),
        ({"text": {"format": {"type": "json_object"}}}, "text_format_changed"),
        ({"reasoning": {"effort": "high"}}, "reasoning_effort_changed"),
        ({"text": {"verbosity": "low"}}, "verbosity_changed"),
        ({"input": "Hello"}, "input_changed"),
    ],
)
def test_the_comparison_of_a_miss(gpt: openai.OpenAI, change: dict[str, Any], reason: str) -> None:
    first = gpt.responses.create(**response())
    options = {"comparison_response_id": first.id}
    second = gpt.responses.create(**(response() | change), prompt_cache_options=options)  # type: ignore[call-overload]
    strict(Response, second)
    assert second.prompt_cache_diagnostics.type == "cache_miss"
    assert second.prompt_cache_diagnostics.reason == reason


def test_other_comparisons(gpt: openai.OpenAI, vendor: Vendor) -> None:
    first = gpt.responses.create(**response())
    found = []
    vendor.then(Fault(), Fault(), Fault(pending=True))
    for name in (first.id, "resp_unknown", first.id):
        answer = gpt.responses.create(**response(prompt_cache_options={"comparison_response_id": name}))
        assert answer.prompt_cache_diagnostics
        found.append(answer.prompt_cache_diagnostics.type)
    assert found == ["cache_hit", "comparison_response_not_found", "unavailable"]


def test_errors_of_openai(vendor: Vendor, gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        gpt.responses.create(**response(model="no-such-model"))
    with pytest.raises(openai.BadRequestError, match="below minimum value"):
        gpt.responses.create(**response(max_output_tokens=1))
    vendor.then(Fault(status=429), Fault(cut=2))
    with pytest.raises(openai.RateLimitError):
        gpt.chat.completions.create(**chat())
    with pytest.raises(openai.APIConnectionError):
        list(gpt.chat.completions.create(stream=True, **chat()))


def test_requests_sent_together_all_miss() -> None:
    """What one response writes can be read once it has begun: in one and the same moment nobody finds anything."""
    with emulator(clock=lambda: 0.0) as vendor:
        client = anthropic.Anthropic(base_url=vendor.url, api_key="test")
        usages = [client.messages.create(**turn(text)).usage for text in "abc"]
    assert [usage.cache_read_input_tokens for usage in usages] == [0, 0, 0]
