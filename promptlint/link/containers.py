"""Transfer functions of lists, dicts and sets, and of the operators that containers share with text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.expression import (
    AfterLoop,
    At,
    Attr,
    Binary,
    Call,
    Comp,
    DictOf,
    Either,
    Element,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Literal,
    LoopState,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Test,
    children,
    unchanged,
)
from promptlint.expression import Item as ItemOf
from promptlint.link import alike, strings, thinking
from promptlint.link.guards import asks_of_first, guard_of
from promptlint.link.messages import role_of
from promptlint.link.switches import SWITCHED
from promptlint.link.values import (
    CALL,
    KEPT_KINDS,
    Base,
    Cell,
    Choice,
    Const,
    Edit,
    Entry,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Many,
    Map,
    One,
    Origin,
    Origins,
    Rest,
    Routine,
    Sent,
    Seq,
    Text,
    Value,
    held_in,
    join,
    options,
    text,
    union,
)
from promptlint.request import Axis
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator, Frame

MARKERS = frozenset(("cache_control", "cachePoint", "prompt_cache_breakpoint", "cache_point", "cachepoint"))
"""Keys that mark a cache breakpoint: setting or removing one changes no prompt text."""
ELAPSED = "the elapsed time"
MAX_GROWTH = 400
_WHOSE = re.compile(
    r"(from_|effective_)?(user|chat)|author|sender|member|guild|channel|tenant|account|"
    r"((from_|telegram_|discord_|tg_)?user|chat|session|conversation|thread|channel|guild|tenant|account|customer|client)_?id|username|user_name"
)
"""Fields of an incoming event that say who it is from and where it belongs: they are the same in every turn."""
_OF_A_MESSAGE = re.compile(r"""(\.|\[["']|get\(["'])(content|text|body)["']?[\])]?$""")
MAX_SWITCHED = 40
MAX_LEAVES = 200
"""Nodes of a test that are looked at to see what it starts from."""


def as_seq(ev: Evaluator, value: Value, span: Span) -> Seq:
    """The value as something to iterate over."""
    if isinstance(value, Seq):
        return value
    if isinstance(value, Map):
        keys: list[Item] = [One(text(k, e.span), e.span, e.optional) for k, e in value.entries.items()]
        keys += [Rest(Hole("keys", span, r.origins()), span, True) for r in value.rest]
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


def hash_order(ev: Evaluator, frame: Frame, at: At) -> Origins:
    """The origin of a set's order."""
    return _set_order(f"the order of the set {ev.snippet(frame, at, 40)}", frame.module.span(at), frame.level)


def _set_order(what: str, span: Span, level: int) -> Origins:
    axes = frozenset({Axis.PROCESS, Axis.HASH_SEED})
    return (Origin("unordered", what, span, level, axes, because="Python documentation: PYTHONHASHSEED"),)


def decided_by(value: Value, alternatives: Sequence[Value], test: Callable[[], Value], cheap: bool) -> Value:
    """Marks what is there or not as depending on what the test depends on (looked at only when asked, or ``cheap``)."""
    if isinstance(value, Text):
        return _switched(value, alternatives, test) if cheap else value
    if isinstance(value, Map):
        maps = [a for a in alternatives if isinstance(a, Map)]
        return replace(
            value,
            entries={
                k: _switched_entry(e, [m.entries[k] for m in maps if k in m.entries], test, cheap)
                for k, e in value.entries.items()
            },
        )
    if (
        not isinstance(value, Seq)
        or len(value.items) > MAX_SWITCHED
        or (is_sent(value.items) and not all(map(_is_tool, value.items)))
    ):
        # A list of tools is meant; what comes and goes among the turns of a conversation is looked at by its writers.
        return value
    certain = [set(map(id, a.items)) for a in alternatives if isinstance(a, Seq)]
    items = []
    for item in value.items:
        if item.optional and not all(id(item) in c for c in certain):
            items.append(replace(item, held=_conditional(item, test)))
        else:
            items.append(item)
    return replace(value, items=tuple(items))


def _switched_entry(entry: Entry, alternatives: Sequence[Entry], test: Callable[[], Value], cheap: bool) -> Entry:
    """A cell that only one of the ways writes: its text is what it is because of that write."""
    if not cheap or len({id(a.held) for a in alternatives}) < 2:
        return entry

    def make() -> Value:
        told = decided_by(entry.value, [a.value for a in alternatives], test, cheap)
        return _written_by(told, alternatives) if isinstance(told, Text) else told

    return replace(entry, held=Lazy(make))


def _written_by(value: Text, alternatives: Sequence[Entry]) -> Text:
    """The text with a command that switches it placed where the text is written into a cell.

    What stands there when another command was typed is not switched by this one.
    """
    pieces = []
    for piece in value.pieces:
        sides = [isinstance(a.value, Text) and any(p.text == piece.text for p in a.value.pieces) for a in alternatives]
        if piece.text is not None and sides.count(True) == 1:
            asked = [o for o in piece.deps if o.kind == "conditional" and SWITCHED in o.features and not o.steps]
            kept = [o for o in piece.deps if o not in asked]
            if sides[0]:
                kept += [replace(o, span=alternatives[0].span, steps=(Step(o.span, "asked for here"),)) for o in asked]
            piece = piece.with_deps(tuple(kept))
        pieces.append(piece)
    return Text(tuple(pieces))


def _switched(value: Text, alternatives: Sequence[Value], test: Callable[[], Value]) -> Text:
    """Known text that stands on one of the ways only depends on the test."""
    shared = [{p.text for p in a.pieces if p.text is not None} for a in alternatives if isinstance(a, Text)]
    one_sided = [p.optional and p.text is not None and not all(p.text in s for s in shared) for p in value.pieces]
    # Which way is taken seldom differs from one turn to the next: a mode that the user switches.
    deps = tuple(replace(o, guard="command") for o in _conditions(test())) if any(one_sided) else ()
    if not deps:
        return value
    return Text(
        tuple(p.with_deps(union(p.deps, deps)) if only else p for p, only in zip(value.pieces, one_sided, strict=True))
    )


