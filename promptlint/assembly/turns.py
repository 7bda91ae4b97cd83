"""The turns that a request sends again: how they are kept, since when, and what shows that they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.assembly import chains, graphs
from promptlint.assembly.layout import Layout
from promptlint.assembly.prose import deep_text
from promptlint.code.expression import Attr as AttrNode
from promptlint.code.expression import Expr, LoopState, Phi, is_none
from promptlint.code.index import CONSTRUCTORS, Class
from promptlint.finding import Region
from promptlint.link.calling import binding, callers, runs
from promptlint.link.classes import derived
from promptlint.link.kept import state
from promptlint.link.kept.switches import makes_for_itself
from promptlint.link.turns.messages import is_fetched, is_history_name, is_of_reply, role_of
from promptlint.link.values import (
    CALL,
    SESSION,
    External,
    History,
    Hole,
    Instance,
    Item,
    Many,
    One,
    Rest,
    Seq,
    Type,
    Value,
    is_empty,
    options,
    owner,
)
from promptlint.request import Reuse
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.assembly.chains import Chain
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator


_SAID = frozenset(("user", "input", "state", "loop"))
"""Kinds of origins that bring in what a program is told from outside, or one item after the other."""
MADE_IN = 2
"""How far down the objects that a constructor makes are looked through for the one that keeps the turns."""


class Turns(Layout):
    """The request, with what is known about its reuse."""

    def _turn_level(self, messages: list[tuple[Seq, Span]]) -> int:
        """How many loops of the path lie outside the one whose iterations are turns; 0 when calls of the entry are."""
        lists = [s for s, _ in messages]
        lists += [o for v, _, _ in self.parts.values.get("prompt", ()) for o in options(v) if isinstance(o, Seq)]
        kept = [i for s in lists for i in s.items if isinstance(i, History)]
        levels = [self._grows_at(i) for i in (*kept, *self.transcripts) if not self._grows_on_errors(i)]
        if not levels:
            own = kept and all(isinstance(i, (One, History)) for s in lists for i in s.items)
            within = own and not self.sink.row.stateful and all(map(self._grows_around, kept))
            return len(self.chain.loops) + 1 if within else CALL
        entered = self.chain.entry is not None and self.chain.entry[0].repeats
        if (entered or min(levels) > 1) and any(_is_loaded(i) for s in lists for i in s.items):
            # The turns before this call are loaded: the loop adds steps to one turn of a longer conversation.
            return min(*levels, CALL if entered else 1)
        return max(min(levels), CALL)

    def _grows_on_errors(self, kept: History) -> bool:
        """Whether only a loop that errors repeat adds to a list: that makes no turn."""
        return isinstance(kept.root, Phi) and all(loop.state.id != kept.root.loop for loop in self.chain.loops)

    def _grows_around(self, kept: History) -> bool:
        """Whether the loop that adds to a list is one around the way to the sink: what is outside stays as it is."""
        return isinstance(kept.root, Phi) and any(kept.root.loop in call.loops for call in self.chain.calls)

    def _kept_since(self) -> int | None:
        """How often the object that keeps the history is made; ``None`` when that is not known, or there is none.

        What is evaluated no more often than that stays the same in all turns of a conversation.
        """
        row, func = self.sink.row, self.sink.call.func
        if not row.stateful:
            return None
        if self._is_given_turns() or (row.returns and self.histories_known()):
            return None  # the program keeps the turns itself, and gives them back
        if any(name in row.parts for name in row.keeper):
            given = [k for k, v in self.sink.call.keywords if k is None or (k in row.keeper and self._holds_some(v))]
            return None if given else self.frame.level_at(self.sink.call.loops)
        levels: list[int | None] = []
        for found in options(self.ev.eval(func.base if isinstance(func, AttrNode) else func, self.frame)):
            option = derived.client_of(self.ev, found) if isinstance(found, Instance) else found
            if not isinstance(option, External):
                continue
            if not row.keeper:
                levels.append(_made_at(option))
            elif kept := [option.keywords[name] for name in row.keeper if name in option.keywords]:
                levels += [_made_at(o) for value in kept for o in options(value)]
            else:
                levels.append(self.frame.level_at(self.sink.call.loops) if option.keywords else None)
        known = [level for level in levels if level is not None]
        return min(known) if known and len(known) == len(levels) else None

    def _is_given_turns(self) -> bool:
        """Whether the object that keeps the history begins with turns that are kept elsewhere, which outlives it."""
        lists = [o for v, _, _ in self.parts.values.get("messages", ()) for o in options(v)]
        return any(isinstance(i, History) or _is_loaded(i) for s in lists if isinstance(s, Seq) for i in s.items)

    def _holds_some(self, turns: Expr) -> bool:
        """Whether what is given as the turns so far may hold any."""
        return not is_none(turns) and not all(map(is_empty, options(self.ev.eval(turns, self.frame))))

    def _is_fresh(self) -> bool:
        """Whether what keeps the history is made for each call, and without tools, which are called in turns."""
        return self._is_made_for_call() and "tools" not in self.parts.values

    def _is_made_for_call(self) -> bool:
        """Whether what keeps the history is made for each call."""
        since = self._kept_since()
        return since is not None and since >= self.frame.level_at(self.sink.call.loops)

    def _grows_at(self, kept: History) -> int:
        """The level at which a history grows: where the way to the sink first runs a function that adds to it."""
        if kept.level != CALL:
            return kept.level
        writers = [f for f in state.writers(self.ev, kept.root) if state.writer_level(self.ev, f) == CALL]
        made = self._made_at_level(kept)
        levels = [self._level_of(f) for f in writers]
        # What happens once to each of the objects that a loop makes is no turn.
        return min((level for level in levels if level > made), default=max(made + 1, CALL) if levels else CALL)

    def _made_at_level(self, kept: History) -> int:
        """How many loops of the path lie around the making of the object that keeps the history; -1 without one."""
        root = owner(kept.root)
        cls = root[0] if isinstance(root, tuple) else None
        on_way = [f.this for f in self.chain.frames if isinstance(f.this, Instance)]
        holders = [h for h in on_way if h.cls is cls]
        if not holders and isinstance(cls, Class):
            holders = [
                o for h in on_way for o in self._given_to(h) if o.cls is cls or self._is_made_in(cls, o.cls, MADE_IN)
            ]
            holders += [h for h in on_way if self._is_made_in(cls, h.cls, MADE_IN)]
        level = next((h.level for h in holders), SESSION)
        return level if level > CALL else SESSION

    def _given_to(self, made: Instance) -> Iterator[Instance]:
        """The objects that the constructor of an object is given."""
        init = made.init
        for given in init.arguments.values() if init is not None else ():
            value = self.ev.eval(*given) if isinstance(given, tuple) else given
            yield from (o for o in options(value) if isinstance(o, Instance) and o.cls is not made.cls)

    def _is_made_in(self, cls: Class, holder: Class, depth: int) -> bool:
        """Whether each object of a class makes one of another in its constructor, or has one made there."""
        made = [
            o.cls
            for name in CONSTRUCTORS
            if (init := self.ev.program.method(holder, name)) is not None
            for call in self.ev.summary(init).calls
            for o in options(self.ev.resolve(call.func, self.ev.generic(init)))
            if isinstance(o, Type)
        ]
        return cls in made or (depth > 1 and any(self._is_made_in(cls, m, depth - 1) for m in made if m is not holder))

    def _level_of(self, function: Function) -> int:
        for frame in self.chain.frames:
            if frame.function is function:
                return frame.level
        for frame in self.chain.frames:
            for caller in callers.of(self.ev, function):
                if caller.function is frame.function:
                    return frame.level_at(caller.call.loops)
        return CALL

    def _has_turns(self, messages: list[tuple[Seq, Span]]) -> tuple[bool, str, Span | None, frozenset[str]]:
        growing = [h for h in self.histories if not (self._answers_one_reply(h) or self._begins_empty(h))]
        if growing:
            kept = growing[0]
            return True, "the history is kept and sent again", kept.span, frozenset()
        if any(map(self._begins_empty, self.histories)) and not self.sink.row.stateful:
            return False, "", None, frozenset()
        if self.transcripts:
            return True, "the conversation is kept and sent again as text", self.transcripts[0].span, frozenset()
        if self.rows_told:
            span = self.rows_told[0].span
            return True, "rows that say who said what are the turns so far", span, frozenset({"history-by-name"})
        if self.sink.row.stateful and not self._is_fresh():
            return True, "the object keeps the history itself", self.span, frozenset()
        for name in self.named_history:
            if is_history_name(name):
                return True, f"{name} holds the turns so far", self.span, frozenset({"history-by-name"})
        state = self._state_of_node()
        if state is not None:
            return True, "each step of the graph adds to it", state, frozenset()
        if self.loaded is not None:
            return True, "rows that say who said what are the turns so far", self.loaded, frozenset({"history-by-name"})
        if self.called is not None and (self.chain.loops or self.chain.entry is not None):
            return True, "tool calls of earlier turns are sent again", self.called, frozenset({"history-by-shape"})
        asked = self.chain.entry is not None and self.chain.entry[0].repeats
        if (
            asked
            and any(isinstance(i, Many) and self._from_outside(i.of) for i in self.replayed)
            and any(s.region is Region.SYSTEM and s.text for s in self.segments)
        ):
            # Without a word of its own this is a gateway, whose callers know what they send again.
            return (
                True,
                "what was said so far is sent again, role by role",
                self.replayed[0].span,
                frozenset({"history-by-name"}),
            )
        for sequence, _ in messages:
            edits = [e for e in sequence.edits if e.kind in ("window", "rewrite", "prepend") and not e.alike]
            if edits and any(isinstance(i, (Rest, Many)) for i in sequence.items):
                return True, "the list of messages is kept and changed", edits[0].span, frozenset()
        return False, "", None, frozenset()

    def _state_of_node(self) -> Span | None:
        """Where a node that its graph leads back to reads the messages in its state."""
        for frame in self.chain.frames:
            function = frame.function
            first = function.parameters[function.is_method :][:1]
            turns = runs.turns_key(self.ev, function)
            state = re.compile(rf"{re.escape(first[0].name)}\b.*{turns}\b") if first else None
            if state is None or not any(map(state.match, self.named_history)):
                continue
            if graphs.runs_again(self.ev, function):
                return binding.declaration(function)
        return None

    def _begins_empty(self, kept: History) -> bool:
        """Whether the turns are those of an object that each call from outside makes anew, with none in it, and that
        sends once.
        """
        root, holder = owner(kept.root), self._holder(kept)
        if holder is None or self.chain.loops or self.chain.entry is None or not self.chain.entry[0].repeats:
            return False
        maker = self.ev.program.function_at(holder.span)
        if maker not in self.on_way or not makes_for_itself(maker, frozenset({holder.cls.name})):
            return False
        first = state.initial(self.ev, holder, str(root[1]), kept.span) if isinstance(root, tuple) else None
        return first is not None and all(isinstance(o, Seq) and not o.items for o in options(first))

    def _drops_turns(self, reuse: Reuse) -> bool:
        """Whether all that is kept is kept for this call from outside only."""
        return not reuse.turns and bool(self.histories) and all(map(self._begins_empty, self.histories))

    def _holder(self, kept: History) -> Instance | None:
        """The object on the way that holds the turns, when it is seen where that is made."""
        root = owner(kept.root)
        cls = root[0] if isinstance(root, tuple) else None
        this = (f.this for f in self.chain.frames)
        return next((i for i in this if isinstance(i, Instance) and i.cls is cls and i.init is not None), None)

    def _answers_one_reply(self, kept: History) -> bool:
        """Whether a list grows in a loop over the parts of one reply only: tool calls that are answered one by one."""
        return (
            isinstance(kept.root, Phi) and len(kept.root.state.around) == 1 and self._takes_one_reply(kept.root.state)
        )

    def _takes_one_reply(self, state: LoopState) -> bool:
        """Whether a loop on the way runs over the parts of a reply that was there before it."""
        frame = next((f for f in self.chain.frames if state.id in f.path_loops), None)
        if frame is None or state.iterable is None or frame.level > CALL or len(state.around) > 1:
            return False
        found = options(self.ev.eval(state.iterable, frame))
        return bool(found) and all(is_of_reply(o) for o in found)

    def _from_outside(self, source: Value | None) -> bool:
        """Whether a list is what the entry is handed."""
        return isinstance(source, Hole) and any(o.kind == "input" and o.span == self.root_span for o in source.deps)

    def _reuse(self, messages: list[tuple[Seq, Span]]) -> Reuse:
        turns, why, span, features = self._has_turns(messages)
        chain = self.chain
        if "one-shot" in self.ev.hints_at(self.span):
            return Reuse(False, None, "marked as one-shot")
        if turns:
            repeats = (
                "loop"
                if chain.loops
                else "entry"
                if chain.entry is not None
                else "assumed"
                if chain.kind == "assumed"
                else None
            )
            if chain.kind == "assumed" and features:
                features = features | {"assumed-entry"}
            return Reuse(True, repeats, why, span, features, self._is_scripted(messages), self._most_rounds())
        fanning = [
            loop
            for loop in chain.loops
            if not _is_small(self.ev, chain, loop) and not self._takes_one_reply(loop.state)
        ]
        if fanning:
            return Reuse(False, "loop", "this loop sends one request after another", fanning[-1].span)
        if chain.entry is not None and chain.entry[0].repeats:
            row, place = chain.entry
            return Reuse(False, "entry", f"this is {row.evidence}", place)
        if chain.kind == "assumed" or (chain.entry is not None and chains.is_started(chain.entry[0])):
            offered = (f.function for f in chain.frames if chains.is_offered(self.ev, f.function))
            if (function := next(offered, None)) is not None:
                why, place = "the package offers this to its users", binding.declaration(function)
                return Reuse(False, "entry", why, place, frozenset({"library-entry"}))
        if chain.kind == "assumed":
            return Reuse(
                False,
                "assumed",
                "nothing in the project calls this; it may be called again and again",
                None,
                frozenset({"assumed-entry"}),
            )
        return Reuse(False, None, "")

    def _is_scripted(self, messages: list[tuple[Seq, Span]]) -> bool:
        """Whether a program of one file that runs once asks nothing but what stands in its code."""
        items = [i for sequence, _ in messages for i in sequence.items]
        asked = [i for i in items if isinstance(i, One) and role_of(i.value) == "user"]
        return (
            self.chain.kind == "script"
            and self.chain.root.module is self.frame.module
            and bool(asked)
            and all(isinstance(i, (One, History)) for i in items)
            and not any(o.kind in _SAID for i in items for o in i.value.origins())
            and all(p.text is not None for i in asked for p in deep_text(self.ev, i.value, i.span))
        )

    def _most_rounds(self) -> int | None:
        """How often a program that runs once sends the request within one life of what keeps the turns."""
        since = self._kept_since()
        rounds = 1
        for loop in self.chain.loops if self.chain.kind == "script" else ():
            if since is None or loop.level > since:
                length = _length(self.ev, self.chain, loop)
                if length is None:
                    return None
                rounds *= length
        return rounds if self.chain.kind == "script" and self.chain.loops else None


def _is_loaded(item: Item) -> bool:
    """Whether an element of a list of messages stands for turns that come from where they are kept."""
    if isinstance(item, Rest):
        return isinstance(item.value, Hole) and is_history_name(item.value.name)
    of = item.of if isinstance(item, Many) else None
    if not isinstance(of, Hole) or of.root:
        return False
    return of.window is not None or is_history_name(of.name) or (is_fetched(of) and role_of(item.value) == "")


def _made_at(value: Value) -> int | None:
    """How often the code that makes an object runs, when it can be seen."""
    while isinstance(value, External):
        if value.level is not None or value.this is None:
            return value.level
        value = value.this
    return None


def _is_small(ev: Evaluator, chain: Chain, loop: chains.Loop) -> bool:
    """Whether a loop is known to run once at most."""
    length = _length(ev, chain, loop)
    return length is not None and length < 2


def _length(ev: Evaluator, chain: Chain, loop: chains.Loop) -> int | None:
    """How often a loop runs, when it goes over a list that is known to the last element."""
    iterable = loop.state.iterable
    frame = next((f for f in chain.frames if loop.state.id in f.path_loops), None)
    if iterable is None or frame is None:
        return None
    value = ev.eval(iterable, frame)
    return len(value.items) if isinstance(value, Seq) and value.known else None
