"""How two texts differ: where first, in what, and how much of the second was already in the first.

Redacted texts (``promptlint.trace.redaction``) are compared piece by piece, plain ones are cut into the same pieces.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from promptlint.trace import redaction
from promptlint.trace.redaction import Piece, Redacted


class Change(StrEnum):
    """What kind of difference it is."""

    CLOCK = "clock-like"
    ID = "uuid-like"
    NUMBER = "number"
    PERMUTATION = "permutation"
    WHITESPACE = "whitespace only"
    KEYS = "key order only"
    IDS = "id only"
    FRONT = "front deleted"
    PREPENDED = "front inserted"
    MIDDLE = "middle replaced"
    TEXT = "text changed"
    TOOL_ADDED = "tool added"
    TOOL_REMOVED = "tool removed"
    TOOL_REORDERED = "tools reordered"


_KINDS = {"t": Change.CLOCK, "d": Change.CLOCK, "u": Change.ID, "i": Change.ID, "n": Change.NUMBER}
_CONTEXT = 36
"""Characters shown on either side of a difference."""
_LONGEST = 200_000
"""Pieces up to which two texts are compared beyond their first difference."""


@dataclass(frozen=True, slots=True)
class Difference:
    """``at`` is the character at which two texts part, ``kept`` the share of the second from there on that the first
    has, too; ``before`` and ``after`` show both around that place.
    """

    change: Change
    at: int
    kept: float
    before: str
    after: str


def difference(before: str, after: str) -> Difference:
    """How ``after`` differs from ``before``; they must differ."""
    hidden = (redaction.parse(before), redaction.parse(after))
    one, two = (
        redacted.pieces if redacted else tuple(Piece(kind, len(piece), piece) for kind, piece in redaction.cut(text))
        for redacted, text in zip(hidden, (before, after), strict=True)
    )
    shared, plain = _common(one, two), not any(hidden)
    at = _common(before, after) if plain else sum(piece.length for piece in one[:shared])
    shown = (_snippet(before, at), _snippet(after, at)) if plain else (_hashed(one, shared), _hashed(two, shared))
    whole = _whole(before, after, *hidden) or _part(one[shared:], two[shared:])
    return Difference(whole, at, _kept(one, two, shared), *shown)


def _common(one: Sequence[object], two: Sequence[object]) -> int:
    """The length of the common beginning."""
    low, high = 0, min(len(one), len(two))
    while low < high:  # equal up to low, and not known beyond high
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _whole(before: str, after: str, one: Redacted | None, two: Redacted | None) -> Change | None:
    """What the texts differ in when they say the same in some way."""
    if one and two:
        if one.spaceless == two.spaceless:
            return Change.WHITESPACE
        return Change.PERMUTATION if one.bag == two.bag else None
    words, others = before.split(), after.split()
    if "".join(words) == "".join(others):
        return Change.WHITESPACE
    if _same_json(before, after):
        return Change.KEYS
    return Change.PERMUTATION if sorted(words) == sorted(others) else None


def _part(one: Sequence[Piece], two: Sequence[Piece]) -> Change:
    """What the texts differ in where they first part."""
    if one and two:
        kind = _KINDS.get(one[0].kind)
        if kind and kind is _KINDS.get(two[0].kind):
            return kind
    return Change.FRONT if _slid(one, two) else Change.TEXT


def _same_json(before: str, after: str) -> bool:
    """Whether both are JSON that says the same: only the order of keys differs then, or the notation."""
    if not (before[:1] in ("{", "[") and after[:1] == before[:1]):
        return False
    try:
        return bool(json.loads(before) == json.loads(after))
    except (ValueError, RecursionError):
        return False


def _slid(one: Sequence[Piece], two: Sequence[Piece]) -> bool:
    """Whether the second goes on with a later part of the first, up to its end: something was cut out there."""
    if not two or len(one) < 2:
        return False
    starts = (i for i, piece in enumerate(one) if i and piece == two[0])
    return any(len(one) - i > 2 and list(one[i:]) == list(two[: len(one) - i]) for i in starts)


def _kept(one: Sequence[Piece], two: Sequence[Piece], shared: int) -> float:
    """The share of the second, from the difference on, that the first has behind it, too."""
    rest = two[shared:]
    whole = sum(piece.length for piece in rest)
    if not whole or len(rest) > _LONGEST or len(one) > _LONGEST:
        return 0.0
    left = Counter(piece for piece in one[shared:] if piece.kind != "s")
    kept = 0
    for piece in rest:
        if piece.kind == "s" or left[piece] > 0:
            left[piece] -= 1
            kept += piece.length if piece.kind == "w" or piece.length > 2 else 0
    return kept / whole


def _snippet(text: str, at: int) -> str:
    start, end = max(0, at - _CONTEXT), min(len(text), at + _CONTEXT)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _hashed(pieces: Sequence[Piece], at: int) -> str:
    if at >= len(pieces):
        return "[the end]"
    return f"[{redaction.KINDS[pieces[at].kind]}, {pieces[at].length} characters]"
