"""Kept turns as they are sent again: what is made anew of them for each request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlint.frozen import replace
from promptlint.link.texts import strings
from promptlint.link.turns.messages import role_of
from promptlint.link.values import (
    Choice,
    History,
    Hole,
    Item,
    Many,
    Map,
    One,
    Origin,
    Origins,
    Piece,
    Seq,
    Text,
    Value,
    literal,
    options,
    possible_texts,
    union,
)
from promptlint.span import Hop, Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

ANEW = frozenset(("time", "random", "counter", "environment", "unordered", "json", "signed"))
"""Kinds of origins that spoil a kept turn when it is rendered again; what users and tools said belongs in it."""
FALLBACK = "fallback"
"""Feature of what is put in only where nothing was stored."""
MAX_DEPTH = 6
MAX_SHOWN = 40
_SAID = frozenset(("input", "user", "loop"))
_MEDIA = frozenset(("image", "image_url", "input_image", "document", "file", "input_file", "input_audio"))
"""Types of blocks that hold something else than text."""


def made_anew(value: Value) -> Origins:
    """What a kept turn is rendered with that the next request makes another one of."""
    return union(tuple(o for o in _parts(value, False, 0) if o.kind in ANEW and not _is_kept(o)))


def _is_kept(origin: Origin) -> bool:
    """Whether a value was put under a key of a dict, as one of many, before the turn was made of it: it stays there.

    Under the key of a call stands when that began, whatever fills the dict; ids may be made for each message anew.
    """
    hops = {step.hop for step in origin.steps}
    return Hop.ENTERED in hops or (Hop.FILLED in hops and origin.kind != "random")


def _parts(value: Value, unsure: bool, depth: int) -> Iterator[Origin]:
    if depth > MAX_DEPTH:
        yield from value.origins()
    elif isinstance(value, Choice):
        told = all(isinstance(o, Map) for o in value.options)
        for option in value.options:
            yield from _parts(option, unsure or not told, depth + 1)
    elif isinstance(value, Map):
        yield from value.order
        for held in (*(e.value for e in value.entries.values()), *value.rest):
            yield from _parts(held, unsure, depth + 1)
    elif isinstance(value, Seq):
        yield from value.order
        for item in value.items:
            yield from _parts(item.value, unsure, depth + 1)
    elif isinstance(value, Text):
        for piece in value.pieces:
            yield from _marked(piece.deps, unsure or piece.optional)
    else:
        yield from _marked(value.origins(), unsure)


def _marked(origins: Origins, unsure: bool) -> Origins:
    return tuple(replace(o, features=o.features | {FALLBACK}) for o in origins) if unsure else origins


def gives_calls(item: Item, behind: Sequence[Item]) -> bool:
    """Whether a message holds calls of tools that were asked for in an earlier turn, with something made anew in them.

    What is rendered from a list of stored turns is; so is what the user has spoken behind. What a reply of this turn
    asked for is handed on as it came.
    """
    if not (item.of is not None if isinstance(item, Many) else any(role_of(i.value) == "user" for i in behind)):
        return False
    for option in options(item.value):
        calls = option.entries.get("tool_calls") if isinstance(option, Map) else None
        if calls is None or role_of(option) not in ("assistant", "model"):
            continue
        origins = calls.value.origins()
        if not any(o.kind == "reply" for o in origins) and any(o.kind == "random" for o in origins):
            return True
    return False


# -- one turn in two forms -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TwoForms:
    """A turn that is sent in one form and kept in another: the message as it is sent, and what tells them apart."""

    sent: Item
    what: str
    span: Span
    stored: Span
    """Where the turn is put into what is kept."""
    behind: bool
    """Whether what is sent behind it is kept as well."""


def two_forms(ev: Evaluator, items: Sequence[Item]) -> Iterator[TwoForms]:
    """The turns of a list that differ from what the kept turns say that such turns become."""
    kept = [i for i in items if isinstance(i, History)]
    for number, item in enumerate(items):
        if not isinstance(item, One) or item.optional:
            continue
        sent = _told(ev, item.value, whole=False)
        steps = any(isinstance(later, History) for later in items[number:])
        for history in kept if sent is not None else ():
            if any(history is later for later in items[number:]):
                continue  # the steps behind this turn
            turns = options(history.value)
            for told in filter(None, (_told(ev, turn) for turn in turns)):
                same = sent is not None and sent.roles <= told.roles
                what = _difference(sent.pieces, told.pieces) if sent is not None and same else None
                if what is not None:
                    yield TwoForms(item, what[0], what[1], told.span, steps and any(map(_is_step, turns)))
                    break


def _is_step(turn: Value) -> bool:
    """Whether a kept turn is a call of a tool or what came of it."""
    if isinstance(turn, Map) and (role_of(turn) == "tool" or "tool_calls" in turn.entries):
        return True
    content = turn.entries.get("content") if isinstance(turn, Map) else None
    blocks = [i.value for i in content.value.items] if content is not None and isinstance(content.value, Seq) else []
    return any(isinstance(o, Map) and "tool_use_id" in o.entries for b in blocks for o in options(b))


@dataclass(frozen=True, slots=True)
class _Told:
    roles: frozenset[str]
    pieces: tuple[Piece, ...]
    span: Span


def _told(ev: Evaluator, message: Value, whole: bool = True) -> _Told | None:
    """Who says what in a message of text; ``None`` when that, or the ``whole`` of it, is not known for certain."""
    if not isinstance(message, Map) or message.rest or message.entries.keys() - {"role", "content", "tool_call_id"}:
        return None
    role, content = message.entries.get("role"), message.entries.get("content")
    if role is None or content is None:
        return None
    who, pieces = possible_texts(role.value) or frozenset(), _text_of(ev, content.value, content.span)
    unsure = any((whole and not _is_sure(p)) or p.base is not None or "bound" in p.features for p in pieces)
    if unsure or not who & {"user", "tool"}:
        return None
    return _Told(who, pieces, content.span)


def _text_of(ev: Evaluator, content: Value, span: Span) -> tuple[Piece, ...]:
    """The text of a message, in one piece or in blocks, and what is attached; nothing when it may hold more."""
    if isinstance(content, (Text, Hole)):
        return strings.pieces(ev, content, span)
    blocks: list[Piece] = []
    for item in content.items if isinstance(content, Seq) else ():
        inner = item.value.entries.get("text") if isinstance(item.value, Map) else None
        attached = _media_of(item.value) if isinstance(item, One) and not item.optional else None
        if attached is not None:
            blocks.append(Piece(item.span, None, name=f"the {attached.replace('_', ' ')}"))
            continue
        if inner is None or not isinstance(item, One) or item.optional or not isinstance(inner.value, (Text, Hole)):
            return ()
        blocks += strings.pieces(ev, inner.value, inner.span)
    return tuple(blocks)


def _media_of(block: Value) -> str | None:
    """What kind of thing a block attaches to a message."""
    kind = block.entries.get("type") if isinstance(block, Map) else None
    told = literal(kind.value) if kind is not None else None
    return told if told in _MEDIA else None


def _difference(sent: Sequence[Piece], stored: Sequence[Piece]) -> tuple[str, Span] | None:
    """What stands in the turn as it is sent and not as it is stored, in words; ``None`` when nothing is sure to."""
    holes = [p for p in stored if p.text is None]
    if not holes:
        return None
    if not all(any(_is_same(p, hole) for p in sent) for hole in holes):
        return None
    known = {(p.text or "").strip() for p in stored if p.text is not None}
    more = [p for p in sent if p.text is not None or not any(_is_same(p, hole) for hole in holes)]
    more = [p for p in more if p.text is None or (p.text.strip() and p.text.strip() not in known)]
    if not any(map(_is_sure, more)):
        return None
    first = next((p for p in more if p.text is None), more[0])
    shown = first.name if first.text is None else f'"{_first_line(first.text)}"'
    return f"{shown} is sent with the turn and not stored with it", first.span


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"


def _is_sure(piece: Piece) -> bool:
    """Whether a run of text is there, once."""
    return not piece.optional and not piece.repeats


def _says(piece: Piece) -> frozenset[tuple[str, Span]]:
    """What of the outside a run of text says."""
    return frozenset((o.kind, o.span) for o in piece.deps if o.kind in _SAID)


def _is_same(sent: Piece, stored: Piece) -> bool:
    """Whether two runs of text are one value."""
    return sent.text is None and _is_sure(sent) and sent.name == stored.name and _says(sent) == _says(stored)
