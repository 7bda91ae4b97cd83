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
_AROUND = 120
"""Characters on either side of what differs that are looked at more closely."""


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
    one, two = redaction.parse(before), redaction.parse(after)
    if one and two:
        return _of_hashes(one, two)
    at = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), len(before) - at, len(after) - at)
    start = max(0, before.rfind(" ", 0, max(0, at - _AROUND)))  # what is equal is only cut around the difference
    ends = [len(text) - max(0, tail - _AROUND) for text in (before, after)]
    old, new = (_pieces(text[start:end]) for text, end in zip((before, after), ends, strict=True))
    shared = _common(old, new)
    kept = _kept(old[shared:], new[shared:]) * (ends[1] - at) + len(after) - ends[1]
    change = _whole(before, after) or _part(old[shared:], new[shared:])
    share = min(1.0, kept / max(1, len(after) - at))
    return Difference(change, at, share, _snippet(before, at), _snippet(after, at))


def _of_hashes(before: Redacted, after: Redacted) -> Difference:
    one, two = before.pieces, after.pieces
    shared = _common(one, two)
    change = Change.WHITESPACE if before.spaceless == after.spaceless else None
    if change is None and before.bag == after.bag:
        change = Change.PERMUTATION
    at = sum(piece.length for piece in one[:shared])
    kept = _kept(one[shared:], two[shared:])
    shown = (_hashed(one, shared), _hashed(two, shared))
    return Difference(change or _part(one[shared:], two[shared:]), at, kept, *shown)


def _pieces(text: str) -> tuple[Piece, ...]:
    """A plain text as pieces, each its own hash."""
    return tuple(Piece(kind, len(piece), piece) for kind, piece in redaction.cut(text))


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


def _whole(before: str, after: str) -> Change | None:
    """What the texts differ in when they say the same in some way."""
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


def _kept(one: Sequence[Piece], two: Sequence[Piece]) -> float:
    """The share of the second that the first has somewhere, too."""
    whole = sum(piece.length for piece in two)
    if not whole:
        return 0.0
    left = Counter(piece.hash for piece in one if piece.kind != "s")
    kept = 0
    for piece in two:
        if piece.kind == "s" or left[piece.hash] > 0:
            left[piece.hash] -= 1
            kept += piece.length if piece.kind == "w" or piece.length > 2 else 0
    return kept / whole


def _snippet(text: str, at: int) -> str:
    start, end = max(0, at - _CONTEXT), min(len(text), at + _CONTEXT)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _hashed(pieces: Sequence[Piece], at: int) -> str:
    if at >= len(pieces):
        return "[the end]"
    return f"[{redaction.KINDS[pieces[at].kind]}, {pieces[at].length} characters]"
