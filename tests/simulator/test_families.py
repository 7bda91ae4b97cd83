"""The automatic caches, OpenAI's window and break-even, DeepSeek's units, Gemini's objects, and llama.cpp's slots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from promptlint.provider import facts, providers
from promptlint.simulator import Block, Call, Outcome, predict, simulate
from promptlint.simulator.exchange import ago
from promptlint.simulator.slots import predict as on_slots

_next = iter(range(0, 10**12, 10**6))


def text(size: int, region: str = "messages", role: str = "user", marker: str | None = None) -> Block:
    start = next(_next)
    return Block(region, range(start, start + size), role=role, marker=marker)


def call(*blocks: Block, at: float = 0, **changes: object) -> Call:
    return replace(Call(blocks, at=at), **changes)  # type: ignore[arg-type]


def reads(outcomes: list[Outcome]) -> list[int]:
    return [outcome.read for outcome in outcomes]


# --- blocks: OpenAI before gpt-5.6, vLLM, SGLang ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "read"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (2006, 1920), (5000, 4992)]
)
def test_openai_rounds_down_to_128_from_1024_on(shared: int, read: int) -> None:
    prefix = text(shared)
    assert reads(simulate([call(prefix, text(500)), call(prefix, text(500), at=1)], "openai", "gpt-5")) == [0, read]


def test_a_difference_inside_a_block_of_text_ends_the_prefix_there() -> None:
    one, other = tuple(range(3000)), (*range(2000), *range(7000, 8000))
    outcomes = simulate([call(Block("messages", one)), call(Block("messages", other), at=1)], "openai", "gpt-4.1")
    assert outcomes[1].read == 1920


def test_what_is_read_stays_readable_while_the_next_response_is_awaited() -> None:
    """Stored at 0 for five minutes, read at 299 by a request whose response begins at 309: renewed, not replaced."""
    prefix = text(2048)
    calls = [call(prefix, text(9)), call(prefix, text(9), at=299, begins=10), call(prefix, text(9), at=305)]
    assert reads(simulate(calls, "openai", "gpt-4o")) == [0, 2048, 2048]


def test_models_that_do_not_cache() -> None:
    for provider, model in (("openai", "gpt-4"), ("anthropic", "claude-2.1")):
        prompt = text(9000, marker="" if provider == "anthropic" else None)
        outcome = simulate([call(prompt), call(prompt, at=1)], provider, model)[1]
        assert (outcome.read, outcome.why) == (0, f"{model} does not cache prompts")


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ((text(500),), "500 tokens, and caching starts at 1,024"),
        ((text(5000),), "equal to an earlier request for no more than 0 tokens"),
    ],
)
def test_why_an_automatic_cache_reads_nothing(blocks: tuple[Block, ...], why: str) -> None:
    assert simulate([call(text(5000)), call(*blocks, at=1)], "openai", "gpt-4o")[1].why == why


def test_any_earlier_request_helps_until_it_expires() -> None:
    a, b = text(2048), text(2048)
    calls = [call(a, text(9)), call(b, at=1), call(a, at=2), call(a, at=301), call(a, at=700)]
    outcomes = simulate(calls, "openai", "gpt-4o")
    assert reads(outcomes) == [0, 0, 1920, 1920, 0]
    assert "expired" in outcomes[-1].why


def test_another_parameter_is_another_cache() -> None:
    prefix = text(2048)
    calls = [call(prefix, text(1), parameters={"prompt_cache_key": key}, at=at) for at, key in enumerate("aab")]
    outcomes = simulate(calls, "openai", "gpt-4.1")
    assert reads(outcomes) == [0, 2048, 0]
    assert "other parameters" in outcomes[-1].why


def test_requests_sent_together() -> None:
    """At a vendor's they all miss; vLLM's blocks are shared as soon as they are scheduled."""
    prefix = text(2048)
    calls = [call(prefix, text(1), begins=1) for _ in range(4)]
    assert reads(simulate(calls, "openai", "gpt-4.1")) == [0, 0, 0, 0]
    assert reads(simulate(calls, "vllm")) == [0, 2048, 2048, 2048]


def test_vllm_reads_full_blocks_and_computes_the_last_token() -> None:
    """Figures measured on vLLM 0.32 with blocks of 128: a repeat of 1,846 tokens reads 1,792, of 1,792 a block less."""
    for size, read in ((1846, 1792), (1792, 1664), (127, 0), (129, 128)):
        prompt = text(size)
        known = replace(facts("vllm", None), granularity=128)
        assert reads(predict([call(prompt), call(prompt, at=1)], known)) == [0, read]


def test_sglang_reads_single_tokens_and_answers() -> None:
    prompt = text(100)
    answer = tuple(range(50))
    follow_up = call(prompt, Block("messages", answer), text(10), at=1)
    assert reads(simulate([call(prompt, answer=answer), follow_up], "sglang")) == [0, 149]


def test_mistral_caches_by_key_only() -> None:
    prompt = text(130)
    plain = simulate([call(prompt), call(prompt, at=1)], "mistral", "mistral-large-latest")
    assert "prompt_cache_key" in plain[1].why
    keyed = [call(prompt, at=at, parameters={"prompt_cache_key": "k"}) for at in (0, 1)]
    assert reads(simulate(keyed, "mistral", "mistral-large-latest")) == [0, 128]


def test_moonshot_bills_the_longer_lifetime() -> None:
    prompt = text(2561)
    outcomes = simulate([call(prompt, automatic="1h"), call(prompt, at=3000, automatic="1h")], "moonshot", "kimi-k3")
    assert [dict(outcome.written) for outcome in outcomes] == [{"1h": 2560}, {}]
    assert outcomes[0].weight(facts("moonshot", "kimi-k3")) == 2 * 2560 + 1
    assert outcomes[1].read == 2560


def test_azure_refuses_markers_for_older_models() -> None:
    prompt = text(2000, marker="")
    assert simulate([call(prompt)], "azure_openai", "gpt-4o")[0].refused


# --- OpenAI from gpt-5.6 on -------------------------------------------------------------------------------------------

NEW = "gpt-5.6-sol"


def test_the_newest_message_is_written_by_itself_and_found_by_the_next_turn() -> None:
    system, one, answer, two = text(1500, "system", "system"), text(100), text(50, role="assistant"), text(70)
    outcomes = simulate([call(system, one), call(system, one, answer, two, at=60)], "openai", NEW)
    assert dict(outcomes[0].written) == {"30m": 1600}
    assert (outcomes[1].read, dict(outcomes[1].written), outcomes[1].uncached) == (1600, {"30m": 120}, 0)


def test_a_shared_prefix_is_not_found_without_a_marker() -> None:
    """0 % against 98.6 %: the automatic write holds the question, too (openai/codex issue 35300)."""
    system = text(1500, "system", "system")
    plain = simulate([call(system, text(20)), call(system, text(20), at=1)], "openai", NEW)
    assert plain[1].read == 0
    marked = replace(system, marker="")
    helped = simulate([call(marked, text(20)), call(marked, text(20), at=1)], "openai", NEW)
    assert helped[1].read == 1500


def test_why_a_window_reads_nothing() -> None:
    explicit = {"prompt_cache_options.mode": "explicit"}
    system = text(1500, "system", "system", marker="")
    behind = call(replace(system, marker=None), text(2000, marker=""), at=1, parameters=explicit)
    assert (
        "what was stored ends at block 1" in simulate([call(system, parameters=explicit), behind], "openai", NEW)[1].why
    )
    faster = {"service_tier": "priority"}
    other = simulate([call(system), call(system, at=1, parameters=faster)], "openai", NEW)[1]
    assert other.why == "the same prefix was stored with other parameters"
    refused = simulate([call(text(2000, marker="5m"))], "openai", NEW)[0]
    assert refused.refused == "no lifetime '5m': 30m or 12h"


def test_explicit_mode_writes_nothing_without_a_marker() -> None:
    parameters = {"prompt_cache_options.mode": "explicit"}
    outcome = simulate([call(text(3000), parameters=parameters)], "openai", NEW)[0]
    assert (outcome.written, outcome.uncached) == ((), 3000)
    assert "no fee" in outcome.why


def test_surplus_markers_are_dropped_silently() -> None:
    """Implicit mode keeps the latest three, so that the first marked block is not found again."""
    blocks = [text(2000, marker="") for _ in range(5)]
    outcomes = simulate(
        [call(*blocks), call(blocks[0], at=1), call(blocks[0], blocks[1], blocks[2], at=2)], "openai", NEW
    )
    assert outcomes[0].refused == ""
    assert reads(outcomes) == [0, 0, 6000]


def test_a_provider_with_a_single_write() -> None:
    """The write at the newest message is the one; a marker gets none beside it."""
    known = replace(facts("openai", NEW), max_breakpoints=1)
    marked, rest = text(2000, marker=""), text(100)
    outcomes = predict([call(marked, text(9, "messages", "assistant"), rest), call(marked, at=1)], known)
    assert dict(outcomes[0].written) == {"30m": 2109}
    assert outcomes[1].read == 0


def test_the_read_window_holds_the_latest_markers() -> None:
    blocks = [text(1100, marker="") for _ in range(4)]
    known = replace(facts("openai", NEW), window=2)
    explicit = {"prompt_cache_options.mode": "explicit"}
    first = call(blocks[0], parameters=explicit)
    later = call(*blocks[:2], at=1, parameters=explicit)
    beyond = call(*blocks, at=2, parameters=explicit)
    assert reads(predict([first, later], known)) == [0, 1100]
    assert reads(predict([first, beyond], known)) == [0, 0]


def test_the_lifetime_of_a_marker() -> None:
    short, long = text(2000, marker=""), text(2000, marker="12h")
    for block, after in ((short, 1801), (long, 43_201)):
        explicit = {"prompt_cache_options.mode": "explicit"}
        calls = [call(block, at=at, parameters=explicit) for at in (0, after - 2, after * 2)]
        assert reads(simulate(calls, "openai", NEW)) == [0, 2000, 0]
    assert simulate([call(long)], "openai", NEW)[0].weight(facts("openai", NEW)) == 2.5 * 2000


def padded(length: int, requests: int) -> float:
    """A prefix of that length sent that often, padded up to the minimum and marked, in uncached tokens."""
    assert length <= 1024
    explicit = {"prompt_cache_options.mode": "explicit"}
    block = text(1024, marker="")
    outcomes = simulate([call(block, at=at, parameters=explicit) for at in range(requests)], "openai", NEW)
    return sum(outcome.weight(facts("openai", NEW)) for outcome in outcomes)


@pytest.mark.parametrize(
    ("length", "requests", "pays"), [(221, 10, True), (220, 10, False), (103, 1963, True), (103, 1962, False)]
)
def test_break_even_of_short_prefixes(length: int, requests: int, pays: bool) -> None:
    """OpenAI's guide: padding 221 tokens to 1,024 is cheaper at 10 requests, 220 is not; 103 needs 1,963."""
    assert (padded(length, requests) < length * requests) == pays


