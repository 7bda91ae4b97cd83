"""Abstract values: what an expression may be when a request is sent, and where each part of it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from promptlint.frozen import record, replace
from promptlint.request import Axis, Carrier
from promptlint.span import Hop, Span, Step

if TYPE_CHECKING:
    from promptlint.code.expression import Call, Guard
    from promptlint.code.index import Class, Function, Module
    from promptlint.link.frame import Frame

IMPORT, SESSION, CALL = -2, -1, 0
"""Evaluation levels: once per process, per object, per call of the entry; n > 0 counts enclosing send loops."""

NAME_MATCH = "name-match"
"""Feature of what rests on a method that was found by its name."""
MARKERS = frozenset(("cache_control", "cachePoint", "prompt_cache_breakpoint", "cache_point", "cachepoint"))
"""Keys that mark a cache breakpoint: setting or removing one changes no prompt text."""
ELAPSED = "the elapsed time"
MAX_GROWTH = 400
"""Elements that a list may have and still be told apart element by element."""
MAX_STEPS = 24
MAX_ORIGINS = 24
MAX_PARTS = 400
"""Pieces of a text and elements of a sequence that are told apart."""
MAX_FOLDED = 100
"""Pieces of a text behind these: constant texts, and one for whatever is between two of them."""
V = TypeVar("V", bound="Value")
AnyItem = TypeVar("AnyItem", bound="Item")


@record(frozen=True, slots=True)
class Origin:
    """A source that a value depends on; becomes a ``Cause`` in the request. ``level`` says how often it runs.

    ``what`` is how a message calls it; what has a ``carrier`` is called ``name`` in the code.
    """

    kind: str
    what: str
    span: Span
    level: int
    axes: frozenset[Axis]
    grain: float | None = None
    steps: tuple[Step, ...] = ()
    features: frozenset[str] = frozenset()
    guard: str | None = None
    because: str | None = None
    carrier: Carrier | None = None
    name: str = ""
    key: int = field(init=False, repr=False, compare=False)
    """A number for what tells origins apart: kind, place, level and guard."""

    def __post_init__(self) -> None:
        told_apart_by = (self.kind, self.span, self.level, self.guard)
        object.__setattr__(self, "key", _KEYS.setdefault(told_apart_by, len(_KEYS)))

    def via(self, step: Step) -> Origin:
        if len(self.steps) >= MAX_STEPS or (self.steps and self.steps[-1].span == step.span):
            return self
        return replace(self, steps=(*self.steps, step))


_KEYS: dict[tuple[str, Span, int, str | None], int] = {}

Origins = tuple[Origin, ...]
Change = Callable[[Origin], Origin]


def union(*groups: Origins) -> Origins:
    """All origins once, in order of appearance."""
    distinct = {id(group): group for group in groups if group}
    if not distinct:
        return ()
    seen: dict[int, Origin] = {}
    for group in distinct.values():
        for origin in group:
            known = seen.get(origin.key)
            if known is None:
                if len(seen) >= MAX_ORIGINS:
                    return tuple(seen.values())
                seen[origin.key] = origin
            elif origin.grain is not None and known.grain is not None and origin.grain < known.grain:
                seen[origin.key] = origin  # of two readings of one clock, the finer
    return tuple(seen.values())


def _changed(origins: Origins, how: Change) -> Origins:
    """Each origin replaced by ``how(origin)``; the very same tuple when none of them changes."""
    changed = tuple([how(o) for o in origins])
    return origins if all(new is old for new, old in zip(changed, origins, strict=True)) else changed


def listed(order: Origins, span: Span) -> Origins:
    """What an order depends on, once something is listed in it at ``span``."""
    step = Step(span, "listed in this order", hop=Hop.LISTED)
    return tuple(o if any(s.hop is Hop.LISTED for s in o.steps) else o.via(step) for o in order)


def kept_in(place: str, span: Span) -> Step:
    """The step with which a state, or a part of it, is read."""
    return Step(span, f"kept in {place}", hop=Hop.KEPT, place=place)


def in_sorted_order(order: Origins) -> Origins:
    """What an order depends on once the elements are sorted: no longer on how a set or a shuffle arranged them."""
    return tuple(o for o in order if o.kind not in ("unordered", "random"))


@record(frozen=True, slots=True, eq=False)
class Value:
    """Base of all values; compared by identity."""

    def origins(self) -> Origins:
        """Everything that this value, or anything in it, depends on."""
        return ()

    def change(self, how: Change) -> Value:
        """The same value with every origin in it replaced by ``how(origin)``; itself when none of them changes."""
        return self

    def along(self, step: Step) -> Value:
        """The same value, one hop further on the way of everything it depends on.

        The inside of a container keeps its own way: to move it would unshare what many containers hold.
        """
        done: dict[int, tuple[Origin, Origin]] = {}  # holds what it knows by identity: insides are moved later on

        def how(origin: Origin) -> Origin:
            known = done.get(id(origin))
            if known is None:
                known = done[id(origin)] = (origin, origin.via(step))
            return known[1]

        if isinstance(self, Seq):
            return _cut_along(self, step)
        if isinstance(self, Map):
            return self
        if isinstance(self, Choice):
            return Choice(tuple(o.along(step) for o in self.options))
        moved = self.change(how)
        if isinstance(moved, Hole) and moved.window is not None and len(moved.cuts) < MAX_STEPS:
            return replace(moved, cuts=(*moved.cuts, step))
        return moved


@record(frozen=True, slots=True, eq=False)
class Const(Value):
    """A constant that is no text."""

    value: object
    span: Span


@record(frozen=True, slots=True)
class Limit:
    """How many rows a load gives at most (0: that is not known), and where the code says so."""

    rows: int
    span: Span
    what: str


@record(frozen=True, slots=True, eq=False)
class Hole(Value):
    """A value that is not known. ``name`` is how the code calls it."""

    name: str
    span: Span
    deps: Origins = ()
    type: str | None = None
    """Qualified name of the external class it is an instance of."""
    root: bool = False
    """A parameter of code that nothing in the project calls."""
    window: Limit | None = None
    """It was loaded with a limit: at most so many rows."""
    cuts: tuple[Step, ...] = ()
    """The way of what was loaded with a limit."""
    persistent: bool = False
    cut: bool = False
    """Only a part of the value was kept."""
    base: object = None
    """Marks the old value while one iteration of a loop or one method is looked at."""
    features: frozenset[str] = frozenset()

    def origins(self) -> Origins:
        return self.deps

    def change(self, how: Change) -> Value:
        deps = _changed(self.deps, how)
        return self if deps is self.deps else replace(self, deps=deps)


@record(frozen=True, slots=True, eq=False)
class Piece:
    """A run of text in order: known to the letter, or a hole in it."""

    span: Span
    text: str | None = None
    deps: Origins = ()
    name: str = ""
    optional: bool = False
    repeats: bool = False
    persistent: bool = False
    base: object = None
    features: frozenset[str] = frozenset()
    turns: History | Many | None = None
    """What it tells the elements of: a kept list, with what was done to it on the way, or a list made anew."""

    def with_deps(self, deps: Origins) -> Piece:
        return Piece(
            self.span,
            self.text,
            deps,
            self.name,
            self.optional,
            self.repeats,
            self.persistent,
            self.base,
            self.features,
            self.turns,
        )

    def maybe(self) -> Piece:
        """The same piece, or nothing."""
        if self.optional:
            return self
        return Piece(
            self.span,
            self.text,
            self.deps,
            self.name,
            True,
            self.repeats,
            self.persistent,
            self.base,
            self.features,
            self.turns,
        )


def _folded(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, those together that lie between constant texts which are there for certain."""
    for sure, group in groupby(pieces, lambda p: p.text is not None and not (p.deps or p.optional or p.repeats)):
        run = tuple(group)
        yield from run if sure else (_fold(run),)


