"""The loader: what rows become, and what a user is told about a row that makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from promptlint.knowledge import load
from promptlint.knowledge.rows import AXES, GRAINS, KINDS, PARTS, KnowledgeError
from promptlint.request import Axis

WRAPPER: dict[str, Any] = {"call": "acme.llm.ask", "parts": {"rules": "system", "history": "messages"}}


def test_axes_are_those_of_the_domain_model() -> None:
    assert set(AXES) == {axis.value for axis in Axis}


def test_built_in_rows_are_read_once() -> None:
    assert load() is load({})


def test_a_row_says_where_it_stands() -> None:
    [row] = [s for s in load().sinks if s.call == "messages.create" and "anthropic.Anthropic" in s.types]
    assert (row.id, row.because) == ("anthropic.messages.create", "knowledge/anthropic.toml: messages.create")
    assert row.parts["system"] == "system"
    assert row.parts["metadata"] == "ignore"
    assert "tool_choice" not in row.parts
    assert (row.distinctive, row.stateful, row.confidence) == (True, False, "high")


def test_raw_and_streaming_variants_keep_the_row() -> None:
    calls = {s.call for s in load().sinks if s.id == "openai.responses.create" and s.types}
    assert calls == {f"responses.{path}create" for path in ("", "with_raw_response.", "with_streaming_response.")}


def test_groups_of_types_are_replaced_below_makers() -> None:
    made = load().clients["google.genai.Client.aio.chats.create"]
    assert [(c.type, c.constructor_parts["history"]) for c in made] == [("google.genai.chats.AsyncChat", "messages")]


def test_one_maker_can_make_several_clients() -> None:
    assert [(c.provider, c.when) for c in load().clients["google.genai.Client"]] == [
        ("vertex", {"vertexai": "True"}),
        ("gemini", {}),
    ]


def test_counting_tokens_embedding_and_sms_are_no_sinks() -> None:
    suffixes = load().sink_suffixes
    assert not suffixes & {"count_tokens", "embed_content", "embedding", "text_completion", "images", "generate_images"}
    [row] = [s for s in load().sinks_by_suffix["create"] if s.call == "messages.create" and s.provider == "anthropic"]
    assert not set(row.requires) & {"to", "from_", "body"}


def test_the_most_specific_call_of_a_suffix_comes_first() -> None:
    depth = [s.call.count(".") for s in load().sinks_by_suffix["create"]]
    assert depth == sorted(depth, reverse=True)


def test_rows_of_a_user_come_first_and_leave_the_built_in_ones_alone() -> None:
    clock = {"name": "datetime.datetime.now", "kind": "time", "grain": "day"}
    knowledge = load({"sink": [WRAPPER], "source": [clock]})
    assert knowledge.sinks[0].id == "acme.llm.ask"
    assert knowledge.sinks[0].because == "[tool.promptlint]: acme.llm.ask"
    assert knowledge.sinks[0].provider == "unknown"
    assert knowledge.sources["datetime.datetime.now"].grain == GRAINS["day"]
    assert load().sources["datetime.datetime.now"].grain == GRAINS["microsecond"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_source_needs_no_more_than_name_and_kind(kind: str) -> None:
    row = load({"source": [{"name": "acme.value", "kind": kind}]}).sources["acme.value"]
    assert row.what
    assert set(row.axes) <= AXES
    assert (row.grain is not None) == (kind == "time")


def test_entries_and_memoisers_of_a_user() -> None:
    knowledge = load(
        {
            "entry": [{"pattern": "*.on_tick", "evidence": "scheduler"}],
            "memoiser": [{"name": "acme.once"}],
            "window": [{"name": "acme.trim", "messages": "history", "limit": "keep"}],
        }
    )
    assert (knowledge.entries[0].pattern, knowledge.entries[0].repeats) == ("*.on_tick", True)
    assert "acme.once" in knowledge.memoisers
    assert knowledge.windows["acme.trim"].unit == "messages"


@pytest.mark.parametrize(
    ("section", "row", "message"),
    [
        ("sinks", WRAPPER, '[tool.promptlint], field "sinks": no such field; did you mean "sink"?'),
        ("sink", "acme.ask", "[tool.promptlint], wrapper 1: expected a table, got 'acme.ask'"),
        ("sink", {"parts": {"a": "system"}}, '[tool.promptlint], wrapper 1, field "call": missing'),
        ("sink", WRAPPER | {"call": "ask me"}, 'wrapper 1 ("ask me"), field "call": "ask me" is no dotted name'),
        ("sink", {"call": "a.ask"}, 'wrapper 1 ("a.ask"), field "parts": missing: no argument is part of a request'),
        ("sink", {"call": "a.ask", "parts": {"s": "systm"}}, 'field "parts.s": "systm" is none of'),
        ("sink", {"call": "a.ask", "parts": {"s": "systm"}}, 'did you mean "system"?'),
        ("sink", {"call": "a.ask", "parts": {"s": ["system"]}}, 'field "parts.s": "[\'system\']" is none of'),
        ("sink", {"call": "a.ask", "parts": "chat"}, 'field "parts": no group of parts is called "chat"'),
        ("sink", WRAPPER | {"types": "@client"}, 'field "types": no group of types is called "client"'),
        ("sink", WRAPPER | {"positonal": ["rules"]}, 'field "positonal": no such field; did you mean "positional"?'),
        ("sink", WRAPPER | {"distinctive": "yes"}, "field \"distinctive\": expected true or false, got 'yes'"),
        ("sink", WRAPPER | {"confidence": "low"}, 'field "confidence": "low" is none of high, medium'),
        (
            "sink",
            WRAPPER | {"nested": {"rules": {"a": "system"}}},
            'parts.rules must be "config", "body" or "requests"',
        ),
        ("source", {"name": "a.now"}, 'source 1 ("a.now"), field "kind": missing'),
        ("source", {"name": "a.now", "kind": "clock"}, 'field "kind": "clock" is none of'),
        ("source", {"name": "a.now", "kind": "time", "grain": 1}, 'field "grain": expected text, got 1'),
        ("source", {"name": "a.now", "kind": "time", "grain": "week"}, 'field "grain": "week" is none of'),
        ("source", {"name": "a.b", "kind": "user", "axes": ["users"]}, 'field "axes": "users" is none of'),
        ("source", {"name": "a.b", "kind": "time", "at_most": -1}, 'field "at_most": expected a number, got -1'),
        ("entry", {"pattern": "*.on", "how": "magic", "evidence": "x"}, 'field "how": "magic" is none of'),
        ("entry", {"pattern": "*.on"}, 'entry 1 ("*.on"), field "evidence": missing'),
        ("memoiser", {"name": 3}, 'field "name": expected a list of names, got 3'),
        ("window", {"name": "a.trim", "unit": "words"}, 'field "unit": "words" is none of'),
        ("client", {"makers": "a.C", "when": {"x": 1}}, 'field "when.x": expected text, got 1'),
    ],
)
def test_errors_name_file_row_and_field(section: str, row: object, message: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        load({section: [row]})  # type: ignore[list-item]
    assert message in str(caught.value)


def test_a_section_that_is_no_list_of_tables() -> None:
    with pytest.raises(KnowledgeError, match=r"sink must be a list of tables, written \[\[sink\]\]"):
        load({"sink": "acme.ask"})  # type: ignore[dict-item]


def test_parts_that_the_loader_takes_are_explained() -> None:
    assert all(words for words in PARTS.values())
