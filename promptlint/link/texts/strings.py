"""Transfer functions of text: every operation keeps the order of the pieces."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from promptlint.frozen import replace
from promptlint.link.joining import join
from promptlint.link.texts import jsontext
from promptlint.link.turns.messages import is_history_name
from promptlint.link.values import (
    Choice,
    Const,
    Edit,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Many,
    Map,
    One,
    Origin,
    Origins,
    Piece,
    Routine,
    Sent,
    Seq,
    Text,
    Value,
    kept_in,
    listed,
    name_of,
    of_grown,
    options,
    stored,
    text,
    union,
)
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

DAY, HOUR, MINUTE, SECOND, MICROSECOND = 86400.0, 3600.0, 60.0, 1.0, 1e-6
HALF_DAY = DAY / 2
MONTH, YEAR = 30 * DAY, 365 * DAY
_DIRECTIVES = {
    MICROSECOND: "fN",
    SECOND: "SsTcXr+",
    MINUTE: "MR",
    HOUR: "HIklhp",
    DAY: "djaAxDFuwe",
    MONTH: "mbBhUWV",
    YEAR: "YyCG",
}
_FORMATTER = string.Formatter()


def strftime_grain(spec: str) -> float | None:
    """The granularity in seconds of a strftime format; ``None`` when it prints no time at all (only a zone, say)."""
    found = set(re.findall(r"%[-#_0^]?([A-Za-z+])", spec))
    return next((grain for grain, letters in _DIRECTIVES.items() if found & set(letters)), None)


def coarsened(value: Value, grain: float | None, step: Step | None = None) -> Value:
    """A clock's value after an operation that keeps only ``grain`` (``None``: nothing of the time is left)."""

    def change(origin: Origin) -> Origin:
        if origin.kind != "time" or origin.grain is None or grain is None:
            return origin
        changed = replace(origin, grain=max(origin.grain, grain))
        return changed.via(step) if step is not None else changed

    if grain is None:
        return without_time(value)
    return value.change(change)


def without_time(value: Value) -> Value:
    """The value with clocks taken out of what it depends on."""
    if isinstance(value, Hole):
        return replace(value, deps=tuple(o for o in value.deps if o.kind != "time"))
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=tuple(o for o in p.deps if o.kind != "time")) for p in value.pieces))
    return value


TEXT_BASES = frozenset(["str", "builtins.str", "enum.StrEnum", "StrEnum"])


def pieces(ev: Evaluator, value: Value, span: Span) -> tuple[Piece, ...]:
    """``str(value)`` as pieces of text."""
    if isinstance(value, Text):
        return value.pieces
    if isinstance(value, Const):
        return (Piece(span, str(value.value)),)
    if isinstance(value, Hole):
        return (
            Piece(
                span,
                None,
                value.deps,
                value.name,
                persistent=value.persistent,
                base=value.base,
                features=value.features,
            ),
        )
    if isinstance(value, Choice):
        merged = join(Text(pieces(ev, o, span)) for o in value.options)
        return merged.pieces if isinstance(merged, Text) else ()
    if isinstance(value, Seq):
        inner = [p for i in value.items for p in _element_pieces(ev, i, span, value)]
        if _holds_names(value):
            inner = [replace(p, turns=None) for p in inner]
        return tuple(_with_order(p, value.order) for p in inner)
    if isinstance(value, Map):
        inner = [p for e in value.entries.values() for p in pieces(ev, e.value, span)]
        inner += [p for r in value.rest for p in pieces(ev, r, span)]
        return tuple(_with_order(p, value.order) for p in inner)
    if isinstance(value, Instance):
        method = ev.program.method(value.cls, "__str__") or ev.program.method(value.cls, "__repr__")
        if method is not None:
            target = ev.generic(method, value.cls)
            bound = type(target)(method, value.level, {}, value, None, (), target.depth)
            return pieces(ev, ev.result(bound, method, span), span)
        member = member_text(ev, value)
        return member.pieces if member is not None else (Piece(span, None, (), value.cls.name),)
    if isinstance(value, External) and value.name == "json.text" and value.arguments:
        of = value.arguments[0]
        told = (i for i in of.items if isinstance(i, History)) if isinstance(of, Seq) else iter(())
        kept = next((with_edits(i, of) for i in told if isinstance(of, Seq)), None)
        return jsontext.pieces(value, span) if kept is None else (jsontext.whole(value, span, kept),)
    if isinstance(value, External):
        return (Piece(span, None, value.origins(), value.name.rpartition(".")[2], persistent=not value.instance),)
    if isinstance(value, FilePath):
        return (Piece(span, None, (), "path", persistent=True),)
    if isinstance(value, (Routine, Sent)):
        return (Piece(span, None, value.origins(), "value"),)
    return (Piece(span, None, value.origins(), "value"),)


def _holds_names(written: Seq) -> bool:
    """Whether a list that is written out as it is keeps bare texts, and neither its name nor a label tells of turns."""
    kept = [i for i in written.items if isinstance(i, History)]
    held = [o for i in kept for o in options(i.value)]
    names = [name_of(i.root) for i in kept]
    other = all(name and not is_history_name(name) for name in names)
    return bool(held) and other and all(_is_bare(o) for o in held)