def _fold(run: tuple[Piece, ...]) -> Piece:
    """One piece of unknown text in place of several."""
    return Piece(run[0].span, None, union(*(p.deps for p in run)), "…", True, features=frozenset({"bound"}))


@record(frozen=True, slots=True, eq=False)
class Text(Value):
    pieces: tuple[Piece, ...]
    _origins: Origins | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.pieces) > MAX_PARTS:
            folded = tuple(_folded(self.pieces[MAX_PARTS:]))
            if len(folded) > MAX_FOLDED:
                folded = (_fold(folded),)
            object.__setattr__(self, "pieces", (*self.pieces[:MAX_PARTS], *folded))

    def origins(self) -> Origins:
        if self._origins is None:
            object.__setattr__(self, "_origins", union(*[p.deps for p in self.pieces if p.deps]))
        return self._origins or ()

    def change(self, how: Change) -> Value:
        if not any(p.deps for p in self.pieces):
            return self
        done: dict[int, Origins] = {}
        pieces = []
        for piece in self.pieces:
            if piece.deps:
                deps = done.get(id(piece.deps))
                if deps is None:
                    deps = done[id(piece.deps)] = _changed(piece.deps, how)
                if deps is not piece.deps:
                    piece = piece.with_deps(deps)
            pieces.append(piece)
        return self if all(new is old for new, old in zip(pieces, self.pieces, strict=True)) else Text(tuple(pieces))

    @property
    def literal(self) -> str | None:
        """The text when all of it is known and certain."""
        if any(p.text is None or p.optional or p.repeats for p in self.pieces):
            return None
        return "".join(p.text or "" for p in self.pieces)


