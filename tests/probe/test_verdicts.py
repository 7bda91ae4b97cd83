"""Each verdict, and each reason for having none, against the vendors' rules: the emulator behind the real SDKs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from promptlint.finding import Region, Scope
from promptlint.probe import plan, render
from promptlint.probe.claims import claims
from promptlint.trace.format import Frame
from tests.emulator import Fault, Vendor
from tests.probe.build import (
    CLAUDE,
    CLOCKS,
    GPT,
    MANUAL,
    MARK,
    Body,
    chat,
    claude,
    clocks,
    exchange,
    finding,
    probed,
    read,
    recorded,
    response,
    sound,
    turn,
)

APIS: list[Any] = [
    pytest.param(claude, "messages", id="anthropic"),
    pytest.param(chat, "chat", id="openai chat"),
    pytest.param(response, "responses", id="openai responses"),
]


@pytest.mark.parametrize(("make", "api"), APIS)
def test_a_clock_is_confirmed(vendor: Vendor, make: Any, api: str) -> None:
    verdict = probed(clocks(make, api), vendor.url, [finding()]).only
    assert verdict.ruling == "confirmed"
    _, control, pair = verdict.readings
    assert control.read and control.read > 1024
    assert pair.read == pair.predicted == 0
    for r in verdict.readings:
        assert (r.predicted, r.predicted_total) == (r.read, r.total)
        assert r.predicted_written == (None if api == "chat" else r.written), "older models write for nothing"


def test_anthropic_is_asked_for_exact_counts(vendor: Vendor) -> None:
    """Its tokenizer makes a third more tokens of the same text: what is predicted is in its own."""
    vendor.finer = 1.31
    verdict = probed(clocks(claude, "messages"), vendor.url, [finding()]).only
    assert verdict.ruling == "confirmed"
    assert [r.predicted_total for r in verdict.readings] == [r.total for r in verdict.readings]
    assert all(abs(r.predicted - (r.read or 0)) <= 2 for r in verdict.readings)
    assert len(vendor.counted) == len(vendor.received) == 3
    assert all("max_tokens" not in body and "diagnostics" not in body for body in vendor.counted)


def test_nobody_else_is_asked_for_counts(vendor: Vendor) -> None:
    for make, api in ((chat, "chat"), (response, "responses")):
        assert probed(clocks(make, api), vendor.url, [finding()]).only.ruling == "confirmed"
    assert vendor.counted == []


@pytest.mark.parametrize(("make", "api"), APIS)
def test_a_finding_that_does_not_show_is_refuted(vendor: Vendor, make: Any, api: str) -> None:
    ruling, reason = probed(sound(make, api), vendor.url, [finding()]).short
    assert ruling == "refuted"
    assert reason.startswith("the requests do not differ there, and the second request reads ")


@pytest.mark.parametrize(("make", "api"), APIS)
def test_a_place_without_a_finding(vendor: Vendor, make: Any, api: str) -> None:
    assert probed(sound(make, api), vendor.url).only.ruling == "refuted"
    assert probed(clocks(make, api), vendor.url).only.ruling == "confirmed"


def test_the_providers_own_diagnosis(vendor: Vendor) -> None:
    assert probed(clocks(claude, "messages"), vendor.url).only.diagnosis.startswith("system changed, ")
    assert probed(clocks(response, "responses"), vendor.url).only.diagnosis.startswith("input changed, ")
    quiet = vendor.received[0]
    assert quiet.body["diagnostics"] == {"previous_message_id": None}
    assert vendor.received[-1].body["prompt_cache_options"]["comparison_response_id"].startswith("resp_")


def tool(name: str) -> Body:
    return {"name": name, "description": f"Use {name} when you need it. " * 60, "input_schema": {"type": "object"}}


TOOLS = [tool("find"), tool("book")]


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (claude(tools=TOOLS), claude(tools=TOOLS[::-1]), Region.TOOLS),
        (claude(tools=TOOLS), claude(tools=TOOLS[:1]), Region.TOOLS),
        (claude(tail=" You are in /srv/a."), claude(tail=" You are in /srv/b."), Region.SYSTEM),
        (claude(thinking={"type": "adaptive"}), claude(thinking={"type": "disabled"}), Region.PARAMETERS),
        (claude(model=CLAUDE), claude(model="claude-opus-4-8"), Region.PARAMETERS),
        (claude(speed="fast"), claude(), Region.PARAMETERS),
    ],
)
def test_anthropic_faults_between_two_runs(vendor: Vendor, first: Body, second: Body, where: Region) -> None:
    exchanges = [exchange(first, pid=1), exchange(second, at=1.0, pid=2)]
    found = finding(scope=Scope.PROCESS, region=where)
    assert probed(exchanges, vendor.url, [found]).only.ruling == "confirmed"


def schema(name: str) -> Body:
    return {"type": "json_schema", "name": name, "schema": {"type": "object", "properties": {}}}


GPT_TOOLS: list[Body] = [
    {"type": "function", "name": name, "parameters": {}, "strict": False} for name in ("find", "book")
]


@pytest.mark.parametrize(
    ("one", "two", "where", "said"),
    [
        ({"model": GPT}, {"model": "gpt-5.6-terra"}, Region.PARAMETERS, "model changed"),
        ({"prompt_cache_key": "a1"}, {"prompt_cache_key": "b2"}, Region.PARAMETERS, "prompt cache key changed"),
        ({"service_tier": "flex"}, {"service_tier": "priority"}, Region.PARAMETERS, "service tier changed"),
        (
            {"text": {"format": schema("a")}},
            {"text": {"format": schema("b")}},
            Region.PARAMETERS,
            "text format",
        ),
        ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}}, Region.PARAMETERS, "reasoning effort"),
        ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "high"}}, Region.PARAMETERS, "verbosity changed"),
        ({"tools": GPT_TOOLS}, {"tools": GPT_TOOLS[::-1]}, Region.TOOLS, "tools changed"),
        ({"tools": GPT_TOOLS[:1]}, {"tools": GPT_TOOLS}, Region.TOOLS, "tools changed"),
        ({"head": "User 1. "}, {"head": "User 2. "}, Region.SYSTEM, "input changed"),
    ],
)
def test_openai_faults_between_two_turns(vendor: Vendor, one: Body, two: Body, where: Region, said: str) -> None:
    pair = recorded([response(**one), turn(response(**two), "Hi.", "And now?")], "responses")
    verdict = probed(pair, vendor.url, [finding(region=where)]).only
    assert verdict.ruling == "confirmed"
    assert verdict.diagnosis.startswith(said)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"response_format": {"type": "text"}}, {"response_format": {"type": "json_schema", "json_schema": {}}}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
        ({"prompt_cache_key": "a1"}, {"prompt_cache_key": "b2"}),
        ({"model": "gpt-4.1"}, {"model": "gpt-4.1-mini"}),
    ],
)
def test_parameters_of_chat_completions(vendor: Vendor, one: Body, two: Body) -> None:
    pair = recorded([chat(**one), turn(chat(**two), "Hi.", "And now?")], "chat")
    assert probed(pair, vendor.url, [finding(region=Region.PARAMETERS)]).only.ruling == "confirmed"


def test_parameters_that_cost_nothing(vendor: Vendor) -> None:
    """The prompt is equal, and the provider does not mind: a finding about it is refuted by the count."""
    for api, make in (("chat", chat), ("messages", claude)):
        pair = recorded([make(temperature=0.1), turn(make(temperature=0.9), "Hi.", "And now?")], api)
        assert probed(pair, vendor.url, [finding(region=Region.PARAMETERS)]).only.ruling == "refuted"


@pytest.mark.parametrize("model", ["deepseek-chat", "gemini-2.5-flash"])
def test_providers_that_count_hits_in_fields_of_their_own(vendor: Vendor, model: str) -> None:
    """DeepSeek and Gemini, through OpenAI's SDK at an address of their own."""
    pair = [chat(model=model, head=head) for head in CLOCKS]
    faulty = recorded([pair[0], turn(pair[1], "Hi.", "And now?")], "chat")
    verdict = probed(faulty, vendor.url, [finding()]).only
    assert verdict.ruling == "confirmed"
    assert verdict.readings[1].read == verdict.readings[1].predicted > 1000
    kept = [chat(model=model), turn(chat(model=model), "Hi.", "And now?")]
    assert probed(recorded(kept, "chat"), vendor.url, [finding()]).only.ruling == "refuted"


