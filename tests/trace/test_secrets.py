"""No secret reaches a trace, wherever it stands; what is no secret stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.trace.secrets import Masker, credentials

mask = Masker(b"key")

LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def long(size: int, alphabet: str = LETTERS) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=size, max_size=size)


SHAPES = st.sampled_from(
    [
        ("sk-ant-api03-", 95),
        ("sk-proj-", 60),
        ("sk-1", 47),
        ("sk-or-v1-", 64),
        ("AIzaSy", 33),
        ("gsk_", 52),
        ("xai-", 80),
        ("hf_", 34),
        ("r8_", 37),
        ("ghp_", 36),
        ("github_pat_", 60),
        ("glpat-", 20),
        ("xoxb-1234-", 24),
        ("ya29.", 60),
        ("lsv2_pt_", 32),
        ("sk_live_", 24),
        ("Authorization: Bearer ", 40),
        ("password=", 12),
        ("https://host/?key=", 30),
    ]
)
secrets = SHAPES.flatmap(lambda shape: st.tuples(st.just(shape[0]), long(shape[1])))
surroundings = st.sampled_from(
    ["", " ", "\n", "\t", '"', "'", "=", ": ", "\\", "é", "\U0001f600", "x ", "/", "(", "\r\n"]
)


@given(secrets, surroundings, surroundings, st.integers(0, 3), st.booleans())
def test_no_secret_is_left_however_often_it_is_wrapped_in_json(
    secret: tuple[str, str], before: str, after: str, depth: int, ascii_only: bool
) -> None:
    text = f"{before}{secret[0]}{secret[1]}{after}"
    for _ in range(depth):
        text = json.dumps({"content": text}, ensure_ascii=ascii_only)
    masked = mask(text)
    assert secret[1] not in masked and secret[1][4:-4] not in masked
    inner: Any = masked
    for _ in range(depth):
        inner = json.loads(inner)["content"]
    assert "[masked " in inner
    assert mask(masked) == masked


@given(st.text(min_size=8, max_size=60), st.integers(0, 2), st.booleans())
def test_a_known_value_is_masked_whatever_it_looks_like(value: str, depth: int, ascii_only: bool) -> None:
    text = f"<{value}>"
    for _ in range(depth):
        text = json.dumps({"content": text}, ensure_ascii=ascii_only)
    known = Masker(b"key", {"SERVICE_TOKEN": value, "HOME": "/home/x", "TOKEN": "short"})
    if not value.startswith(("/", "[masked")):
        assert value not in known(text)
    assert value not in mask(text, [value])


KEY = "sk-ant-api03-" + "Z9" * 30
WORDS = ["The guide names the room. " * 40, "\n", '"', "key: ", "x" * 3000, "sk-", "abc1", KEY]
pieces = st.lists(st.sampled_from(WORDS), max_size=40)


@given(pieces, pieces, pieces, pieces, st.integers(0, 30))
def test_a_text_that_comes_again_is_masked_as_if_it_were_new(
    front: list[str], old: list[str], new: list[str], back: list[str], shift: int
) -> None:
    known = Masker(b"key", {"MY_TOKEN": "abc1abc1"})
    first, second = ("".join([*front, *middle, *back]) for middle in (old, new))
    for text in (first, second, second[shift:], first + second, first):
        masked = known(text)
        assert masked == Masker(b"key", {"MY_TOKEN": "abc1abc1"})(text)
        assert KEY not in masked


def test_different_secrets_have_different_masks_and_the_same_one_the_same() -> None:
    first, second = ("sk-ant-api03-" + letter * 40 for letter in "ab")
    assert mask(first) == mask(first) != mask(second)
    assert Masker(b"other")(first) != mask(first)
    assert mask(f"{first} and {second}").count("[masked key ") == 2


def test_the_secrets_of_a_request_are_those_of_its_headers() -> None:
    headers = {"Authorization": "Bearer abc.def.ghi", "x-api-key": "my-own-key", "Accept": "application/json"}
    assert set(credentials(headers)) == {"Bearer abc.def.ghi", "abc.def.ghi", "my-own-key"}


@pytest.mark.parametrize(
    "text",
    [
        "Which task-scheduling-options-2 are risk-averse-and-2x-cheaper?",
        "scikit-learn's sk-learn-contrib-imbalanced has docs",
        "Count the tokens: max_tokens=4096, budget_tokens: 2048",
        'The schema has {"api_key": {"type": "string"}} and "password": "", key = value',
        "commit 3f2c1d0e9b8a7f6e5d4c3b2a1f0e9d8c7b6a5f4e of https://example.org/a?page=2&sort=key",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6 at 2026-11-29T12:00:00Z",
        "-----BEGIN CERTIFICATE-----",
        "the bearer of this letter, basic training",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text) == text


def test_what_surrounds_a_secret_stays() -> None:
    assert mask("a = 'sk-ant-api03-AAAAAAAAAAAA', b").startswith("a = '[masked key ")
    assert mask("a = 'sk-ant-api03-AAAAAAAAAAAA', b").endswith("]', b")
    assert mask("postgres://me:pa55word@db/x").startswith("postgres://[masked password ")
    assert mask("postgres://me:pa55word@db/x").endswith("]@db/x")
    text = json.dumps({"key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n", "a": 1})
    assert json.loads(mask(text))["a"] == 1 and "MIIE" not in mask(text)