def _is_bare(value: Value) -> bool:
    """Whether an element is a text, or a part of a reply, that does not say who speaks, as far as a colon does."""
    if isinstance(value, Text):
        return not any(":" in (p.text or "") for p in value.pieces)
    return isinstance(value, (Hole, Sent, External))


def member_text(ev: Evaluator, value: Instance) -> Text | None:
    """The text that a member of an enumeration of texts is."""
    held = value.given("value") if "value" in value.overrides else None
    bases = ev.program.foreign_bases(value.cls) if isinstance(held, Text) else frozenset()
    return held if isinstance(held, Text) and bases & TEXT_BASES else None


def _element_pieces(ev: Evaluator, item: Item, span: Span, of: Seq) -> tuple[Piece, ...]:
    # What was kept in an earlier turn says what it said then.
    inner = pieces(ev, stored(item.value) if isinstance(item, History) else item.value, span)
    if isinstance(item, History):
        step, grows = kept_in("a list", item.span), of_grown(item)
        inner = tuple(p.with_deps(union(tuple(o.via(step) for o in p.deps), grows)) for p in inner)
    if isinstance(item, One):
        return tuple(replace(p, optional=p.optional or item.optional) for p in inner)
    rows = item if isinstance(item, Many) else None
    kept = with_edits(item, of) if isinstance(item, History) else None
    # A list that a kept message told was told as it was then.
    return tuple(replace(p, repeats=True, optional=True, turns=kept or p.turns or rows) for p in inner)


def with_edit(told: Text, edit: Edit) -> Text:
    """A text that tells kept turns, with what was done to them in it."""
    return Text(
        tuple(
            replace(p, turns=replace(p.turns, edits=(*p.turns.edits, edit))) if isinstance(p.turns, History) else p
            for p in told.pieces
        )
    )


def with_edits(item: History, of: Seq) -> History:
    """The kept elements with what was done to them in a list that holds them."""
    return replace(item, edits=(*item.edits, *of.edits)) if of.edits else item


def _with_order(piece: Piece, order: Origins) -> Piece:
    return replace(piece, deps=union(piece.deps, order)) if order else piece


_WIDE = re.compile(r"\d{4}")
"""A width or precision that would make more text than a prompt needs, or more than there is memory for."""


def formatted(ev: Evaluator, value: Value, spec: Value | None, span: Span) -> Text:
    """``{value:spec}``, with or without a conversion."""
    if spec is not None and isinstance(spec, Text) and spec.literal:
        if "%" in spec.literal and spec.literal not in ("%",):
            value = coarsened(value, strftime_grain(spec.literal))
        if isinstance(value, Const) and not isinstance(value.value, bool) and not _WIDE.search(spec.literal):
            try:
                return text(format(value.value, spec.literal), span)
            except (TypeError, ValueError):
                pass
    if isinstance(value, Text) and any(
        p.text is None or any(o.kind == "unordered" for o in p.deps) for p in value.pieces
    ):
        return value  # what varies in it has become text before
    return Text(tuple(replace(p, span=span) if p.text is None or p.deps else p for p in pieces(ev, value, span)))


def concat(ev: Evaluator, left: Value, right: Value, span: Span) -> Text:
    return Text((*pieces(ev, left, span), *pieces(ev, right, span)))


def _map_literals(template: Text, how: Callable[[Piece], tuple[Piece, ...]]) -> Text:
    return Text(tuple(q for p in template.pieces for q in (how(p) if p.text is not None else (p,))))


def format_method(
    ev: Evaluator,
    template: Text,
    args: tuple[Value, ...],
    keywords: Mapping[str, Value],
    rest: Origins,
    span: Span,
    frame: Frame,
) -> Text:
    """``template.format(*args, **keywords)``: the template decides the order."""
    used = 0

    def fill(piece: Piece) -> tuple[Piece, ...]:
        nonlocal used
        result: list[Piece] = []
        try:
            parsed = list(_FORMATTER.parse(piece.text or ""))
        except ValueError:
            return (piece,)
        for literal, name, spec, _ in parsed:
            if literal:
                result.append(replace(piece, text=literal))
            if name is None:
                continue
            head = re.split(r"[.\[]", name, maxsplit=1)[0]
            value: Value | None
            if head == "":
                value = args[used] if used < len(args) else None
                used += 1
            elif head.isdigit():
                value = args[int(head)] if int(head) < len(args) else None
            else:
                value = keywords.get(head)
            if value is None:
                result.append(Piece(span, None, rest, head or "value", optional=piece.optional))
                continue
            if head != name and isinstance(value, (Instance, Map)):
                for part in re.findall(r"\.(\w+)|\[(\w+)\]", name):
                    value = ev.attribute(value, part[0] or part[1], span, frame, name)
            filled = formatted(ev, value, text(spec, span) if spec else None, span)
            result.extend(replace(p, optional=p.optional or piece.optional) for p in filled.pieces)
        return tuple(result)

    return _map_literals(template, fill)


