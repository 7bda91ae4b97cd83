"""Lists, dicts and sets, and the operators on values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    At,
    Either,
    LoopState,
    Mutate,
    Phi,
)
from promptlint.frozen import replace
from promptlint.link import conditions
from promptlint.link.joining import anything, join
from promptlint.link.texts import clocks, strings
from promptlint.link.values import (
    CALL,
    ELAPSED,
    MARKERS,
    MAX_GROWTH,
    NONE_SPAN,
    Base,
    Cell,
    Choice,
    Const,
    Entry,
    External,
    FilePath,
    Hole,
    Item,
    Lazy,
    Map,
    One,
    Origin,
    Origins,
    Rest,
    Sent,
    Seq,
    Text,
    Type,
    Value,
    held_in,
    options,
    text,
    union,
)
from promptlint.request import Axis, Carrier
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


_WHOSE = re.compile(
    r"(from_|effective_)?(user|chat)|author|sender|member|guild|channel|tenant|account|"
    r"((from_|telegram_|discord_|tg_)?user|chat|session|conversation|thread|channel|guild|tenant|account|customer|client)_?(id|key|jid)|username|user_name"
)
"""Fields of an incoming event that say who it is from and where it belongs: they are the same in every turn."""


def as_seq(ev: Evaluator, value: Value, span: Span) -> Seq:
    """The value as something to iterate over."""
    if isinstance(value, Seq):
        return value
    if isinstance(value, Map):
        keys: list[Item] = [One(text(k, e.span), e.span, e.optional) for k, e in value.entries.items()]
        keys += [Rest(unknown_key(value, r, span), span, True) for r in value.rest]
        if value.base is not None:
            keys.insert(0, Rest(Hole("keys", span), span, True))
        return Seq("iterator", tuple(keys), value.span, value.order)
    if isinstance(value, Choice):
        merged = join(as_seq(ev, o, span) for o in value.options if not isinstance(o, Const))
        return merged if isinstance(merged, Seq) else Seq("iterator", (), span)
    if isinstance(value, Const):
        return Seq("iterator", (), span)
    if isinstance(value, Text):
        return Seq("iterator", (Rest(Hole("character", span, value.origins()), span),), span)
    if isinstance(value, External) and value.name.startswith("io."):
        return Seq("iterator", (Rest(Hole("line", span, held_in(value), persistent=True), span),), span)
    return Seq("iterator", (Rest(value, span),), span)


def unknown_key(held: Map, part: Value, span: Span) -> Hole:
    """A key of an unknown part of a dict: what is spread into it brings its keys along, any other stands under one."""
    return Hole("key", span, part.origins() if part in spread(held) else held.order)


def spread(held: Map) -> tuple[Value, ...]:
    """The unknown dicts that are spread into a dict, with keys of their own."""
    return tuple(r for r in held.rest if isinstance(r, Hole) and r.name in held.open)


def hash_order(ev: Evaluator, frame: Frame, at: At) -> Origins:
    """The origin of a set's order."""
    return _set_order(f"the order of the set {ev.snippet(frame, at, 40)}", frame.module.span(at), frame.level)


def _set_order(what: str, span: Span, level: int) -> Origins:
    axes = frozenset({Axis.PROCESS, Axis.HASH_SEED})
    return (Origin("unordered", what, span, level, axes, because="Python documentation: PYTHONHASHSEED"),)


def _loop_of(node: Mutate) -> LoopState | None:
    """The loop that changes a list, the outermost one."""
    loop, base = None, node.base
    while True:
        match base:
            case Mutate(base=before) | Either(options=(before, *_)):
                base = before
            case Phi(state=state, before=before):
                loop, base = state, before
            case _:
                return loop