def _conditions(test: Value) -> Origins:
    """What the outcome of a test depends on from one call to the next."""
    found = [o for o in tested(test) if Axis.CALL in o.axes or Axis.TURN in o.axes or o.kind == "mode"]
    # What a kept turn holds was said before: that there are such turns is what the test depends on.
    turns = [o for o in found if o.kind == "history"]
    return tuple(replace(o, kind="conditional") for o in turns or found)


def tested(value: Value) -> Origins:
    """What a test of a value depends on: with kept turns, on how many there are and not on what they say."""
    kept = [i for o in options(value) if isinstance(o, Seq) for i in o.items if isinstance(i, History)]
    kept = [i for i in kept if any(isinstance(o, Map) and "role" in o.entries for o in options(i.value))]
    if not kept:
        return value.origins()
    axes = frozenset({Axis.CALL, Axis.TURN})
    return (Origin("history", "the conversation so far", kept[0].span, kept[0].level, axes),)


def guarded(values: Sequence[Value], test: Expr) -> Sequence[Value]:
    """The values of the two ways of a test: what only one of them changes in old elements stands under that test."""
    if len(values) != 2:
        return values
    if _after_a_pause(test):
        values = [values[0].change(_only_then), values[1]]
    for here, there, sense in ((0, 1, False), (1, 0, True)):
        one = retold(values[there]) if _holds_base(values[here]) and not _holds_base(values[there]) else None
        old = values[here]
        if one is not None and isinstance(old, Seq):
            edited = with_edit(old, replacement(one, (Guard(test, sense),)))
            return [edited, values[1]] if here == 0 else [values[0], edited]
    changes = [{(e.kind, e.span, e.guards) for e in _all_edits(v)} for v in values]
    if not any(changes):
        return values

    def under(value: Value, other: set[tuple[str, Span, tuple[Guard, ...]]], guard: Guard) -> Value:
        def mark(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
            return tuple(
                e if (e.kind, e.span, e.guards) in other else replace(e, guards=(guard, *e.guards)) for e in edits
            )

        if not isinstance(value, Seq):
            return value
        items = tuple(
            replace(i, edits=mark(i.edits)) if isinstance(i, (Base, History)) and i.edits else i for i in value.items
        )
        return replace(value, items=items, edits=mark(value.edits))

    return [under(values[0], changes[1], Guard(test)), under(values[1], changes[0], Guard(test, sense=False))]


_PAUSE = 300
"""Seconds after which a cache entry may be gone: what is said only then costs nothing that was still there."""


def _after_a_pause(test: Expr) -> bool:
    """Whether a test finds that some minutes have gone by: ``seconds / 60 >= 20``."""
    if not isinstance(test, Test) or test.op not in (">", ">=") or len(test.parts) != 2:
        return False
    passed, least = test.parts
    unit = passed.right if isinstance(passed, Binary) and passed.op == "/" else None
    seconds = unit.value if isinstance(unit, Literal) else 1
    known = least.value if isinstance(least, Literal) else None
    numbers = isinstance(seconds, (int, float)) and isinstance(known, (int, float))
    return numbers and known * seconds >= _PAUSE  # type: ignore[operator]


def _only_then(origin: Origin) -> Origin:
    return replace(origin, guard=origin.guard or "threshold") if origin.what == ELAPSED else origin


def under(value: Value, before: Value, guards: tuple[Guard, ...]) -> Value:
    """The value with everything that changes old elements, and did not in ``before``, standing under ``guards``."""
    if not guards or not isinstance(value, Seq):
        return value
    known = set(map(id, _all_edits(before)))

    def mark(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(e if id(e) in known else replace(e, guards=(*guards, *e.guards)) for e in edits)

    items = tuple(
        replace(i, edits=mark(i.edits)) if isinstance(i, (Base, History)) and i.edits else i for i in value.items
    )
    return replace(value, items=items, edits=mark(value.edits))


def commanded(value: Value, before: Value) -> Value:
    """The value with everything that changes old elements, and did not in ``before``, done on a command."""
    if not isinstance(value, Seq):
        return value
    known = set(map(id, _all_edits(before)))

    def mark(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(e if id(e) in known else replace(e, guard=e.guard or "command") for e in edits)

    items = tuple(
        replace(i, edits=mark(i.edits)) if isinstance(i, (Base, History)) and i.edits else i for i in value.items
    )
    return replace(value, items=items, edits=mark(value.edits))


def retold(value: Value) -> One | None:
    """The element of a new list that tells what an older one held: made of what the model said."""
    ones = [i for i in value.items if isinstance(i, One)] if isinstance(value, Seq) else []
    if len(ones) > 1 and role_of(ones[-1].value) == "assistant" and role_of(ones[-2].value) == "user":
        ones = ones[:-2]  # a question with its answer: the first turns of another conversation
    return next((i for i in ones if any(o.kind in ("reply", "history") for o in i.value.origins())), None)


def replacement(one: One, guards: tuple[Guard, ...]) -> Edit:
    return Edit("rewrite", one.span, "replacing the old messages by a summary", guards, value=one.value)


def _holds_base(value: Value) -> bool:
    return isinstance(value, Seq) and any(isinstance(i, Base) for i in value.items)


def _all_edits(value: Value) -> Iterator[Edit]:
    if isinstance(value, Seq):
        yield from value.edits
        for item in value.items:
            if isinstance(item, (Base, History)):
                yield from item.edits


def _conditional(item: Item, test: Callable[[], Value]) -> Lazy:
    def make() -> Value:
        deps = _conditions(test())
        return with_condition(item.value, deps) if deps else item.value

    return Lazy(make)


_CHOOSING = frozenset(("input", "user", "state", "reply"))
_SENT_AS_THEY_ARE = frozenset(("role", "function", "input_schema", "parameters"))
"""Keys of messages and tools, of which the whole is there or not."""


def choosing(tests: Sequence[Value]) -> Origins:
    """What makes a choice another one in the next turn; what is found by what the user says is not what he says."""
    found = union(*(t.origins() for t in tests))
    if any(o.kind == "history" for o in found):
        return ()  # made of what was said before: the elements themselves say so
    return tuple(
        replace(o, kind="state", what=f"what is looked up with {o.what}") if o.kind == "user" else o
        for o in found
        if o.kind in _CHOOSING and o.axes & {Axis.CALL, Axis.TURN} and SWITCHED not in o.features
    )


def picked(item: Item, tests: Sequence[Value]) -> Item:
    """An element that is there or not: what depends on it depends on what picks it."""
    deps = tuple(
        replace(o, kind="state") if o.kind == "user" else o
        for o in union(*(t.origins() for t in tests))
        if o.axes & {Axis.CALL, Axis.TURN}
    )
    return replace(item, held=chosen(item.value, deps)) if deps else item


def chosen(value: Value, deps: Origins) -> Value:
    """A value that is one of several: all of a record depends on ``deps``, but neither a message nor a tool does."""
    if isinstance(value, Map) and not value.entries.keys() & _SENT_AS_THEY_ARE:
        return replace(value, entries={k: replace(e, held=_chosen(e, deps)) for k, e in value.entries.items()})
    if isinstance(value, Seq) and value.kind == "tuple":
        return replace(value, items=tuple(replace(i, held=_chosen(i, deps)) for i in value.items))
    return with_condition(value, deps)


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


def _tests_of_filling(node: Mutate) -> tuple[Guard, ...]:
    """The tests in the loop that fills a list; what holds where that loop begins, or the list, picks no element."""
    loop = _loop_of(node)
    if loop is None:
        return ()
    return tuple(g for g in node.guards if g.test is not None and not any(g is known for known in loop.guards))


def _chosen_by(ev: Evaluator, held: Value | Lazy, guards: tuple[Guard, ...], frame: Frame) -> Lazy:
    """What a loop takes only when some tests say so, if it is neither a message nor a tool."""

    def make() -> Value:
        value = held.get() if isinstance(held, Lazy) else held
        if any(isinstance(o, Map) and o.entries.keys() & _SENT_AS_THEY_ARE for o in options(value)):
            return value
        # What a test computes is not looked at, only what it starts from.
        leaves = {id(n): n for g in guards if g.test is not None for n in _leaves(g.test)}
        outside = (n for n in leaves.values() if not _is_of_project(ev, n, frame))
        deps = choosing([ev.eval(n, frame) for n in outside])
        return chosen(value, deps) if deps else value

    return Lazy(make)


def _is_of_project(ev: Evaluator, node: Expr, frame: Frame) -> bool:
    """Whether an attribute is one of an object of the project."""
    return isinstance(node, Attr) and not isinstance(ev.eval(node.base, frame), External)


def _leaves(node: Expr) -> Iterator[Expr]:
    """The parameters, and what is read from outside without arguments, that an expression is made of."""
    waiting, seen = [node], set[int]()
    while waiting and len(seen) < MAX_LEAVES:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        read = isinstance(current, Attr) and isinstance(current.base, (Import, Global))
        if isinstance(current, (Param, Free)) or read or (isinstance(current, Call) and not current.args):
            yield current
        elif not isinstance(current, (Element, AfterLoop)):
            waiting += children(current)


def _chosen(part: Item | Entry, deps: Origins) -> Lazy:
    return Lazy(lambda: chosen(part.value, deps))


def ranked(ev: Evaluator, sequence: Seq, key: Value, node: Call, frame: Frame) -> Seq:
    """The elements in the order of a key: which of them come first depends on what the key looks at besides them."""
    deps = ranking(ev, sequence, key, node, frame)
    return replace(sequence, order=union(sequence.order, deps)) if deps else sequence


def ranking(ev: Evaluator, sequence: Seq, key: Value, node: Call, frame: Frame) -> Origins:
    """What the outcome of a key depends on besides the element that it is asked about."""
    from promptlint.link.loops import any_element

    one = any_element(sequence, ev.span(frame, node), "element")
    own = {o.key for o in one.origins()}
    return tuple(o for o in choosing([ev.apply(f, (one,), node, frame) for f in options(key)]) if o.key not in own)


def with_condition(value: Value, deps: Origins) -> Value:
    if isinstance(value, Hole):
        return replace(value, deps=union(value.deps, deps))
    if isinstance(value, Map):
        return replace(value, order=union(value.order, deps))
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=union(p.deps, deps)) for p in value.pieces))
    return value


