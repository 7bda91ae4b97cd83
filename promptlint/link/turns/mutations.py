"""Changes of lists and dicts in place, as edits of what was sent before where it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Binary,
    Call,
    Comp,
    Concat,
    DictOf,
    Either,
    Element,
    Expr,
    Global,
    Guard,
    Literal,
    Mutate,
    Phi,
    called_name,
    each_once,
    unchanged,
    within,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.frozen import replace
from promptlint.link import conditions, containers
from promptlint.link.joining import join
from promptlint.link.turns import alike, marks, slices, thinking
from promptlint.link.turns.guards import asks_for_partners, asks_of_first, asks_of_system, guard_of
from promptlint.link.turns.messages import SYSTEM_ROLES, role_of
from promptlint.link.values import (
    CALL,
    KEPT_KINDS,
    MAX_GROWTH,
    Base,
    Const,
    Edit,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Many,
    Map,
    One,
    Origin,
    Rest,
    Routine,
    Seq,
    Text,
    Value,
    in_sorted_order,
    options,
    union,
)
from promptlint.request import LAST_EXCHANGE, Axis
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def mutate(ev: Evaluator, node: Mutate, frame: Frame) -> Value:
    base = ev.eval(node.base, frame)
    if node.op in ("append", "add") and node.args and isinstance(base, Seq):
        # What is appended is looked at when somebody asks what is in the list.
        held = ev.lazy(node.args[-1], frame)
        if node.loops and (tests := conditions._tests_of_filling(node)):
            held = conditions.chosen_by(ev, held, tests, frame)
        return _put(base, One(held, ev.span(frame, node), guards=node.guards))
    if node.op == "setitem" and len(node.args) == 2 and isinstance(base, (Map, Hole)):
        key = ev.eval(node.args[0], frame)
        if isinstance(base, Hole) and isinstance(key, Text):
            base = Map({}, base.span, (base,), open=(base.name,))
        if isinstance(base, Map):
            return containers.set_key(base, key, _cell(ev, node, frame), ev.span(frame, node))
    args = tuple(ev.eval(a, frame) for a in node.args)
    return join(_mutate(ev, b, node, args, frame) for b in options(base))


def _cell(ev: Evaluator, node: Mutate, frame: Frame) -> Value | Lazy:
    """What is put under a key: a list that was cut or rewritten there was so under the tests around."""
    held = ev.lazy(node.args[1], frame)
    if not node.guards or not isinstance(held, Lazy):
        return held
    return Lazy(lambda: conditions.under(held.get(), Const(None, ev.span(frame, node)), node.guards))


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
        return _mutate_list(ev, containers.as_seq(ev, base, span), node, args, frame, span)
    if isinstance(base, Hole) and op in ("update", "setdefault"):
        return _mutate_map(Map({}, base.span, (base,), open=(base.name,)), op, args, span)
    return base


def _mutate_map(base: Map, op: str, args: tuple[Value, ...], span: Span) -> Value:
    if op == "setitem":
        return containers.set_key(base, args[0], args[1], span)
    if op == "update":
        result = base
        for other in args:
            result = containers.update(result, other, span)
        return result
    if op == "setdefault" and len(args) == 2:
        name = args[0].literal if isinstance(args[0], Text) else None
        if name is not None and name in base.entries and not base.entries[name].optional:
            return base
        return containers.set_key(base, args[0], args[1], span, certain=not base.rest)
    if op in ("pop", "delitem", "remove") and args:
        name = args[0].literal if isinstance(args[0], Text) else None
        if name is not None:
            return replace(base, entries={k: e for k, e in base.entries.items() if k != name})
        return base
    if op == "clear":
        return Map({}, span)
    if op == "setattr":
        return containers.set_key(base, args[0], args[1], span)
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
        other = containers.as_seq(ev, args[0], span)
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
        fixed = replace(base, order=in_sorted_order(base.order))
        key = next((a for a in args if isinstance(a, Routine)), None)
        call = Call(node.at, node.base, (), (), node.loops, node.guards)
        return conditions.ranked(ev, fixed, key, call, frame) if key is not None else fixed
    if op == "edit":
        return marks.put_on_each(ev, base, _edited(ev, base, node, args, frame, span), node, args[0], frame)
    if op == "setitem" and len(args) == 2:
        return marks.put_on_each(ev, base, _set_item(ev, base, node, args, frame, span), node, args[1], frame)
    return base


def _put(base: Seq, one: One) -> Seq:
    """The list with one more element at its end."""
    if len(base.items) > MAX_GROWTH:
        return base
    keeps = not base.copied and any(isinstance(i, (History, Rest, Base)) for i in base.items)
    if keeps and any(e.alike for e in base.edits) and one.value.origins():
        base = replace(base, edits=_left_out(base.edits))
    return replace(base, items=(*map(_passed_by, base.items), one))


def _passed_by(item: Item) -> Item:
    if isinstance(item, Base) and item.edits:
        return replace(item, edits=_left_out(item.edits))
    if isinstance(item, History) and any(e.alike for e in item.edits):
        # Of a change that was also made at an earlier send, this one does not say any more that it is none.
        earlier = {e.span for e in item.edits if not e.alike}
        return replace(item, edits=tuple(e for e in item.edits if not (e.alike and e.span in earlier)))
    return item


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
        # Somewhere in the middle: taken to be in front of the newest element, where that is known.
        where = len(base.items) - (1 if base.items and isinstance(base.items[-1], One) else 0)
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
        # The next copy has it again, and the same one is taken off.
        once = bool(base.copied) and not isinstance(unchanged(node.base), Phi)
        leading = base.items[: where + 1]
        if (
            len(leading) > where
            and all(isinstance(i, One) and not i.optional for i in leading)
            and len(base.items) > where
        ):
            # A known element in front, put there in this evaluation.
            items = list(base.items)
            removed = items.pop(where)
            if once or (isinstance(removed, One) and removed.inserted is not None):
                return replace(base, items=tuple(items))
        if once or slices.is_content(node.base):
            return base
        loop, inner = containers._loop_of(node), node.base.state if isinstance(node.base, Phi) else None
        tests = [*(g.test for g in node.guards), *(state.test for state in (loop, inner) if state is not None)]
        if where == 0 and asks_of_first(t for t in tests if t is not None):
            return base
        if _is_result(ev, node, frame):
            return base
        edit = Edit("window", span, ev.snippet(frame, node.at), node.guards)
        return with_edit(base, edit)
    return base


def _is_result(ev: Evaluator, node: Mutate, frame: Frame) -> bool:
    """Whether a function takes an element off a list to return it: one by one, the list is read."""
    waiting = list(ev.summary(frame.function).returns)
    for made in each_once(waiting):
        if isinstance(made, Either):
            waiting.extend(made.options)
        elif isinstance(made, Call) and made.at == node.at:
            return True
    return False


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
        put = containers.as_seq(ev, args[2], span)
        items = (replace(i, guards=(*node.guards, *i.guards)) if isinstance(i, One) else i for i in put.items)
        return replace(put, items=tuple(items)) if node.guards else put
    if node.op == "setslice" and (node.args[0] is node.args[1] or (low == high and isinstance(low, int))):
        edit = Edit("prepend", span, ev.snippet(frame, node.at), node.guards)
        for item in reversed(containers.as_seq(ev, args[2], span).items):  # x[i:i] = ... takes nothing away
            base = _insert(base, One(item.value, item.span, guards=node.guards), lower, replace(edit, value=item.value))
        return base
    if not _kept(base.items):
        return base
    if node.op == "delslice" and high is None:
        if isinstance(low, int) and low >= 0:
            return replace(base, items=tuple(i for i in base.items if isinstance(i, (One, Base))))
        if low is not None:
            return base  # the newest go (an undo, an edit of the last question): what stays was sent as it is
    keeps = -high if isinstance(high, int) and high < 0 else None
    kind = "window" if node.op == "delslice" else "rewrite"
    drops = high if isinstance(high, int) and high > 0 and low in (None, 0) else None
    return with_edit(base, Edit(kind, span, ev.snippet(frame, node.at), node.guards, keeps, drops=drops))


def _edited(ev: Evaluator, base: Seq, node: Mutate, args: tuple[Value, ...], frame: Frame, span: Span) -> Value:
    """``for m in base: m[...] = ...``: elements change in place."""
    change = node.args[0]
    if isinstance(change, After):
        taken_off = Edit("unmark", span, ev.snippet(frame, node.at), node.guards)
        return with_edit(marks.bare(base), taken_off) if marks.call_removes(ev, change, frame) else base
    if marks.changes_only(ev, change, frame):
        items = []
        for i in base.items:
            value = i.value
            marked = marks.copied(value, args[0])
            items.append(replace(i, held=marked) if marked is not None else i)
        unmarked = replace(base, items=tuple(items))
        if marks.removes(change):
            return with_edit(marks.bare(unmarked), Edit("unmark", span, ev.snippet(frame, node.at), node.guards))
        return unmarked
    if not _kept(base.items):
        if len(base.items) and isinstance(args[0], Map):
            return replace(base, items=tuple(replace(i, held=join((i.value, args[0]))) for i in base.items))
        return base
    if _adds_to_system(ev, node, change, frame):
        return base
    guards = change.guards if isinstance(change, Mutate) else node.guards
    if alike.is_newest(change.base if isinstance(change, Mutate) else change, ev.summary(frame.function).loops):
        return base
    kind = thinking.EDIT if thinking.removes(change) or thinking.taken_out(args[0]) else "rewrite"
    same = alike.every_element(change, ev.summary(frame.function).loops)
    step = None if same else alike.rounded_to(change)
    sizes = options(ev.eval(step, frame)) if step is not None else ()
    seldom = bool(sizes) and all(isinstance(s, Const) and isinstance(s.value, int) and s.value > 1 for s in sizes)
    what = ev.snippet(frame, node.at)
    guard = "threshold" if seldom else None
    return with_edit(base, Edit(kind, span, what, guards, value=args[0], guard=guard, alike=same))


def _decorates(ev: Evaluator, base: Seq, node: Mutate, where: int, value: Value, frame: Frame) -> bool:
    """Whether the newest element changes in a copy of a kept list only: a shallow copy shares what changes in place."""
    change = node.args[1]
    alone = base.copied == "deep" or (base.copied == "shallow" and not isinstance(change, Mutate))
    if not alone or where != -1 or not _kept(base.items) or marks.holds_marker(value):
        return False
    return not (isinstance(change, Mutate) and marks.changes_only(ev, change, frame))


def _is_made_of_itself(node: Mutate) -> bool:
    """Whether ``x[0] = f(x[0])``, with a function that is handed nothing else."""
    new, old = node.args[1], unchanged(node.base)
    given = (*new.args, *(v for _, v in new.keywords)) if isinstance(new, Call) else ()
    return bool(given) and all(
        isinstance(a, ItemOf) and isinstance(a.key, Literal) and a.key.value == 0 and unchanged(a.base) is old
        for a in given
    )


def _is_index_of_system(index: Expr) -> bool:
    """Whether a loop looks for the system text among the messages, and leaves at it."""
    sought = index.phi.state.steps.get(index.phi.name) if isinstance(index, AfterLoop) else None
    tests = [sought.test] if isinstance(sought, Either) and sought.test is not None else []
    return asks_of_system(Guard(test, True) for test in tests)


def _adds_the_same(ev: Evaluator, node: Mutate, frame: Frame) -> bool:
    """Whether ``x[i]["content"] = x[i]["content"] + more``, with more of the same at every send."""
    new = node.args[1]
    if not (isinstance(new, Mutate) and new.op == "setitem" and not isinstance(new.base, Mutate)):
        return False
    parts = list(_pieces(new.args[1]))
    held = [p for p in parts if isinstance(p, ItemOf) and isinstance(p.base, ItemOf)]
    found = any(isinstance(p.base, ItemOf) and alike.same_place(p.base.base, node.base) for p in held)
    return found and _says_the_same(ev, [p for p in parts if p not in held], frame)


def _pieces(text: Expr) -> Iterator[Expr]:
    """What a text is put together of, whichever way its tests go."""
    waiting = [text]
    for part in each_once(waiting):
        if isinstance(part, Either):
            waiting.extend(part.options)
        elif isinstance(part, Concat):
            waiting.extend(part.parts)
        elif isinstance(part, Binary) and part.op == "+":
            waiting += (part.left, part.right)
        else:
            yield part


def _says_the_same(ev: Evaluator, parts: list[Expr], frame: Frame) -> bool:
    """Whether nothing in some expressions is known to be other from one send to the next."""
    return not any(map(_is_made_anew, ev.origins(parts, frame)))


def _is_made_anew(origin: Origin) -> bool:
    """Whether each send makes another value of an origin.

    What code that is not looked into makes of a parameter may be the same; what it looks up for a turn is another one.
    """
    known = origin.kind != "input" or "opaque-call" not in origin.features
    varies = origin.level >= CALL and known
    return origin.grain is not None or (varies and bool(origin.axes & {Axis.CALL, Axis.TURN}))


def _adds_to_system(ev: Evaluator, node: Mutate, change: Expr, frame: Frame) -> bool:
    """Whether more of the same is added, at each send, to the system text among copies of the messages."""
    if not isinstance(change, Mutate) or change.op != "setitem" or not asks_of_system(change.guards):
        return False
    key = change.args[0]
    parts = list(_pieces(change.args[1]))
    held = [p for p in parts if isinstance(key, Literal) and alike.reads(p, str(key.value))]
    return bool(held) and _are_copies(node.base) and _says_the_same(ev, [p for p in parts if p not in held], frame)


def _are_copies(messages: Expr) -> bool:
    """``[dict(m) for m in messages]``, whatever was done to that list since."""
    made = unchanged(messages)
    while isinstance(made, Mutate):
        made = unchanged(made.base)
    one = made.element if isinstance(made, Comp) else None
    if isinstance(one, Call):
        return called_name(one) in ("dict", "copy", "deepcopy")
    return isinstance(one, DictOf) and any(k is None and isinstance(v, Element) for k, v in one.items)


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
            if not isinstance(node.args[1], After) and _decorates(ev, base, node, where, value, frame):
                edit = Edit("decorate", span, ev.snippet(frame, node.at), node.guards)
                return replace(changed, edits=(*changed.edits, edit))
            return changed
    if isinstance(node.args[1], After):
        return base  # handed to a call, which need not change it
    if marks.is_copy(node) or (isinstance(node.args[1], Mutate) and marks.changes_only(ev, node.args[1], frame)):
        if where == -1 and base.items:
            last = base.items[-1]
            if isinstance(last, (History, Many)):
                return replace(base, items=(*base.items, One(value, span)))  # the newest one alone
            return replace(base, items=(*base.items[:-1], replace(last, held=join((last.value, value)))))
        return with_edit(base, Edit("mark", span, ev.snippet(frame, node.at), node.guards))
    if (where is not None and -LAST_EXCHANGE <= where < 0) or alike.is_newest(
        node.args[0], ev.summary(frame.function).loops
    ):
        # The newest element, not sent yet on the usual path, or a question that is asked anew: little stands behind it.
        return base
    if not _kept(base.items):
        return base
    if where == 0 and _is_made_of_itself(node):
        return base  # the same place at every send, and the same made of it
    if (where == 0 or _is_index_of_system(node.args[0])) and _adds_the_same(ev, node, frame):
        return base
    system = asks_of_system(node.guards) and _is_set_anew(ev, node, frame)
    if system and not any(o.level >= CALL for o in value.origins()):
        return base  # the system text, wherever it stands, in the same words at every send
    if where == 0 and not any(isinstance(i, Base) for i in base.items) and _is_set_anew(ev, node, frame):
        # The same place at every send: what stands there changes when the value does.
        return replace(base, items=(One(value, span, guards=node.guards), *base.items))
    same = alike.every_index(node, ev.summary(frame.function).loops)
    repaired = _changes_only(node.args[1], _CALLS) and asks_for_partners(node.guards)
    guard = "error" if repaired else None
    edit = Edit("rewrite", span, ev.snippet(frame, node.at), node.guards, value=value, guard=guard, alike=same)
    anew = where == 0 and (_is_clocked(value) or (_is_system_text(value) and _adds_a_turn_behind(ev, node, frame)))
    if anew and guard_of(ev, node.guards, frame.function)[0] == "always":
        edit = replace(edit, first=True)
    return with_edit(base, edit)


MAX_LEFT = 200
"""Nodes that are looked at of what a body leaves."""
_CALLS = frozenset(("tool_calls", "toolCalls", "function_call"))
"""Keys of a message under which the calls of tools stand."""


def _changes_only(new: Expr, keys: frozenset[str]) -> bool:
    """Whether a message is what it was but for these fields, on each way."""
    if isinstance(new, Either):
        return all(_changes_only(way, keys) for way in new.options)
    changed = False
    while isinstance(new, Mutate) and new.op in ("setitem", "pop", "delitem") and new.args:
        key = new.args[0]
        if not isinstance(key, Literal) or key.value not in keys:
            return False
        new, changed = new.base, True
    return changed and not isinstance(new, Mutate)


def _is_system_text(value: Value) -> bool:
    role = value.entries.get("role") if isinstance(value, Map) else None
    return role is not None and not role.optional and role_of(value) in SYSTEM_ROLES


def _adds_a_turn_behind(ev: Evaluator, node: Mutate, frame: Frame) -> bool:
    """Whether the body that changes a list adds a turn to it then: so the change is made for each turn."""
    left = within(ev.summary(frame.function).exit.values(), MAX_LEFT)
    added = (n.base for n in left if isinstance(n, Mutate) and n.op == "append")
    return any(n is node for base in added for n in within((base,), MAX_LEFT))


def _is_clocked(value: Value) -> bool:
    """Whether a message, that may be the system text, holds what is another value at every send by itself."""
    speaker = (
        None
        if isinstance(value, Map) and "role" in value.entries and value.entries["role"].optional
        else role_of(value)
    )
    fresh = any(o.kind in ("time", "random") and o.level >= CALL for o in value.origins())
    return fresh and speaker in (None, "", *SYSTEM_ROLES)
