"""Several values in one, where ways through the code meet: what they share stays certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from promptlint.frozen import replace
from promptlint.link.values import (
    NONE_SPAN,
    Base,
    Choice,
    Const,
    Edit,
    Entry,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Many,
    Map,
    One,
    Piece,
    Rest,
    Seq,
    Text,
    Value,
    is_empty,
    is_marked,
    literal,
    options,
    union,
)

MAX_OPTIONS = 6
"""Values that are kept apart; of a seventh nothing is said."""
P = TypeVar("P", Piece, Item)


def _same(a: Piece | Item, b: Piece | Item) -> bool:
    if a is b:
        return True
    if isinstance(a, Piece) and isinstance(b, Piece):
        if a.text is None or b.text is None:
            return a.text is b.text and a.base is b.base and (a.span, a.name, a.repeats) == (b.span, b.name, b.repeats)
        return a.text == b.text and a.repeats == b.repeats
    if isinstance(a, Item) and isinstance(b, Item):
        return type(a) is type(b) and a.held is b.held and a.optional == b.optional
    return False


def _only_base(run: Sequence[Piece | Item]) -> int | None:
    """Where the old elements stand in a run that holds them once."""
    found = [n for n, part in enumerate(run) if isinstance(part, Base)]
    return found[0] if len(found) == 1 else None


def _splice(a: tuple[P, ...], b: tuple[P, ...]) -> tuple[P, ...]:
    """Both runs in one: what they share stays certain, what differs becomes optional."""
    old, same = _only_base(a), _only_base(b)
    if old is not None and same is not None and (len(a) > 1 or len(b) > 1) and _same(a[old], b[same]):
        # What was put in front of the old elements, and what was added behind them.
        middle: tuple[P, ...] = (_either(a[old], b[same]),)
        middle = _splice(a[:old], b[:same]) + middle
        return middle + _splice(a[old + 1 :], b[same + 1 :])
    head: int = 0
    while head < min(len(a), len(b)) and _same(a[head], b[head]):
        head += 1
    tail: int = 0
    while tail < min(len(a), len(b)) - head and _same(a[-1 - tail], b[-1 - tail]):
        tail += 1
    between = tuple(_maybe(x) for part in (a[head : len(a) - tail], b[head : len(b) - tail]) for x in part)
    first = tuple(_either(x, y) for x, y in zip(a[:head], b[:head], strict=True))
    last = tuple(_either(x, y) for x, y in zip(a[len(a) - tail :], b[len(b) - tail :], strict=True))
    return first + between + last


def _maybe(part: P) -> P:
    return part.maybe()


def _either(a: P, b: P) -> P:
    """What stands for two parts that are the same: there for sure only if both are."""
    if isinstance(a, (Base, History)) and isinstance(b, (Base, History)):
        return replace(a, edits=_edits(a.edits, b.edits))  # on one of the ways the old elements were changed
    if a is b or not isinstance(a, Piece) or not isinstance(b, Piece):
        return a
    merged = a if a.deps == b.deps else a.with_deps(union(a.deps, b.deps))
    return merged.maybe() if b.optional else merged


def join(values: Iterable[Value]) -> Value:
    """The value that stands for any of ``values``."""
    options: list[Value] = []
    for value in values:
        if isinstance(value, Choice):
            options.extend([o for o in value.options if o not in options])  # compared by identity
        elif value not in options:
            options.append(value)
    if not options:
        return Const(None, NONE_SPAN)
    result = options[0]
    for option in options[1:]:
        result = _join(result, option)
    return result


def _join(a: Value, b: Value) -> Value:
    if not isinstance(a, Choice):
        merged = _merged(a, b)
        return Choice((a, b)) if merged is None else merged
    for i, option in enumerate(a.options):
        merged = _merged(option, b)
        if merged is not None:
            return Choice((*a.options[:i], merged, *a.options[i + 1 :]))
    return Choice((*a.options, b)) if len(a.options) < MAX_OPTIONS else a


def _merged(a: Value, b: Value) -> Value | None:
    """One value that stands for two that are no choices; ``None`` when they have to be kept apart."""
    if type(a) is type(b):  # most often they are of different kinds: told first, as this runs very often
        if isinstance(a, Text) and isinstance(b, Text):
            return Text(_splice(a.pieces, b.pieces))
        if isinstance(a, Seq) and isinstance(b, Seq):
            if a.kind == b.kind == "tuple" and len(a.items) == len(b.items) and a.known and b.known:
                return replace(a, items=tuple(map(_one_of, a.items, b.items)), order=union(a.order, b.order))
            # Of two ways to make a list, the one that keeps turns comes first: what the other holds precedes none.
            first, second = (b, a) if _keeps_turns(b) and not _keeps_turns(a) else (a, b)
            items = _splice(first.items, second.items)
            return replace(a, items=items, order=union(a.order, b.order), edits=_edits(a.edits, b.edits))
        if isinstance(a, Map) and isinstance(b, Map) and not _two_requests(a, b):
            return _join_maps(a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return a if a.value == b.value and type(a.value) is type(b.value) else None
        if isinstance(a, Hole) and isinstance(b, Hole) and a.type == b.type:
            window = a.window if a.window is not None else b.window
            if window == a.window and (not b.deps or b.deps is a.deps):
                return a
            return replace(a, deps=union(a.deps, b.deps), window=window)
        if isinstance(a, Instance) and isinstance(b, Instance) and _is_made_alike(a, b):
            return a
    if is_empty(a) and not isinstance(b, Const):
        return optional(b)
    if is_empty(b) and not isinstance(a, Const):
        return optional(a)
    return None


def _is_made_alike(a: Instance, b: Instance) -> bool:
    """Whether two objects are of one class, and one call makes both of the same arguments."""
    if a.cls is not b.cls or a.init is b.init:
        return a.cls is b.cls
    if a.init is None or b.init is None or a.span != b.span or a.kept != b.kept:
        return False
    pairs = ((a.init.arguments, b.init.arguments), (a.overrides, b.overrides))
    return all(x.keys() == y.keys() and all(_is_alike(x[name], y[name]) for name in x) for x, y in pairs)


def _is_alike(a: object, b: object) -> bool:
    """Whether two arguments are the same thing: one value, or what one place of the code makes without a difference."""
    match a, b:
        case Hole(), Hole():
            return a.name == b.name and a.span == b.span
        case Const(), Const():
            return a.value == b.value
        case Seq(items=()), Seq(items=()):
            return a.kind == b.kind
        case Text(), Text():
            return a.literal is not None and a.literal == b.literal
        case Instance(), Instance():
            return _is_made_alike(a, b)
    return a is b


def _keeps_turns(value: Seq) -> bool:
    return any(isinstance(i, (History, Base, Rest)) or (isinstance(i, Many) and i.of is not None) for i in value.items)


def by_role(values: Iterable[Value]) -> Value:
    """The alternatives of what a history holds, told apart by role, so that a filter on the role can drop some."""
    groups: dict[str | None, list[Value]] = {}
    for value in values:
        for option in options(value):
            role = option.entries.get("role") if isinstance(option, Map) else None
            groups.setdefault(literal(role.value) if role is not None else None, []).append(option)
    joined = [join(part) for group in groups.values() for part in _by_marker(group) if part]
    return joined[0] if len(joined) == 1 else Choice(tuple(joined)) if joined else Const(None, NONE_SPAN)


def _by_marker(messages: list[Value]) -> tuple[list[Value], list[Value]]:
    """Messages with a cache marker on one of their blocks, and those without: each turn adds one of the first kind."""
    marked = [m for m in messages if len(messages) > 1 and _has_marked_block(m)]
    return marked, [m for m in messages if m not in marked]


def _has_marked_block(message: Value) -> bool:
    content = message.entries.get("content") if isinstance(message, Map) else None
    blocks = (i.value for o in (options(content.value) if content else ()) if isinstance(o, Seq) for i in o.items)
    return any(isinstance(block, Map) and is_marked(block) for block in blocks)


def _edits(a: tuple[Edit, ...], b: tuple[Edit, ...]) -> tuple[Edit, ...]:
    return (*a, *(e for e in b if not any(e.span == o.span and e.kind == o.kind for o in a)))


def _one_of(x: Item, y: Item) -> Item:
    return x if x.held is y.held else One(Lazy(lambda: join((x.value, y.value))), x.span)


def _two_requests(a: Map, b: Map) -> bool:
    """Bodies for two kinds of provider: one has the system text in a field, the other among the messages."""
    if "messages" not in a.entries or "messages" not in b.entries:
        return False
    if a.entries["messages"].held is b.entries["messages"].held:
        return False  # one body, to which the system text is added where there is one
    return ("system" in a.entries) is not ("system" in b.entries)


def _joined(x: Entry, y: Entry) -> Lazy:
    return Lazy(lambda: join((x.value, y.value)))


def _join_maps(a: Map, b: Map) -> Map:
    entries: dict[str, Entry] = {}
    for key in {**a.entries, **b.entries}:
        x, y = a.entries.get(key), b.entries.get(key)
        if x is not None and y is not None:
            if x.held is y.held:
                entries[key] = x if x.optional else y
            else:
                entries[key] = Entry(_joined(x, y), x.span, x.optional or y.optional)
        else:
            only = x or y
            assert only is not None
            entries[key] = only if only.optional else Entry(only.held, only.span, True, only.guards)
    rest = (*a.rest, *(r for r in b.rest if not any(r is o for o in a.rest)))
    unseen = tuple(dict.fromkeys((*a.open, *b.open)))
    made_by = a.type if a.type == b.type else None
    return Map(entries, a.span, rest, union(a.order, b.order), a.base or b.base, unseen, made_by)


def optional(value: Value) -> Value:
    """The value, or nothing."""
    if isinstance(value, Text):
        return Text(tuple(p.maybe() for p in value.pieces))
    if isinstance(value, Seq):
        return replace(value, items=tuple(i.maybe() for i in value.items))
    if isinstance(value, Map):
        return replace(value, entries={k: replace(e, optional=True) for k, e in value.entries.items()})
    return value


def anything(held: Map) -> Value:
    """What may stand under a key that is not known: each of the values; found once, as tables can be long."""
    if held.any_of_all is None:
        values = (*(e.value for e in held.entries.values()), *held.rest)
        object.__setattr__(held, "any_of_all", join(values))
    assert held.any_of_all is not None
    return held.any_of_all
