"""Each way of losing the cache is named, where it is and what it costs; what costs nothing is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.trace.divergence import compare
from promptlint.trace.explain import SOUND, Cause, Verdict
from promptlint.trace.redaction import Redactor
from promptlint.trace.texts import Change
from tests.trace.traces import CLAUDE, GPT, MARK, RULES, TOOLS, Trace, claude, dialogue, gpt

D = dialogue(8)
TURNS = range(1, 5)

Case = tuple[Trace, Cause | Change, str, str]
"""The trace, and what its last request has lost: cause, region, path."""
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


def asked(system: Callable[[int], str], tools: Callable[[int], list[Any]] | None = None, **other: Any) -> Trace:
    """A conversation with Claude whose system text and tools depend on the turn."""
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(system(turn), D[: 2 * turn - 1], tools and tools(turn), **other))
    return trace


def chatted(turns: Callable[[int], list[Any]], **other: Any) -> Trace:
    """A conversation with GPT whose messages depend on the turn."""
    trace = Trace("openai")
    for turn in TURNS:
        trace.send(gpt(RULES, []) | {"messages": [*gpt(RULES, [])["messages"], *turns(turn)]} | other, "chat")
    return trace


def said(turn: int) -> list[dict[str, Any]]:
    return gpt("", D[: 2 * turn - 1])["messages"][1:]  # type: ignore[no-any-return]


@case
def a_clock() -> Case:
    return asked(lambda n: f"It is 2025-11-30 10:0{n}:11. {RULES}"), Change.CLOCK, "system", "system[0].text"


@case
def a_date_in_words() -> Case:
    return asked(lambda n: f"{RULES}Today: November {n}, 2025."), Change.CLOCK, "system", "system[0].text"


@case
def seconds_since_1970() -> Case:
    return asked(lambda n: f"now={1764460000 + n} {RULES}"), Change.CLOCK, "system", "system[0].text"


@case
def a_uuid() -> Case:
    ids = (f"{n}f0e1d2c-1111-4222-8333-44445555666{n}" for n in range(9))
    return asked(lambda n: f"Session {next(ids)}. {RULES}"), Change.ID, "system", "system[0].text"


@case
def a_counter() -> Case:
    return asked(lambda n: f"Step {n} of 10. {RULES}"), Change.NUMBER, "system", "system[0].text"


@case
def lines_in_another_order() -> Case:
    lines = RULES.splitlines()
    trace = asked(lambda n: "\n".join([lines[n], *lines[:n], *lines[n + 1 :]]))
    return trace, Change.PERMUTATION, "system", "system[0].text"


@case
def other_whitespace() -> Case:
    return asked(lambda n: "You are" + " " * n + RULES), Change.WHITESPACE, "system", "system[0].text"


@case
def another_text() -> Case:
    moods = ("calm", "bold", "wry", "stern", "kind")
    return asked(lambda n: f"Be {moods[n]}. {RULES}"), Change.TEXT, "system", "system[0].text"


@case
def a_tool_more() -> Case:
    return asked(lambda n: RULES, lambda n: TOOLS[: 2 + (n == 4)]), Change.TOOL_ADDED, "tools", "tools[2]"


@case
def a_tool_less() -> Case:
    trace = asked(lambda n: RULES, lambda n: TOOLS[(n == 4) :])
    return trace, Change.TOOL_REMOVED, "tools", "tools[0]"


@case
def tools_in_another_order() -> Case:
    orders = list(permutations(TOOLS))[::-1]
    trace = asked(lambda n: RULES, lambda n: list(orders[n]))
    return trace, Change.TOOL_REORDERED, "tools", "tools[0]"


@case
def keys_of_a_schema_in_another_order() -> Case:
    orders = list(permutations("abc"))

    def tools(n: int) -> list[Any]:
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in orders[n]}}
        return [TOOLS[0], {**TOOLS[1], "input_schema": schema}]

    return asked(lambda n: RULES, tools), Change.KEYS, "tools", "tools[1].input_schema.properties"


@case
def a_clock_in_a_tool() -> Case:
    def tools(n: int) -> list[Any]:
        return [{**TOOLS[0], "description": f"Find, as of 10:0{n}:00, an order."}, TOOLS[1]]

    return asked(lambda n: RULES, tools), Change.CLOCK, "tools", "tools[0].description"


@case
def a_sliding_window() -> Case:
    trace = Trace("openai")
    for turn in range(1, 6):
        trace.send(gpt(RULES, D[: 2 * turn - 1][-3:]), "chat")
    return trace, Change.FRONT, "messages", "messages[1].content"


@case
def something_new_at_the_front() -> Case:
    trace = chatted(
        lambda n: [{"role": "user", "content": f"Note: be {('calm', 'bold', 'wry', 'kind')[n - 1]}."}, *said(n)]
    )
    return trace, Change.MIDDLE, "messages", "messages[1].content"


@case
def messages_put_in_ahead() -> Case:
    def turns(n: int) -> list[Any]:
        return [*({"role": "user", "content": f"Memory {k}. {'It is known. ' * k}"} for k in range(n, 0, -1)), *said(n)]

    return chatted(turns), Change.PREPENDED, "messages", "messages[1].content"


@case
def an_old_message_replaced() -> Case:
    def turns(n: int) -> list[Any]:
        messages = said(n)
        return [m | {"content": "[cleared]"} if i % 2 and i < 2 * n - 4 else m for i, m in enumerate(messages)]

    return chatted(turns), Change.MIDDLE, "messages", "messages[4].content"


@case
def new_ids_for_old_calls() -> Case:
    ids = iter(f"call_{n:024x}9a" for n in range(99))

    def turns(n: int) -> list[Any]:
        found: list[Any] = []
        for message in said(n):
            found.append(message)
            if message["role"] == "user" and message is not said(n)[-1] and len(found) < 2 * n:
                name = next(ids)
                use = {"id": name, "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
                found.append({"role": "assistant", "content": None, "tool_calls": [use]})
                found.append({"role": "tool", "tool_call_id": name, "content": "Found nothing. " * 20})
        return found

    return chatted(turns), Change.IDS, "messages", "messages[2].tool_calls[0].id"


@case
def arguments_written_anew() -> Case:
    def turns(n: int) -> list[Any]:
        text = json.dumps({"city": "Rome", "days": [1, 2]}, indent=n)
        use = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": text}}
        result = {"role": "tool", "tool_call_id": "c1", "content": "Found nothing. " * 20}
        return [said(1)[0], {"role": "assistant", "content": None, "tool_calls": [use]}, result, *said(n)]

    return chatted(turns), Change.WHITESPACE, "messages", "messages[2].tool_calls[0].function.arguments"


@case
def a_parameter() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(RULES, D[: 2 * turn - 1], tool_choice={"type": ("any", "auto")[turn % 2]}))
    return trace, Cause.PARAMETER, "parameters", ""


@case
def another_model() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(RULES, D[: 2 * turn - 1]) | {"model": "claude-opus-5" if turn == 4 else CLAUDE})
    return trace, Cause.MODEL, "parameters", ""


@case
def too_late() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(RULES, D[: 2 * turn - 1]), gap=301 if turn == 4 else 10)
    return trace, Cause.EXPIRED, "", ""


@case
def at_once() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(RULES, [f"Question {turn}?"]), gap=0.1, began=3)
    return trace, Cause.PARALLEL, "", ""


@case
def too_short() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude("Be brief.", ["Hello.", "Hi."] * turn + ["Well?"]))
    return trace, Cause.BELOW, "", ""


def bare(body: dict[str, Any]) -> dict[str, Any]:
    """A body without its markers."""
    plain = copy.deepcopy(body)
    for block in (*plain["system"], *(block for message in plain["messages"] for block in message["content"])):
        block.pop("cache_control", None)
    return plain


@case
def nobody_asked() -> Case:
    trace = Trace()
    for turn in TURNS:
        trace.send(bare(claude(RULES, D[: 2 * turn - 1])))
    return trace, Cause.UNMARKED, "", ""


@case
def the_marker_got_lost() -> Case:
    trace = Trace()
    for turn in TURNS:
        body = claude(RULES, D[: 2 * turn - 1])
        trace.send(bare(body) if turn == 4 else body)
    return trace, Cause.DROPPED, "", ""


@case
def marker_on_the_system_text_alone() -> Case:
    trace = Trace()
    for turn in TURNS:
        body = bare(claude(RULES, D[: 2 * turn - 1]))
        trace.send(body | {"system": [{"type": "text", "text": RULES, **MARK}]})
    return trace, Cause.UNSTORED, "", ""


@case
def too_many_blocks_in_between() -> Case:
    trace = Trace()
    for turn in (1, 2, 20):
        trace.send(claude(RULES, D[: 2 * turn - 1] if turn < 3 else dialogue(20)))
    return trace, Cause.LOOKBACK, "", ""


@case
def thinking_that_the_server_takes_out() -> Case:
    trace = Trace()
    thought = {"type": "thinking", "thinking": "The customer wants to know more. " * 9, "signature": "s"}
    use = {"type": "tool_use", "id": "t1", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Nothing. " * 300, **MARK}
    start = claude(RULES, [D[0]]) | {"model": "claude-sonnet-4-5"}
    first = {**start["messages"][0], "content": [{"type": "text", "text": D[0]}]}
    replied = [first, {"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [result]}]
    unmarked = [*replied[:2], {"role": "user", "content": [{k: v for k, v in result.items() if k not in MARK}]}]
    answer = {"role": "assistant", "content": [{"type": "text", "text": D[1]}]}
    asks = {"role": "user", "content": [{"type": "text", "text": D[2], **MARK}]}
    for messages in ([start["messages"][0]], replied, [*unmarked, answer, asks]):
        trace.send(start | {"messages": messages})
    return trace, Cause.THINKING, "messages", "messages[1].content[0]"


@case
def the_provider_did_not_find_it() -> Case:
    trace = Trace("openai")
    for turn in TURNS:
        details = {"cached_tokens": 0}
        missed = {"prompt_tokens": 3256, "completion_tokens": 2, "prompt_tokens_details": details}
        trace.send(gpt(RULES, D[: 2 * turn - 1]), "chat", usage=missed if turn == 4 else None)
    return trace, Cause.ROUTING, "", ""


@case
def five_markers() -> Case:
    trace = asked(lambda n: RULES)
    body = claude(RULES, D[:9])
    body["messages"] = [{**m, "content": [m["content"][0] | MARK]} for m in body["messages"]]
    trace.send(body)
    return trace, Cause.REFUSED, "", ""


def place(verdict: Verdict) -> tuple[Cause | Change, str, str]:
    return verdict.cause, verdict.region, verdict.divergence.path if verdict.divergence else ""


@pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())
def test_cause(make: Callable[[], Case]) -> None:
    trace, *expected = make()
    last = trace.judged()[-1]
    assert list(place(last)) == expected, last
    assert last.lost > 0 or last.cause in (Cause.BELOW, Cause.REFUSED)


@pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())
def test_cause_without_the_texts(make: Callable[[], Case]) -> None:
    """A redacted trace gives the same answers."""
    trace, *expected = make()
    redactor = Redactor(b"key")
    plain = trace.judged()
    trace.exchanges = [replace(one, body=redactor.body(one.body)) for one in trace.exchanges]
    hidden = trace.judged()
    assert list(place(hidden[-1])) == expected
    assert [one.cause for one in hidden] == [one.cause for one in plain]


@pytest.mark.parametrize("make", [asked, chatted], ids=["claude", "gpt"])
def test_a_conversation_that_grows_loses_nothing(make: Callable[..., Trace]) -> None:
    trace = make(lambda n: RULES) if make is asked else make(said)
    verdicts = trace.judged()
    assert [verdict.cause for verdict in verdicts] == [Cause.FIRST, *[Cause.HIT] * 3]
    assert len({verdict.conversation for verdict in verdicts}) == 1
    for verdict in verdicts:
        assert verdict.predicted is not None and verdict.sent.usage.read is not None
        assert abs(verdict.predicted.read - verdict.sent.usage.read) <= 0.01 * verdict.sent.total


def test_questions_with_one_system_text_are_conversations_of_their_own() -> None:
    trace = Trace()
    for turn in TURNS:
        trace.send(claude(RULES, [f"Question {turn}: {D[turn]}"]))
    verdicts = trace.judged()
    assert [verdict.cause for verdict in verdicts] == [Cause.FIRST, *[Cause.HIT] * 3]
    assert len({verdict.conversation for verdict in verdicts}) == 4


def test_what_a_clock_costs() -> None:
    trace, *_ = a_clock()
    last = trace.judged()[-1]
    assert last.sent.total - 600 < last.lost < last.sent.total
    assert last.divergence is not None
    assert last.divergence.before[last.divergence.char or 0] == "3" and "10:04:11" in last.divergence.after


def test_a_stored_response_is_no_divergence() -> None:
    trace = Trace("openai")
    for turn in TURNS:
        body = {"model": GPT, "instructions": RULES, "input": D[2 * turn], "store": True}
        trace.send(body if turn == 1 else body | {"previous_response_id": f"resp_{turn - 1}"}, "responses")
    verdicts = trace.judged()
    assert {verdict.conversation for verdict in verdicts} == {1}
    assert all(verdict.divergence is None for verdict in verdicts)


def test_a_failed_request_stores_nothing() -> None:
    trace = Trace()
    for turn in (1, 1, 2):
        trace.send(claude(RULES, D[: 2 * turn - 1]))
    trace.exchanges[0] = replace(trace.exchanges[0], status=529, usage=None)
    trace.exchanges[1] = replace(
        trace.exchanges[1], usage={"input_tokens": 2, "cache_creation_input_tokens": 5303, "cache_read_input_tokens": 0}
    )
    assert [verdict.cause for verdict in trace.judged()] == [Cause.FAILED, Cause.FIRST, Cause.HIT]


WORDS = st.text("abcdefghij ", min_size=1, max_size=40)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(WORDS, min_size=2, max_size=12), st.booleans())
def test_an_appended_conversation_never_diverges(texts: list[str], openai: bool) -> None:
    trace = Trace("openai" if openai else "anthropic")
    for end in range(1, len(texts) + 1, 2):
        turns = [f"{number}: {text}" for number, text in enumerate(texts[:end])]
        trace.send(gpt(RULES, turns) if openai else claude(RULES, turns), "chat" if openai else "messages")
    verdicts = trace.judged()
    assert all(verdict.divergence is None and verdict.cause in SOUND for verdict in verdicts)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(RULES) - 1), st.sampled_from("xyzXYZ"))
def test_a_change_is_found_at_its_character(at: int, letter: str) -> None:
    changed = RULES[:at] + (letter if RULES[at] != letter else "_") + RULES[at + 1 :]
    trace = Trace()
    for system in (RULES, changed):
        trace.send(claude(system, D[:1]))
    first, last = (one.parts() for one in (verdict.sent for verdict in trace.judged()))
    found = compare(first, last)
    assert found is not None
    assert (found.region, found.path, found.char) == ("system", "system[0].text", at)


def test_texts_hashed_under_two_keys_are_not_compared() -> None:
    trace = asked(lambda n: RULES)
    redactors = (Redactor(b"one"), Redactor(b"two"))
    trace.exchanges = [
        replace(one, body=redactors[n // 2].body(one.body), redacted=redactors[n // 2].name)
        for n, one in enumerate(trace.exchanges)
    ]
    causes = [verdict.cause for verdict in trace.judged()]
    assert causes[1] is causes[3] is Cause.HIT
    assert causes[2] in SOUND


def test_a_request_that_got_no_answer_failed() -> None:
    trace = asked(lambda n: RULES)
    trace.exchanges[1] = replace(trace.exchanges[1], status=None, usage=None, error="timed out")
    assert [verdict.cause for verdict in trace.judged()][1] is Cause.FAILED


def test_requests_without_times_came_in_turn() -> None:
    trace = asked(lambda n: RULES)
    trace.exchanges = [replace(one, at=0.0, began=None, lasted=None) for one in trace.exchanges]
    assert [verdict.cause for verdict in trace.judged()] == [Cause.FIRST, *[Cause.HIT] * 3]


def test_a_body_that_is_nested_too_deeply_is_left_out() -> None:
    trace = asked(lambda n: RULES)
    deep = '{"a":' * 600 + "1" + "}" * 600
    body = f'{{"model": "{CLAUDE}", "messages": [{{"role": "user", "content": [{{"type": "x", "y": {deep}}}]}}]}}'
    trace.exchanges.insert(1, replace(trace.exchanges[0], id="deep", body=body))
    assert len(trace.judged()) in (4, 5)
