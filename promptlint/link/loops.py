"""Loops: what a variable holds at their head and behind them; known elements one by one, unknown as a template."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from promptlint.code import syntax
from promptlint.code.expression import (
    OUTER,
    After,
    AfterLoop,
    Attr,
    Clause,
    Comp,
    Either,
    Element,
    Expr,
    Free,
    Global,
    Guard,
    Literal,
    LoopState,
    Mutate,
    Param,
    Phi,
    Summary,
    Test,
    begun_as,
    each_once,
)
from promptlint.frozen import record, replace
from promptlint.link import conditions, containers
from promptlint.link.joining import join
from promptlint.link.texts import strings
from promptlint.link.turns import aged, fills, filters, growth, mutations, slices, thinking
from promptlint.link.turns.messages import SYSTEM_ROLES, role_of
from promptlint.link.values import (
    Base,
    Choice,
    Const,
    Edit,
    Entry,
    External,
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
    Seq,
    Text,
    Type,
    Value,
    as_it_was,
    listed,
    of_grown,
    options,
    possible_texts,
    stored,
    truth,
    union,
)
from promptlint.request import Axis, Carrier
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


MAX_UNROLL = 40
MAX_UNSURE = 12
"""Elements that may or may not be there which are looked at one by one; beyond it, one of each place in the code."""
MAX_COUNTED = 4
"""Iterations of a loop that only counts which are looked at one by one; more of them are a loop like any other."""
KEPT = (Text, Const, Instance, Routine, Type, External)
"""What a call that is handed it leaves as it is, as far as the value of the variable shows."""
COUNTER = "builtins.int"
"""Type of the holes that ``range`` and ``enumerate`` give."""
MAX_NESTING = 4
"""Depth to which the parts of a loop variable are followed."""
_CONTENT = ("content", "text", "parts", "output")
"""Keys of a message under which its text stands."""


@record(frozen=True, slots=True)
class Binding:
    """One iteration of a loop: its element, and the carried variables at its head."""

    element: Value | None = None
    carried: dict[str, Value] = field(default_factory=dict)
    order: Origins = ()


def element(ev: Evaluator, node: Element, frame: Frame) -> Value:
    """The loop variable: of the iteration that is looked at, or of any."""
    binding = frame.bindings.get(node.loop)
    if binding is not None and binding.element is not None:
        return binding.element
    sequence = containers.as_seq(ev, ev.eval(node.of, frame), ev.span(frame, node))
    value = any_element(sequence, ev.span(frame, node), ev.snippet(frame, node.at))
    if node.loop not in frame.path_loops or (sequence.known and len(sequence.items) == 1):
        return value
    # The loop that sends: its variable differs from one request to the next.
    state = ev.loop_state(frame, node.loop)
    level = frame.level_at(state.around if state is not None else (node.loop,))
    name, span = ev.snippet(frame, node.at), ev.span(frame, node)
    return _varied(value, _iterated(name, span, level), name, span)


def _iterated(name: str, span: Span, level: int) -> Origin:
    axes, what = frozenset({Axis.CALL}), f"the loop variable {name}"
    return Origin("loop", what, span, level, axes, carrier=Carrier.LOOP_VARIABLE, name=name)


def _varied(value: Value, origin: Origin, name: str, span: Span, depth: int = 0) -> Value:
    """A value of which each iteration has another one."""
    if isinstance(value, Choice):
        if all(isinstance(o, Const) for o in value.options):
            numbers = all(isinstance(o, Const) and isinstance(o.value, int) for o in value.options)
            return Hole(name, span, (_counting(origin) if numbers else origin,))
        return Choice(tuple(_varied(o, origin, name, span, depth) for o in value.options))
    if isinstance(value, Hole):
        return replace(value, deps=union(value.deps, (_counting(origin) if value.type == COUNTER else origin,)))
    if isinstance(value, Text):
        return Text(tuple(p.with_deps(union(p.deps, (origin,))) for p in value.pieces))
    if depth > MAX_NESTING:
        return value

    def inner(part: Item | Entry) -> Lazy:
        return Lazy(lambda: _varied(part.value, origin, name, span, depth + 1))

    if isinstance(value, Map):
        return replace(value, entries={k: replace(e, held=inner(e)) for k, e in value.entries.items()})
    if isinstance(value, Seq) and value.kind == "tuple":
        return replace(value, items=tuple(replace(i, held=inner(i)) for i in value.items))
    return value


def _counting(origin: Origin) -> Origin:
    """A loop variable as the number that it is."""
    axes = origin.axes | {Axis.TURN}
    return replace(origin, kind="counter", what=f"the counter {origin.name}", axes=axes, carrier=Carrier.COUNTER)


def any_element(sequence: Seq, span: Span, name: str) -> Value:
    """An arbitrary element of a sequence."""
    values = [_taken(i, span) for i in sequence.items if not isinstance(i, (Rest, Base))]
    rests = [i.value for i in sequence.items if isinstance(i, Rest)]
    values += [_any_of_rest(r, span, name) for r in rests]
    if any(isinstance(i, Base) for i in sequence.items):
        values.append(Hole(name, span, sequence.order, features=frozenset({"base"})))
    if not values:
        return Hole(name, span, sequence.order)
    if len(values) > MAX_UNROLL:
        values = values[:MAX_UNROLL]
    return join(values)


def first_element(sequence: Seq, span: Span, name: str) -> Value:
    """The first element of a sequence: of turns that are kept the same one each time, unless they are cut.

    One of elements that are made anew each time is another one whenever what they are made of is.
    """
    front: list[Item] = []
    for item in sequence.items:
        front.append(item)
        if isinstance(item, One) and (not item.optional or role_of(item.value) in SYSTEM_ROLES):
            break
    system = [turn for i in front for turn in options(i.value) if role_of(turn) in SYSTEM_ROLES]
    if system:
        return join(system)  # no turn is said before it
    edits = [e for i in front if isinstance(i, (History, Base)) for e in i.edits]
    if any(isinstance(i, Base) for i in front) or any(e.kind == "window" for e in (*sequence.edits, *edits)):
        return any_element(sequence, span, name)
    kept = replace(sequence, items=tuple(i for i in front if isinstance(i, History)))
    made = replace(sequence, items=tuple(i for i in front if not isinstance(i, (One, History))))
    values = [i.value for i in front if isinstance(i, One)]
    if kept.items:
        values.append(any_element(kept, span, name).change(lambda o: o if o.kind == "state" else as_it_was(o)))
    if made.items:
        values.append(any_element(made, span, name))
    return join(values) if values else any_element(sequence, span, name)


def _any_of_rest(rest: Value, span: Span, name: str) -> Hole:
    """One of the elements of which nothing is known but what all of them depend on."""
    if not isinstance(rest, Hole):
        return Hole(name, span, rest.origins())
    return Hole(name, span, rest.deps, COUNTER if rest.type == COUNTER else None, rest.root)


def _taken(item: Item, span: Span) -> Value:
    """What an element of a sequence is when it is read at ``span``."""
    if not isinstance(item, History):
        return item.value
    # What is made of kept turns changes with every turn that is added.
    origin = Origin("history", "the conversation so far", span, item.level, frozenset({Axis.CALL, Axis.TURN}))
    value, grows = stored(item.value), of_grown(item)
    told = tuple(_of_list(o, grows[0]) if grows else _told(o, origin) for o in options(value))
    return Choice(told) if isinstance(value, Choice) else told[0]


def _of_list(text: Value, origin: Origin) -> Value:
    """A text out of a list that grows."""
    if isinstance(text, External):
        return Hole(text.name.removeprefix("."), text.span, (origin,))
    return _by_turns(text, origin)


def _told(turn: Value, origin: Origin) -> Value:
    """A kept turn whose text depends on ``origin``, unless it may be the system text."""
    role = turn.entries.get("role") if isinstance(turn, Map) else None
    roles = possible_texts(role.value) if role is not None else None
    if not isinstance(turn, Map) or roles is None or roles & SYSTEM_ROLES:
        return turn

    def inner(entry: Entry) -> Lazy:
        return Lazy(lambda: _by_turns(entry.value, origin))

    return replace(
        turn, entries={k: replace(e, held=inner(e)) if k in _CONTENT else e for k, e in turn.entries.items()}
    )


def _by_turns(value: Value, origin: Origin) -> Value:
    """The text of a kept turn: that turns are added says more than what is said in them."""
    if isinstance(value, Text):
        return Text(tuple(p.with_deps(union((origin,), p.deps)) for p in value.pieces))
    if isinstance(value, Hole):
        return replace(value, deps=union((origin,), value.deps))
    return Choice(tuple(_by_turns(o, origin) for o in value.options)) if isinstance(value, Choice) else value


def settled(value: Value, made_by: Summary) -> Value:
    """A list as it is once the function that filled it in a loop has returned it: it grows no more."""
    if isinstance(value, Seq) and value.kind == "tuple":
        each = (replace(i, held=Lazy(lambda i=i: settled(i.value, made_by))) for i in value.items)  # type: ignore[misc]
        return replace(value, items=tuple(each))
    if not isinstance(value, Seq) or not any(_is_filled_in(item, made_by) for item in value.items):
        return value
    items = (Many(i.held, i.span, True) if _is_filled_in(i, made_by) else i for i in value.items)
    return replace(value, items=tuple(items))


def _is_filled_in(item: Item, body: Summary) -> bool:
    return isinstance(item, History) and isinstance(item.root, Phi) and item.root.loop in body.loops


def made_here(value: Value, span: Span) -> Value:
    """What a call at ``span`` makes of the kept turns that it is given: to its caller, that call is where it varies."""
    if isinstance(value, Choice):
        return Choice(tuple(made_here(o, span) for o in value.options))
    if isinstance(value, Map):
        held = {k: replace(e, held=Lazy(lambda e=e: made_here(e.value, span))) for k, e in value.entries.items()}  # type: ignore[misc]
        return value.holding(held)
    if isinstance(value, Text):
        return Text(
            tuple(
                replace(p, span=span, deps=_from_turns(p.deps, span)) if _is_told(p.deps) else p for p in value.pieces
            )
        )
    if isinstance(value, Seq) and all(
        isinstance(i, (One, Many)) and isinstance(i.value, (Text, Hole)) for i in value.items
    ):
        told = [i for i in value.items if _is_told(i.value.origins())]
        return replace(
            value,
            items=tuple(replace(i, held=made_here(i.value, span), span=span) if i in told else i for i in value.items),
        )
    if isinstance(value, Hole) and _is_told(value.deps):
        return replace(value, span=span, deps=_from_turns(value.deps, span))
    return value


def _is_told(deps: Origins) -> bool:
    return any(o.kind == "history" for o in deps)


def _from_turns(deps: Origins, span: Span) -> Origins:
    return tuple(replace(o, span=span, steps=()) if o.kind == "history" else o for o in deps)


def _bind(frame: Frame, loop: int, value: Value | None, carried: dict[str, Value] | None = None) -> Frame:
    return frame.bind(loop, Binding(value, carried or {}))


def comprehension(ev: Evaluator, node: Comp, frame: Frame) -> Value:
    span = ev.span(frame, node)

    def made_of_one(inner: Frame) -> list[Item]:
        if node.value is not None:
            pair = (One(ev.eval(node.element, inner), span), One(ev.eval(node.value, inner), span))
            return [One(Seq("tuple", pair, span), span)]
        return [One(ev.eval(node.element, inner), ev.span(inner, node.element))]

    items, order = _each(ev, node.clauses, made_of_one, frame, span)
    if node.kind == "dict":
        result = Map({}, span, order=order)
        for item in items:
            pair = item.value
            if not isinstance(pair, Seq) or len(pair.items) != 2:  # kept elements: their keys are not known
                result = replace(result, rest=(*result.rest, pair))
                continue
            key, value = pair.items[0].value, pair.items[1].value
            result = containers.set_key(result, key, value, span, certain=isinstance(item, One) and not item.optional)
        return result
    if node.kind == "set":
        order = union(order, containers.hash_order(ev, frame, node.at))
    edits = containers.as_seq(ev, ev.eval(node.clauses[0][1], frame), span).edits
    if slices.is_content(node.clauses[0][1]) and any(map(_leaves_out, node.clauses[0][2])):
        edits = (*edits, Edit(LEFT_OUT, span, ev.snippet(frame, node.at)))
    if any(thinking.drops(test) for _, _, tests in node.clauses for test in tests):
        edits = (*edits, Edit(thinking.EDIT, span, ev.snippet(frame, node.at)))
    made = Seq(node.kind, tuple(items), span, order, edits, copied="shallow")
    return _with_aged(ev, made, aged.of_comprehension(node), frame)


LEFT_OUT = "leave-out"
"""Kind of the edit of a list of blocks of which some types are left out."""
_MEDIA = frozenset(
    ("text", "image", "image_url", "input_image", "document", "file", "input_file", "tool_result", "tool_use", "audio")
)
"""Types of blocks of a message."""


def _leaves_out(test: Expr) -> bool:
    """Whether a test tells the blocks of a message by their type."""
    return isinstance(test, Test) and any(isinstance(p, Literal) and p.value in _MEDIA for p in test.parts[1:])


def _with_aged(ev: Evaluator, made: Seq, changed: Expr | None, frame: Frame, guards: tuple[Guard, ...] = ()) -> Seq:
    """A rebuilt list with the note that turns are changed in it once they are old."""
    if changed is None:
        return made
    span = ev.span(frame, changed)
    # What is kept in that form was seen element by element.
    known = (e for i in made.items if isinstance(i, (Base, History)) for e in i.edits)
    if any(e.kind == "rewrite" and span.line <= e.span.line <= span.end_line for e in known):
        return made
    return mutations.with_edit(made, Edit("rewrite", span, ev.snippet(frame, changed.at), guards))


def filled(
    ev: Evaluator,
    before: Seq,
    clauses: Sequence[Clause],
    add: Callable[[Frame], list[Item]],
    frame: Frame,
    span: Span,
) -> Seq:
    """A list to which each round of the loops of ``clauses`` adds elements."""
    items, order = _each(ev, clauses, add, frame, span)
    edits = (*before.edits, *containers.as_seq(ev, ev.eval(clauses[0][1], frame), span).edits)
    return replace(before, items=(*before.items, *items), order=union(before.order, order), edits=edits)


def _each(
    ev: Evaluator, clauses: Sequence[Clause], make: Callable[[Frame], list[Item]], frame: Frame, span: Span
) -> tuple[list[Item], Origins]:
    """What is made in each round of some loops, one inside the other, and what its order depends on."""
    if not clauses:
        return make(frame), ()
    loop, iterable, tests = clauses[0]
    source = ev.eval(iterable, frame)
    sequence = containers.as_seq(ev, source, span)
    result: list[Item] = []
    order = listed(sequence.order, span)
    whole = all(isinstance(part, (Attr, Global, Param, Free)) for part in begun_as(iterable))
    if not sequence.items and not isinstance(source, Seq):
        sequence = replace(sequence, items=(Rest(source, span),))
    for item in sequence.items:
        if isinstance(item, Base):
            passed, _ = _each(ev, clauses[1:], make, _bind(frame, loop, item.value), span)
            result.append(_as_part_of(item, passed[0], whole=whole) if len(passed) == 1 else item)
            continue
        value = _taken(item, span)
        if isinstance(item, Rest):
            value = any_element(replace(sequence, items=(item,)), span, ev.snippet(frame, iterable.at))
        if tests and isinstance(value, Choice):
            passing = [o for o in value.options if _tests(ev, tests, _bind(frame, loop, o)) is not None]
            if not passing:
                continue
            value = passing[0] if len(passing) == 1 else Choice(tuple(passing))
        child = _bind(frame, loop, value)
        open_tests = _tests(ev, tests, child)
        if open_tests is None:
            continue
        inner, inner_order = _each(ev, clauses[1:], make, child, span)
        order = union(order, inner_order)
        for made in inner:
            if open_tests and not isinstance(item, History):
                made = conditions.picked(made, open_tests)
            part = _as_part_of(item, made, bool(open_tests), whole)
            if open_tests and isinstance(part, History) and (cut := filters.cut(ev, clauses[0], child)) is not None:
                part = replace(part, edits=(*part.edits, cut))
            result.append(part)
    return result, order


def _tests(ev: Evaluator, tests: tuple[Expr, ...], frame: Frame) -> list[Value] | None:
    """The outcomes of the conditions that are not certain; ``None`` when one is certainly false."""
    values = [ev.eval(test, frame) for test in tests]
    if any(truth(value) is False for value in values):
        return None
    return [value for value in values if truth(value) is None]


def _as_part_of(item: Item, made: Item, filtered: bool = False, whole: bool = False) -> Item:
    """What one element of the source became, with how often the source holds it.

    Old elements are as they were, or shortened or masked. A loop that goes through the ``whole`` of what is kept makes
    them alike again before they are sent: a change that kept elements had before is none then.
    """
    if isinstance(item, One):
        if isinstance(made, One) and item.inserted is not None:
            made = replace(made, inserted=item.inserted)
        return replace(made, optional=made.optional or item.optional or filtered)
    if isinstance(item, History):
        guards = made.guards or item.guards
        original = item.held if item.original is None else item.original
        optional = item.optional or filtered
        part = replace(item, held=made.value, optional=optional, rendered=made.span, guards=guards, original=original)
        again = _shortened(made, guards, whole) if whole and part.edits else None
        if again is None or all(e.span != again.span for e in part.edits):
            return part
        return replace(part, edits=(*part.edits, again))
    if isinstance(item, Base):
        edit = _shortened(made, made.guards, whole)
        return replace(item, edits=(*item.edits, edit)) if edit is not None else item
    if isinstance(made, One):
        of = item.of if isinstance(item, Many) and item.of is not None else item.value
        return Many(made.value, made.span, True, made.guards, of)
    return made


def _taken_from(source: Seq) -> Value | None:
    """What the elements of a list come from, if that is one thing, in whichever way it was turned into the list."""
    found = [i.of if isinstance(i, Many) and i.of is not None else i.value for i in source.items]
    same = {(of.name, of.span) if isinstance(of, Hole) else None for of in found}
    return found[0] if len(found) == 1 or (len(same) == 1 and None not in same) else None


_VARYING = frozenset(("time", "random", "counter"))
"""Kinds of origins of what looks other each time it is made."""


def _shortened(made: Item, guards: tuple[Guard, ...], whole: bool) -> Edit | None:
    """The change of an old element whose text is cut or masked, if it is."""
    alike = whole and not any(o.kind in _VARYING for o in made.value.origins())
    maps = [option for option in options(made.value) if isinstance(option, Map)]
    for entry in (m.entries[key] for m in maps for key in _CONTENT if key in m.entries):
        for value in options(entry.value):
            cut = value.name if isinstance(value, Hole) and value.cut else None
            if isinstance(value, Text):
                cut = next((f'"{p.text.strip()[:30]}"' for p in value.pieces if p.text and p.text.strip()), None)
            if isinstance(value, Seq):
                cut = next((e.what for e in value.edits if e.kind == LEFT_OUT), None)
            if cut is not None:
                return Edit("rewrite", entry.span, cut, guards, value=value, alike=alike)
    return None


def phi(ev: Evaluator, node: Phi, frame: Frame) -> Value:
    """A carried variable at the head of its loop."""
    binding = frame.bindings.get(node.loop)
    if binding is not None and node.name in binding.carried:
        return binding.carried[node.name]
    before = ev.eval(node.before, frame)
    step = node.state.steps.get(node.name)
    if step is None or _stays(ev, node, before):
        return before
    return _repeated(ev, node, before, step, frame, inside=True)


def after_loop(ev: Evaluator, node: Phi, frame: Frame) -> Value:
    """A carried variable behind its loop."""
    before = ev.eval(node.before, frame)
    step = node.state.steps.get(node.name)
    if step is None or _stays(ev, node, before):
        return before
    made = _unrolled(ev, node, before, frame) if node.state.iterable is not None else None
    if made is None:
        made = _repeated(ev, node, before, step, frame, inside=False)
    if isinstance(made, Text) and (changed := aged.of_loop(node)) is not None:
        return strings.with_edit(made, Edit("rewrite", ev.span(frame, changed), ev.snippet(frame, changed.at)))
    if made is before or not isinstance(made, Seq):
        return made
    made = _with_aged(ev, made, aged.of_loop(node), frame, node.state.guards)
    if isinstance(before, Seq) and mutations.is_sent(before.items):
        return made  # held turns before: what a loop leaves out of others takes none of these away
    cut = fills.cut_where_full(ev, node.state, made, frame)
    return fills.as_full(ev, node, made, frame) if cut is made else cut


def _stays(ev: Evaluator, node: Phi, before: Value) -> bool:
    """Whether a carried variable names what it did before the loop, in the state that it has by itself."""
    held = options(before)
    return all(isinstance(o, KEPT) for o in held) and handed_only(ev, node, all(isinstance(o, Instance) for o in held))


def handed_only(ev: Evaluator, node: Phi, objects: bool) -> bool:
    """Whether the loop only hands a variable to calls, so that it names the same object throughout.

    ``objects``: it names objects of the project, of which ``append`` or ``update`` are methods like others.
    """
    known = ev.handed_only.get((node, objects))
    if known is None:
        ev.handed_only[node, objects] = True
        known = ev.handed_only[node, objects] = _same_object(ev, node, node.state.steps[node.name], objects)
    return known


def _same_object(ev: Evaluator, node: Phi, step: Expr, objects: bool) -> bool:
    """Whether every way through ``step`` ends in ``node``; each node of the graph is looked at once."""
    waiting = [step]
    for current in each_once(waiting):
        if isinstance(current, After) and current.argument != OUTER:
            waiting.append(current.before)
        elif objects and isinstance(current, Mutate) and current.op != "setattr":
            waiting.append(current.base)
        elif isinstance(current, Either):
            waiting.extend(current.options)
        else:
            inner = current.phi if isinstance(current, AfterLoop) else current
            if not isinstance(inner, Phi):
                return False
            if inner.state is node.state:
                if inner.name != node.name:
                    return False
            elif inner.name in inner.state.steps and not handed_only(ev, inner, objects):
                return False
            else:
                waiting.append(inner.before)
    return True


def _unrolled(ev: Evaluator, node: Phi, before: Value, frame: Frame) -> Value | None:
    """The exact result over known elements, one by one; unknown parts are applied once as a template."""
    state = node.state
    assert state.iterable is not None
    sequence = containers.as_seq(ev, ev.eval(state.iterable, frame), ev.module_span(frame, state.at))
    items = sequence.items
    if not items or len(items) > MAX_UNROLL or not any(isinstance(i, (One, History, Base)) for i in items):
        return None
    if len(items) > MAX_UNSURE and not sequence.known:
        items = tuple({(type(i), i.span): i for i in reversed(items)}.values())[::-1]
    counts = all(isinstance(i.value, Const) and isinstance(i.value.value, int) for i in items)
    if counts and (state.retry or len(items) > MAX_COUNTED):
        return None
    carried = {name: before if name == node.name else ev.eval(state.before[name], frame) for name in state.steps}
    left = False
    order = listed(sequence.order, ev.module_span(frame, state.at))
    for item in items:
        child = _bind(frame, state.id, _taken(item, sequence.span), dict(carried))
        stepped = {name: ev.eval(step, child) for name, step in state.steps.items()}
        by_kind: dict[str, list[Value]] = {}
        for kind in _kinds(item):
            way = _bind(frame, state.id, _taken(kind, sequence.span), dict(carried))
            for name in _picked(carried, stepped):
                by_kind.setdefault(name, []).append(ev.eval(state.steps[name], way))
        stepped.update({name: join(values) for name, values in by_kind.items()})
        leaves = _leaves(ev, state, child)
        if not isinstance(item, One):
            source = strings.with_edits(item, sequence) if isinstance(item, History) else item
            stepped = {n: _template_of(source, carried[n], v) for n, v in stepped.items()}
        if left or (isinstance(item, One) and item.optional):
            carried = {n: join((carried[n], v)) for n, v in stepped.items()}
        else:
            carried = stepped
        if sequence.order:
            carried = {n: _reordered(v, order) for n, v in carried.items()}
        if leaves and isinstance(item, One) and not item.optional and not left:
            break
        left = left or leaves is not False
    result = carried[node.name]
    return _as_edited(result, sequence) if isinstance(result, Seq) and result is not before else result


def _kinds(item: Item) -> list[Item]:
    """The kinds of kept turns that an element stands for, when there are several: what a loop asks of one of them, and
    takes from it, belongs together.
    """
    several = isinstance(item, History) and isinstance(item.value, Choice)
    return [replace(item, held=option) for option in options(item.value)] if several else []


def _picked(before: dict[str, Value], after: dict[str, Value]) -> list[str]:
    """The variables into which a loop puts a part of an element, and that are no containers."""
    return [n for n, v in after.items() if v is not before[n] and not isinstance(v, (Seq, Map))]


def _as_edited(made: Seq, source: Seq) -> Seq:
    """A list made of the elements of another one, with what was done to these."""
    return replace(made, edits=tuple(dict.fromkeys((*made.edits, *source.edits)))) if source.edits else made


def _leaves(ev: Evaluator, state: LoopState, frame: Frame) -> bool | None:
    """Whether the iteration that ``frame`` binds ends the loop with a ``break``; ``None`` when that is not known."""
    outcome: bool | None = False
    for end in state.ends:
        reached: bool | None = not end.uncertain or None
        for guard in end.guards:
            held = truth(ev.eval(guard.test, frame)) if guard.test is not None else None
            if held is not None and held is not guard.sense:
                reached = False
                break
            if held is None:
                reached = None
        if reached:
            return end.leaves if outcome is False else None
        if reached is None and end.leaves:
            outcome = None
    return outcome


def _reordered(value: Value, order: Origins) -> Value:
    if isinstance(value, (Seq, Map)):
        return replace(value, order=union(value.order, order))
    if isinstance(value, Text):
        return Text(tuple(replace(p, deps=union(p.deps, order)) for p in value.pieces))
    return value


def _template_of(source: Item, old: Value, new: Value) -> Value:
    """What was added between ``old`` and ``new`` for each of the elements that ``source`` stands for."""
    if isinstance(old, Seq) and isinstance(new, Seq):
        known = set(map(id, old.items))
        items = tuple(i if id(i) in known or not isinstance(i, One) else _as_part_of(source, i) for i in new.items)
        return replace(new, items=items)
    if isinstance(old, Text) and isinstance(new, Text):
        known = set(map(id, old.pieces))
        kept = source if isinstance(source, History) else None
        made = (
            replace(p, repeats=True, optional=True, turns=kept or p.turns) for p in new.pieces if id(p) not in known
        )
        return Text(tuple(p if id(p) in known else next(made) for p in new.pieces))
    return join((old, new))


def _refused(value: Value, state: LoopState, frame: Frame) -> bool:
    """Whether all that a loop adds to a list is added in its except clauses: what a refused answer adds for a retry."""
    added = [i for i in value.items if not isinstance(i, Base)] if isinstance(value, Seq) else []
    loops = (n for n in ast.walk(frame.function.syntax) if isinstance(n, (ast.For, ast.AsyncFor, ast.While)))
    loop = next((n for n in loops if n.lineno == state.at.lineno), None)
    return loop is not None and all(syntax.in_handler(loop, i.span.line) for i in added)


def _repeated(ev: Evaluator, node: Phi, before: Value, step: Expr, frame: Frame, inside: bool) -> Value:
    """The variable after an unknown number of iterations."""
    before = growth.as_list(ev, before, ev.module_span(frame, node.state.at))
    # Variables of one loop may depend on each other: none is followed into itself, and while one is followed, the
    # others once each and not on every way through the rest.
    key = (node, frame.activation)
    if key in ev.following:
        return before
    looked_at = ev.followed.get((node.loop, frame.activation))
    outermost = looked_at is None
    if looked_at is None:
        looked_at = ev.followed[node.loop, frame.activation] = {}
    around = (node, inside, *(id(binding) for loop, binding in frame.bindings.items() if loop != node.loop))
    known = looked_at.get(around)
    if known is not None:
        return known[0]
    marker = growth.base_marker(before, node)
    child = _bind(frame, node.loop, None, {node.name: marker})
    ev.following.add(key)
    try:
        value = ev.eval(step, child)
    finally:
        ev.following.discard(key)
        if outermost:
            del ev.followed[node.loop, frame.activation]
    order: Origins = ()
    level = frame.level_at(node.state.around)
    kept = inside and not (node.state.retry and _refused(value, node.state, frame))
    result = growth.grown(ev, before, value, node, ev.module_span(frame, node.state.at), level, history=kept)
    filled = isinstance(before, Map) and isinstance(result, Map) and len(result.rest) > len(before.rest)
    if node.state.iterable is not None and (filled or isinstance(before, (Seq, Text))):
        source = containers.as_seq(ev, ev.eval(node.state.iterable, frame), ev.module_span(frame, node.state.at))
        order = source.order
        if isinstance(result, Seq) and not inside and (of := _taken_from(source)) is not None:
            items = (replace(i, of=of) if isinstance(i, Many) and i.of is None else i for i in result.items)
            result = replace(result, items=tuple(items))
        if isinstance(result, Seq) and not inside:
            result = _as_edited(result, source)
    result = _reordered(result, listed(order, ev.module_span(frame, node.state.at))) if order else result
    looked_at[around] = result, frame
    return result