# -- operators -----------------------------------------------------------------------------------------------------


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


# -- dicts ---------------------------------------------------------------------------------------------------------


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
    return replace(target, entries=entries)


def _roots(value: Value) -> frozenset[object]:
    """The lists whose old content a list holds."""
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
        picked = base.anything() if 0 < held <= MAX_GROWTH else Hole(shown, span)
        ways = list(options(picked))
        if base.base is not None and any(isinstance(v, Seq) for v in ways) and not any(map(_roots, ways)):
            # Besides what was put there in this step: what was under the key before.
            before = Seq("list", (Base(Hole(shown, span), span, root=Cell(base.base, None)),), span)
            picked, held = join((picked, before)), held + 1
        if key.origins() and held > 1:
            # Which one it is depends on the key.
            return _keyed(picked, _looked_up(key))
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
        deps = choosing((key,))
        one = any_element(base, span, shown)
        return chosen(one, deps) if deps else one
    if isinstance(base, External) and base.name == "os.environ":
        return Hole(shown, span, persistent=True)
    deps = union(base.origins(), _looked_up(key))
    if not isinstance(base, Hole):
        return Hole(shown, span, deps)
    if isinstance(key, Text) and key.literal is not None:
        deps = whose(deps, key.literal, shown)
    return Hole(shown, span, deps, root=base.root, persistent=base.persistent, features=base.features & {"base"})


def whose(deps: Origins, name: str, shown: str) -> Origins:
    """What a field of an input depends on: on the user and the conversation only, where its name says so."""
    if not _WHOSE.fullmatch(name.lower()):
        return deps
    axes = frozenset({Axis.USER, Axis.CONVERSATION})

    def told(origin: Origin) -> bool:
        return origin.kind == "input" or (origin.kind == "user" and Axis.TURN in origin.axes)

    return tuple(replace(o, kind="user", what=shown, axes=axes) if told(o) else o for o in deps)


