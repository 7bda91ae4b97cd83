"""What is added to a value again and again: told apart from what was there by a marker for the old value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Phi,
)
from promptlint.frozen import replace
from promptlint.link import conditions, containers
from promptlint.link.joining import by_role, join
from promptlint.link.turns import mutations
from promptlint.link.turns.guards import asks_of_first
from promptlint.link.turns.messages import MESSAGES_NAMES, SYSTEM_ROLES, is_history_name, role_of
from promptlint.link.values import (
    CALL,
    Base,
    Cell,
    Choice,
    Const,
    Edit,
    Entry,
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
    Piece,
    Rest,
    Seq,
    Text,
    Untouched,
    Value,
    as_it_was,
    kept_in,
    name_of,
    options,
    union,
)
from promptlint.request import Axis
from promptlint.span import Hop, Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


def as_list(ev: Evaluator, before: Value, span: Span) -> Value:
    """A value that may be a list is looked at as one: what is appended can be told from what was there."""
    if isinstance(before, Choice) and any(isinstance(o, Seq) for o in before.options):
        return containers.as_seq(ev, before, span)
    return before


def base_marker(before: Value, root: object) -> Value:
    """A stand-in for the old value, of the same shape, that can be recognised in the new one."""
    span = Span("", 0)
    if isinstance(before, Seq):
        return Seq(before.kind, (Base(Hole("", span), span, root=root),), span, before.order)
    if isinstance(before, Text):
        return Text((Piece(span, None, base=root),))
    if isinstance(before, Map):
        entries = {k: replace(e, held=_cell_marker(e, Cell(root, k))) for k, e in before.entries.items()}
        inside = tuple(base_marker(r, Cell(root, None)) if isinstance(r, (Seq, Map)) else r for r in before.rest)
        return replace(before, entries=entries, rest=inside, base=root)
    if isinstance(before, Instance) and not before.overrides:
        return before  # what its methods do to it, whatever they are called, is found where it is asked for
    if isinstance(before, Instance):
        fields: dict[str, Value | Lazy] = {
            k: base_marker(v, Cell(root, k)) if _may_grow(v) else v
            for k in before.overrides
            if (v := before.given(k)) is not None
        }
        return replace(before, overrides=fields)
    if any(isinstance(o, FilePath) for o in options(before)):
        return before  # a path does not grow: what is made of it is another one
    return Hole("", span, base=root)


def _may_grow(field: Value) -> bool:
    return isinstance(field, (Seq, Map, Choice)) or (isinstance(field, Hole) and field.base is None)


def _cell_marker(entry: Entry, root: Cell) -> Untouched:
    return Untouched(lambda: base_marker(v, root) if isinstance(v := entry.value, (Seq, Map)) or _is_number(v) else v)


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool)


def _keeps_turns(kept: Seq, root: object) -> bool:
    """Whether a list holds messages, or is called as if it did."""
    name = root.name if isinstance(root, Phi) else root[-1] if isinstance(root, tuple) else ""
    called = isinstance(name, str) and (is_history_name(name) or MESSAGES_NAMES.search(name) is not None)
    return called or any(isinstance(i, History) or role_of(i.value) is not None for i in kept.items)


def contains_base(item: Item, root: object) -> bool:
    """Whether an element stands for the old content of ``root``."""
    return isinstance(item, Base) and item.root == root


def grown(ev: Evaluator, before: Value, value: Value, root: object, span: Span, level: int, history: bool) -> Value:
    """``before``, and what repeating the step ``before -> value`` adds to it, removes from it or changes in it."""
    if isinstance(value, Choice) and any(isinstance(o, Seq) for o in value.options):
        put_in = [o for o in value.options if isinstance(o, (Hole, Text)) and o.origins()]
        value = containers.as_seq(ev, value, span)
        if put_in and isinstance(before, Seq) and not _keeps_turns(before, root):
            # Notes, plans and lists of tasks are replaced by what is not known to be a list.
            return join((grown(ev, before, value, root, span, level, history), *put_in))
    if isinstance(value, Seq) and isinstance(before, (Hole, Const, Choice)):
        unknown = [i for i in value.items if _is_unknown_base(i, root)]
        if unknown:
            marked = tuple(
                Base(i.value, i.span, root=root, edits=value.edits) if i in unknown else i for i in value.items
            )
            return grown(
                ev, containers.as_seq(ev, before, span), replace(value, items=marked), root, span, level, history
            )
    if isinstance(before, Seq) and isinstance(value, Seq):
        return _grown_list(before, value, root, span, level, history)
    if isinstance(before, Text) and isinstance(value, Text):
        where = next((n for n, p in enumerate(value.pieces) if p.base is root), None)
        if where is None:
            return join((before, value))
        said = Text(tuple(p for p in value.pieces if p.base is None))
        if all(p.optional and (p.text is not None or p.base is root) for p in value.pieces):
            return join((before, said))  # one of a few constant texts
        turns = History(said, span, root=root, level=level) if history and said.pieces else None
        added = [replace(p, repeats=True, optional=True, turns=turns or p.turns) for p in said.pieces]
        front = [p for p in value.pieces[:where] if p.base is None]
        extra = tuple(replace(p, repeats=True, optional=True, turns=turns or p.turns) for p in front)
        back = tuple(added[len(front) :])
        return Text((*extra, *before.pieces, *back))
    if isinstance(before, Map) and isinstance(value, Map):
        entries = dict(before.entries)
        for name, entry in value.entries.items():
            if isinstance(entry.held, Untouched):
                continue
            known, kept = entries.get(name), Step(entry.span, f"kept under {name!r}", hop=Hop.KEPT)
            if known is None and not holds_base(entry.value, Cell(root, name)):
                entries[name] = replace(entry, held=_entered(entry.value, kept), optional=True)
            elif known is None:  # it stands in another of the dicts under unknown keys
                start = Seq("list", (), span) if isinstance(entry.value, Seq) else Map({}, span)
                made = grown(ev, start, entry.value, Cell(root, name), span, level, history)
                entries[name] = Entry(made, entry.span, True)
            else:
                made = grown(ev, known.value, _entered(entry.value, kept), Cell(root, name), span, level, history)
                if _is_number(known.value) and isinstance(made, Hole):
                    made = made.along(kept)
                entries[name] = Entry(made, entry.span, known.optional)
        return replace(before, entries=entries, rest=_grown_cells(ev, before, value, root, span, level, history))
    if isinstance(before, Instance) and isinstance(value, Instance) and value.cls is before.cls and before.overrides:
        # Made anew from the old one: its fields grow as if it were changed.
        fields = {
            k: grown(ev, v, new, Cell(root, k), span, level, history)
            for k in before.overrides
            if (v := before.given(k)) is not None and (new := value.given(k)) is not None
        }
        return replace(before, overrides={**before.overrides, **fields})
    unchanged = [o for o in options(value) if isinstance(o, Hole) and o.base == root]
    if unchanged:
        return join((before, *(o for o in options(value) if o not in unchanged)))
    if _is_number(before) and _depends_on_base(value):
        name = name_of(root)
        origin = Origin(
            "counter", f"the counter {name}" if name else "a counter", span, level, frozenset({Axis.TURN, Axis.CALL})
        )
        return Hole("counter", span, union(before.origins(), value.origins(), (origin,)))
    return join((before, value))


def _grown_cells(
    ev: Evaluator, before: Map, value: Map, root: object, span: Span, level: int, history: bool
) -> tuple[Value, ...]:
    """What stands under unknown keys: what a step adds to a list under one of them makes that list grow."""
    cell = Cell(root, None)
    put = Step(span, "kept under a key", hop=Hop.ENTERED)
    if isinstance(root, Phi):
        put = Step(span, "put under a key", hop=Hop.FILLED)
    kept = list(before.rest)
    for part in (way for held in value.rest for way in options(held)):
        if any(part is k for k in kept):
            continue
        if not holds_base(part, cell):
            _put_under_a_key(kept, _entered(_begun(part, cell, level), put))
            continue
        at = next((n for n, k in enumerate(kept) if type(k) is type(part)), None)
        empty = Seq(part.kind, (), span) if isinstance(part, Seq) else Map({}, span)
        start = kept[at] if at is not None else empty
        made = grown(ev, start, part, cell, span, level, history)
        if at is None:
            kept.append(made)
        else:
            kept[at] = made
    return tuple(kept)


def _put_under_a_key(kept: list[Value], part: Value) -> None:
    """Adds what stands under an unknown key; a change to a dict that was there already is none of its own."""
    dicts = [n for n, k in enumerate(kept) if isinstance(k, Map)]
    changed = [n for n in dicts if _is_change(kept[n])]
    if isinstance(part, Map) and _is_change(part) and dicts:
        for n in dicts:
            kept[n] = _with_change(kept[n], part)
    elif isinstance(part, Map) and changed:
        kept[changed[0]] = _with_change(part, kept[changed[0]])
    else:
        kept.append(part)


def _is_change(value: Value) -> bool:
    """Whether a dict is an unknown one in which something was set."""
    return isinstance(value, Map) and value.base is None and any(isinstance(r, Hole) for r in value.rest)


def _with_change(value: Value, change: Value) -> Value:
    assert isinstance(value, Map) and isinstance(change, Map)
    entries = dict(value.entries)
    for name, entry in change.entries.items():
        known = entries.get(name)
        both = entry.held if known is None else Lazy(partial(_either, known, entry))
        entries[name] = Entry(both, entry.span, known is None or known.optional)
    return replace(value, entries=entries)


def _either(one: Entry, other: Entry) -> Value:
    return join((one.value, other.value))


def _entered(value: Value, step: Step) -> Value:
    """What is put under a key, with the step that says so on the way of all that it holds."""
    if isinstance(value, Map):
        cells = {k: replace(e, held=Lazy(partial(_entered, e.value, step))) for k, e in value.entries.items()}
        return replace(value, entries=cells)
    return value.along(step)


def _begun(value: Value, root: object, level: int) -> Value:
    """What is put under a key where a conversation begins: turns in it were said before those that follow."""
    if isinstance(value, Map):
        entries = {k: replace(e, held=_begun(e.value, Cell(root, k), level)) for k, e in value.entries.items()}
        return replace(value, entries=entries)
    if not isinstance(value, Seq) or not value.known:
        return value
    turns = [i for i in value.items if role_of(i.value) in ("user", "assistant")]
    if not turns:
        return value
    held = Lazy(lambda: by_role(i.value for i in turns))
    said = History(held, turns[0].span, root=root, level=level)
    items = tuple(said if i is turns[0] else i for i in value.items if i not in turns[1:])
    return replace(value, items=items)


def holds_base(value: Value, root: object) -> bool:
    """Whether a container is what was kept under ``root``, with what a step made of it."""
    if isinstance(value, Map):
        return value.base == root
    return isinstance(value, Seq) and any(contains_base(i, root) or _is_unknown_base(i, root) for i in value.items)


def _is_unknown_base(item: Item, root: object) -> bool:
    """Whether an element stands for the old content of ``root``, which is known to be a list by what is done to it."""
    return isinstance(item, Rest) and isinstance(item.value, Hole) and item.value.base == root


def _is_system(item: Item) -> bool:
    return isinstance(item, One) and role_of(item.value) in SYSTEM_ROLES


def _begins(item: Item) -> bool:
    """Whether an element is a system text that is put ahead of turns that do not begin with one."""
    return _is_system(item) and asks_of_first(g.test for g in item.guards if g.test is not None)


def _first_anew(before: Seq, edits: list[Edit], front: tuple[Item, ...]) -> One | None:
    """The system text that a step puts in the first place of a list that holds one there, or nothing yet."""
    edit = next((e for e in edits if e.first and e.value is not None), None)
    if edit is None or edit.value is None:
        return None
    old = next(filter(_is_system, (*before.items[:1], *front)), None)
    if old is None:
        begun = before.items or front
        return One(edit.value, edit.span) if not begun and role_of(edit.value) in SYSTEM_ROLES else None
    new = _entered(edit.value, kept_in("the first message", edit.span))
    if isinstance(new, Map) and isinstance(old.value, Map):
        written = {k: e for k, e in new.entries.items() if not e.optional}
        new = Map({**old.value.entries, **written}, edit.span)
    return One(new, edit.span, guards=edit.guards)


def _is_old(value: Value) -> bool:
    """Whether a message is an old one, or takes its role from one: then the list is rendered anew."""
    role = value.entries.get("role") if isinstance(value, Map) else None
    return _depends_on_base(value) or (role is not None and _depends_on_base(role.value))


def _depends_on_base(value: Value) -> bool:
    return any(isinstance(o, Hole) and "base" in o.features for o in options(value))


def _edits_of(item: Item) -> tuple[Edit, ...]:
    return item.edits if isinstance(item, Base) else ()


def _grown_list(before: Seq, value: Seq, root: object, span: Span, level: int, history: bool) -> Seq:
    items = value.items
    where = next((n for n, i in enumerate(items) if contains_base(i, root)), None)
    if where is None:
        # Made anew in every iteration: nothing of it grows.
        merged = join((before, value))
        if not isinstance(merged, Seq):
            return before
        later = history and level >= CALL and not isinstance(root, Phi)
        one = conditions.retold(value) if later else None
        return (
            replace(merged, edits=(*merged.edits, conditions.replacement(one, one.guards)))
            if one is not None
            else merged
        )
    cut = next((n for n, i in enumerate(items) if n > where and contains_base(i, root) and _edits_of(i)), None)
    if cut is not None and not _edits_of(items[where]):
        # Its head and its tail, with a summary between them: what is done to the tail is done to the list.
        between = (i for i in items[where:cut] if not isinstance(i, Base))
        items = (*items[:where], items[cut], *between, *items[cut + 1 :])
    base = items[where]
    assert isinstance(base, Base)
    front, back = items[:where], items[where + 1 :]
    # What was kept elsewhere is not inserted here, nor is an old element that stays ahead of a cut.
    front = tuple(i for i in front if not isinstance(i, History) and not _is_old(i.value))
    front = tuple(i for i in front if not any(i is b for b in before.items))
    if base.optional:
        # The list that was kept is only one of the ways: what stands before it belongs to another one.
        front = tuple(i for i in front if isinstance(i, One) and i.inserted is not None)
    edits = list(base.edits) + [e for e in value.edits if e not in base.edits]
    if (anew := _first_anew(before, edits, front)) is not None:
        # What stands in the first place is a system text that is written at every send, and no old turn.
        before = replace(before, items=(anew, *before.items[any(map(_is_system, before.items[:1])) :]))
        edits = [e for e in edits if not e.first]
        front = tuple(i for i in front if not _is_system(i))
    elif history and (begun := next(filter(_begins, front), None)) is not None:
        # Put there only while there is none: what it said when the conversation began.
        if not any(map(_is_system, before.items[:1])):
            before = replace(before, items=(replace(begun, held=begun.value.change(as_it_was)), *before.items))
        front = tuple(i for i in front if not _begins(i))
    for item in front if history or mutations.is_sent(before.items) else ():  # else only built from its end
        edits.append(Edit("prepend", item.span, "what is added here", item.guards, value=item.value))
    if not (front or back or edits):
        return before
    if not history:
        added = tuple(Many(i.value, i.span, True, i.guards) if isinstance(i, One) else i for i in back)
        fresh = tuple(Many(i.value, i.span, True, i.guards) if isinstance(i, One) else i for i in front)
        result = replace(before, items=(*fresh, *before.items, *added), order=union(before.order, value.order))
        if any(e.kind == "rewrite" for e in edits) and not (
            mutations.is_sent(before.items) or _keeps_turns(result, root)
        ):
            edits = [e for e in edits if e.kind != "rewrite"]  # put together here, piece by piece, before it is sent
        return replace(result, edits=(*before.edits, *edits))
    kept = History(Lazy(lambda: by_role(i.value for i in back)), span, root=root, edits=tuple(edits), level=level)
    # In whatever order they came, they are kept in it.
    return replace(before, items=(*before.items, kept))