def test_one_write_and_nine_reads() -> None:
    assert padded(1024, 10) / 1024 == pytest.approx(2.15)
    assert padded(1024, 2) / 1024 == pytest.approx(1.35)


# --- DeepSeek, Gemini -------------------------------------------------------------------------------------------------


def test_deepseek_reads_whole_units() -> None:
    """The documentation's examples: a conversation hits at once, a shared document from the third request on."""
    system, one, answer, two = text(1200), text(100), text(80), text(60)
    talk = [
        call(system, one, answer=tuple(answer.tokens)),
        call(system, one, answer, two, at=1),
    ]
    assert reads(simulate(talk, "deepseek", "deepseek-chat")) == [0, 1380]
    questions = [call(system, text(40), at=at) for at in range(3)]
    assert reads(simulate(questions, "deepseek", "deepseek-chat")) == [0, 0, 1200]


def test_deepseek_reads_nothing_of_a_request_that_is_still_being_answered() -> None:
    prompt = text(2000)
    calls = [call(prompt, begins=2), call(prompt, at=1, begins=2), call(prompt, at=2.5)]
    outcomes = simulate(calls, "deepseek", "deepseek-chat")
    assert reads(outcomes) == [0, 0, 2000]
    assert outcomes[1].why == "sent before the response that stores the same prefix had begun"