class Lazy:
    """A value that is made when it is first looked at: the inside of containers is often never needed."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make: Callable[[], Value] | None = make
        self._made: Value | None = None

    def get(self) -> Value:
        if self._made is None:
            assert self._make is not None
            self._made = self._make()
            self._make = None
        return self._made


class Untouched(Lazy):
    """What stood under a key of a dict before the step that is looked at, and still does."""

    __slots__ = ()


@record(frozen=True, slots=True)
class Cell:
    """What stands under one key of a dict that changes; ``None``: under any key that is not known."""

    root: object
    key: str | None


def owner(root: object) -> object:
    """The variable, attribute or name that holds the dict in which a cell lies."""
    while isinstance(root, Cell):
        root = root.root
    return root


def name_of(root: object) -> str:
    """How the code calls what a history grows in, or a counter; "" where that has no name."""
    if isinstance(root, Cell) and root.key is not None:
        return root.key
    kept = owner(root)
    name = kept[-1] if isinstance(kept, tuple) else getattr(kept, "name", "")
    return name.rpartition(".")[2] if isinstance(name, str) else ""


def _inside(held: Value | Lazy, how: Change) -> Value | Lazy:
    return Lazy(lambda: (held.get() if isinstance(held, Lazy) else held).change(how))


@record(frozen=True, slots=True, eq=False)
class Item:
    """Part of a sequence: exactly one element, or none of it when ``optional``."""

    held: Value | Lazy
    span: Span
    optional: bool = False
    guards: tuple[Guard, ...] = ()

    @property
    def value(self) -> Value:
        return self.held.get() if isinstance(self.held, Lazy) else self.held

    def maybe(self: AnyItem) -> AnyItem:
        """The same part, or nothing."""
        return self if self.optional else replace(self, optional=True)


@record(frozen=True, slots=True, eq=False)
class One(Item):
    """One element."""

    inserted: Span | None = None
    """Where it was put in front of older elements, when it was."""


@record(frozen=True, slots=True, eq=False)
class Many(Item):
    """An unknown number of elements made now from one template; ``stored`` when they were made in earlier turns."""

    of: Value | None = None


@record(frozen=True, slots=True, eq=False)
class Rest(Item):
    """An unknown number of elements of an unknown sequence."""


MARKED_EACH = "mark-each"
"""The kind of edit that puts a cache marker on each element, or on each of a role."""


@record(frozen=True, slots=True)
class Edit:
    """A change to elements that may have been sent: see ``request.Mutator``.

    "unmark" takes cache markers off, "mark" sets one on an element of which the place is not known.
    "unthink" takes thinking out of messages: of a list of blocks, or of the messages of a list.
    "cap": the list is filled up to a size only, with the first elements that come.
    """

    kind: str
    span: Span
    what: str
    guards: tuple[Guard, ...] = ()
    keeps: int | None = None
    value: Value | None = None
    drops: int | None = None
    """How many elements a cut takes off the front at once."""
    guard: str | None = None
    features: frozenset[str] = frozenset()
    steps: tuple[Step, ...] = ()
    """The way of the changed list from there on."""
    behind: bool = False
    """Whether what was sent behind the changed turn is sent again by the next one."""
    first: bool = False
    """Whether it puts a system text that is made anew in the first place at every send."""
    alike: bool = False
    """Whether it is made to each element, also to those that were not sent yet: nothing that was sent looks other."""
    taken: bool = False
    """Whether a cut is made where a part of the list is taken, and not whenever something is added to that."""


@record(frozen=True, slots=True, eq=False)
class History(Item):
    """Elements kept from earlier turns: ``value`` holds what each turn appends; ``edits`` is what happens to them."""

    root: object = None
    edits: tuple[Edit, ...] = ()
    level: int = CALL
    """How many loops of the path lie outside the one that makes it grow (0: it grows from call to call)."""
    rendered: Span | None = None
    """Where ``value`` is made anew of each kept element whenever a request is built."""
    original: Value | Lazy | None = None
    """What is kept, where ``value`` is made anew of it."""

    @property
    def kept(self) -> Value:
        """What each turn appends, as it is kept."""
        held = self.held if self.original is None else self.original
        return held.get() if isinstance(held, Lazy) else held


@record(frozen=True, slots=True, eq=False)
class Base(Item):
    """Stands for the old content while one step is looked at."""

    root: object = None
    edits: tuple[Edit, ...] = ()


@record(frozen=True, slots=True, eq=False)
class Seq(Value):
    """A list, tuple, set or iterator. ``order`` holds what its order depends on when that is not fixed."""

    kind: str
    items: tuple[Item, ...]
    span: Span
    order: Origins = ()
    edits: tuple[Edit, ...] = ()
    """What was done, in this evaluation, to elements that may already have been sent."""
    copied: str = ""
    """"shallow" or "deep" for a copy: another list than the one that is kept."""
    _origins: Origins | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.items) > MAX_PARTS:
            object.__setattr__(self, "items", self.items[:MAX_PARTS])
        if len(self.edits) > MAX_ORIGINS:
            object.__setattr__(self, "edits", self.edits[:MAX_ORIGINS])

    def origins(self) -> Origins:
        if self._origins is None:
            object.__setattr__(self, "_origins", union(self.order, *[i.value.origins() for i in self.items]))
        return self._origins or ()

    def change(self, how: Change) -> Value:
        return replace(
            self,
            items=tuple(replace(i, held=_inside(i.held, how)) for i in self.items),
            order=tuple(how(o) for o in self.order),
        )

    @property
    def known(self) -> bool:
        """Whether every element is known to be there, one by one."""
        return all(isinstance(i, One) and not i.optional for i in self.items)


@record(frozen=True, slots=True, eq=False)
class Entry:
    """One key of a dict: its value, there for certain unless ``optional``."""

    held: Value | Lazy
    span: Span
    optional: bool = False
    guards: tuple[Guard, ...] = ()

    @property
    def value(self) -> Value:
        return self.held.get() if isinstance(self.held, Lazy) else self.held


@record(frozen=True, slots=True, eq=False)
class Map(Value):
    """A dict with text keys (or an object that is used like one)."""

    entries: dict[str, Entry]
    span: Span
    rest: tuple[Value, ...] = ()
    """Unknown parts: spread values, or values stored under unknown keys."""
    order: Origins = ()
    base: object = None
    open: tuple[str, ...] = ()
    """What may have added keys without being seen."""
    type: str | None = None
    """Qualified name of the class, when the dict stands for an external object built from keywords."""
    _origins: Origins | None = field(default=None, init=False, repr=False)
    any_of_all: Value | None = field(default=None, init=False, repr=False)
    """What ``joining.anything`` found."""

    def holding(self, entries: dict[str, Entry]) -> Map:
        """The same dict with these entries."""
        return Map(entries, self.span, self.rest, self.order, self.base, self.open, self.type)

    def origins(self) -> Origins:
        if self._origins is None:
            held = [e.value.origins() for e in self.entries.values()]
            object.__setattr__(self, "_origins", union(self.order, *held, *[r.origins() for r in self.rest]))
        return self._origins or ()

    def change(self, how: Change) -> Value:
        return replace(
            self,
            entries={k: replace(e, held=_inside(e.held, how)) for k, e in self.entries.items()},
            rest=tuple(r.change(how) for r in self.rest),
            order=tuple(how(o) for o in self.order),
        )


@record(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An instance of a class of the project."""

    cls: Class
    span: Span
    init: Frame | None
    """Frame of the constructor call, ``None`` when it is not known which call made it."""
    level: int = SESSION
    overrides: dict[str, Value | Lazy] = field(default_factory=dict)
    exact: bool = True
    """Whether it cannot be a subclass."""
    kept: bool = False
    """It was made in an earlier turn: its fields hold what they held then."""
    client: External | None = None
    """What it is to a library, of whose client its class is made, where no constructor of the project says so."""

    def given(self, name: str) -> Value | None:
        """What an attribute is known to hold here, whatever else code makes of it."""
        held = self.overrides.get(name)
        return held.get() if isinstance(held, Lazy) else held

    @property
    def is_member(self) -> bool:
        """Whether it is a member of an enumeration."""
        return self.init is None and self.overrides.keys() == {"value", "name"}


