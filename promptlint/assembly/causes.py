"""What a request depends on: origins of values as causes, judged by when and by whom they are filled in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from promptlint.assembly.chains import entry_of
from promptlint.assembly.prose import hole_tokens
from promptlint.code.expression import Guard
from promptlint.code.index import CONSTRUCTORS, Class, Function
from promptlint.code.merging import finds_missing
from promptlint.finding import Region
from promptlint.frozen import replace
from promptlint.knowledge.rows import ClientRow
from promptlint.link import containers
from promptlint.link.calling import binding, callers
from promptlint.link.classes import objects
from promptlint.link.kept import state
from promptlint.link.kept.switches import (
    SWITCHED,
    asks_for_command,
    begins_anew,
    in_loop,
    is_tool,
    makes_anew,
    makes_for_itself,
    on_command,
    starts_anew,
)
from promptlint.link.told import number
from promptlint.link.told import tokens as told_tokens
from promptlint.link.turns import cuts
from promptlint.link.turns.guards import COMPACTS, LARGE_MESSAGES, guard_of, limit_of_calls
from promptlint.link.turns.messages import said_before
from promptlint.link.values import (
    CALL,
    GROWN,
    IMPORT,
    SESSION,
    WRITTEN,
    Edit,
    History,
    Instance,
    Item,
    Many,
    Origin,
    Piece,
    Routine,
    Seq,
    Value,
    may_say_the_same,
    name_of,
    options,
    owner,
)
from promptlint.request import (
    Axis,
    Breakpoint,
    Carrier,
    Cause,
    Moment,
    Parameter,
    Segment,
)
from promptlint.span import Hop, Span
from promptlint.tokens import Interval

if TYPE_CHECKING:
    from promptlint.assembly.chains import Chain
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.libraries.sinks import Sink


STABLE_NAMES = re.compile(
    r"(^|_)(system|prompt|instructions?|model|tools?|config|settings|persona|template|role|head|header|schema|provider|client|kwargs|args|self|cls|temperature)(_|$|s$)",
    re.IGNORECASE,
)
USER_NAMES = re.compile(
    r"(^|_|\b)(user|username|user_name|profile|tenant|customer|account|locale|language|lang|persona|nickname|first_name|display_name|email|player|guild|channel|server)(_|\b|$)",
    re.IGNORECASE,
)
TURN_NAMES = re.compile(
    r"(^|_)(text|message|msg|question|query|user_input|input|content|task|request|prompt_text|utterance|user_text|user_message|q|topic|goal|command)(_|$)",
    re.IGNORECASE,
)
MAX_UP = 3
"""Calls that are followed upwards from what writes to a place that is read."""
_SAID_NAMES = re.compile(r"(^|_)user_?(input|message|msg|query|question|request|text|utterance|prompt)$", re.IGNORECASE)
"""Parameters that hold what a user says, and nothing about him."""
_SAYS = re.compile(r"(\w+_)?(text|message|msg|question|query|input|utterance|update)")
"""Parameters that are what somebody says, in its own words."""
_ASKED = frozenset(("input", "user", "conditional"))
"""Kinds of origins that come in from outside, and what is decided by them."""
_KEY_NAMES = re.compile(r"(^|_)(id|uuid|key|phone|jid)$")
"""Parameters that tell whose request it is, rather than what it says."""


@dataclass
class Parts:
    """The evaluated arguments of a request, by part."""

    values: dict[str, list[tuple[Value, Span, bool]]] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    depends: dict[str, tuple[Origin, ...]] = field(default_factory=dict)
    """What each parameter depends on: when that is filled in is only known once the turns are."""
    open: list[str] = field(default_factory=list)
    urls: list[Value] = field(default_factory=list)
    clients: list[ClientRow] = field(default_factory=list)
    base_urls: list[Value] = field(default_factory=list)
    vendors: list[str] = field(default_factory=list)
    """Of clients that are known to talk to nobody else."""
    given: dict[str, list[Value]] = field(default_factory=dict)
    """What the constructors of clients were given, by part."""

    def add(self, part: str, value: Value, span: Span, optional: bool = False) -> None:
        self.values.setdefault(part, []).append((value, span, optional))


class Causes:
    """The request of one sink in one context, as far as it is known; see ``build.requests``."""

    def __init__(self, ev: Evaluator, sink: Sink, chain: Chain, way: int = 0) -> None:
        self.ev, self.sink, self.chain = ev, sink, chain
        self.way, self.ways = way, 1
        self.frame = chain.sink_frame
        self.span = ev.span(self.frame, sink.call)
        self.parts = Parts()
        self.segments: list[Segment] = []
        self.breakpoints: list[Breakpoint] = []
        self.placed: list[tuple[Region | None, Breakpoint]] = []
        """Markers at the end of a region, or of the whole request."""
        self.fills: list[Value] = []
        """What a library puts into the texts."""
        self.time_format: str | None = None
        """How a library writes the time."""
        self.cut: Edit | None = None
        self.size: Edit | None = None
        """Options with which a library sends only the newest turns, and how many."""
        self.served: list[Edit] = []
        """What the server does to old turns."""
        self.edits: list[tuple[Edit, int]] = []
        self.histories: list[History] = []
        self.transcripts: list[History] = []
        """Kept lists of which a prompt tells the turns in one text."""
        self.rows_told: list[Many] = []
        """The newest rows of what others keep, such as a channel, of which a prompt tells the turns in one text."""
        self.tool_functions: frozenset[Function] | None = None
        self.made_by: dict[Routine, Value] = {}
        """By function in the place of the system text: what it makes when the request is made."""
        self.named_history: list[str] = []
        self.replayed: list[Item] = []
        self.loaded: Span | None = None
        self.called: Span | None = None
        self.added = 1
        self.built: Span | None = None
        self.marker_seen = False
        self.groups = 0
        self.input_in_last: set[str] = set()
        self.turn_level = 0
        self.kept_since: int | None = None
        """How often the object that keeps the history is made, where that is known."""
        self.on_way = dict.fromkeys(f.function for f in chain.frames)
        """The functions on the way, in its order: what is asked of one may use up what the next would need."""
        self.kept_names: frozenset[str] | None = None
        """The names of the lists that hold the turns and of the classes of the objects that hold those."""
        self.turn_classes: frozenset[str] | None = None
        """The names of the classes of the objects that turns are kept as."""
        self.cutters: frozenset[Function] | None = None
        """The functions that drop old turns."""
        self.cut_with: dict[Span, bool] = {}
        """Whether the code at a place runs only where they do."""
        self.seldom: dict[Function | Span, str | None] = {}
        self.compacting: dict[Span, bool] = {}
        """Whether the request that is sent at a place sums up many turns."""
        self.repeated: dict[tuple[Function, int], int] = {}
        """How often the loops on the way run a function off it, at a number of calls below what was asked about."""
        root = chain.frames[0].function
        self.root_span = binding.declaration(root)

    def _moment(self, level: int) -> Moment:
        if level <= IMPORT:
            return Moment.IMPORT
        if level == SESSION:
            return Moment.SESSION
        loops = len(self.chain.loops)
        turn = self.turn_level
        since = self.kept_since
        if since is not None and level <= since:
            return Moment.SESSION
        if level == CALL and self.chain.kind == "script":
            return Moment.SESSION  # ahead of all loops of a program that runs once
        if self.histories_known():
            if level < turn:
                return Moment.SESSION
            return Moment.LOOP if turn else Moment.CALL
        return Moment.LOOP if loops and level >= loops else Moment.CALL

    def _added_at(self, origin: Origin) -> int | None:
        """How often something is added to a list of texts; ``None`` when that is not seen on the way to the request.

        What fills the list while the program is set up is called elsewhere.
        """
        if origin.level > CALL:
            return origin.level
        function = self.ev.program.function_at(origin.span)
        if function is None or not (function in self.on_way or self._runs_between(function, (), (), 0)):
            return None
        return self._runs_at(function, origin.span, 0)

    def _begins_anew(self, origin: Origin) -> bool:
        """Whether a loop counts that sends nothing: each run of it counts from the beginning again."""
        function = self.ev.program.body_at(origin.span)
        if function is None:
            return False
        loops = self.ev.summary(function).loops.values()
        counting = {loop.id for loop in loops if function.module.span(loop.at) == origin.span}
        sending = {loop for frame in self.chain.frames if frame.function is function for loop in frame.path_loops}
        return bool(counting) and counting.isdisjoint(sending)

    def _tool_at(self, place: Span) -> Function | None:
        """The tool around a place off the way, which the model calls between two requests."""
        function = self.ev.program.function_at(place)
        if function is None or function in self.on_way:
            return None
        return function if is_tool(function) or function in self._tools_given() else None

    def _tools_given(self) -> frozenset[Function]:
        """The functions of the project that the request offers as tools."""
        if self.tool_functions is None:
            lists = (containers.as_seq(self.ev, v, span) for v, span, _ in self.parts.values.get("tools", ()))
            given = (o.function for s in lists for i in s.items for o in options(i.value) if isinstance(o, Routine))
            self.tool_functions = frozenset(given)
        return self.tool_functions

    def _kept_at(self, origin: Origin) -> int:
        """How often a value is filled in: where other code keeps it, how often the loops on the way run that code."""
        if origin.level != CALL or not self.chain.loops or any(step.hop is Hop.ONCE for step in origin.steps):
            return origin.level
        kept = next((n for n, step in enumerate(origin.steps) if step.hop in (Hop.KEPT, Hop.ENTERED)), None)
        if kept is None and origin.kind != "reply":  # an answer is not known to be kept where its text is read
            return CALL
        passed = [origin.span, *(step.span for step in origin.steps[: kept or 0])]
        seen = [level for span in passed if (level := self._level_on_way(span)) is not None]
        if seen and origin.kind == "reply" and (asking := self.ev.program.function_at(origin.span)) is not None:
            seen.append(self._runs_at(asking, origin.span, 0))
        if seen:
            return max(min(seen), CALL)  # not renewed more often than all of the code runs that it comes through
        place = passed[-1]
        function = self.ev.program.body_at(place)
        return CALL if function is None else max(self._runs_at(function, place, 0), CALL)

    def _level_on_way(self, place: Span) -> int | None:
        """How often code of a function on the way runs; ``None`` for code of others."""
        function = self.ev.program.function_at(place)
        frame = next((f for f in self.chain.frames if f.function is function), None)
        return objects.level_of_line(self.ev, frame, place) if frame is not None else None

    def _runs_at(self, function: Function, place: Span, depth: int) -> int:
        """How often the loops on the way run what stands at ``place``; ``CALL`` where that is not seen, or seldom."""
        frame = next((f for f in self.chain.frames if f.function is function), None)
        if frame is not None:
            return objects.level_of_line(self.ev, frame, place)
        if depth > MAX_UP or function.name in CONSTRUCTORS:
            return CALL
        known = self.repeated.get((function, depth))
        if known is None:
            calls = (c for c in callers.of(self.ev, function) if c.function is not function)
            always = (c for c in calls if not any(_is_seldom(g) for g in c.call.tests))
            above = (self._runs_at(c.function, c.function.module.span(c.call.at), depth + 1) for c in always)
            known = self.repeated[function, depth] = max(above, default=CALL)
        return known

    def histories_known(self) -> bool:
        return next(self._all_histories(), None) is not None

    def _all_histories(self) -> Iterator[History]:
        yield from self.transcripts
        for part in ("messages", "input", "prompt"):
            for value, _, _ in self.parts.values.get(part, ()):
                for option in options(value):
                    if isinstance(option, Seq):
                        yield from (i for i in option.items if isinstance(i, History))

    def _is_of_a_turn(self, origin: Origin) -> bool:
        """Whether a value is read from a field of the objects that turns are kept as: it is what a turn says.

        Which of them is read is not told apart. One that said something else before is an edit of the history.
        """
        if self.turn_classes is None:
            said = (o for h in self._all_histories() for value in (h.kept, h.value) for o in options(value))
            classes = dict.fromkeys(c for o in said if isinstance(o, Instance) for c in self.ev.program.mro(o.cls))
            self.turn_classes = frozenset(c.name for c in classes)
        kept = (step.place.partition(".")[0] for step in origin.steps if step.hop is Hop.KEPT and "." in step.place)
        return any(name in self.turn_classes for name in kept)

    def _hole_tokens(self, piece: Piece) -> Interval:
        here = number(self.ev.hints_at(piece.span).get("tokens", ""))
        size = told_tokens(piece.features) if here is None else here
        return hole_tokens(piece) if size is None else Interval(size, size)

    def _causes(self, origins: Iterable[Origin], where: Span | None = None) -> tuple[Cause, ...]:
        """What makes a value vary that becomes part of the request at ``where``."""
        return self._causes_of((o for o in origins if not self._goes_with_the_model(o)), where)

    def _causes_of(self, origins: Iterable[Origin], where: Span | None = None) -> tuple[Cause, ...]:
        found = (c for o in origins if (c := self._cause(o)) is not None)
        return tuple(t for c in found if (t := self._told(c, where)) is not None)

    def _goes_with_the_model(self, origin: Origin) -> bool:
        """Whether the command that changes a value puts another model in the place of the one before.

        Each model has a cache of its own, in which the text is the same as before.
        """
        if origin.guard != "command":
            return False
        models = (o for value, _, _ in self.parts.values.get("model", ()) for o in value.origins())
        return any((o.kind, o.span, o.guard) == (origin.kind, origin.span, origin.guard) for o in models)

    def _told(self, cause: Cause, where: Span | None) -> Cause | None:
        """The cause with the lifetime that a comment gives on the way of its value; ``None`` when it is constant."""
        way = [cause.origin, *(s.span for s in cause.flow), *([where] if where is not None else [])]
        match next((told for span in way if (told := self.ev.hints_at(span).get("lifetime"))), None):
            case "constant":
                return None
            case "process":
                return replace(cause, moment=Moment.IMPORT)
            case "conversation":
                return replace(cause, moment=min(cause.moment, Moment.SESSION))
            case "turn" | "call":
                return replace(cause, moment=max(cause.moment, Moment.CALL), axes=cause.axes | {Axis.CALL, Axis.TURN})
            case _:
                return cause

    def _cause(self, origin: Origin) -> Cause | None:
        """What an origin is to this request; ``None`` when nothing varies between two sends of it."""
        tool = self._tool_at(origin.span) if origin.kind in ("input", GROWN) else None
        meant = self._meant(origin) if tool is None else _handed_to(tool, origin)
        switched = SWITCHED in origin.features
        if meant is None or (switched and not self._switches(origin)):
            return None
        if switched:
            moment = Moment.LOOP if self.turn_level else Moment.CALL
        elif tool is not None and origin.level > SESSION:
            moment = Moment.LOOP if self.turn_level or self.chain.loops else Moment.CALL
        else:
            moment = self._moment(self._kept_at(replace(origin, level=meant.level)))
        if origin.kind == "random" and self._is_made_elsewhere(origin):
            moment = min(moment, Moment.SESSION)
        guard = meant.guard
        if origin.kind == "reply" and guard is None and self._compacts(origin.span):
            guard = "threshold"
        if guard is None and origin.kind in _ASKED and self._is_of_another_entry(origin.span):
            guard = "command"
        if moment >= Moment.CALL and self._kept_names():
            often = {self._how_often(span) for span in (origin.span, *(s.span for s in origin.steps))}
            if "anew" in often or self._begins_with(origin):
                moment = Moment.SESSION
            elif "threshold" in often or (guard is None and self._changes_with_a_cut(origin)):
                guard = "threshold"
        return Cause(
            meant.kind,
            meant.what,
            origin.span,
            moment,
            meant.axes,
            origin.grain,
            origin.steps,
            origin.features,
            guard,
            origin.because,
            meant.carrier,
            _is_said(meant),
        )

    def _meant(self, origin: Origin) -> Origin | None:
        """An origin with the kind, the axes and the words that it has in this request; ``None``: it does not vary."""
        kind = origin.kind
        doubtful = "opaque-call" in origin.features
        if kind == "counter" and self._begins_anew(origin):
            return None
        if kind == "conditional" and origin.span in self.ev.writers_of:
            # Whether something stands in a file changes when it is first written there, and when it is emptied.
            return replace(origin, guard="threshold") if self._writes(origin) is not None else None
        if kind == "conditional" and origin.carrier is Carrier.PARAMETER:
            decided = self._input(origin)
            return None if decided is None or (decided[0] == "user" and self._is_started_by_hand()) else origin
        if kind == "input":
            decided = self._input(origin)
            return replace(origin, kind=decided[0], axes=decided[1]) if decided is not None else None
        if kind == "loop":
            one = containers.says_whose(origin.name)
            axes = frozenset({Axis.USER, Axis.CONVERSATION} if one else {Axis.CALL})
            return replace(origin, kind="state", axes=axes)
        if kind == "history":
            what = f"{'what is looked up with' if doubtful else 'text made from'} the conversation so far"
            return replace(origin, kind="state", axes=frozenset({Axis.TURN, Axis.CALL}), what=what)
        if doubtful and origin.axes & {Axis.CALL, Axis.TURN}:
            if may_say_the_same(origin):
                return None
            if kind == "user":  # not what the user says, but what is looked up with it
                return replace(origin, kind="state", what=f"what is looked up with {origin.what}", carrier=None)
        if kind == "reply":
            return None if self._is_of_a_turn(origin) else replace(origin, kind="state")
        if kind == WRITTEN:
            asked = self._writes(origin)
            return replace(origin, kind="state", guard=asked or origin.guard) if asked is not None else None
        if kind == GROWN:
            added = self._added_at(origin)
            if added is None or self._moment(added) < Moment.CALL:
                return None
            return replace(origin, kind="state", level=added)
        return None if kind in ("time", "random") and self._is_entered_elsewhere(origin) else origin

    def _is_of_another_entry(self, place: Span) -> bool:
        """Whether a value comes in where another entry begins than on the way: a route that stores a setting."""
        function = self.ev.program.function_at(place)
        return function is not None and function not in self.on_way and entry_of(self.ev, function) is not None

    def _begins_with(self, origin: Origin) -> bool:
        """Whether a value is handed to the constructor of the object that holds the turns, and stays there.

        That object holds no turns then; code on the way could load some next.
        """
        ev, on_way = self.ev, self.ev.program.function_at(origin.span) in (None, *self.on_way)
        for kept in self._all_histories():
            match owner(kept.root):
                case (Class() as cls, str(name)):
                    places = [s.place.partition(".") for s in origin.steps if s.hop is Hop.KEPT]
                    given = [attribute for holder, _, attribute in places if holder == cls.name]
                    this = Instance(cls, kept.span, None)
                    first = state.initial(ev, this, name, kept.span) if given else None
                    empty = first is not None and all(isinstance(o, Seq) and not o.items for o in options(first))
                    loads = on_way and any(state.writer_level(ev, w) < CALL for w in state.writers(ev, kept.root))
                    if empty and not loads and any(next(state.changes(ev, this, n), None) is None for n in given):
                        return True
        return False

    def _changes_with_a_cut(self, origin: Origin) -> bool:
        """Whether some code off the way that a value comes through runs only where old turns are dropped."""
        if self.cutters is None:
            self.cutters = cuts.cutting(self.ev, dict.fromkeys(h.root for h in self._all_histories()))
        cutters, places = self.cutters, (origin.span, *(s.span for s in origin.steps))
        return bool(cutters) and any(self._runs_with_a_cut(place, cutters) for place in places)

    def _runs_with_a_cut(self, place: Span, cutters: frozenset[Function]) -> bool:
        known = self.cut_with.get(place)
        if known is None:
            function = self.ev.program.function_at(place)
            known = (
                function is not None
                and function not in self.on_way
                and cuts.only_with_a_cut(self.ev, function, place, cutters)
            )
            self.cut_with[place] = known
        return known

    def _is_started_by_hand(self) -> bool:
        """Whether the way begins at a command line, whose options stay as they are while the program runs."""
        return self.chain.entry is not None and not self.chain.entry[0].repeats

    def _is_entered_elsewhere(self, origin: Origin) -> bool:
        """Whether code off the way put a value under a key of a dict: there it stays as it is, as one of many."""
        place = next((s.span for s in origin.steps if s.hop is Hop.ENTERED), None)
        return place is not None and self._is_off_the_way(place)

    def _is_made_elsewhere(self, origin: Origin) -> bool:
        """Whether code off the way made a value that an object keeps: the name of a session that somebody opens."""
        return any(s.hop in (Hop.KEPT, Hop.ENTERED) for s in origin.steps) and self._is_off_the_way(origin.span)

    def _is_off_the_way(self, place: Span) -> bool:
        """Whether code stands in a function that no function on the way to the request calls."""
        function = self.ev.program.function_at(place)
        return (
            function is not None
            and function not in self.on_way
            and not any(caller.function in self.on_way for caller in callers.of(self.ev, function))
        )

    def _writes(self, origin: Origin) -> str | None:
        """How often something is written between two requests to what is read: "" each time; ``None``: never, as known.

        Code that no way to the request leads to may be an editor of the text, or run once.
        """
        found: list[str] = []
        for function, call in self.ev.writers_of.get(origin.span, ()):
            if any(map(asks_for_command, call.tests)) or on_command(self.ev, function):
                found.append("command")
            elif self._runs_between(function, call.loops, call.tests, 0):
                found.append("")
        return min(found, default=None)

    def _runs_between(self, function: Function, loops: tuple[int, ...], guards: tuple[Guard, ...], depth: int) -> bool:
        """Whether code of a function runs anew for each request, but on a command or an error."""
        if any(g.error or asks_for_command(g) for g in guards) or depth > MAX_UP:
            return False
        frame = next((f for f in self.chain.frames if f.function is function), None)
        if frame is not None:
            return self._moment(frame.level_at(loops)) >= Moment.CALL
        calls = (c for c in callers.of(self.ev, function) if c.function is not function)
        return any(self._runs_between(c.function, c.call.loops, c.call.tests, depth + 1) for c in calls)

    def _compacts(self, place: Span) -> bool:
        """Whether a request is sent to sum up many turns: by the name of its function, or once there are many."""
        known = self.compacting.get(place)
        if known is None:
            known = self.compacting[place] = self._sums_up(place)
        return known

    def _sums_up(self, place: Span) -> bool:
        function = self.ev.program.function_at(place)
        if function is None:
            return False
        if COMPACTS.search(function.name) or limit_of_calls(self.ev, function, inf, frozenset(self.on_way)) is not None:
            return True
        sent = (c for c in self.ev.summary(function).calls if function.module.span(c.at) == place)
        return any(guard_of(self.ev, call.tests, function)[0] == "threshold" for call in sent)

    def _kept_names(self) -> frozenset[str]:
        if self.kept_names is None:
            roots = [owner(h.root) for h in self._all_histories()]
            names = {name_of(root) for root in roots} - {""}
            holders = {r[0].name for r in roots if isinstance(r, tuple) and isinstance(r[0], Class)}
            self.kept_names = frozenset(names | holders)
        return self.kept_names

    def _how_often(self, place: Span) -> str | None:
        """How often the code at ``place`` runs, when that is seldom.

        "anew" when it begins a conversation, "threshold" when it is called above a threshold only.
        """
        function = self.ev.program.function_at(place)
        if function is None or isinstance(function.node, ast.Module):
            return None
        if function.owner is not None and function.owner.name in self._kept_names() and self._fills(function, place):
            return "anew"
        if place not in self.seldom:
            self.seldom[place] = "anew" if self._ahead_of_turns(function, place) else None
        if function in self.on_way or self.seldom[place]:
            return self.seldom[place]
        if function not in self.seldom:
            limit = limit_of_calls(self.ev, function, 0, frozenset(self.on_way))
            large = limit is not None and limit > LARGE_MESSAGES
            anew = makes_anew(self.ev, function, self._kept_names())
            self.seldom[function] = "anew" if anew else "threshold" if large else None
        return self.seldom[function]

    def _fills(self, function: Function, place: Span) -> bool:
        """Whether a call at ``place`` is made only while an attribute of the object that holds the turns is missing."""
        made = (c for c in self.ev.summary(function).calls if function.module.span(c.at) == place)
        return any(finds_missing(guard) for call in made for guard in call.guards)

    def _ahead_of_turns(self, function: Function, place: Span) -> bool:
        """Whether code runs once for each making, or emptying, of what holds the turns."""
        way = [f.function for f in self.chain.frames]
        made = self._begins_turns(function) and not in_loop(function, place.line)
        return made or (function in way and any(map(self._begins_turns, way[way.index(function) + 1 :])))

    def _begins_turns(self, function: Function) -> bool:
        """Whether a function makes what holds the turns, or has all of them dropped, once each time that it runs.

        Turns that it is given, with who said them, are those of a conversation that began before.
        """
        names, histories = self._kept_names(), list(self._all_histories())
        if any(said_before(option) for kept in histories for option in options(kept.value)):
            return False
        writers = [w for h in histories if (w := list(state.writers(self.ev, h.root)))]
        dropping = [[w for w in of_one if makes_anew(self.ev, w, names)] for of_one in writers]
        dropped = (any(self._always_calls(function, w) for w in of_one) for of_one in dropping)
        return makes_for_itself(function, names) or (bool(dropping) and all(dropped))

    def _always_calls(self, function: Function, called: Function) -> bool:
        """Whether a function calls another one in any case, and once."""
        calls = (c.call for c in callers.of(self.ev, called) if c.function is function)
        return any(not (call.guards or call.loops) for call in calls)

    def _switches(self, origin: Origin) -> bool:
        """Whether what writes a state runs between two sends of one conversation."""
        kept = self._kept_names()
        known = self.ev.switches.get(origin.span)
        if known is None:
            place = origin.steps[0].span if origin.steps else origin.span
            module = next((m for m in self.ev.program.modules if m.source.path == place.path), None)
            return module is not None and not begins_anew(module, place.line, kept)
        function, write = known
        if starts_anew(self.ev, function, kept, write.guards):
            return False
        if any(map(asks_for_command, write.guards)) or on_command(self.ev, function, kept, write.guards):
            return True
        places = [(function, write.loops, write.guards)]
        places += [(c.function, c.call.loops, c.call.guards) for c in callers.of(self.ev, function)]
        return any(
            any(g.sense for g in guards) and frame.function is place and set(loops) & set(frame.path_loops)
            for place, loops, guards in places
            for frame in self.chain.frames
        )

    def _input(self, origin: Origin) -> tuple[str, frozenset[Axis]] | None:
        """What a parameter that the outside fills in varies over, by the evidence of its use and its name."""
        if origin.span != self.root_span:
            # A parameter of other code: when it is filled in, and with what, is not known.
            return None
        name = origin.name
        said = _SAID_NAMES.search(name) is not None
        if STABLE_NAMES.search(name) and not said:
            return None
        about_user = USER_NAMES.search(name) and not said
        if about_user or (_KEY_NAMES.search(name) and not TURN_NAMES.search(name)):
            return "user", frozenset({Axis.USER, Axis.CONVERSATION})
        if self.chain.kind == "assumed" and name not in self.input_in_last and not (said or TURN_NAMES.search(name)):
            return None
        if self._is_started_by_hand() and (self.chain.loops or not TURN_NAMES.search(name)):
            return "user", frozenset({Axis.CONVERSATION})  # an option stays as it is in all turns
        if said or name in self.input_in_last or TURN_NAMES.search(name):
            return "state", frozenset({Axis.CALL, Axis.TURN})
        if self.chain.entry is None:
            return None
        return "user", frozenset({Axis.CONVERSATION})


def _handed_to(tool: Function, origin: Origin) -> Origin:
    """What the model says in a call of a tool."""
    what = f"what the model hands to {tool.name}()"
    return replace(origin, kind="state", axes=frozenset({Axis.TURN, Axis.CALL}), what=what, carrier=None)


def _is_said(origin: Origin) -> bool:
    if origin.carrier is Carrier.PARAMETER:
        return _SAYS.fullmatch(origin.name) is not None
    return origin.carrier is Carrier.TYPED


def _is_seldom(guard: Guard) -> bool:
    """Whether code under a test runs once, after an error or on a command."""
    return guard.error or finds_missing(guard) or asks_for_command(guard)