@pytest.mark.parametrize(
    "system",
    [
        [{"type": "text", "text": "", "cache_control": MARK}],
        [
            {"type": "text", "text": MANUAL, "cache_control": MARK},
            {"type": "text", "text": "Then.", "cache_control": MARK | {"ttl": "1h"}},
        ],
        [{"type": "text", "text": MANUAL, "cache_control": MARK | {"ttl": "2h"}}],
    ],
    ids=["empty block", "longer lifetime behind a shorter one", "no such lifetime"],
)
def test_markers_that_are_refused(vendor: Vendor, system: list[Body]) -> None:
    found = finding("invalid-breakpoint", scope=Scope.REQUEST)
    assert probed([exchange(claude() | {"system": system}, status=400)], vendor.url, [found]).only.ruling == "confirmed"


def test_a_refusal_for_another_reason(vendor: Vendor) -> None:
    found = finding("invalid-breakpoint", scope=Scope.REQUEST)
    vendor.then(Fault(status=400))
    ruling, reason = probed([exchange(claude())], vendor.url, [found]).short
    assert (ruling, "for another reason: The request is not valid." in reason) == ("inconclusive", True)


def long(turns: int, lost: int = 0, changed: bool = False) -> Body:
    """A marked conversation, without its oldest messages, or with an old one rewritten."""
    body = claude("Order 1? " * 400, cache_control=MARK)
    for number in range(2, turns + 1):
        body = turn(body, f"Order {number} is on its way. " * 9, f"And order {number}? " * 9)
    if changed:
        body["messages"] = [{"role": "user", "content": "(removed)"}, *body["messages"][1:]]
    return {**body, "messages": body["messages"][lost:]}


