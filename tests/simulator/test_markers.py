"""Caches that are written at markers: Anthropic's documentation, example by example."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from promptlint.provider import facts
from promptlint.simulator import Block, Call, Outcome, simulate

MODEL = "claude-sonnet-4-5"  # caches from 1,024 tokens on

_next = iter(range(0, 10**12, 10**6))


def text(size: int, marker: str | None = None, region: str = "messages", **changes: str) -> Block:
    """A block of that many tokens, equal to no other."""
    start = next(_next)
    return Block(region, range(start, start + size), marker=marker, **changes)


def marked(block: Block, marker: str | None = "") -> Block:
    return Block(block.region, block.tokens, block.kind, block.role, marker)


def at(*times: float, blocks: Sequence[Block]) -> list[Call]:
    return [Call(tuple(blocks), at=time) for time in times]


def anthropic(*calls: Call, model: str = MODEL, provider: str = "anthropic") -> list[Outcome]:
    return simulate(calls, provider, model)


def parts(outcome: Outcome) -> tuple[int, dict[str, int], int]:
    return outcome.read, dict(outcome.written), outcome.uncached


def test_without_a_marker_nothing_is_cached() -> None:
    first, second = anthropic(*at(0, 1, blocks=[text(5000)]))
    assert parts(first) == parts(second) == (0, {}, 5000)
    assert "nothing in the request asks" in second.why


def test_the_usage_example_of_the_documentation() -> None:
    """1,800 read, 100 written for 1 h, 148 for 5 min, 2,048 after the last marker."""
    shared = text(1800, "1h")
    first = Call((shared, text(10)), at=0)
    second = Call((shared, text(100, "1h"), text(148, "5m"), text(2048)), at=60)
    outcome = anthropic(first, second)[1]
    assert parts(outcome) == (1800, {"1h": 100, "5m": 148}, 2048)


def test_mixed_lifetimes_are_billed_by_positions() -> None:
    """A = the highest hit, B = the last 1h marker behind it, C = the last marker: A read, B - A at 1h, C - B at 5m."""
    one, two, three, rest = text(2000, "1h"), text(3000, "1h"), text(500, "5m"), text(70)
    whole = (one, two, three, rest)
    cold = anthropic(Call(whole))[0]
    assert parts(cold) == (0, {"1h": 5000, "5m": 500}, 70)
    behind_first = anthropic(Call((one, rest)), Call(whole, at=1))[1]
    assert parts(behind_first) == (2000, {"1h": 3000, "5m": 500}, 70)
    behind_both = anthropic(Call((one, two, rest)), Call(whole, at=1))[1]
    assert parts(behind_both) == (5000, {"5m": 500}, 70)
    warm = anthropic(Call(whole), Call(whole, at=1))[1]
    assert parts(warm) == (5500, {}, 70)


def test_each_lifetime_expires_by_itself() -> None:
    """Ten minutes later the 5-minute part is gone and the 1-hour part is not."""
    whole = (text(2000, "1h"), text(500, "5m"), text(70))
    outcome = anthropic(Call(whole), Call(whole, at=600))[1]
    assert parts(outcome) == (2000, {"5m": 500}, 70)


def test_the_price_of_one_write_and_nine_reads() -> None:
    block = text(1024, "")
    outcomes = anthropic(*at(*range(0, 600, 60), blocks=[block]))
    assert sum(outcome.weight(facts("anthropic", MODEL)) for outcome in outcomes) / 1024 == pytest.approx(2.15)


def test_lookback_in_a_growing_conversation() -> None:
    """10, 15 and 35 blocks, the last one marked: the third request looks at blocks 35 to 16 and misses block 15."""
    blocks = [text(200) for _ in range(35)]

    def ending(count: int, *extra: int) -> tuple[Block, ...]:
        return tuple(marked(b) if i + 1 in (count, *extra) else b for i, b in enumerate(blocks[:count]))

    first, second, third = anthropic(Call(ending(10)), Call(ending(15), at=1), Call(ending(35), at=2))
    assert (first.read, second.read, third.read) == (0, 2000, 0)
    assert dict(second.written) == {"5m": 1000}
    assert "20 blocks ahead of the last marker, out of reach" in third.why
    helped = anthropic(Call(ending(10)), Call(ending(15), at=1), Call(ending(35, 15), at=2))[2]
    assert helped.read == 3000


def test_a_run_of_tool_results_is_one_position_of_the_lookback() -> None:
    start = text(2000, "")
    results = [text(50, kind="tool_result") for _ in range(30)]
    follow_up = Call((start, *results, text(20, "")), at=1)
    assert anthropic(Call((start,)), follow_up)[1].read == 2000


def test_calls_and_results_in_turn_are_positions_of_their_own() -> None:
    start = text(2000, "")
    pairs = [text(50, kind=kind) for _ in range(10) for kind in ("tool_use", "tool_result")]
    near, far = (Call((marked(start, None), *pairs[:count], text(20, "")), at=1) for count in (18, 19))
    assert anthropic(Call((start,)), near)[1].read == 2000
    assert anthropic(Call((start,)), far)[1].read == 0


def test_a_marker_on_text_that_changes_never_reads() -> None:
    system = [text(1000, region="system") for _ in range(5)]
    _first, second = anthropic(*(Call((*system, text(30, "")), at=time) for time in (0, 30)))
    assert (second.read, dict(second.written)) == (0, {"5m": 5030})
    assert "equal to an earlier request up to block 6" in second.why


def test_automatic_marking_moves_with_the_conversation() -> None:
    turns = [text(1500, region="system"), *(text(100) for _ in range(6))]
    outcomes = anthropic(*(Call(tuple(turns[:count]), at=count, automatic="") for count in (3, 5, 7)))
    assert [parts(outcome) for outcome in outcomes] == [
        (0, {"5m": 1700}, 0),
        (1700, {"5m": 200}, 0),
        (1900, {"5m": 200}, 0),
    ]


def test_automatic_marking_passes_over_blocks_that_take_none() -> None:
    call = Call((text(2000), text(300, kind="thinking", role="assistant")), automatic="")
    assert parts(anthropic(call)[0]) == (0, {"5m": 2000}, 300)
    assert parts(anthropic(Call((text(3000, kind="thinking", role="assistant"),), automatic=""))[0]) == (0, {}, 3000)


def test_below_the_minimum_nothing_happens() -> None:
    outcome = anthropic(*at(0, 1, blocks=[text(1023, ""), text(5000)]))[1]
    assert parts(outcome) == (0, {}, 6023)
    assert "1,023 tokens, and caching starts at 1,024" in outcome.why
    assert anthropic(*at(0, 1, blocks=[text(1023), text(1, "")]))[1].read == 1024  # the whole prefix counts


def test_the_lifetime_counts_from_the_start_and_is_renewed_by_reading() -> None:
    block = text(2000, "")
    assert [o.read for o in anthropic(*at(0, 299, 598, 898, blocks=[block]))] == [0, 2000, 2000, 0]
    streamed = [Call((block,), at=0, begins=1, lasts=240), Call((block,), at=301)]
    assert "expired" in anthropic(*streamed)[1].why
    hour = marked(block, "1h")
    assert [o.read for o in anthropic(*at(0, 3599, 7200, blocks=[hour]))] == [0, 2000, 0]


def test_an_entry_keeps_the_lifetime_that_it_was_written_with() -> None:
    """Taken so where the page is silent: a marker inside the part that is read stores nothing new."""
    hour = text(2000, "1h")
    minutes = marked(hour, "5m")
    calls = [Call((hour,)), Call((minutes,), at=60), Call((minutes,), at=600)]
    assert [outcome.read for outcome in anthropic(*calls)] == [0, 2000, 2000]


def test_the_first_of_two_responses_makes_the_prefix_readable() -> None:
    """The second request, which also stores it and takes longer, does not hide what the first one has stored."""
    block = text(2000, "")
    calls = [Call((block,), begins=1), Call((block,), at=0.5, begins=10), Call((block,), at=2)]
    assert [outcome.read for outcome in anthropic(*calls)] == [0, 0, 2000]


def test_requests_sent_together_all_miss() -> None:
    block = text(2000, "")
    calls = [Call((block,), at=0, begins=2), Call((block,), at=0, begins=2), Call((block,), at=1), Call((block,), at=3)]
    outcomes = anthropic(*calls)
    assert [outcome.read for outcome in outcomes] == [0, 0, 0, 2000]
    assert "had begun" in outcomes[2].why


@pytest.mark.parametrize(
    ("parameter", "kept"),
    [
        ("tool_choice", 3000),
        ("speed", 1000),
        ("model", 0),
        ("thinking", 0),  # depends on the model: taken as lost
        ("temperature", 6000),
    ],
)
def test_parameters_cost_their_region_and_what_follows(parameter: str, kept: int) -> None:
    """Tools 1,000, system 2,000, messages 3,000 tokens, each with a marker."""
    blocks = (text(1000, "", "tools"), text(2000, "", "system"), text(3000, ""))
    more = text(24, region="tools")  # the tools alone would be too short
    calls = [
        Call((more, *blocks), parameters={parameter: "a"}),
        Call((more, *blocks), at=1, parameters={parameter: "b"}),
    ]
    outcome = anthropic(*calls)[1]
    assert outcome.read == (kept + 24 if kept else 0)
    assert (parameter in outcome.why) == (kept == 0)


def test_an_image_costs_the_messages() -> None:
    system, turn = text(2000, "", "system"), text(1000, "")
    _first, second = anthropic(Call((system, turn)), Call((system, turn, text(500, "", kind="image")), at=1))
    assert second.read == 2000


def test_wire_order_is_not_the_order_of_writing() -> None:
    tool, system = text(2000, "", "tools"), text(10, region="system")
    assert anthropic(Call((system, tool)), Call((tool, text(10, region="system")), at=1))[1].read == 2000


def prewarming(parameters: dict[str, str]) -> Call:
    return Call((text(9, ""),), parameters={"max_tokens": "0", **parameters})


def test_a_prewarming_request_stores_the_prefix() -> None:
    system = text(2000, "", "system")
    warm = Call((system,), parameters={"max_tokens": "0", "stream": "False"})
    assert anthropic(warm, Call((system, text(9)), at=1))[1].read == 2000


@pytest.mark.parametrize(
    ("model", "read", "total"), [("claude-sonnet-4-5", 5010, 5057), ("claude-opus-4-6", 5350, 5357)]
)
def test_thinking_is_forgotten_when_the_user_speaks_again(model: str, read: int, total: int) -> None:
    """Inside a loop over tools it is part of the prefix; what was stored with it is lost to models that strip it."""
    system, question = text(5000, "", "system"), text(10, "")
    thought = text(300, kind="thinking", role="assistant")
    result = text(40, "", kind="tool_result")
    loop = Call((system, question, thought, result), at=1)
    later = Call((system, question, thought, result, text(7, "")), at=2)
    outcomes = anthropic(Call((system, question)), loop, later, model=model)
    assert outcomes[1].read == 5010 and outcomes[1].total == 5350
    assert (outcomes[2].read, outcomes[2].total) == (read, total)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            Call(tuple(text(9, "") for _ in range(5))),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (Call((*tuple(text(9, "") for _ in range(4)), text(9)), automatic=""), "Found 5."),
        (Call((text(9, "5m"), text(9, "1h"))), "longer lifetime must not come after"),
        (Call((text(9, "5m"), text(9)), automatic="1h"), "longer lifetime must not come after"),
        (Call((text(9, "1h"),), automatic="5m"), "different lifetimes"),
        (Call((text(0, ""),)), "empty text blocks"),
        (Call((text(9, "", kind="thinking", role="assistant"),)), "a thinking block cannot carry a marker"),
        (Call((text(9, "2h"),)), "no lifetime '2h': 5m or 1h"),
        (Call((text(9, "", "tools", kind="deferred tool"),)), "a deferred tool block cannot carry a marker"),
        (prewarming({"stream": "True"}), "max_tokens = 0 cannot stand beside stream=true"),
        (prewarming({"thinking.type": "enabled"}), "beside thinking.type=enabled"),
        (prewarming({"output_config.format": "{}"}), "beside output_config.format"),
        (prewarming({"tool_choice.type": "any"}), "beside tool_choice.type=any"),
    ],
)
def test_what_the_api_refuses(call: Call, message: str) -> None:
    outcome = anthropic(call)[0]
    assert message in outcome.refused
    assert outcome.total == 0


def test_a_refused_request_stores_nothing() -> None:
    block = text(2000, "")
    bad = Call((block, *(text(9, "") for _ in range(4))))
    assert anthropic(bad, Call((block,), at=1))[1].read == 0


def test_the_marker_of_the_request_and_of_its_last_block_are_one() -> None:
    calls = [Call((*(text(600, "") for _ in range(4)),), automatic="", at=time) for time in (0,)]
    assert anthropic(*calls)[0].refused == ""


def test_platforms_differ() -> None:
    whole = Call((text(3000),), automatic="")
    assert "takes no cache marker for the whole request" in anthropic(whole, provider="bedrock_anthropic")[0].refused
    block = text(3000, "")
    pair = at(0, 1, blocks=[block])
    model = "claude-opus-4-7"  # 2,048 by Anthropic, 4,096 by AWS
    assert anthropic(*pair, model=model)[1].read == 3000
    assert anthropic(*pair, model=model, provider="bedrock_anthropic")[1].read == 0
