"""What becomes of old turns between two requests: which edits of a history count, and how often they are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from promptlint.assembly import chains
from promptlint.assembly.causes import MAX_UP
from promptlint.assembly.turns import Turns
from promptlint.code import syntax
from promptlint.code.expression import Call, unchanged
from promptlint.frozen import replace
from promptlint.link.calling import callers
from promptlint.link.classes.objects import level_of_line
from promptlint.link.conditions import SUMMARY
from promptlint.link.kept.switches import on_command
from promptlint.link.turns import thinking
from promptlint.link.turns.guards import (
    COMPACTS,
    LARGE_MESSAGES,
    TELLS_BRIEFLY,
    after_a_pause,
    asks_for_one,
    asks_of_first,
    guard_of,
    limit_of_calls,
    near_the_window,
)
from promptlint.link.turns.messages import SYSTEM_ROLES, may_be_message, role_of
from promptlint.link.values import MARKED_EACH, Const, Edit, Type, only, options
from promptlint.request import Cause, Kind, Mutator, Reuse
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.code.index import Function


RESTORES = frozenset(("initialize", "initialise", "init", "load", "open", "restore", "reload", "resume"))
"""Methods that bring back the turns of an earlier run of the program."""
MOST_TOKENS = frozenset(("max_tokens", "max_completion_tokens", "max_output_tokens"))
A_WORD = 32
"""Tokens that hold no more than the name of a class, or a yes."""
MAX_ASKING = 3
"""Calls of a method that cuts a history which a finding names."""

_NO_CHANGE = frozenset(("mark", MARKED_EACH, "unmark", "cap"))
"""Kinds of edits that change no text of what was sent."""


class Changes(Turns):
    """The request, with what changes what was already sent."""

    def mutators(self, reuse: Reuse) -> tuple[Mutator, ...]:
        """The changes of old turns; none where these are dropped when the call from outside is over."""
        return () if self._drops_turns(reuse) else _tightest(_once(self._changes()))

    def _changes(self) -> Iterator[Mutator]:
        """What changes, between two sends, what was already sent."""
        seen = {(edit.kind, edit.span) for edit, _ in self.edits if edit.alike}
        cutting = {self.ev.program.function_at(e.span) for e, _ in self.edits if e.kind == "window"}
        cuts: tuple[Step, ...] = ()
        for edit, position in self.edits:
            if (edit.kind, edit.span) in seen or not self._is_of_turns(edit):
                continue
            seen.add((edit.kind, edit.span))
            function = self.ev.program.function_at(edit.span) or self.frame.function
            if not self._is_made_between(edit, function):
                continue
            inserted = edit.kind == "prepend"
            causes = self._causes(edit.value.origins()) if edit.value is not None and inserted else ()
            guard, bulk = self._guard_of(edit, function)
            if edit.what == SUMMARY and (edit.guard or guard) == "command":
                continue  # the user wants to go on with less
            if inserted and ((function in cutting and _retold(edit)) or not self._moves_turns(edit, causes)):
                continue
            flow = edit.steps if edit.kind == "replay" else ()
            if edit.kind == "window":
                flow = (*cuts, *self._asked_for(edit), *edit.steps)
            yield Mutator(
                edit.kind,
                edit.span,
                edit.what,
                guard if guard == "threshold" else edit.guard or guard,
                edit.keeps,
                position,
                causes,
                None,
                flow,
                edit.features,
                edit.behind,
                bulk,
            )
            if edit.kind == "window":
                size = f" to {edit.keeps} messages" if edit.keeps is not None else ""
                cuts = (*cuts, Step(edit.span, f"{edit.what} also cuts this history{size}"))

    def _is_of_turns(self, edit: Edit) -> bool:
        """Whether an edit changes turns that were sent, as far as it tells by itself."""
        if edit.span.line <= 0 or edit.kind in _NO_CHANGE:
            return False
        if edit.kind == thinking.EDIT and not (edit.behind or self._of_old_turns(edit.span)):
            return False
        if edit.kind == "rewrite" and asks_for_one(edit.guards):
            return False
        return edit.kind not in ("rewrite", "prepend") or edit.value is None or may_be_message(edit.value)

    def _is_made_between(self, edit: Edit, function: Function) -> bool:
        """Whether an edit in a function is made between two requests of one conversation."""
        if self._is_never_run(function) or self._only_sets_up(function):
            return False
        if edit.kind != "window":
            return True
        if edit.taken and self._runs_before_turns(function, edit.span, 0):
            return False
        if function is self.frame.function and TELLS_BRIEFLY.search(function.name):
            return False  # what is to be summarised: the next summary is of other turns
        return not (self._asks_for_a_word() or _asks_of_first(edit))

    def _runs_before_turns(self, function: Function, place: Span, depth: int) -> bool:
        """Whether code runs ahead of the loop that takes the turns only: it is seen there, or all that calls it is."""
        frame = next((f for f in self.chain.frames if f.function is function), None)
        if frame is not None:
            return level_of_line(self.ev, frame, place) < self.turn_level
        calls = [c for c in callers.of(self.ev, function) if c.function is not function]
        return (
            depth < MAX_UP
            and bool(calls)
            and all(
                self._runs_before_turns(c.function, self.ev.span(self.ev.generic(c.function), c.call), depth + 1)
                for c in calls
            )
        )

    def _guard_of(self, edit: Edit, function: Function) -> tuple[str, bool]:
        """The guard of an edit, and whether it changes several turns at once, so that it is not due again for some."""
        guard, limit = guard_of(self.ev, edit.guards, function)
        if guard == "always" and syntax.in_handler(function.syntax, edit.span.line):
            guard = "error"  # also where the way of the list does not tell it
        if edit.kind == "prepend" and _retold(edit) and COMPACTS.search(function.name):
            guard = "threshold"
        if edit.kind == "window":
            return self._guard_of_window(edit, guard, limit)
        rare = edit.kind in ("rewrite", "prepend") and guard in ("always", "threshold")
        if rare and (limit or 0) <= LARGE_MESSAGES:
            above = self._limit_of_calls(edit.span, inf)
            if above is not None and above > LARGE_MESSAGES:
                return "threshold", False
        if guard == "threshold" and limit is not None and limit <= LARGE_MESSAGES:
            return "always", edit.what == SUMMARY
        return guard, False

    def _moves_turns(self, edit: Edit, causes: tuple[Cause, ...]) -> bool:
        """Whether what is inserted ahead of kept turns is more than the head that they have in every request."""
        if not (self.histories or any(s.kind is Kind.HISTORY for s in self.segments)):
            return False
        system = edit.value is not None and role_of(edit.value) in SYSTEM_ROLES
        return bool(causes) or not (system or _asks_of_first(edit))

    def _asks_for_a_word(self) -> bool:
        """Whether the answer is a few tokens long: a message is sorted, to which the turns before it are a hint."""
        limits = (v for k, v in self.sink.call.keywords if k in MOST_TOKENS)
        known = [o.value for v in limits for o in options(self.ev.eval(v, self.frame)) if isinstance(o, Const)]
        return any(isinstance(n, int) and n <= A_WORD for n in known)

    def _asked_for(self, edit: Edit) -> Iterator[Step]:
        """The calls that bring a cut about, when no function on the way to the sink makes it."""
        function = self.ev.program.function_at(edit.span)
        if function is None or not function.is_method or any(f.function is function for f in self.chain.frames):
            return
        for caller in callers.of(self.ev, function)[:MAX_ASKING]:
            span = self.ev.span(self.ev.generic(caller.function), caller.call)
            if caller.function is not function and all(s.span != span for s in edit.steps):
                yield Step(span, f"{caller.function.name}() calls {function.name}()")

    def _of_old_turns(self, place: Span) -> bool:
        module = next((m for m in self.ev.program.modules if m.path == place.path), None)
        return module is not None and thinking.only_of_old_turns(module.tree, place.line)

    def _only_sets_up(self, function: Function) -> bool:
        """Whether only code that sets an object up calls a function: what it changes was not sent by that object yet.

        Such code is in a method of the object itself, or it makes the object, and hands it over as the first argument.
        """
        if function in self.on_way or function.decorators:
            return False
        called = [(c.function, c.call) for c in callers.of(self.ev, function)]
        if function.owner is None:
            return bool(called) and all(self._is_handed_new(caller, call) for caller, call in called)
        called = called or list(self.ev.program.calls_named(function.name, function.module))
        found = [f for f, _ in called]
        return bool(found) and all(
            f.owner is function.owner and (f.name == "__init__" or (f.name in RESTORES and f not in self.on_way))
            for f in found
        )

    def _is_handed_new(self, caller: Function, call: Call) -> bool:
        """Whether the first argument of a call is an object of the project that is made once each time it is made."""
        made = unchanged(call.args[0]) if call.args else None
        if not isinstance(made, Call) or made.loops != call.loops:
            return False
        return only(self.ev.resolve(made.func, self.ev.generic(caller)), Type) is not None

    def _is_never_run(self, function: Function) -> bool:
        """Whether nothing in the project, nor a library, runs a method off the way, or one of the same name."""
        owner = function.owner
        if function in self.on_way or owner is None or function.decorators:
            return False
        set_by_place = function.name in ("__setitem__", "__delitem__")
        if not set_by_place and (function.name.startswith("__") or self.ev.program.foreign_bases(owner)):
            return False
        return not (
            self.ev.program.calls_named(function.name, function.module)
            or callers.of(self.ev, function)
            or chains.entry_of(self.ev, function)
            or chains.is_offered(self.ev, function)
            or on_command(self.ev, function)
        )

    def _guard_of_window(self, edit: Edit, guard: str, limit: float | None) -> tuple[str, bool]:
        """The guard of a cut, and whether it takes several turns at once that come back one by one."""
        function = self.ev.program.function_at(edit.span)
        if edit.keeps is None and function is not None and COMPACTS.search(function.name):
            above = self._limit_of_calls(edit.span, inf)
            return ("threshold", True) if above is not None and above > LARGE_MESSAGES else (guard, False)
        if guard in ("always", "threshold") and edit.keeps is not None and (limit or 0) <= LARGE_MESSAGES:
            above = self._limit_of_calls(edit.span, 0)
            if above is not None and above > (limit or 0):
                guard, limit = "threshold", above
        if guard != "threshold":
            return guard, False
        if function is not None and after_a_pause(self.ev, edit.guards, function):
            return "threshold", True
        if edit.keeps is None and function is not None and near_the_window(self.ev, edit.guards, function):
            return "threshold", False
        keeps = limit - edit.drops if edit.drops is not None and limit is not None else edit.keeps
        if keeps is None or limit is None or limit < keeps * 1.5:
            return "always", False
        return "always" if limit <= LARGE_MESSAGES else "threshold", True

    def _limit_of_calls(self, place: Span, unknown: float) -> float | None:
        """The threshold under which the code around ``place`` is called: see ``guards.limit_of_calls``."""
        return limit_of_calls(self.ev, self.ev.program.function_at(place), unknown, frozenset(self.on_way))


def _once(mutators: Iterable[Mutator]) -> tuple[Mutator, ...]:
    """The mutators; cuts of one history that several places of a file make in the same words are one, at the first."""
    found: dict[object, Mutator] = {}
    for mutator in mutators:
        place = mutator.span
        window = mutator.kind == "window"
        key = (place.path, mutator.what, mutator.keeps, mutator.guard) if window else (place, mutator.kind)
        first = found.get(key, mutator)
        again = () if first is mutator else (Step(place, "the same cut is made here"),)
        found[key] = replace(first, flow=(*first.flow, *again))
    return tuple(found.values())


def _tightest(mutators: tuple[Mutator, ...]) -> tuple[Mutator, ...]:
    """The mutators without the cuts that leave more than another one always does: what is sent never shows them."""
    sizes = [m.keeps for m in mutators if m.kind == "window" and m.guard == "always" and m.keeps is not None]
    tight = min(sizes, default=inf)
    counts = tight < inf  # a deque of unknown length holds more than the few that are taken from it

    def shows(mutator: Mutator) -> bool:
        return mutator.kind != "window" or not (
            (mutator.keeps or 0) > tight or (counts and mutator.keeps is None and "maxlen" in mutator.what)
        )

    return tuple(m for m in mutators if shows(m))


def _retold(edit: Edit) -> bool:
    """Whether what is inserted says no more than what a cut took away: a summary, the system text once more."""
    return edit.value is None or {o.kind for o in edit.value.origins()} <= {"reply", "history"}


def _asks_of_first(edit: Edit) -> bool:
    return asks_of_first(g.test for g in edit.guards if g.test is not None)