def test_a_history_that_loses_its_front(vendor: Vendor) -> None:
    found = finding("sliding-window", region=Region.MID_HISTORY)
    assert probed(recorded([long(6), long(7, lost=2)]), vendor.url, [found]).only.ruling == "confirmed"
    assert probed(recorded([long(8), long(9, changed=True)]), vendor.url, [found]).only.ruling == "confirmed"
    assert probed(recorded([long(10), long(11)]), vendor.url, [found]).only.ruling == "refuted"


def test_out_of_reach_of_the_lookback(vendor: Vendor) -> None:
    found = finding("lookback-overflow", region=Region.MID_HISTORY)
    body = long(3)
    [verdict] = probed(recorded([body, long(20)]), vendor.url, [found]).result.verdicts
    assert verdict.ruling == "confirmed"
    assert verdict.claim.forecast and verdict.claim.forecast.difference is None


def test_without_a_marker_nothing_is_cached(vendor: Vendor) -> None:
    found = finding("missing-breakpoint", region=Region.SYSTEM)
    bare = [claude(marked=False), turn(claude(marked=False), "Hi.", "And now?")]
    assert probed(recorded(bare), vendor.url, [found]).only.ruling == "confirmed"
    assert probed(sound(claude, "messages"), vendor.url, [found]).only.ruling == "refuted"


def test_a_provider_by_name(vendor: Vendor) -> None:
    """Where the user says that the cache needs no marker, nothing is missing."""
    found = finding("missing-breakpoint", region=Region.SYSTEM)
    bare = recorded([claude(marked=False), turn(claude(marked=False), "Hi.", "And now?")])
    made = claims([found], read(bare, served_by="vllm"))
    words = render.plan(plan.make(made, base_url=vendor.url), color=False, width=200)
    assert "nothing is to be cached by the finding, and the same request again reads " in words


