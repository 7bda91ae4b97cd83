"""What a value is like when tests decide about it: switched texts, chosen elements, guarded changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    AfterLoop,
    Attr,
    Binary,
    Call,
    Element,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Literal,
    Mutate,
    Param,
    Test,
    children,
    each_once,
)
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.kept.switches import SWITCHED
from promptlint.link.texts.strings import HALF_DAY, HOUR
from promptlint.link.turns import mutations
from promptlint.link.turns.messages import role_of
from promptlint.link.values import (
    CALL,
    ELAPSED,
    SESSION,
    Base,
    Const,
    Edit,
    Entry,
    External,
    History,
    Hole,
    Item,
    Lazy,
    Map,
    One,
    Origin,
    Origins,
    Seq,
    Text,
    Value,
    is_empty,
    looked_up,
    options,
    truth,
    union,
)
from promptlint.request import Axis
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


MAX_SWITCHED = 40
MAX_LEAVES = 200
"""Nodes of a test that are looked at to see what it starts from."""


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
        or (mutations.is_sent(value.items) and not all(map(mutations._is_tool, value.items)))
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
    if not any(one_sided):
        return value
    asked = test()
    deps = union(tuple(map(_seldom, turns_on(asked))), _parts_of_a_day(asked))
    if not deps:
        return value
    return Text(
        tuple(p.with_deps(union(p.deps, deps)) if only else p for p, only in zip(value.pieces, one_sided, strict=True))
    )


def turns_on(test: Value) -> Origins:
    """What the outcome of a test, or what is found under a key, depends on from one call to the next."""
    # What a reply says is asked about at every corner, mostly to see whether to go on.
    asked = (o for o in tested(test) if o.kind != "reply" and (o.kind != "time" or o.what == ELAPSED))
    found = [o for o in asked if {Axis.CALL, Axis.TURN} & o.axes]
    # What a kept turn holds was said before: that there are such turns is what the test depends on.
    turns = [o for o in found if o.kind == "history"]
    return tuple(replace(o, kind="conditional") for o in turns or found)


def made_when_missing(value: Value) -> Value:
    """What stands in for something that was not found: a random name that is made then is found from then on."""
    return value.change(_made_once) if isinstance(value, (Text, Hole)) else value


def _made_once(origin: Origin) -> Origin:
    made = origin.kind == "random" and origin.level >= CALL
    return replace(origin, level=SESSION, axes=frozenset({Axis.CONVERSATION})) if made else origin


def _seldom(condition: Origin) -> Origin:
    """A condition with when its outcome changes: at a length that the list of turns reaches once, or as asked."""
    return replace(condition, guard=condition.guard or ("threshold" if condition.what[:4] == "len(" else "command"))


def _parts_of_a_day(test: Value) -> Origins:
    """The clocks of which a test finds no more than what part of a day it is, or what day: ``hour < 12``."""
    timed = (o for o in test.origins() if o.kind == "time" and o.what != ELAPSED and (o.grain or 0) >= HOUR)
    return tuple(replace(o, grain=max(o.grain or 0, HALF_DAY)) for o in timed)


def in_one_round(deps: Origins) -> Origins:
    """The counters among what a test depends on as what only one round of their loop changes: ``step == last``."""
    return tuple(replace(o, guard=o.guard or "round") if o.kind == "counter" else o for o in deps)


def tested(value: Value) -> Origins:
    """What a test of a value depends on: with kept turns, on how many there are and not on what they say.

    Whether anything is in a container depends on nothing where something is for certain, and in a dict not on what
    stands under keys that are not known.
    """
    if truth(value) is not None:
        return ()
    if isinstance(value, Map):
        maybe = (*(e.value for e in value.entries.values()), *containers.spread(value))
        return union(value.order, *(v.origins() for v in maybe))
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
    if not isinstance(values[0], Seq) and _after_a_pause(test):
        values = [values[0].change(_only_then), values[1]]
    if not any(isinstance(v, Seq) for v in values):
        yes, no = values
        return [_update(yes, no, Guard(test)), _update(no, yes, Guard(test, sense=False))]
    for here, there, sense in ((0, 1, False), (1, 0, True)):
        one = retold(values[there]) if _holds_base(values[here]) and not _holds_base(values[there]) else None
        old = values[here]
        if one is not None and isinstance(old, Seq):
            edited = mutations.with_edit(old, replacement(one, (Guard(test, sense),)))
            return [edited, values[1]] if here == 0 else [values[0], edited]
    changes = [{(e.kind, e.span, e.guards) for e in _all_edits(v)} for v in values]
    if not any(changes):
        return values

    def under(value: Value, other: set[tuple[str, Span, tuple[Guard, ...]]], guard: Guard) -> Value:
        def mark(edit: Edit) -> Edit:
            known = (edit.kind, edit.span, edit.guards) in other
            return edit if known else replace(edit, guards=(guard, *edit.guards))

        return _with_edits(value, mark) if isinstance(value, Seq) else value

    return [under(values[0], changes[1], Guard(test)), under(values[1], changes[0], Guard(test, sense=False))]


def _update(value: Value, other: Value, guard: Guard) -> Value:
    """What a step changes in a state, where another way through it gives ``{}`` or ``None``: nothing to be changed."""
    if not isinstance(value, Map) or not is_empty(other):
        return value

    def mark(edit: Edit) -> Edit:
        return replace(edit, guards=(guard, *edit.guards))

    def inner(entry: Entry) -> Lazy:
        return Lazy(lambda: _with_edits(entry.value, mark) if isinstance(entry.value, Seq) else entry.value)

    return value.holding({name: replace(entry, held=inner(entry)) for name, entry in value.entries.items()})


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


def _with_edits(value: Seq, mark: Callable[[Edit], Edit]) -> Seq:
    """The list with every change of old elements as ``mark`` leaves it."""
    items = tuple(
        replace(i, edits=tuple(map(mark, i.edits))) if isinstance(i, (Base, History)) and i.edits else i
        for i in value.items
    )
    return replace(value, items=items, edits=tuple(map(mark, value.edits)))


def under(value: Value, before: Value, guards: tuple[Guard, ...]) -> Value:
    """The value with everything that changes old elements, and did not in ``before``, standing under ``guards``."""
    return _with_new(value, before, lambda e: replace(e, guards=(*guards, *e.guards))) if guards else value


def commanded(value: Value, before: Value) -> Value:
    """The value with everything that changes old elements, and did not in ``before``, done on a command."""
    return _with_new(value, before, lambda e: replace(e, guard=e.guard or "command"))


def _with_new(value: Value, before: Value, mark: Callable[[Edit], Edit]) -> Value:
    """The value with every change of old elements that was not made in ``before`` as ``mark`` leaves it."""
    if not isinstance(value, Seq):
        return value
    known = set(map(id, _all_edits(before)))
    return _with_edits(value, lambda e: e if id(e) in known else mark(e))


def retold(value: Value) -> One | None:
    """The element of a new list that tells what an older one held: made of what the model said."""
    ones = [i for i in value.items if isinstance(i, One)] if isinstance(value, Seq) else []
    if len(ones) > 1 and role_of(ones[-1].value) == "assistant" and role_of(ones[-2].value) == "user":
        ones = ones[:-2]  # a question with its answer: the first turns of another conversation
    return next((i for i in ones if any(map(_tells, i.value.origins()))), None)


def _tells(origin: Origin) -> bool:
    """Whether a text says what was said, and is not only found by it."""
    return origin.kind == "history" or (origin.kind == "reply" and "opaque-call" not in origin.features)


SUMMARY = "replacing the old messages by a summary"


def replacement(one: One, guards: tuple[Guard, ...]) -> Edit:
    return Edit("rewrite", one.span, SUMMARY, guards, value=one.value)


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
        deps = turns_on(test())
        return with_condition(item.value, deps) if deps else item.value

    return Lazy(make)


_CHOOSING = frozenset(("input", "user", "state", "reply"))
_SENT_AS_THEY_ARE = frozenset(("role", "function", "input_schema", "parameters"))
"""Keys of messages and tools, of which the whole is there or not."""


def choosing(tests: Sequence[Value]) -> Origins:
    """What makes a choice another one in the next turn; what is found by what the user says is not what he says."""
    found = union(*(t.origins() for t in tests))
    turns = any(isinstance(o, Seq) and any(isinstance(i, History) for i in o.items) for t in tests for o in options(t))
    if turns or any(o.kind == "history" for o in found):
        return ()  # made of what was said before: the elements themselves say so
    return tuple(
        looked_up(o)
        for o in found
        if o.kind in _CHOOSING and o.axes & {Axis.CALL, Axis.TURN} and SWITCHED not in o.features
    )


def picked(item: Item, tests: Sequence[Value]) -> Item:
    """An element that is there or not: what depends on it depends on what picks it."""
    deps = tuple(looked_up(o) for o in union(*(t.origins() for t in tests)) if o.axes & {Axis.CALL, Axis.TURN})
    return replace(item, held=chosen(item.value, deps)) if deps else item


def chosen(value: Value, deps: Origins) -> Value:
    """A value that is one of several: all of a record depends on ``deps``, but neither a message nor a tool does."""
    if isinstance(value, Map) and not value.entries.keys() & _SENT_AS_THEY_ARE:
        return replace(value, entries={k: replace(e, held=_chosen(e, deps)) for k, e in value.entries.items()})
    if isinstance(value, Seq) and value.kind == "tuple":
        return replace(value, items=tuple(replace(i, held=_chosen(i, deps)) for i in value.items))
    return with_condition(value, deps)


def _tests_of_filling(node: Mutate) -> tuple[Guard, ...]:
    """The tests in the loop that fills a list; what holds where that loop begins, or the list, picks no element."""
    loop = containers._loop_of(node)
    if loop is None:
        return ()
    return tuple(g for g in node.guards if g.test is not None and not any(g is known for known in loop.guards))


def chosen_by(ev: Evaluator, held: Value | Lazy, guards: tuple[Guard, ...], frame: Frame) -> Lazy:
    """What a loop takes only when some tests say so, if it is neither a message nor a tool."""

    def make() -> Value:
        value = held.get() if isinstance(held, Lazy) else held
        if any(isinstance(o, Map) and o.entries.keys() & _SENT_AS_THEY_ARE for o in options(value)):
            return value
        # What a test computes is not looked at, only what it starts from.
        leaves = dict.fromkeys(n for g in guards if g.test is not None for n in _leaves(ev, g.test))
        outside = (n for n in leaves if not _is_of_project(ev, n, frame))
        deps = choosing([ev.eval(n, frame) for n in outside])
        return chosen(value, deps) if deps else value

    return Lazy(make)


def _is_of_project(ev: Evaluator, node: Expr, frame: Frame) -> bool:
    """Whether an attribute is one of an object of the project."""
    return isinstance(node, Attr) and not isinstance(ev.eval(node.base, frame), External)


def _leaves(ev: Evaluator, test: Expr) -> tuple[Expr, ...]:
    """The parameters, and what is read from outside without arguments, that a test is made of."""
    known = ev.leaves.get(test)
    if known is None:
        known = ev.leaves[test] = tuple(_start(test))
    return known


def _start(node: Expr) -> Iterator[Expr]:
    waiting = [node]
    for current in islice(each_once(waiting), MAX_LEAVES):
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
    found = [ev.apply(f, (one,), node, frame) for f in options(key)]
    own = {o.key for part in _besides(one, found) for o in part.origins()}
    return tuple(o for o in choosing([f.change(_as_looked_up) for f in found]) if o.key not in own)


def _besides(element: Value, asked: list[Value]) -> list[Value]:
    """The parts of an element that a key does not give: a rank that stands beside what is ranked is left out later."""
    if isinstance(element, Seq) and element.kind == "tuple" and all(isinstance(i, One) for i in element.items):
        parts = [i.value for i in element.items]
    elif isinstance(element, Map) and not element.rest:
        parts = [entry.value for entry in element.entries.values()]
    else:
        return [element]
    return [part for part in parts if all(part is not value for value in asked)]


def _as_looked_up(origin: Origin) -> Origin:
    """What chooses the set of names that a key asks about, as what is looked up in it."""
    return replace(origin, kind="state") if origin.kind == "conditional" and origin.guard is None else origin


def item_with_condition(item: Item, deps: Origins) -> Item:
    """An element that is another one, or there or not, by ``deps``; it is looked at when somebody reads it."""
    return replace(item, held=Lazy(lambda: with_condition(item.value, deps)))


def with_condition(value: Value, deps: Origins) -> Value:
    if isinstance(value, Hole):
        return replace(value, deps=union(value.deps, deps))
    if isinstance(value, Map):
        return replace(value, order=union(value.order, deps))
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=union(p.deps, deps)) for p in value.pieces))
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return Hole(str(value.value), value.span, deps)  # counted, or not: ``sum(1 for w in words if w in text)``
    return value