def percent(ev: Evaluator, template: Text, value: Value, span: Span) -> Text:
    """``template % value``."""
    values = (
        [i.value for i in value.items] if isinstance(value, Seq) and value.kind == "tuple" and value.known else [value]
    )
    used = 0

    def fill(piece: Piece) -> tuple[Piece, ...]:
        nonlocal used
        result: list[Piece] = []
        at = 0
        source = piece.text or ""
        for match in re.finditer(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])", source):
            if match.start() > at:
                result.append(replace(piece, text=source[at : match.start()]))
            at = match.end()
            if match[2] == "%":
                result.append(replace(piece, text="%"))
                continue
            if match[1] is not None:
                entry = value.entries.get(match[1]) if isinstance(value, Map) else None
                chosen: Value = entry.value if entry is not None else Hole(match[1], span, value.origins())
            else:
                chosen = values[min(used, len(values) - 1)] if values else Hole("value", span)
                used += 1
            result.extend(pieces(ev, chosen, span))
        if at < len(source):
            result.append(replace(piece, text=source[at:]))
        return tuple(result)

    return _map_literals(template, fill)


def replaced(ev: Evaluator, template: Text, old: str, new: Value, span: Span) -> Text:
    """``template.replace(old, new)`` for a known ``old``."""
    inserted = pieces(ev, new, span)

    def fill(piece: Piece) -> tuple[Piece, ...]:
        parts = (piece.text or "").split(old)
        result: list[Piece] = []
        for number, part in enumerate(parts):
            if number:
                result.extend(replace(p, optional=p.optional or piece.optional) for p in inserted)
            if part:
                result.append(replace(piece, text=part))
        return tuple(result)

    if not any(p.text is not None and old in p.text for p in template.pieces) and new.origins():
        # The placeholder stands in text that is not known (a file, a setting): it may be anywhere in it.
        return Text(
            tuple(replace(p, deps=union(p.deps, new.origins())) if p.text is None else p for p in template.pieces)
        )
    return _map_literals(template, fill)


def substitute(ev: Evaluator, template: Text, keywords: Mapping[str, Value], rest: Origins, span: Span) -> Text:
    """``string.Template(template).substitute(**keywords)``."""

    def fill(piece: Piece) -> tuple[Piece, ...]:
        result: list[Piece] = []
        at = 0
        source = piece.text or ""
        for match in re.finditer(r"\$(?:\$|\{(\w+)\}|(\w+))", source):
            if match.start() > at:
                result.append(replace(piece, text=source[at : match.start()]))
            at = match.end()
            name = match[1] or match[2]
            if name is None:
                result.append(replace(piece, text="$"))
            else:
                value = keywords.get(name) or Hole(name, span, rest)
                result.extend(pieces(ev, value, span))
        if at < len(source):
            result.append(replace(piece, text=source[at:]))
        return tuple(result)

    return _map_literals(template, fill)


_ENUMERATES = re.compile(r"\s*([,;/]|and|or)\s*")
"""What stands between names that are listed in a sentence: between two turns stands more."""


def joined(ev: Evaluator, separator: Value, sequence: Seq, span: Span) -> Text:
    """``separator.join(sequence)``."""
    between = pieces(ev, separator, span)
    names = isinstance(separator, Text) and _ENUMERATES.fullmatch(separator.literal or "") is not None
    order = listed(sequence.order, span)
    result: list[Piece] = []
    for number, item in enumerate(sequence.items):
        inner = _element_pieces(ev, item, item.span, sequence)
        if names:
            inner = tuple(replace(p, turns=None) for p in inner)
        if order:
            inner = tuple(replace(_with_order(p, order), span=span) for p in inner)
        if number and inner:
            certain = isinstance(item, One) and not item.optional
            result.extend(replace(p, optional=p.optional or not certain) for p in between)
        result.extend(inner)
    return Text(tuple(result))


def mapped(template: Text, how: Callable[[str], str]) -> Text:
    """A text whose known parts are changed by ``how`` (strip, lower, dedent ...)."""
    known = template.literal
    if how in (str.lower, str.upper):
        return _map_literals(template, lambda p: (replace(p, text=how(p.text or "")),))
    if known is not None and len(template.pieces) == 1:
        return Text((replace(template.pieces[0], text=how(known)),))
    if known is not None and not template.origins():
        return text(how(known), max(template.pieces, key=lambda p: len(p.text or "")).span) if known else template
    return template


def truncated(value: Value, length: int) -> Value:
    """``str(clock)[:length]``: an ISO time cut short keeps only its coarser part."""
    grain = next(
        (
            g
            for limit, g in ((4, YEAR), (7, MONTH), (10, DAY), (13, HOUR), (16, MINUTE), (19, SECOND))
            if length <= limit
        ),
        None,
    )
    if grain is None or (isinstance(value, Text) and len(value.pieces) != 1):
        return value
    return coarsened(value, grain)