@record(frozen=True, slots=True, eq=False)
class External(Value):
    """A module, class, function or instance that the project does not define."""

    name: str
    span: Span
    instance: bool = False
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    this: Value | None = None
    """The value that a method was taken from."""
    level: int | None = None
    """How often the code that makes it runs, for objects."""
    maker: str = ""
    """The qualified function or class of the client row that made it."""

    def origins(self) -> Origins:
        own = union(*(a.origins() for a in self.arguments), *(k.origins() for k in self.keywords.values()))
        # A part of a reply is said by the model, too.
        return union(own, self.this.origins()) if self.name.startswith(".") and self.this is not None else own


@record(frozen=True, slots=True, eq=False)
class FilePath(Value):
    """A path whose place is known relative to the project."""

    path: Path
    span: Span


@record(frozen=True, slots=True, eq=False)
class Routine(Value):
    """A function of the project, bound to ``this`` when taken from an instance; ``preset``: a partial's arguments."""

    function: Function
    frame: Frame | None
    this: Value | None = None
    preset: tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]] = ((), ())
    bare: bool = False
    """Without its decorators, as these get it."""

    def given_as(self, argument: int | str) -> str | None:
        """The parameter that an argument of a call is."""
        if isinstance(argument, str):
            return argument
        bound = self.function.is_method and self.this is not None
        names = [p.name for p in self.function.parameters][1 if bound else 0 :]
        return names[argument] if argument < len(names) else None