def binary(ev: Evaluator, op: str, left: Value, right: Value, span: Span, shown: str) -> Value:
    if isinstance(left, Choice) or isinstance(right, Choice):
        return join(binary(ev, op, a, b, span, shown) for a in options(left) for b in options(right))
    if op == "+":
        if isinstance(left, Seq) or isinstance(right, Seq):
            a, b = as_seq(ev, left, span), as_seq(ev, right, span)
            kind = left.kind if isinstance(left, Seq) else b.kind
            return Seq(kind, (*a.items, *b.items), span, union(a.order, b.order), (*a.edits, *b.edits))
        if isinstance(left, Text) or isinstance(right, Text):
            return strings.concat(ev, left, right, span)
    if op == "|":
        if isinstance(left, Map) or isinstance(right, Map):
            return update(left if isinstance(left, Map) else Map({}, span, (left,)), right, span)
    if op in "|&-^" and (isinstance(left, Seq) or isinstance(right, Seq)):
        a, b = as_seq(ev, left, span), as_seq(ev, right, span)
        if a.kind == "set" or b.kind == "set" or (left is a and a.kind == "iterator"):
            items = (*a.items, *b.items) if op in "|^" else a.items
            return Seq("set", items, span, union(a.order, b.order, _set_order("the order of a set", span, CALL)))
    if op == "%" and isinstance(left, Text):
        return strings.percent(ev, left, right, span)
    if op == "*":
        repeated = _repeat(left, right)
        if repeated is not None:
            return repeated
    if op == "/" and isinstance(left, FilePath):
        below = right.path if isinstance(right, FilePath) else right.literal if isinstance(right, Text) else None
        if below is not None:
            return FilePath(left.path / below, span)
    if isinstance(left, Const) and isinstance(right, Const):
        known = _arithmetic(op, left.value, right.value)
        if known is not None:
            return Const(known, span)
    if op == "-" and _is_clock(left) and _is_clock(right):
        return Hole(shown, span, tuple(_elapsed(o) for o in left.origins()))
    grain = clocks.divided(op, left, right)
    if grain is not None and isinstance(left, Hole):
        return strings.coarsened(replace(left, name=shown), grain)
    features = frozenset().union(*(v.features for v in (left, right) if isinstance(v, Hole)))
    if any(isinstance(v, Hole) and v.base is not None for v in (left, right)):
        features = features | {"base"}
    return Hole(shown, span, union(left.origins(), right.origins()), features=features)


SPANS = ("datetime.timedelta", "dateutil.relativedelta.relativedelta")
"""What a point in time is moved by; the difference of two points is another matter."""


def _is_clock(value: Value) -> bool:
    return isinstance(value, Hole) and value.type not in SPANS and any(o.kind == "time" for o in value.deps)


def _elapsed(origin: Origin) -> Origin:
    """Between two readings of a clock lies a time that counts up."""
    if origin.kind != "time":
        return origin
    return replace(origin, kind="counter", what=ELAPSED, grain=None, axes=origin.axes | {Axis.CALL})


def _repeat(left: Value, right: Value) -> Value | None:
    sequence, times = (left, right) if isinstance(right, Const) else (right, left)
    if not isinstance(times, Const) or not isinstance(times.value, int):
        return None
    count = times.value
    if isinstance(sequence, Text) and sequence.literal is not None and len(sequence.literal) * count < 4_000_000:
        return text(sequence.literal * count, sequence.pieces[0].span) if sequence.pieces else sequence
    if isinstance(sequence, Seq) and 0 <= count * len(sequence.items) <= MAX_GROWTH:
        return replace(sequence, items=sequence.items * count)
    return None


def _arithmetic(op: str, a: object, b: object) -> int | float | None:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return None
    try:
        if op == "+":
            return a + b
        if op == "-":
            return a - b
        if op == "*":
            return a * b
        if op == "//":
            return a // b
        if op == "/":
            return a / b
    except (ArithmeticError, ValueError):
        return None
    return None