def test_a_cache_object_is_read_as_a_whole_until_it_expires() -> None:
    document = call(text(5000), creates="doc", parameters={"ttl": "600"})
    outcomes = simulate(
        [document, call(text(20), at=1, uses="doc"), call(text(20), at=600, uses="doc")], "gemini", "gemini-3.5-flash"
    )
    assert (outcomes[0].uncached, outcomes[0].storage) == (5000, 5000 / 6)
    assert (outcomes[1].read, outcomes[1].uncached) == (5000, 20)
    assert "no cache object doc" in outcomes[2].refused


def test_what_gemini_refuses() -> None:
    model = "gemini-3.5-flash"
    assert "too small" in simulate([call(text(4095), creates="doc")], "gemini", model)[0].refused
    assert simulate([call(text(4096), creates="doc")], "gemini", model)[0].refused == ""
    both = [call(text(5000), creates="doc"), call(text(9, "system"), text(9), at=1, uses="doc")]
    assert "system_instruction" in simulate(both, "gemini", model)[1].refused
    choice = call(text(9), at=1, uses="doc", parameters={"tool_config": "any"})
    assert "setting tool_config" in simulate([both[0], choice], "gemini", model)[1].refused


def test_keeping_a_cache_object_is_paid_for() -> None:
    """4.50 dollars for a million tokens and hour are 2.25 times the price of gemini-3.1-pro's input."""
    model = "gemini-3.1-pro-preview"
    document = call(text(8000), creates="doc", parameters={"ttl": "7200s"})
    made, used = simulate([document, call(text(20), at=1, uses="doc")], "gemini", model)
    known = facts("gemini", model)
    assert made.weight(known) == 8000 + 2 * 8000 * 2.25
    assert used.weight(known) == 20 + 0.1 * 8000
    assert made.weight(facts("gemini", "gemini-4-argon")) == 8000  # no price is known