def _looked_up(key: Value) -> Origins:
    """What an element found under ``key`` depends on: at a number that a loop counts stands no count."""
    counted = "the counter "
    return tuple(
        replace(o, kind="loop", what=o.what.removeprefix(counted)) if o.what.startswith(counted) else o
        for o in key.origins()
    )


def _keyed(value: Value, deps: Origins) -> Value:
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=union(p.deps, deps)) for p in value.pieces))
    if isinstance(value, Hole):
        return replace(value, deps=union(value.deps, deps))
    return value


def _rest_item(rest: Value, span: Span, shown: str) -> Value:
    if isinstance(rest, Hole):
        return Hole(shown, span, rest.deps, root=rest.root)
    return rest


# -- slices --------------------------------------------------------------------------------------------------------


def slice_of(ev: Evaluator, node: Slice, frame: Frame) -> Value:
    base = ev.eval(node.base, frame)
    return join(_slice(ev, b, node, frame) for b in options(base))


def _bound(ev: Evaluator, node: Expr | None, frame: Frame) -> int | None:
    if node is None:
        return None
    value = ev.eval(node, frame)
    for option in options(value):
        if isinstance(option, Const) and isinstance(option.value, int) and not isinstance(option.value, bool):
            return option.value
    return None


def _slice(ev: Evaluator, base: Value, node: Slice, frame: Frame) -> Value:
    span = ev.span(frame, node)
    lower, upper = _bound(ev, node.lower, frame), _bound(ev, node.upper, frame)
    if isinstance(base, Text):
        certain = (node.lower is None or lower is not None) and (node.upper is None or upper is not None)
        if base.literal is not None and certain and node.step is None:
            return text(base.literal[lower:upper], span)
        if node.lower is None and upper is not None and upper >= 0:
            return strings.truncated(base, upper)
        return base
    if lower == -1 and node.upper is None and node.step is None and not isinstance(base, Seq):
        last = Hole(ev.snippet(frame, node.at), span, base.origins())
        return Seq("list", (One(last, span, True),), span)
    if not isinstance(base, (Seq, Hole)):
        return Hole(ev.snippet(frame, node.at), span, base.origins())
    of_a_message = isinstance(base, Hole) and (_OF_A_MESSAGE.search(base.name) or _is_content(node.base))
    if isinstance(base, Hole) and node.step is None and (of_a_message or not _is_tail(node, lower)):
        # Named after what the list is, also where a local name stands for it.
        _, bracket, part = ev.snippet(frame, node.at).rpartition("[")
        return replace(base, name=base.name + bracket + part if bracket else base.name, cut=True)
    certain = isinstance(base, Seq) and base.known and (node.lower is None) == (lower is None)
    if isinstance(base, Seq) and _is_content(node.base) and node.step is None and not certain:
        return replace(base, items=tuple(i.maybe() for i in base.items))
    sequence = replace(as_seq(ev, base, span), copied="shallow")
    items = sequence.items
    if sequence.known and (node.lower is None or lower is not None) and (node.upper is None or upper is not None):
        step = _bound(ev, node.step, frame)
        return replace(sequence, items=items[slice(lower, upper, step)])
    if node.lower is None and node.upper is None and _bound(ev, node.step, frame) == -1:
        return turned(sequence)
    searched = lower is None and node.upper is None and node.step is None and _looked_for(node.lower)
    if _is_tail(node, lower) or (searched and isinstance(base, Seq)):
        return _tail(ev, sequence, node, lower, frame, span)
    if lower is not None and lower > 0:
        return replace(sequence, items=_without_head(items, lower))
    if node.lower is None and upper is not None and upper < 0:
        return replace(sequence, items=_without_tail(items, -upper))
    if node.lower is None and node.upper is not None:
        return replace(sequence, items=tuple(replace(i, optional=True) for i in items))
    return sequence


def _is_content(node: Expr) -> bool:
    """``message["content"]``: the text or the blocks of one message, and no list of messages."""
    node = unchanged(node)
    if isinstance(node, Attr):
        return node.name in ("content", "parts")
    return isinstance(node, ItemOf) and isinstance(node.key, Literal) and node.key.value in ("content", "text", "parts")


def _is_tail(node: Slice, lower: int | None) -> bool:
    """Whether a slice keeps the end and drops what is older."""
    if node.lower is None or node.step is not None:
        return False
    if lower is not None:
        return lower < 0
    return (isinstance(node.lower, Test) and node.lower.op == "unary") or _counts_length(node.lower)


def _looked_for(node: Expr | None) -> bool:
    """Whether a place in a list is counted up or down to where the rest fits: by a loop that measures something."""
    if isinstance(node, Either):
        return any(map(_looked_for, node.options))
    phi = node.phi if isinstance(node, AfterLoop) else node
    if not isinstance(phi, Phi):
        return False
    state = phi.state
    counts = any(isinstance(s.right, Literal) for s in _sums(state.steps.get(phi.name)))
    adds_up = any(not isinstance(s.right, Literal) for n, v in state.steps.items() if n != phi.name for s in _sums(v))
    tests = [state.test, *(g.test for end in state.ends for g in end.guards)]
    return counts and (adds_up or any(_compares(t, phi.name) for t in tests))


def _sums(step: Expr | None) -> Iterator[Binary]:
    """The additions and subtractions by which a loop goes on with a number."""
    if isinstance(step, Either):
        for option in step.options:
            yield from _sums(option)
    elif isinstance(step, Binary) and step.op in "+-" and isinstance(step.left, Phi):
        yield step


def _compares(test: Expr | None, counter: str) -> bool:
    """Whether a test compares a size with a limit, rather than the counter with the length of the list."""
    if isinstance(test, Either):
        return any(_compares(t, counter) for t in (test.test, *test.options))
    if not isinstance(test, Test):
        return False
    if test.op == "not":
        return _compares(test.parts[0], counter)
    return test.op in ("<", "<=", ">", ">=") and not any(isinstance(p, Phi) and p.name == counter for p in test.parts)