def set_key(target: Map, key: Value, value: Value | Lazy, span: Span, certain: bool = True) -> Map:
    name = key.literal if isinstance(key, Text) else None
    if name is None:
        known = value.get() if isinstance(value, Lazy) else value
        roots = _roots(known)
        rest = tuple(r for r in target.rest if not roots & _roots(r))  # the same cell, as it was before
        return replace(target, rest=(*rest, known), order=union(target.order, key.origins()))
    entries = dict(target.entries)
    old = entries.get(name)
    if certain or old is None:
        entries[name] = Entry(value, span, not certain)
    else:
        new = Entry(value, span)
        entries[name] = Entry(Lazy(lambda: join((old.value, new.value))), span, old.optional)
    return target.holding(entries)


def _roots(value: Value) -> frozenset[object]:
    """The lists whose old content a list holds."""
    if isinstance(value, Choice):
        return frozenset().union(*map(_roots, value.options))
    if isinstance(value, Map):
        return frozenset((value.base,)) if value.base is not None else frozenset()
    return frozenset(i.root for i in value.items if isinstance(i, Base)) if isinstance(value, Seq) else frozenset()


def update(target: Map, other: Value, span: Span) -> Map:
    """``{**target, **other}``."""
    result = target
    for option in options(other):
        certain = not isinstance(other, Choice)
        if isinstance(option, Map):
            for name, entry in option.entries.items():
                # A marker counts where it is put into a block, anything else where it is written.
                place = span if name in MARKERS else entry.span
                result = set_key(result, text(name, entry.span), entry.held, place, certain and not entry.optional)
            result = replace(
                result,
                rest=(*result.rest, *option.rest),
                order=union(result.order, option.order),
                open=tuple(dict.fromkeys((*result.open, *option.open))),
            )
        elif isinstance(option, Hole):
            result = replace(
                result, rest=(*result.rest, option), open=tuple(dict.fromkeys((*result.open, option.name)))
            )
        elif isinstance(option, Seq):
            for item in option.items:
                pair = item.value
                if isinstance(pair, Seq) and len(pair.items) == 2:
                    result = set_key(result, pair.items[0].value, pair.items[1].value, span, isinstance(item, One))
    return result


_CLASS = re.compile(r"(^|\.)[A-Z]\w*$")
ROWS = frozenset(("Items", "items", "rows", "results", "messages", "documents", "records", "data"))
"""Fields of a reply of a store that hold the rows."""


def item(base: Value, key: Value, span: Span, shown: str) -> Value:
    """``base[key]``."""
    return join(_item(b, key, span, shown) for b in options(base))