def test_qwen_without_markers_reads_at_another_price_and_writes_for_nothing() -> None:
    known = facts("dashscope", "qwen3-max")
    prompt = text(2000)
    plain = predict([call(prompt), call(prompt, text(10), at=1)], known)
    assert [(o.read, o.written, o.weight(known)) for o in plain] == [(0, (), 2000), (2000, (), 0.2 * 2000 + 10)]
    marked = replace(prompt, marker="")
    paid = predict([call(marked), call(marked, text(10), at=1)], known)
    assert [o.weight(known) for o in paid] == [1.25 * 2000, 0.1 * 2000 + 10]


def test_older_geminis_have_objects_only() -> None:
    prompt = text(5000)
    outcome = simulate([call(prompt), call(prompt, at=1)], "gemini", "gemini-2.0-flash")[1]
    assert (outcome.read, outcome.why) == (0, "only what is in a cache object is cached")
    objects = [call(prompt, creates="doc"), call(text(9), at=1, uses="doc")]
    assert reads(simulate(objects, "gemini", "gemini-2.0-flash")) == [0, 5000]


def test_a_cache_object_belongs_to_one_model() -> None:
    model = "gemini-3.5-flash"
    made = call(text(5000), creates="doc", parameters={"model": model})
    for asked, refused in ((model, ""), ("gemini-3.1-pro", f"the cache object doc belongs to {model}")):
        used = call(text(9), at=1, uses="doc", parameters={"model": asked})
        assert simulate([made, used], "gemini", model)[1].refused == refused


def test_gemini_caches_by_itself_beside_objects() -> None:
    prompt = text(5000)
    calls = [call(prompt), call(text(5000), creates="doc", at=1), call(prompt, text(9), at=2)]
    assert reads(simulate(calls, "gemini", "gemini-3.5-flash")) == [0, 0, 5000]


# --- llama.cpp --------------------------------------------------------------------------------------------------------


def test_one_slot_remembers_the_last_prompt_only() -> None:
    """Measured: A, B, A reads nothing again on one slot, and everything with a slot for each."""
    a, b = text(300), text(300)
    calls = [call(a), call(b, at=1), call(a, at=2)]
    known = facts("llama_cpp", None)
    assert reads(on_slots(calls, known, 1)) == [0, 0, 0]
    assert reads(on_slots(calls, known, 2)) == [0, 0, 299]


def test_a_request_goes_to_the_slot_that_holds_most_of_it() -> None:
    """Not to the one that was idle for longest, unless none holds more than a tenth."""
    a, b, c = text(300), text(300), text(300)
    calls = [call(a), call(b, at=1), call(b, text(50), at=2), call(c, at=3), call(b, text(50), at=4)]
    assert reads(on_slots(calls, facts("llama_cpp", None), 2)) == [0, 0, 300, 0, 300]


def test_copies_sent_together_miss_on_slots_of_their_own_and_queue_on_one() -> None:
    prompt = text(300)
    calls = [call(prompt, lasts=1) for _ in range(4)]
    known = facts("llama_cpp", None)
    assert reads(on_slots(calls, known, 4)) == [0, 0, 0, 0]
    assert reads(on_slots(calls, known, 1)) == [0, 299, 299, 299]


def test_ollama_forgets_with_the_model() -> None:
    prompt = text(300)
    assert reads(simulate([call(prompt, at=at) for at in (0, 299, 599)], "ollama")) == [0, 299, 0]


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", [*providers(), "never heard of"])
def test_every_provider_accounts_for_every_token(provider: str) -> None:
    shared = text(9000, "system")
    calls = [call(shared, text(100), at=at, parameters={"prompt_cache_key": "k"}) for at in (0, 1, 2)]
    outcomes = simulate(calls, provider, None)
    assert [outcome.total for outcome in outcomes] == [9100, 9100, 9100]
    assert all(outcome.why for outcome in outcomes)
    assert outcomes[0].read == 0


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.5, "0.5 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h")]
)
def test_lengths_of_time(seconds: float, shown: str) -> None:
    assert ago(seconds) == shown


def test_an_unknown_provider_says_so() -> None:
    outcome = simulate([call(text(10))], "never heard of")[0]
    assert outcome.why == "nothing is known about caching at never heard of: counted as uncached"


def test_times_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="order of their times"):
        simulate([call(text(1), at=2), call(text(1), at=1)], "openai")