@record(frozen=True, slots=True, eq=False)
class Type(Value):
    """A class of the project."""

    cls: Class


@record(frozen=True, slots=True, eq=False)
class Namespace(Value):
    """A module of the project."""

    module: Module


@record(frozen=True, slots=True, eq=False)
class Choice(Value):
    """One of several values of different kinds."""

    options: tuple[Value, ...]

    def origins(self) -> Origins:
        return union(*(o.origins() for o in self.options))

    def change(self, how: Change) -> Value:
        return Choice(tuple(o.change(how) for o in self.options))


@record(frozen=True, slots=True, eq=False)
class Sent(Value):
    """The reply of a sink call."""

    call: Call
    span: Span
    deps: Origins = ()
    returns: dict[str, Lazy] = field(default_factory=dict)
    """What methods of it give back that the call was given."""

    def origins(self) -> Origins:
        return self.deps


NONE_SPAN = Span("", 0)
MAX_UNSURE_PIECES = 6


def is_empty(value: Value) -> bool:
    """``None``, "", [], {} and False: what stands for "nothing there"."""
    if isinstance(value, (Hole, External, Instance)):
        return False
    if isinstance(value, Text):
        return all(p.text == "" and not p.optional and not p.repeats for p in value.pieces)
    if isinstance(value, Const):
        return value.value is None or value.value is False
    if isinstance(value, Seq):
        return not value.items
    if isinstance(value, Map):
        return not value.entries and not value.rest and value.base is None
    return False