def _counts_length(node: Expr, depth: int = 0) -> bool:
    if isinstance(node, Binary) and node.op == "-" and isinstance(node.left, Call):
        func = node.left.func
        return isinstance(func, Global) and func.name == "len"
    if isinstance(node, Call) and isinstance(node.func, Global) and node.func.name == "max" and depth < 2:
        return any(_counts_length(a, depth + 1) for a in node.args)
    return False


def _keeps(ev: Evaluator, node: Slice, lower: int | None, frame: Frame) -> int | None:
    if lower is not None:
        return -lower
    assert node.lower is not None
    inner: Expr | None = None
    if isinstance(node.lower, Test):
        inner = node.lower.parts[0]
    elif isinstance(node.lower, Binary):
        inner = node.lower.right
    elif isinstance(node.lower, Call):
        inner = next((a.right for a in node.lower.args if isinstance(a, Binary)), None)
    return _bound(ev, inner, frame) if inner is not None else None


def _tail(ev: Evaluator, sequence: Seq, node: Slice, lower: int | None, frame: Frame, span: Span) -> Seq:
    keeps = _keeps(ev, node, lower, frame)
    items = sequence.items
    unknown = any(not isinstance(i, One) for i in items)
    if keeps is not None and keeps <= 1:
        last: tuple[Item, ...] = items[-1:]
        if last and isinstance(last[0], Many):
            last = (One(last[0].held, last[0].span, True, last[0].guards),)
        elif last and isinstance(last[0], Rest):
            from promptlint.link.loops import any_element

            last = (One(any_element(replace(sequence, items=last), span, ev.snippet(frame, node.at)), span, True),)
        return replace(sequence, items=last if last and isinstance(last[0], One) else tuple(i.maybe() for i in last))
    if keeps is not None and not unknown and len(items) <= keeps:
        return sequence
    edit = Edit("window", span, ev.snippet(frame, node.at), keeps=keeps)
    kept = tuple(
        replace(i, edits=(*i.edits, edit))
        if isinstance(i, Base)
        else i
        if not isinstance(i, One)
        else replace(i, optional=True)
        for i in items
    )
    has_base = any(isinstance(i, Base) for i in items)
    return replace(sequence, items=kept, edits=sequence.edits if has_base else (*sequence.edits, edit))


def cut_out(ev: Evaluator, node: Binary, rest: Slice, frame: Frame) -> Value | None:
    """``x[:a] + x[b:]``, or ``[x[0]] + x[b:]``: a kept list without some of its elements behind the first ones."""
    start, head = rest.lower, node.left
    if start is None or rest.upper is not None or rest.step is not None:
        return None
    if isinstance(head, SeqOf) and head.items:
        firsts = [i for i in head.items if isinstance(i, ItemOf) and is_same(i.base, rest.base)]
        places = [i.key.value for i in firsts if isinstance(i.key, Literal)]
        if len(firsts) != len(head.items) or places != list(range(len(places))):
            return None
        upper: int | None = len(places)
    elif isinstance(head, Slice) and head.lower is None and head.step is None and is_same(head.base, rest.base):
        upper = _bound(ev, head.upper, frame)
    else:
        return None
    base = ev.eval(rest.base, frame)
    lower = _bound(ev, start, frame)
    if not isinstance(base, Seq) or not _kept(base.items) or upper is None or upper < 0:
        return None
    drops = lower - upper if lower is not None else None
    if isinstance(head, Slice) and isinstance(start, Binary) and start.op == "+" and is_same(start.left, head.upper):
        drops = _bound(ev, start.right, frame)
    if drops is None or drops <= 0 or (lower is not None and lower < 0):
        return None
    edit = Edit("window", ev.span(frame, node), ev.snippet(frame, node.at), drops=drops)
    return with_edit(replace(base, copied="shallow"), edit)


def is_same(a: Expr | None, b: Expr | None) -> bool:
    """Whether two expressions of one body read the same variable, attribute or cell."""
    if isinstance(a, Attr) and isinstance(b, Attr):
        return a.name == b.name and is_same(a.base, b.base)
    if isinstance(a, ItemOf) and isinstance(b, ItemOf):
        same = isinstance(a.key, Literal) and isinstance(b.key, Literal) and a.key.value == b.key.value
        return same and is_same(a.base, b.base)
    if isinstance(a, (Param, Global, Free)) and isinstance(b, (Param, Global, Free)):
        return type(a) is type(b) and a.name == b.name
    return a is b


