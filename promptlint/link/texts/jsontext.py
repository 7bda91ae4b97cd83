"""JSON that a program writes as text: what of it is known to the letter, and what it depends on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from promptlint.frozen import replace
from promptlint.link.values import (
    Choice,
    Const,
    Entry,
    External,
    History,
    Hole,
    Map,
    One,
    Origins,
    Piece,
    Seq,
    Text,
    Value,
    in_sorted_order,
)
from promptlint.span import Span

OPTIONS = ("sort_keys", "option")
"""Keywords of ``dumps`` that decide how the text looks."""
MAX_PIECES = 300
"""Pieces of JSON that are told apart: beyond that, it is one text of unknown length."""


def pieces(made: External, span: Span) -> tuple[Piece, ...]:
    """The text that a call of ``dumps`` makes, in order; in one piece where its structure or order is not known.

    White space between the parts and escapes are left out: there is at least as much text as this says.
    """
    shown = _shown(made)
    found: list[Piece] = []
    if _is_known(shown):
        for piece in _written(shown, span):
            last = found[-1] if found else None
            if last is not None and _is_plain(last) and _is_plain(piece):
                found[-1] = Piece(span, f"{last.text}{piece.text}")
            else:
                found.append(piece)
            if len(found) > MAX_PIECES:
                break
    return tuple(found) if 0 < len(found) <= MAX_PIECES else (whole(made, span),)


def whole(made: External, span: Span, turns: History | None = None) -> Piece:
    """The text as one piece of unknown length; ``turns`` are those that it tells."""
    return Piece(span, None, as_json(_shown(made).origins()), "text", turns=turns)


def as_json(origins: Origins) -> Origins:
    """What a value depends on, once it is written as JSON: an order that is not fixed becomes that of the JSON."""
    return tuple(replace(o, kind="json") if o.kind == "unordered" else o for o in origins)


def _is_plain(piece: Piece) -> bool:
    return piece.text is not None and not (piece.deps or piece.optional)


def _is_known(value: Value) -> bool:
    """Whether the keys, or the first elements, and their order are known."""
    if isinstance(value, Map):
        return bool(value.entries) and not (value.rest or value.order or value.open) and value.base is None
    if not isinstance(value, Seq) or value.order or value.edits:
        return False
    return any(isinstance(i, One) for i in value.items) and not any(isinstance(i, History) for i in value.items)


def _written(value: Value, span: Span) -> Iterator[Piece]:
    if not _is_known(value):
        yield from _leaf(value, span)
    elif isinstance(value, Map):
        yield Piece(span, "{")
        for key, entry in value.entries.items():
            for piece in (Piece(span, f"{_quoted(key)}:"), *_written(entry.value, _put_in(entry, span))):
                yield piece.maybe() if entry.optional else piece
            yield Piece(span, ",")
        yield Piece(span, "}")
    elif isinstance(value, Seq):
        yield Piece(span, "[")
        for item in value.items:
            if not isinstance(item, One):
                yield Piece(span, None, as_json(item.value.origins()), "…", True)
                continue
            for piece in _written(item.value, span):
                yield piece.maybe() if item.optional else piece
            yield Piece(span, ",")
        yield Piece(span, "]")


def _put_in(entry: Entry, span: Span) -> Span:
    """Where a value becomes part of what is written at ``span``: under its key, if that is said in the same file."""
    return entry.span if entry.span.path == span.path and entry.span.line > 0 else span


def _leaf(value: Value, span: Span) -> Iterator[Piece]:
    if isinstance(value, Const) and isinstance(value.value, (str, int, float, bool, type(None))):
        yield Piece(span, _quoted(value.value))
    elif isinstance(value, Text):
        yield Piece(span, '"')
        for piece in value.pieces:
            text = _quoted(piece.text)[1:-1] if piece.text is not None else None
            yield replace(piece, span=span, text=text, deps=as_json(piece.deps))
        yield Piece(span, '"')
    else:
        name = value.name if isinstance(value, Hole) else "value"
        yield Piece(span, None, as_json(value.origins()), name)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shown(made: External) -> Value:
    """What is written, with its keys in the order in which that is done."""
    value = made.arguments[0]
    return _by_key(value) if _sorts_keys(made.keywords) else value


def _sorts_keys(keywords: Mapping[str, Value]) -> bool:
    keys, option = keywords.get("sort_keys"), keywords.get("option")
    if isinstance(keys, Const):
        return bool(keys.value)
    return isinstance(option, (External, Hole)) and "OPT_SORT_KEYS" in option.name  # of orjson


def _by_key(value: Value) -> Value:
    """The value with the keys of all dicts in it in a fixed order."""
    if isinstance(value, Choice):
        return Choice(tuple(map(_by_key, value.options)))
    if isinstance(value, Seq):
        return replace(value, items=tuple(replace(i, held=_by_key(i.value)) for i in value.items))
    if isinstance(value, Map):
        entries = {k: replace(e, held=_by_key(e.value)) for k, e in sorted(value.entries.items())}
        rest = tuple(map(_by_key, value.rest))
        return replace(value, entries=entries, rest=rest, order=in_sorted_order(value.order))
    return value