def truth(value: Value) -> bool | None:
    """Whether the value is true in a test, when that is certain."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Text):
        if any(p.text and not p.optional for p in value.pieces):
            return True
        return False if not value.pieces else None
    if isinstance(value, Seq):
        if any(isinstance(i, One) and not i.optional for i in value.items):
            return True
        return False if not value.items else None
    if isinstance(value, Map):
        return True if any(not e.optional for e in value.entries.values()) else None
    if isinstance(value, (Instance, Routine, Type, Namespace, FilePath)):
        return True
    return None


def possible_texts(value: Value) -> frozenset[str] | None:
    """All texts that the value may be, or more; ``None`` when they are not known or too many."""
    if isinstance(value, Choice):
        found = [possible_texts(o) for o in value.options]
        return None if any(f is None for f in found) else frozenset().union(*(f for f in found if f is not None))
    if not isinstance(value, Text) or sum(p.optional for p in value.pieces) > MAX_UNSURE_PIECES:
        return None
    texts = {""}
    for piece in value.pieces:
        if piece.text is None or piece.repeats:
            return None
        texts = {t + piece.text for t in texts} | (texts if piece.optional else set())
    return frozenset(texts)


def _cut_along(value: Seq, step: Step) -> Seq:
    """A list one hop further on the way of what was cut from it."""
    edits = tuple(
        replace(e, steps=(*e.steps, step)) if e.kind == "window" and len(e.steps) < MAX_STEPS else e
        for e in value.edits
    )
    items = tuple(
        replace(i, of=i.of.along(step))
        if isinstance(i, Many) and isinstance(i.of, Hole) and i.of.window is not None
        else i
        for i in value.items
    )
    return (
        replace(value, edits=edits, items=items)
        if value.edits or any(a is not b for a, b in zip(items, value.items, strict=True))
        else value
    )


GROWN = "grown"
"""Kind of the origin of text that is made of a list of texts, to which something is added from time to time."""
WRITTEN = "written"
"""Kind of the origin of a text, or of rows, that other code of the module writes: it counts if that runs in between."""


def as_it_was(origin: Origin) -> Origin:
    """What an element depends on that was there when the conversation began."""
    axes = (origin.axes - {Axis.CALL, Axis.TURN}) | {Axis.CONVERSATION}
    return replace(origin, level=min(origin.level, SESSION), axes=axes)


def may_say_the_same(origin: Origin) -> bool:
    """Whether a value is made by unknown code of what is new each time: it may be one of a few that seldom change."""
    return origin.kind in ("reply", "environment", "counter") and "opaque-call" in origin.features


def of_grown(item: History) -> Origins:
    """What text made of a list depends on besides what its elements say: that there are more of them each time."""
    if item.level < CALL:
        return ()
    told = tuple(options(item.value))
    if not all(isinstance(t, (Text, Hole)) or _is_field(t) for t in told):
        return ()
    if all(isinstance(t, Text) and t.literal for t in told):
        return ()
    own = (o for t in told for o in _kept(t.origins()))
    if any(o.axes & {Axis.CALL, Axis.TURN} and not may_say_the_same(o) for o in own):
        return ()
    name = name_of(item.root)
    what = f"{name}, a list that grows," if name else "a list that grows"
    return (Origin(GROWN, what, item.span, item.level, frozenset({Axis.CALL, Axis.TURN})),)


def _is_field(value: Value) -> bool:
    """A field of something that is not known."""
    return isinstance(value, External) and value.name.startswith(".")


KEPT_KINDS = frozenset(("input", "user", "state", "reply", "history", "loop"))


def stored(value: Value) -> Value:
    """What was appended in an earlier turn and is read back: a time or an id in it was fixed when it was stored."""
    if isinstance(value, Text):
        return Text(tuple(p.with_deps(_kept(p.deps)) if p.deps else p for p in value.pieces))
    if isinstance(value, Hole):
        return replace(value, deps=_kept(value.deps)) if value.deps else value
    if isinstance(value, Seq):
        return replace(value, items=tuple(replace(i, held=_stored(i.held)) for i in value.items), order=())
    if isinstance(value, Map):
        entries = {k: replace(e, held=_stored(e.held)) for k, e in value.entries.items()}
        return replace(value, entries=entries, rest=tuple(map(stored, value.rest)), order=())
    if isinstance(value, Instance):
        overrides: dict[str, Value | Lazy] = {k: _stored(v) for k, v in value.overrides.items()}
        return replace(value, overrides=overrides, kept=True)
    if isinstance(value, Choice):
        return Choice(tuple(map(stored, value.options)))
    return value


def _stored(held: Value | Lazy) -> Lazy:
    return Lazy(lambda: stored(held.get() if isinstance(held, Lazy) else held))


def held_in(file: External) -> Origins:
    """What the text of a file depends on: on who asks for which file, but it is not made of the path."""
    return tuple(map(looked_up, _kept(file.origins())))


def in_a_file(path: Origins) -> Origins:
    """What the text of a file depends on whose path is made of this: under a name that is new nothing stands yet."""
    return tuple(o for o in path if o.kind not in ("random", "time", "counter"))


def looked_up(origin: Origin) -> Origin:
    """What is found by what the user says, which is not what he says."""
    if origin.kind != "user" or Axis.TURN not in origin.axes:
        return origin
    return replace(origin, kind="state", what=f"what is looked up with {origin.what}", carrier=None)


def _kept(origins: Origins) -> Origins:
    return tuple(o for o in origins if o.kind in KEPT_KINDS)


def is_marked(value: Map) -> bool:
    """Whether a dict has a cache marker itself."""
    return not MARKERS.isdisjoint(value.entries)


def options(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value."""
    return value.options if isinstance(value, Choice) else (value,)


def only(value: Value, kind: type[V]) -> V | None:
    """The first alternative of this kind."""
    return next((o for o in options(value) if isinstance(o, kind)), None)


def literal(value: Value) -> str | None:
    """The text of a value known to the letter."""
    return value.literal if isinstance(value, Text) else None


def text(value: str, span: Span) -> Text:
    return Text((Piece(span, value),)) if value else Text(())