def _without_head(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    result = list(items)
    while count and result and isinstance(result[0], One):
        if not result[0].optional:
            count -= 1
        result.pop(0)
    return tuple(result)


def _without_tail(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    result = list(items)
    while count and result and isinstance(result[-1], One):
        if not result[-1].optional:
            count -= 1
        result.pop()
    return tuple(result)


# -- changes in place ----------------------------------------------------------------------------------------------


def mutate(ev: Evaluator, node: Mutate, frame: Frame) -> Value:
    base = ev.eval(node.base, frame)
    if node.op in ("append", "add") and node.args and isinstance(base, Seq):
        # What is appended is looked at when somebody asks what is in the list.
        held = ev.lazy(node.args[-1], frame)
        if node.loops and (tests := _tests_of_filling(node)):
            held = _chosen_by(ev, held, tests, frame)
        return _put(base, One(held, ev.span(frame, node), guards=node.guards))
    if node.op == "setitem" and len(node.args) == 2 and isinstance(base, (Map, Hole)):
        key = ev.eval(node.args[0], frame)
        if isinstance(base, Hole) and isinstance(key, Text):
            base = Map({}, base.span, (base,), open=(base.name,))
        if isinstance(base, Map):
            return set_key(base, key, ev.lazy(node.args[1], frame), ev.span(frame, node))
    args = tuple(ev.eval(a, frame) for a in node.args)
    return join(_mutate(ev, b, node, args, frame) for b in options(base))


def _mutate(ev: Evaluator, base: Value, node: Mutate, args: tuple[Value, ...], frame: Frame) -> Value:
    span = ev.span(frame, node)
    op = node.op
    if isinstance(base, Seq):
        return _mutate_list(ev, base, node, args, frame, span)
    if isinstance(base, Map):
        return _mutate_map(base, op, args, span)
    if isinstance(base, Instance) and op == "setattr":
        name = args[0].literal if isinstance(args[0], Text) else None
        return replace(base, overrides={**base.overrides, name: args[1]}) if name else base
    if isinstance(base, Hole) and op in (
        "append",
        "extend",
        "insert",
        "edit",
        "pop",
        "popleft",
        "delitem",
        "setitem",
        "appendleft",
    ):
        if op == "setitem" and isinstance(args[0], Text):
            return _mutate_map(Map({}, base.span, (base,), open=(base.name,)), op, args, span)
        if op in ("setitem",) and not isinstance(args[0], Const):
            return base
        return _mutate_list(ev, as_seq(ev, base, span), node, args, frame, span)
    if isinstance(base, Hole) and op in ("update", "setdefault"):
        return _mutate_map(Map({}, base.span, (base,), open=(base.name,)), op, args, span)
    return base


def _mutate_map(base: Map, op: str, args: tuple[Value, ...], span: Span) -> Value:
    if op == "setitem":
        return set_key(base, args[0], args[1], span)
    if op == "update":
        result = base
        for other in args:
            result = update(result, other, span)
        return result
    if op == "setdefault" and len(args) == 2:
        name = args[0].literal if isinstance(args[0], Text) else None
        if name is not None and name in base.entries and not base.entries[name].optional:
            return base
        return set_key(base, args[0], args[1], span, certain=not base.rest)
    if op in ("pop", "delitem", "remove") and args:
        name = args[0].literal if isinstance(args[0], Text) else None
        if name is not None:
            return replace(base, entries={k: e for k, e in base.entries.items() if k != name})
        return base
    if op == "clear":
        return Map({}, span)
    if op == "setattr":
        return set_key(base, args[0], args[1], span)
    return base


def _mutate_list(ev: Evaluator, base: Seq, node: Mutate, args: tuple[Value, ...], frame: Frame, span: Span) -> Value:
    op, guards = node.op, node.guards
    if op in ("append", "add", "appendleft", "insert"):
        value = args[-1] if args else Const(None, span)
        one = One(value, span, guards=guards)
        if op == "insert" and len(args) == 2 and not _is_length(node.args[0], node.base):
            return _insert(base, one, args[0], Edit("prepend", span, ev.snippet(frame, node.at), guards, value=value))
        if op == "appendleft":
            return _insert(
                base, one, Const(0, span), Edit("prepend", span, ev.snippet(frame, node.at), guards, value=value)
            )
        return _put(base, one)
    if op in ("extend", "update") and args:
        other = as_seq(ev, args[0], span)
        # What was done to the other list matters here only while this one holds nothing that was sent.
        edits = base.edits if is_sent(base.items) else (*base.edits, *other.edits)
        return replace(base, items=(*base.items, *other.items), order=union(base.order, other.order), edits=edits)
    if op in ("pop", "popleft", "delitem"):
        index = args[0] if args else Const(0 if op == "popleft" else -1, span)
        return _removed(ev, base, index, node, frame, span)
    if op == "remove":
        return base
    if op in ("delslice", "setslice"):
        return _slice_assigned(ev, base, node, args, frame, span)
    if op == "clear":
        return replace(base, items=(), order=())
    if op == "reverse":
        return turned(base)
    if op == "sort":
        fixed = replace(base, order=tuple(o for o in base.order if o.kind != "unordered"))
        key = next((a for a in args if isinstance(a, Routine)), None)
        call = Call(node.at, node.base, (), (), node.loops, node.guards)
        return ranked(ev, fixed, key, call, frame) if key is not None else fixed
    if op == "edit":
        return _edited(ev, base, node, args, frame, span)
    if op == "setitem" and len(args) == 2:
        return _set_item(ev, base, node, args, frame, span)
    return base


def _put(base: Seq, one: One) -> Seq:
    """The list with one more element at its end."""
    if len(base.items) > MAX_GROWTH:
        return base
    if any(e.alike for e in base.edits) and not base.copied and one.value.origins():
        base = replace(base, edits=_left_out(base.edits))
    return replace(base, items=(*map(_passed_by, base.items), one))


def _passed_by(item: Item) -> Item:
    return replace(item, edits=_left_out(item.edits)) if isinstance(item, Base) and item.edits else item


def _left_out(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits that were made before another element came: that one gets them once it has been sent."""
    return tuple(replace(e, alike=False) if e.alike else e for e in edits)


def _is_length(index: Expr, of: Expr) -> bool:
    """Whether an index is the length of the list itself, which means its end."""
    return (
        isinstance(index, Call) and isinstance(index.func, Global) and index.func.name == "len" and index.args == (of,)
    )


def _insert(base: Seq, one: One, index: Value, edit: Edit) -> Seq:
    where = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    marked = replace(one, inserted=edit.span)
    kept = next((n for n, i in enumerate(base.items) if _kept((i,))), None)
    if kept is not None and where is not None and where > kept:
        # Among elements of unknown number, near their beginning.
        if isinstance(base.items[kept], Base):
            return with_edit(base, edit)
        where = kept
    if where is None:
        # Somewhere in the middle: taken to be in front of the newest element.
        where = max(len(base.items) - 1, 0)
    if where < 0:
        where = max(len(base.items) + where, 0)
    return replace(base, items=(*base.items[:where], marked, *base.items[where:]))


def _kept(items: Sequence[Item]) -> bool:
    return any(isinstance(i, (History, Rest, Base, Many)) for i in items)


def _removed(ev: Evaluator, base: Seq, index: Value, node: Mutate, frame: Frame, span: Span) -> Seq:
    where = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    if where == -1 or (where is None and not isinstance(index, Const) and not _kept(base.items)):
        if base.items and isinstance(base.items[-1], One):
            return replace(base, items=base.items[:-1])
        return base
    if not _kept(base.items):
        if where is not None and -len(base.items) <= where < len(base.items):
            items = list(base.items)
            del items[where]
            return replace(base, items=tuple(items))
        return base
    if where is not None and 0 <= where <= 3:
        leading = base.items[: where + 1]
        if (
            len(leading) > where
            and all(isinstance(i, One) and not i.optional for i in leading)
            and len(base.items) > where
        ):
            # A known element in front, put there in this evaluation.
            items = list(base.items)
            removed = items.pop(where)
            if isinstance(removed, One) and removed.inserted is not None:
                return replace(base, items=tuple(items))
        if _is_content(node.base):
            return base
        loop = _loop_of(node)
        tests = [*(g.test for g in node.guards), loop.test if loop is not None else None]
        if where == 0 and asks_of_first(t for t in tests if t is not None):
            return base
        edit = Edit("window", span, ev.snippet(frame, node.at), node.guards)
        return with_edit(base, edit)
    return base


def with_edit(base: Seq, edit: Edit) -> Seq:
    """Notes a change to elements that may have been sent."""
    if any(isinstance(i, Base) for i in base.items):
        return replace(
            base, items=tuple(replace(i, edits=(*i.edits, edit)) if isinstance(i, Base) else i for i in base.items)
        )
    if not (is_sent(base.items) if edit.kind in ("rewrite", thinking.EDIT) else _kept(base.items)):
        return base
    return replace(base, edits=(*base.edits, edit))


def turned(value: Seq) -> Seq:
    """The sequence the other way round: one that was filled until it was full ends where it began."""

    def turn(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(replace(e, kind="window") if e.kind == "cap" else e for e in edits)

    items = tuple(
        replace(i, edits=turn(i.edits)) if isinstance(i, (Base, History)) and i.edits else i for i in value.items
    )
    return replace(value, items=items[::-1], edits=turn(value.edits))


def _is_tool(item: Item) -> bool:
    """Whether an element is known to define a tool; what nobody looked at yet is left alone."""
    return isinstance(item.held, Map) and bool(item.held.entries.keys() & {"function", "input_schema", "parameters"})


def is_sent(items: Sequence[Item]) -> bool:
    """Whether there are elements that an earlier request may have held."""
    return any(isinstance(i, (History, Rest, Base)) or (isinstance(i, Many) and i.of is not None) for i in items)


def _slice_assigned(ev: Evaluator, base: Seq, node: Mutate, args: tuple[Value, ...], frame: Frame, span: Span) -> Value:
    lower, upper = args[0], args[1]
    low = lower.value if isinstance(lower, Const) else "?"
    high = upper.value if isinstance(upper, Const) else "?"
    if node.op == "setslice" and low is None and high is None and len(args) == 3:
        return as_seq(ev, args[2], span)
    if not _kept(base.items):
        return base
    if (
        node.op == "delslice"
        and (high is None or (isinstance(high, int) and high < 0))
        and isinstance(low, int)
        and low >= 0
        and high is None
    ):
        return replace(base, items=tuple(i for i in base.items if isinstance(i, (One, Base))))
    if node.op == "delslice" and low is not None and isinstance(low, int) and low < 0:
        return base
    keeps = -high if isinstance(high, int) and high < 0 else None
    kind = "window" if node.op == "delslice" else "rewrite"
    drops = high if isinstance(high, int) and high > 0 and low in (None, 0) else None
    return with_edit(base, Edit(kind, span, ev.snippet(frame, node.at), node.guards, keeps, drops=drops))


def _edited(ev: Evaluator, base: Seq, node: Mutate, args: tuple[Value, ...], frame: Frame, span: Span) -> Value:
    """``for m in base: m[...] = ...``: elements change in place."""
    change = node.args[0]
    if _changes_only_markers(ev, change, frame):
        items = []
        for i in base.items:
            value = i.value
            marked = _marked(value, args[0])
            items.append(replace(i, held=marked) if marked is not None else i)
        unmarked = replace(base, items=tuple(items))
        if _removes_markers(change):
            return with_edit(_bare(unmarked), Edit("unmark", span, ev.snippet(frame, node.at), node.guards))
        return unmarked
    if not _kept(base.items):
        if len(base.items) and isinstance(args[0], Map):
            return replace(base, items=tuple(replace(i, held=join((i.value, args[0]))) for i in base.items))
        return base
    guards = change.guards if isinstance(change, Mutate) else node.guards
    if alike.is_newest(change.base if isinstance(change, Mutate) else change, ev.summary(frame.function).loops):
        return base
    kind = thinking.EDIT if thinking.removes(change) or thinking.taken_out(args[0]) else "rewrite"
    same = alike.every_element(change, ev.summary(frame.function).loops)
    return with_edit(base, Edit(kind, span, ev.snippet(frame, node.at), guards, value=args[0], alike=same))


def _marked(old: Value, new: Value) -> Value | None:
    if isinstance(old, Map) and isinstance(new, Map):
        entries = dict(old.entries)
        for key in MARKERS & new.entries.keys():
            entries[key] = new.entries[key]
        return replace(old, entries=entries)
    return None


def _bare(base: Seq) -> Seq:
    """The sequence with all cache markers taken off its elements."""
    return replace(base, items=tuple(replace(i, held=_without_markers(i.value)) for i in base.items))


def _without_markers(value: Value) -> Value:
    if isinstance(value, Map):
        kept = {k: replace(e, held=_without_markers(e.value)) for k, e in value.entries.items() if k not in MARKERS}
        return replace(value, entries=kept)
    if isinstance(value, Seq):
        return _bare(value)
    if isinstance(value, Choice):
        return Choice(tuple(_without_markers(o) for o in value.options))
    return value


def _removes_markers(change: Expr) -> bool:
    """Whether a chain of changes in place, known to concern markers only, takes them off without setting any."""
    while isinstance(change, Mutate):
        if change.op == "edit" or (change.op == "setitem" and isinstance(change.args[1], Mutate)):
            change = change.args[-1]
        elif change.op in ("pop", "delitem"):
            change = change.base
        else:
            return False
    return True


def _changes_only_markers(ev: Evaluator, change: Expr, frame: Frame) -> bool:
    """Whether a chain of in-place changes sets or removes nothing but cache markers."""
    for _ in range(12):
        if not isinstance(change, Mutate):
            return True
        if change.op in ("setitem", "pop", "delitem", "setdefault") and change.args:
            key = ev.eval(change.args[0], frame)
            name = key.literal if isinstance(key, Text) else None
            if name in MARKERS:
                change = change.base
                continue
            if change.op == "setitem" and isinstance(change.args[1], Mutate):
                return _changes_only_markers(ev, change.args[1], frame)
            return change.op == "setitem" and name is not None and _only_marks(change.args[1], name)
        if change.op == "edit":
            return _changes_only_markers(ev, change.args[0], frame)
        if change.op == "append" and _is_marker_block(change.args[-1]):
            change = change.base
            continue
        return False
    return False


def _only_marks(new: Expr, key: str) -> bool:
    """Whether what is stored under ``key`` is what was there, but for blocks that are markers."""
    if isinstance(new, Either):
        return all(_only_marks(o, key) for o in new.options)
    if isinstance(new, Comp):
        (loop, _, tests), *more = new.clauses
        if isinstance(new.element, DictOf) and not more:
            # Each block as it was, with a marker.
            parts = new.element.items
            copied = any(k is None and isinstance(v, Element) and v.loop == loop for k, v in parts)
            return copied and all(k is None or (isinstance(k, Literal) and k.value in MARKERS) for k, _ in parts)
        same = isinstance(new.element, Element) and new.element.loop == loop and not more
        return same and any(_names_marker(t) for t in tests)
    if isinstance(new, SeqOf) and any(isinstance(i, DictOf) and _marks(i) for i in new.items):
        rest = [i for i in new.items if not _is_marker_block(i)]
        held = [(k, v) for i in rest if isinstance(i, DictOf) for k, v in i.items if not isinstance(v, Literal)]
        wrapped = all(_is_key(k) or _reads(v, key) for k, v in held)
        return wrapped and all(isinstance(i, (DictOf, Star)) for i in rest)
    return False


def _marks(block: DictOf) -> bool:
    return any(_is_key(k) for k, _ in block.items)


def _is_key(node: Expr | None) -> bool:
    return isinstance(node, Literal) and node.value in MARKERS


def _reads(node: Expr, key: str) -> bool:
    """``x[key]`` or ``x.get(key)``."""
    if isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name == "get" and node.args:
        return isinstance(node.args[0], Literal) and node.args[0].value == key
    return isinstance(node, ItemOf) and isinstance(node.key, Literal) and node.key.value == key


def _is_marker_block(node: Expr) -> bool:
    """``{"cachePoint": ...}``."""
    return isinstance(node, DictOf) and any(isinstance(k, Literal) and k.value in MARKERS for k, _ in node.items[:1])


def _names_marker(test: Expr, depth: int = 0) -> bool:
    if isinstance(test, Literal):
        return test.value in MARKERS if isinstance(test.value, str) else False
    if isinstance(test, (Test, Either)) and depth < 4:
        return any(_names_marker(p, depth + 1) for p in (test.parts if isinstance(test, Test) else test.options))
    if isinstance(test, Call) and depth < 4:
        return any(_names_marker(a, depth + 1) for a in test.args)
    return False


def _decorates(ev: Evaluator, base: Seq, node: Mutate, where: int, value: Value, frame: Frame) -> bool:
    """Whether the newest element changes in a copy of a kept list only: a shallow copy shares what changes in place."""
    change = node.args[1]
    alone = base.copied == "deep" or (base.copied == "shallow" and not isinstance(change, Mutate))
    if not alone or where != -1 or not _kept(base.items) or _holds_marker(value):
        return False
    return not (isinstance(change, Mutate) and _changes_only_markers(ev, change, frame))


def _holds_marker(value: Value, depth: int = 0) -> bool:
    for option in options(value) if depth < 4 else ():
        if isinstance(option, Map):
            if MARKERS & option.entries.keys() or any(
                _holds_marker(e.value, depth + 1) for e in option.entries.values()
            ):
                return True
        elif isinstance(option, Seq) and any(_holds_marker(i.value, depth + 1) for i in option.items):
            return True
    return False


def _is_set_anew(ev: Evaluator, node: Mutate, frame: Frame) -> bool:
    """Whether ``x[i] = ...`` happens at each send, with a value that the conversation has no part in."""
    new, given = node.args[1], list[Expr]()
    while isinstance(new, Mutate):
        given.extend(new.args)
        new = new.base
    spoken = any(o.kind in KEPT_KINDS for o in ev.origins(given or [new], frame))
    return not spoken and guard_of(ev, node.guards, frame.function)[0] == "always"


def _set_item(ev: Evaluator, base: Seq, node: Mutate, args: tuple[Value, ...], frame: Frame, span: Span) -> Value:
    index, value = args
    where = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    if where is not None and base.items and -len(base.items) <= where < len(base.items):
        target = base.items[where]
        certain = all(isinstance(i, One) for i in (base.items[: where + 1] if where >= 0 else base.items[where:]))
        if isinstance(target, One) and certain:
            items = list(base.items)
            items[where] = replace(target, held=value)
            changed = replace(base, items=tuple(items))
            if _decorates(ev, base, node, where, value, frame):
                edit = Edit("decorate", span, ev.snippet(frame, node.at), node.guards)
                return replace(changed, edits=(*changed.edits, edit))
            return changed
    if isinstance(node.args[1], Mutate) and _changes_only_markers(ev, node.args[1], frame):
        if where == -1 and base.items:
            last = base.items[-1]
            if isinstance(last, (History, Many)):
                return replace(base, items=(*base.items, One(value, span)))  # the newest one alone
            return replace(base, items=(*base.items[:-1], replace(last, held=join((last.value, value)))))
        return with_edit(base, Edit("mark", span, ev.snippet(frame, node.at), node.guards))
    if where == -1 or alike.is_newest(node.args[0], ev.summary(frame.function).loops):
        # The newest element: not sent yet on the usual path.
        return base
    if not _kept(base.items):
        return base
    if where == 0 and not any(isinstance(i, Base) for i in base.items) and _is_set_anew(ev, node, frame):
        # The same place at every send: what stands there changes when the value does.
        return replace(base, items=(One(value, span, guards=node.guards), *base.items))
    same = alike.every_index(node, ev.summary(frame.function).loops)
    return with_edit(base, Edit("rewrite", span, ev.snippet(frame, node.at), node.guards, value=value, alike=same))
