"""A redacted body says nothing about its texts but what diagnoses need."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptlint.trace.redaction import VOCABULARY, Redacted, Redactor, parse

redactor = Redactor(b"key")

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(sorted(VOCABULARY)), inner),
    max_leaves=12,
)


def redacted(text: str) -> Redacted:
    found = parse(redactor.text(text))
    assert found
    return found


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@given(st.text(max_size=400))
def test_the_pieces_are_the_whole_text(text: str) -> None:
    assert sum(piece.length for piece in redacted(text).pieces) == len(text)


@given(documents)
def test_every_string_left_is_of_the_protocol_or_a_hash(document: Any) -> None:
    left = strings(json.loads(redactor.body(json.dumps(document))))
    model = document.get("model") if isinstance(document, dict) else None
    assert all(text in VOCABULARY or parse(text) or text == model for text in left)


@given(st.text("abcdefgh", min_size=7, max_size=12), st.integers(10**8, 10**12))
def test_no_text_or_number_of_a_user_is_in_a_redacted_body(secret: str, number: int) -> None:
    secret = f"zz{secret}"
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        "system": [{"type": "text", "text": f"About {secret}", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{"name": secret, "input_schema": {"type": "object", "properties": {secret: {"type": secret}}}}],
        "messages": [
            {"role": "user", "content": secret},
            {"role": secret, "content": [{"type": "tool_use", "input": {secret: number, "value": number}}]},
        ],
        "metadata": {"user_id": secret},
        secret: 1,
    }
    text = redactor.body(json.dumps(body))
    assert secret not in text and str(number) not in text
    shape = json.loads(text)
    assert (shape["model"], shape["max_tokens"]) == ("claude-sonnet-4-5", 1024)
    assert shape["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert shape["messages"][0]["role"] == "user"
    assert list(shape)[:5] == list(body)[:5]
    assert secret not in redactor.body(f"{{{secret}")


def test_what_differs_can_be_told() -> None:
    a, b = redacted("It is 12:30:05 now, be brief."), redacted("It is 12:31:06 now, be brief.")
    different = [(x.kind, y.kind) for x, y in zip(a.pieces, b.pieces, strict=True) if x != y]
    assert different == [("t", "t")]
    for text, kind in (
        ("2026-11-29T12:30:05.123+00:00", "t"),
        ("2026-11-29", "d"),
        ("November 29, 2026", "d"),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "u"),
        ("toolu_01A09q90qw90lq917835lq9", "i"),
        ("1,024", "n"),
    ):
        pieces = [p.kind for p in redacted(f"Today is {text} or so").pieces]
        assert pieces == ["w", kind, "w"], text


@given(st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=9), st.data())
def test_order_and_spaces_can_be_told_from_words(words: list[str], data: st.DataObject) -> None:
    moved = data.draw(st.permutations(words))
    plain, spaced = redacted(" ".join(words)), redacted("\n ".join(words))
    assert plain.spaceless == spaced.spaceless
    assert redacted(" ".join(moved)).bag == plain.bag
    assert redacted(" ".join([*words, "d"])).bag != plain.bag


def test_another_key_gives_other_hashes_and_another_name() -> None:
    other = Redactor(b"other")
    assert other.text("hello") != redactor.text("hello") and other.name != redactor.name
    assert Redactor(b"key").text("hello") == redactor.text("hello")


def test_a_picture_is_one_piece_and_usage_keeps_its_numbers() -> None:
    assert len(redacted("QUJD" * 5000).pieces) == 1
    usage = {"input_tokens": 5, "details": {"cached_tokens": 2, "note": "text"}, "tier": "standard", "a b": 1}
    assert redactor.usage(usage) == {"input_tokens": 5, "details": {"cached_tokens": 2}}


def test_a_text_that_is_not_redacted_is_not_taken_for_one() -> None:
    assert parse("#[w5:hello]") is None
    assert parse("") is None
    assert re.fullmatch(r"#\[\| [0-9a-f]{12} [0-9a-f]{12}\]", redactor.text(""))


messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=3000)})
    | st.text(max_size=40)
    | st.integers(0, 20)
    | st.lists(st.integers(0, 3), max_size=3)
    | st.none(),
    max_size=6,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[str]:
    """Bodies that share fronts, as conversations and their edits do, written in several ways, or cut."""
    written, kept = [], draw(messages)
    for _ in range(draw(st.integers(1, 5))):
        kept = kept[: draw(st.integers(0, 6))] + draw(messages)
        name = draw(st.sampled_from(["messages", "input", "contents", "documents"]))
        ahead = {"model": "gpt-5", "system": draw(st.sampled_from(["x" * 5000, "", "y"]))}
        others: list[dict[str, Any]] = [{}, {"stream": True, "temperature": 0.5}, {"messages": ["other"]}]
        behind = draw(st.sampled_from(others))
        body = json.dumps(ahead | {name: kept} | behind, indent=draw(st.sampled_from([None, 2])))
        written.append(body[: draw(st.integers(1, len(body)))] if draw(st.integers(0, 5)) == 0 else body)
    return written


@given(conversations())
def test_a_body_that_goes_on_is_redacted_as_if_it_were_new(bodies: list[str]) -> None:
    redactor = Redactor(b"key")
    for body in bodies:
        assert redactor.body(body) == Redactor(b"key").body(body)


@given(documents)
def test_the_shape_of_a_body_stays(document: Any) -> None:
    body = {"model": "m", "messages": [document, document], "metadata": document}
    for _ in range(2):
        again = json.loads(Redactor(b"key").body(json.dumps(body)))
        assert again["model"] == "m" and len(again["messages"]) == 2
        assert again["messages"][0] == again["messages"][1]
