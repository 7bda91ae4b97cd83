"""Text and tool definitions as runs of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlint.frozen import replace
from promptlint.link.texts import strings
from promptlint.link.values import MARKERS, Hole, Map, Piece, Routine, Seq, Value, literal, options
from promptlint.span import Span
from promptlint.tokens import UNKNOWN, Interval

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


def merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Adjacent literal pieces of the same standing as one."""
    current: Piece | None = None
    for piece in pieces:
        if (
            current is not None
            and current.text is not None
            and piece.text is not None
            and current.optional == piece.optional
            and current.repeats == piece.repeats
            and not current.deps
            and not piece.deps
        ):
            span = current.span if len(current.text) >= len(piece.text) else piece.span
            current = replace(current, text=current.text + piece.text, span=span)
            continue
        if current is not None:
            yield current
        current = piece
    if current is not None:
        yield current


def hole_tokens(piece: Piece) -> Interval:
    if piece.deps and all(o.kind in ("time", "random", "counter") for o in piece.deps):
        return Interval(1, 60)
    return UNKNOWN


def deep_text(ev: Evaluator, value: Value, span: Span) -> Iterator[Piece]:
    """All text in a tool definition, in order."""
    if isinstance(value, Map):
        for key, entry in value.entries.items():
            if key in MARKERS:
                continue
            yield Piece(span, f'"{key}": ')
            yield from deep_text(ev, entry.value, entry.span)
        for rest in value.rest:
            yield from deep_text(ev, rest, span)
    elif isinstance(value, Seq):
        for item in value.items:
            yield from deep_text(ev, item.value, item.span)
    else:
        yield from strings.pieces(ev, value, span)


def tool_name(value: Value) -> str:
    for option in options(value):
        if isinstance(option, Routine):
            return option.function.name
        if isinstance(option, Map):
            for key in ("name", "function"):
                entry = option.entries.get(key)
                if entry is not None:
                    return literal(entry.value) or tool_name(entry.value)
        if isinstance(option, Hole):
            return option.name
    return ""