def _item(base: Value, key: Value, span: Span, shown: str) -> Value:
    if isinstance(base, Sent) and isinstance(key, Text) and key.literal in base.returns:
        return base.returns[key.literal].get()
    if isinstance(base, Map):
        name = key.literal if isinstance(key, Text) else None
        if name is not None:
            entry = base.entries.get(name)
            if entry is not None:
                return entry.value
            if base.rest:
                return join(_rest_item(r, span, shown) for r in base.rest)
            return Hole(shown, span)
        held = len(base.entries) + len(base.rest)
        picked = anything(base) if 0 < held <= MAX_GROWTH else Hole(shown, span)
        ways = options(picked)
        if base.base is not None and any(isinstance(v, Seq) for v in ways) and not any(map(_roots, ways)):
            # Besides what was put there in this step: what was under the key before.
            before = Seq("list", (Base(Hole(shown, span), span, root=Cell(base.base, None)),), span)
            picked, held = join((picked, before)), held + 1
        if base.base is not None and len(ways) == 1 and isinstance(ways[0], Map) and ways[0].base is None:
            # Or what such a dict has become since it was put there.
            from promptlint.link.turns.growth import base_marker

            picked = base_marker(ways[0], Cell(base.base, None))
        if key.origins() and held > 1:
            # Which one it is depends on the key; but for the number of a request, under which its answer was put.
            chosen = key if base.entries else _uncounted(key)
            return _keyed(picked, chosen)
        return picked
    if isinstance(base, Seq) and isinstance(key, Const) and isinstance(key.value, int):
        index = key.value
        items = base.items
        if base.known and -len(items) <= index < len(items):
            return items[index].value
        if index >= 0 and len(items) > index and all(isinstance(i, One) and not i.optional for i in items[: index + 1]):
            return items[index].value
        if index < 0 and len(items) >= -index and all(isinstance(i, One) and not i.optional for i in items[index:]):
            return items[index].value
    if isinstance(base, Seq):
        from promptlint.link.loops import any_element, first_element

        if isinstance(key, Const) and key.value == 0 and base.kind != "set":
            return first_element(base, span, shown)
        deps = conditions.choosing((key,))
        one = any_element(base, span, shown)
        return conditions.chosen(one, deps) if deps else one
    if isinstance(base, External) and base.name == "os.environ":
        return Hole(shown, span, persistent=True)
    if isinstance(base, Type) or (isinstance(base, External) and not base.instance and _CLASS.search(base.name)):
        return base  # a generic class with its parameters: ``Agent[Context]``
    deps = union(base.origins(), _looked_up(key))
    if not isinstance(base, Hole):
        return Hole(shown, span, deps)
    if isinstance(key, Text) and key.literal is not None:
        deps = whose(deps, key.literal, shown)
    window = base.window if isinstance(key, Text) and key.literal in ROWS else None
    return Hole(
        shown,
        span,
        deps,
        root=base.root,
        window=window,
        cuts=base.cuts if window is not None else (),
        persistent=base.persistent,
        features=base.features & {"base"},
    )


def says_whose(name: str) -> bool:
    """Whether a name says that it is of the one who asks, or of the conversation."""
    return _WHOSE.fullmatch(name.lower()) is not None


def whose(deps: Origins, name: str, shown: str) -> Origins:
    """What a field of an input depends on: on the user and the conversation only, where its name says so."""
    if not says_whose(name):
        return deps
    axes = frozenset({Axis.USER, Axis.CONVERSATION})

    def told(origin: Origin) -> bool:
        return origin.kind in ("input", "loop") or (origin.kind == "user" and Axis.TURN in origin.axes)

    return tuple(replace(o, kind="user", what=shown, axes=axes, carrier=None) if told(o) else o for o in deps)


def _looked_up(key: Value) -> Origins:
    """What an element found under ``key`` depends on: at a number that a loop counts stands no count."""
    return tuple(
        replace(o, kind="loop", what=f"the loop variable {o.name}", carrier=Carrier.LOOP_VARIABLE)
        if o.carrier is Carrier.COUNTER
        else o
        for o in key.origins()
    )


def _uncounted(key: Value) -> Hole:
    """A key without what it owes to counters."""
    span = next((o.span for o in key.origins()), NONE_SPAN)
    return Hole("key", span, tuple(o for o in key.origins() if o.carrier is not Carrier.COUNTER))


def _keyed(value: Value, key: Value) -> Value:
    """What was found under a key that is not known: which one of several it is depends on the key."""
    deps = _looked_up(key)
    if isinstance(value, Seq) and _offers(value):
        by = conditions.turns_on(key)
        chosen = (conditions.item_with_condition(i, by) if by and i.optional else i for i in value.items)
        return replace(value, items=tuple(chosen))
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=union(p.deps, deps)) for p in value.pieces))
    if isinstance(value, Hole):
        return replace(value, deps=union(value.deps, deps))
    return value


def _offers(value: Seq) -> bool:
    """Whether a list is one of tools: of dicts that nobody has said."""
    return all(isinstance(i, One) and isinstance(i.value, Map) and "role" not in i.value.entries for i in value.items)


def _rest_item(rest: Value, span: Span, shown: str) -> Value:
    if isinstance(rest, Hole):
        return Hole(shown, span, rest.deps, root=rest.root)
    return rest
