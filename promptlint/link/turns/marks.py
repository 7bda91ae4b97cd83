"""Cache markers that code puts on messages, or takes off them, where they stand in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    Call,
    Comp,
    DictOf,
    Either,
    Element,
    Expr,
    Literal,
    Mutate,
    SeqOf,
    Star,
    Test,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.frozen import replace
from promptlint.link.joining import join
from promptlint.link.turns import alike
from promptlint.link.turns.guards import asks_of_system
from promptlint.link.turns.messages import role_of
from promptlint.link.values import (
    MARKED_EACH,
    MARKERS,
    Base,
    Choice,
    Edit,
    History,
    Item,
    Map,
    Routine,
    Seq,
    Text,
    Value,
    is_marked,
    only,
    options,
    truth,
)

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def put_on_each(ev: Evaluator, before: Seq, after: Value, node: Mutate, new: Value, frame: Frame) -> Value:
    """A list after a change in place, with the markers that the change puts on each element, or each of a role.

    How many there are is not known where the elements are those of a conversation, and none is the newest alone.
    ``new`` is what an element is then. Where the change may be made to a few elements only, nothing is added.
    """
    if not isinstance(after, Seq) or not holds_marker(new) or not any(isinstance(i, History) for i in before.items):
        return after
    loops = ev.summary(frame.function).loops
    if node.op == "edit":
        tests = alike.tests_of_each(node.args[0], loops)
    else:
        over = node.args[0].of if isinstance(node.args[0], Element) else node.args[0]
        tests = alike.tests_of_indices(node, _way_taken(ev, over, frame), loops)
    if tests is None or asks_of_system(tests):
        return after
    roles = {role for test in tests if (role := alike.role_asked(test)) is not None}
    edit = Edit(MARKED_EACH, ev.span(frame, node), ev.snippet(frame, node.at), node.guards)
    items = (_marked(item, new, roles, edit) for item in after.items)
    return replace(after, items=tuple(items), edits=_left_on(after.edits))


def _marked(item: Item, new: Value, roles: set[str], edit: Edit) -> Item:
    if isinstance(item, Base):
        return replace(item, edits=_left_on(item.edits))
    if not isinstance(item, History):
        return item
    held = join([_with_marks(option, new, roles) for option in options(item.value)])
    return replace(item, held=held, edits=(*_left_on(item.edits), edit))


def _with_marks(old: Value, new: Value, roles: set[str]) -> Value:
    """A message with what is marked in another: itself, or its content. Those of another role stay as they are."""
    if not isinstance(old, Map) or (roles and role_of(old) not in (*roles, "")):
        return old
    entries = dict(old.entries)
    made = [o for o in options(new) if isinstance(o, Map)]
    for key in dict.fromkeys(k for o in made for k in o.entries):
        held = [o.entries[key] for o in made if key in o.entries]
        if key in MARKERS or any(holds_marker(e.value) for e in held):
            entries[key] = replace(held[0], held=join([e.value for e in held]))
    return old.holding(entries)


def _way_taken(ev: Evaluator, node: Expr, frame: Frame) -> Expr:
    """What a choice stands for where its test is certain."""
    while isinstance(node, Either) and node.test is not None:
        certain = truth(ev.eval(node.test, frame))
        if certain is None:
            break
        node = node.options[0 if certain else -1]
    return node


def _left_on(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits without those that took markers off which are on again."""
    return tuple(e for e in edits if e.kind != "unmark")


def copied(old: Value, new: Value) -> Value | None:
    """A message with the markers of another that stand at the message itself."""
    if isinstance(old, Map) and isinstance(new, Map):
        marks = {key: entry for key, entry in new.entries.items() if key in MARKERS}
        return old.holding({**old.entries, **marks})
    return None


def bare(base: Seq) -> Seq:
    """The sequence with all cache markers taken off its elements."""
    return replace(base, items=tuple(replace(i, held=_without_markers(i.value)) for i in base.items))


def _without_markers(value: Value) -> Value:
    if isinstance(value, Map):
        kept = {k: replace(e, held=_without_markers(e.value)) for k, e in value.entries.items() if k not in MARKERS}
        return value.holding(kept)
    if isinstance(value, Seq):
        return bare(value)
    if isinstance(value, Choice):
        return Choice(tuple(_without_markers(o) for o in value.options))
    return value


def removes(change: Expr) -> bool:
    """Whether a chain of changes in place, known to concern markers only, takes them off without setting any."""
    while isinstance(change, Mutate):
        if change.op == "edit" or (change.op == "setitem" and isinstance(change.args[1], Mutate)):
            change = change.args[-1]
        elif change.op in ("pop", "delitem"):
            change = change.base
        else:
            return False
    return True


def call_removes(ev: Evaluator, node: After, frame: Frame) -> bool:
    """Whether a call does nothing to what it is handed but to take markers off."""
    routine = only(ev.eval(node.call.func, frame), Routine)
    name = routine.given_as(node.argument) if routine is not None else None
    if routine is None or name is None:
        return False
    left = ev.summary(routine.function).exit.get(name)
    return isinstance(left, Mutate) and changes_only(ev, left, ev.generic(routine.function)) and removes(left)


def changes_only(ev: Evaluator, change: Expr, frame: Frame) -> bool:
    """Whether a chain of in-place changes sets or removes nothing but cache markers."""
    for _ in range(12):
        if not isinstance(change, Mutate) or is_copy(change):
            return True
        if change.op in ("setitem", "pop", "delitem", "setdefault") and change.args:
            key = ev.eval(change.args[0], frame)
            name = key.literal if isinstance(key, Text) else None
            if name in MARKERS:
                change = change.base
                continue
            if change.op == "setitem" and isinstance(change.args[1], Mutate):
                return changes_only(ev, change.args[1], frame)
            return change.op == "setitem" and name is not None and _only_marks(change.args[1], name)
        if change.op == "edit":
            return changes_only(ev, change.args[0], frame)
        if change.op == "append" and _is_marker_block(change.args[-1]):
            change = change.base
            continue
        return False
    return False


def is_copy(change: Mutate) -> bool:
    """Whether ``x[i] = {**x[i], "cache_control": ...}``."""
    new = change.args[1] if change.op == "setitem" else None
    if not isinstance(new, DictOf) or not new.items:
        return False
    (spread, old), *added = new.items
    if spread is not None or not isinstance(old, ItemOf) or not alike.same_place(old.base, change.base):
        return False
    return alike.same_key(old.key, change.args[0]) and all(_is_key(key) for key, _ in added)


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
        wrapped = all(_is_key(k) or alike.reads(v, key) for k, v in held)
        return wrapped and all(isinstance(i, (DictOf, Star)) for i in rest)
    return False


def _marks(block: DictOf) -> bool:
    return any(_is_key(k) for k, _ in block.items)


def _is_key(node: Expr | None) -> bool:
    return isinstance(node, Literal) and node.value in MARKERS


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


def holds_marker(value: Value, depth: int = 0) -> bool:
    for option in options(value) if depth < 4 else ():
        if isinstance(option, Map):
            if is_marked(option) or any(holds_marker(e.value, depth + 1) for e in option.entries.values()):
                return True
        elif isinstance(option, Seq) and any(holds_marker(i.value, depth + 1) for i in option.items):
            return True
    return False