def test_below_the_minimum(vendor: Vendor) -> None:
    short = claude() | {"system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}]}
    pair = recorded([short, turn(short, "Hi.", "And now?")])
    below = finding("prefix-below-minimum")
    assert probed(pair, vendor.url, [below]).only.ruling == "confirmed"
    ruling, reason = probed(pair, vendor.url, [finding()]).short
    assert ruling == "inconclusive"
    assert "caching starts at 1,024" in reason


def test_a_request_that_is_refused(vendor: Vendor) -> None:
    found = finding("too-many-breakpoints", scope=Scope.REQUEST)
    system = [{"type": "text", "text": f"{n} {MANUAL}", "cache_control": MARK} for n in range(5)]
    refused = probed([exchange(claude() | {"system": system}, status=400)], vendor.url, [found])
    assert refused.only.ruling == "confirmed"
    assert "A maximum of 4 blocks" in refused.only.reason
    assert len(vendor.received) == 1
    taken = probed([exchange(claude())], vendor.url, [found])
    assert taken.short == ("refuted", "the API takes the request")
    other = probed([exchange(claude(top_k=-1))], vendor.url, [finding(scope=Scope.REQUEST)])
    assert other.only.ruling == "refuted"


# --- inconclusive -----------------------------------------------------------------------------------------------------


def test_one_request_only(vendor: Vendor) -> None:
    assert probed([exchange(claude())], vendor.url, [finding()]).short == (
        "inconclusive",
        "only one request was seen from there",
    )
    assert probed([], vendor.url, [finding()]).short == ("inconclusive", "no request was seen from there")
    assert vendor.received == []


def test_another_machine_answers_the_control(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(cold=True))
    ruling, reason = probed(clocks(claude, "messages"), vendor.url, [finding()]).short
    assert (ruling, "(routing)" in reason) == ("inconclusive", True)


def test_another_machine_answers_the_pair(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(), Fault(cold=True))
    ruling, reason = probed(sound(claude, "messages"), vendor.url).short
    assert (ruling, "though nothing differs before" in reason, "(routing)" in reason) == ("inconclusive", True, True)


def test_a_diagnosis_that_is_pending(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(), Fault(cold=True, pending=True))
    ruling, reason = probed(sound(claude, "messages"), vendor.url).short
    assert (ruling, reason.endswith("diagnosis is pending")) == ("inconclusive", True)


def test_a_server_that_writes_nothing(vendor: Vendor) -> None:
    nothing = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation": None}
    vendor.keep = Fault(usage=nothing)
    ruling, reason = probed(clocks(claude, "messages"), vendor.url, [finding()]).short
    assert (ruling, "does not support it" in reason) == ("inconclusive", True)


def test_a_server_that_reports_nothing(vendor: Vendor) -> None:
    vendor.keep = Fault(usage={"prompt_tokens_details": None})
    ruling, reason = probed(clocks(chat, "chat"), vendor.url, [finding()]).short
    assert (ruling, "does not report" in reason) == ("inconclusive", True)


def test_requests_that_were_in_the_cache_before(vendor: Vendor) -> None:
    exchanges = clocks(claude, "messages")
    assert probed(exchanges, vendor.url, [finding()]).only.ruling == "confirmed"
    ruling, reason = probed(exchanges, vendor.url, [finding()]).short
    assert (ruling, "before the probe began" in reason) == ("inconclusive", True)


def test_an_earlier_pair_has_stored_what_a_later_one_would_lose(vendor: Vendor) -> None:
    """Two places in the code send the same texts."""
    there = (Frame("app/other.py", 3, "ask"),)
    again = [replace(one, id=f"o{one.id}", stack=there) for one in clocks(claude)]
    verdicts = probed([*clocks(claude), *again], vendor.url).result.verdicts
    assert [verdict.ruling.value for verdict in verdicts] == ["confirmed", "inconclusive"]
    assert verdicts[1].reason == "an earlier request of this probe has stored what this one would lose"


def test_an_earlier_difference_hides_a_later_one(vendor: Vendor) -> None:
    one, two = claude(head=CLOCKS[0], tools=TOOLS), claude(head=CLOCKS[1], tools=TOOLS[::-1])
    pair = recorded([one, turn(two, "Hi.", "And now?")])
    both = [finding(), finding("unordered-tools", region=Region.TOOLS)]
    result = probed(pair, vendor.url, both).result
    rulings = {v.claim.finding.rule: (v.ruling.value, v.reason) for v in result.verdicts if v.claim.finding}
    assert rulings["unordered-tools"][0] == "confirmed"
    assert rulings["volatile-time"] == (
        "inconclusive",
        "another difference hides it: the requests part in tools at tools[0] (tools reordered) already",
    )
    assert len(vendor.received) == 3, "one pair decides both"


def test_a_difference_of_another_kind_is_no_confirmation(vendor: Vendor) -> None:
    ruling, reason = probed(clocks(claude), vendor.url, [finding("volatile-user")]).short
    assert (ruling, "(clock-like) already" in reason) == ("inconclusive", True)


def test_requests_that_ask_for_no_caching_are_not_sent(vendor: Vendor) -> None:
    bare = recorded([claude(marked=False, head=head) for head in CLOCKS])
    ruling, reason = probed(bare, vendor.url, [finding(scope=Scope.CONVERSATION)]).short
    assert (ruling, reason) == (
        "inconclusive",
        "the same request twice is not cached: nothing in the request asks for caching",
    )
    assert vendor.received == []


def test_what_no_pair_shows(vendor: Vendor) -> None:
    for rule in ("parallel-cold-start", "ttl-mismatch", "unrecovered-write", "unread-usage"):
        verdict = probed(sound(claude, "messages"), vendor.url, [finding(rule)]).result.verdicts[0]
        assert verdict.ruling == "inconclusive"
        assert verdict.reason.startswith("no pair of requests shows it")


def test_history_that_the_provider_keeps(vendor: Vendor) -> None:
    first = response()
    second = {"model": GPT, "input": "And now?", "previous_response_id": "resp_1"}
    ruling, reason = probed(recorded([first, second], "responses"), vendor.url).short
    assert (ruling, "previous_response_id" in reason) == ("inconclusive", True)


def test_a_trace_without_texts_and_other_apis(vendor: Vendor) -> None:
    hidden = [exchange(claude(), redacted="key"), exchange(claude(), at=1.0, redacted="key")]
    assert "--redact-content" in probed(hidden, vendor.url, [finding()]).only.reason
    gemini = {"contents": [{"role": "user", "parts": [{"text": MANUAL}]}]}
    url = "https://generativelanguage.googleapis.com/v1/models/gemini-3.5-flash:generateContent"
    pair = [exchange(gemini, at=at, api="generate", endpoint=url) for at in (0.0, 1.0)]
    assert "neither of the two SDKs" in probed(pair, vendor.url, [finding()]).only.reason


def test_too_few_tokens_to_tell(vendor: Vendor) -> None:
    """What is lost is no more than one step in which this provider counts."""
    one, two = (chat("We are asked about chairs, tables and lamps. " * 14) for _ in CLOCKS)
    for body, clock in zip((one, two), CLOCKS, strict=True):
        body["messages"][0]["content"] += clock
    ruling, reason = probed(recorded([one, turn(two, "Hi.", "And now?")], "chat"), vendor.url, [finding()]).short
    assert (ruling, reason) == ("inconclusive", "only 128 tokens are at stake: too few to tell")


def test_a_marker_that_is_there_and_does_nothing(vendor: Vendor) -> None:
    vendor.keep = Fault(usage={"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation": None})
    found = finding("missing-breakpoint", region=Region.SYSTEM)
    ruling, reason = probed(sound(claude), vendor.url, [found]).short
    assert (ruling, reason.endswith("though these requests ask for caching")) == ("inconclusive", True)


def test_a_miss_without_a_difference_that_the_provider_explains(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.emulator.messages._reason", lambda *_: "unavailable")
    vendor.then(Fault(), Fault(), Fault(cold=True))
    ruling, reason = probed(sound(claude), vendor.url).short
    assert (ruling, reason.endswith("though nothing differs before; the provider says: unavailable")) == (
        "inconclusive",
        True,
    )


def test_a_pair_that_the_api_refuses(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(status=400))
    ruling, reason = probed(clocks(claude), vendor.url, [finding()]).short
    assert (ruling, reason) == ("inconclusive", "the API refuses the request: The request is not valid.")


def test_requests_that_nobody_answered(vendor: Vendor) -> None:
    failed = [replace(one, status=500) for one in clocks(claude)]
    assert probed(failed, vendor.url, [finding()]).short == ("inconclusive", "no request was answered from there")


def test_an_entry_that_was_not_kept(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(usage={"cache_read_input_tokens": 100, "input_tokens": 2311}))
    ruling, reason = probed(clocks(claude), vendor.url, [finding()]).short
    assert ruling == "inconclusive"
    assert reason.startswith("the same request twice reads 100 of about 2,4")
    assert reason.endswith("or the entry was not ready, or dropped already")
