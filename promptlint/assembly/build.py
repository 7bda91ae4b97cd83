"""The request of one sink in one calling context: parts, segments in wire order, breakpoints, mutators, reuse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from promptlint import provider as providers
from promptlint.assembly import bodies, chains, graphs, markers, pace
from promptlint.assembly.concurrency import fanned_out
from promptlint.assembly.layout import Layout
from promptlint.assembly.parameters import deciding, may_be_missing, origins_of_test
from promptlint.assembly.prose import deep_text
from promptlint.assembly.usage import usage_of
from promptlint.code import syntax
from promptlint.code.expression import Attr as AttrNode
from promptlint.code.expression import Either, Expr, Guard, LoopState, Phi, Star, is_none
from promptlint.code.index import Class
from promptlint.finding import Confidence, Region, Site
from promptlint.frozen import replace
from promptlint.link import binding, callers, containers, derived, mutations, sinks, state, strings, thinking
from promptlint.link.conditions import SUMMARY
from promptlint.link.guards import (
    COMPACTS,
    LARGE_MESSAGES,
    TELLS_BRIEFLY,
    after_a_pause,
    asks_for_one,
    asks_of_first,
    guard_of,
    limit_of_calls,
    near_the_window,
    texts_asked,
)
from promptlint.link.messages import (
    SYSTEM_ROLES,
    is_fetched,
    is_history_name,
    is_of_reply,
    looks_like_messages,
    may_be_message,
    role_of,
)
from promptlint.link.switches import SWITCHED, asks_for_command, in_loop, makes_for_itself, on_command
from promptlint.link.values import (
    CALL,
    SESSION,
    Const,
    Edit,
    Entry,
    External,
    History,
    Hole,
    Instance,
    Item,
    Many,
    Map,
    One,
    Origin,
    Rest,
    Routine,
    Seq,
    Text,
    Type,
    Value,
    is_empty,
    join,
    literal,
    options,
    owner,
)
from promptlint.request import (
    WRAPPED,
    Branch,
    Carrier,
    Cause,
    Kind,
    Moment,
    Mutator,
    Parameter,
    Request,
    Reuse,
    Usage,
)
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.assembly.chains import Chain
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame
    from promptlint.link.sinks import Sink


_BESIDE_CACHED = {"cached_content": "cached-content", "system_instruction": "system", "tools": "tools"}
ASKING = ("cached_content", "prompt_cache_")
"""How parameters begin that ask for a cache."""
LONG = 1_000
"""Characters of constant text below which no prefix is worth a look at who sends it."""
_SAID = frozenset(("user", "input", "state", "loop"))
"""Kinds of origins that bring in what a program is told from outside, or one item after the other."""
MADE_IN = 2
"""How far down the objects that a constructor makes are looked through for the one that keeps the turns."""
MOST_ADDED = 8
"""Messages that a function may add to those so far; of one that leaves more, it is not known what it makes of them."""
RESTORES = frozenset(("initialize", "initialise", "init", "load", "open", "restore", "reload", "resume"))
"""Methods that bring back the turns of an earlier run of the program."""
MAX_WAYS = 3
MOST_TOKENS = frozenset(("max_tokens", "max_completion_tokens", "max_output_tokens"))
A_WORD = 32
"""Tokens that hold no more than the name of a class, or a yes."""
MAX_ASKING = 3
"""Calls of a method that cuts a history which a finding names."""


def requests(ev: Evaluator, sink: Sink, chain: Chain) -> list[Request]:
    """The requests of ``sink`` in the context ``chain``: one for each kind of body that the code can build.

    Empty when the arguments show that it sends no prompt.
    """
    if not bodies.may_ask(ev, sink, chain.sink_frame) or not _holds_messages(ev, sink, chain.sink_frame):
        return []
    first = _Builder(ev, sink, chain)
    found = [first.build()]
    found += [_Builder(ev, sink, chain, way).build() for way in range(1, min(first.ways, MAX_WAYS))]
    return [r for r in found if r is not None]


def _holds_messages(ev: Evaluator, sink: Sink, frame: Frame) -> bool:
    """Whether what an unknown library is given as messages looks like such: asked before all else is evaluated."""
    given = dict(sink.call.keywords).get("messages") if sink.row.id == "structural" else None
    return given is None or looks_like_messages(ev.eval(given, frame))


class _Builder(Layout):
    """Puts the parts together and says what is known about their reuse."""

    def build(self) -> Request | None:
        ev, call, row = self.ev, self.sink.call, self.sink.row
        self._receiver_parts()
        for name, value in self.sink.preset.keywords.items() if self.sink.preset is not None else ():
            self._argument(name, value, self.span, False)
        position = 0
        for argument in call.args:
            if isinstance(argument, Star):
                self.parts.open.append("*args")
                continue
            name = row.positional[position] if position < len(row.positional) else ""
            position += 1
            if name and row.parts.get(name) != "ignore":
                self._argument(name, ev.eval(argument, self.frame), ev.span(self.frame, argument), False)
        for key, expr in call.keywords:
            if key is not None and row.parts.get(key) == "ignore":
                continue
            value = ev.eval(expr, self.frame)
            if key is not None:
                self._argument(key, value, ev.span(self.frame, expr), False)
            else:
                self._spread(value)
        if row.decorates:
            self._argument("result", ev.result(self.frame, self.frame.function, self.span), self.span, False)
        if not self._is_request():
            return None
        self._fill()
        return self._assemble()

    def _fill(self) -> None:
        """Puts what the call gives for names into the texts that an object was made with."""
        given = [o for value in self.fills for o in options(value) if isinstance(o, Map)]
        names = {k: entry.value for known in given for k, entry in known.entries.items()}
        for part in ("system", "prompt") if names else ():
            for number, (value, span, optional) in enumerate(self.parts.values.get(part, ())):
                if isinstance(value, Text):
                    made = strings.format_method(self.ev, value, (), names, (), self.span, self.frame)
                    self.parts.values[part][number] = made, span, optional

    def _assemble(self) -> Request:
        model = self._model() or self.ev.settings_model
        provider = self._provider(model)
        facts = self._least(providers.facts(provider, model))
        facts = self._as_branch_says(facts) if model is None else facts
        messages = self._served(self._filtered(self._handed_over(self._messages())))
        texts = list(self.parts.values.get("prompt", ()))
        compacts = any(COMPACTS.search(f.function.name) for f in self.chain.frames)  # other turns each time
        if facts.trigger != "explicit" and not compacts and (not self.sink.row.stateful or self._is_fresh()):
            told = list(self._lists_told(messages, texts))
            self.transcripts, self.rows_told = list(self._told_as_text(told)), list(self._rows_told(told))
        self.input_in_last = {o.name for o in self._last_message_origins(messages, texts) if o.kind == "input"}
        self.turn_level = self._turn_level(messages)
        self.kept_since = None if self._is_fresh() else self._kept_since()
        order = facts.order or ("tools", "system", "messages")
        for region in order:
            if region == "tools":
                self._tools()
            elif region == "system":
                self._system()
            elif region == "messages":
                self._emit_messages(messages)
                for value, span, optional in texts:
                    self._prompt(value, span, optional)
        for region in ("tools", "system", "messages"):
            if region not in order:
                {"tools": self._tools, "system": self._system}.get(region, lambda: self._emit_messages(messages))()
        for value, span, optional in self.parts.values.get("model", ()):
            if not isinstance(value, External):
                self._parameter("model", value, span, optional)
        if self.parts.values.get("cached-content"):
            self._beside_cached()
        reuse = self._reuse(messages)
        reuse = replace(reuse, features=reuse.features | self.chain.features)
        # What a change of a parameter costs matters where turns are kept.
        watched = reuse.turns and facts.caches
        sure = self.sink.row.confidence == "high" and self.sink.row.id != "structural"
        built = [Step(self.built, "the request is built here")] if self.built is not None else []
        return Request(
            Site(self.span, provider, model),
            self.sink.row.id,
            facts,
            parameters=self._parameters(facts, watched),
            segments=tuple(self.segments),
            breakpoints=tuple(self._marked()),
            # Turns that are dropped when the call from outside is over are sent once, whatever is done to them then.
            mutators=() if self._drops_turns(reuse) else _tightest(_once(self._mutators())),
            reuse=reuse,
            open=tuple(self._open(facts)),
            confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
            path=(*self.chain.steps, *built),
            root=self.root_span,
            branches=tuple(self._branches()) if watched else (),
            seldom=self._is_seldom(reuse),
            pace=pace.of(self.ev, self.chain) if self.breakpoints else None,
            parallel=self._parallel(facts, reuse),
            usage=self._usage(),
            added=self.added,
            fallback=self.sink.fallback,
            keepers=frozenset(h.span for k in self.histories if (h := self._holder(k)) is not None),
        )

    def _tools(self) -> None:
        first = len(self.segments)
        super()._tools()
        listed = self.segments[first:]
        if listed and all(s.optional for s in listed) and self.histories_known():
            decided = list(self._deciding_tools())
            causes = dict.fromkeys((*listed[0].causes, *(cause for cause, _ in decided)))
            # A switch is told where it is set, anything else where the test for it stands.
            where = next((place for c, place in decided if SWITCHED not in c.features), listed[0].span)
            self.segments[first] = replace(listed[0], causes=tuple(causes), span=where)

    def _deciding_tools(self) -> Iterator[tuple[Cause, Span]]:
        """What decides from turn to turn whether any tools are sent, and where: words of the user, a state, a counter.

        Not an option that a caller sets.
        """
        for choice, frame in self._choices(("tools",)):
            place = frame.module.span(choice.at)
            for cause in self._causes_of_test(Guard(choice.test), frame, without="reply"):
                known = "opaque-call" not in cause.features or cause.carrier is Carrier.PARAMETER
                said = known and cause.kind in ("state", "user") and self._asks_of_text(choice.test, frame)
                counted = cause.kind == "counter" and (cause.conditional == "round" or cause.moment is Moment.CALL)
                if said or counted or SWITCHED in cause.features:
                    yield replace(cause, kind="conditional"), place

    def _asks_of_text(self, test: Expr | None, frame: Frame) -> bool:
        """Whether a test looks into what the user says."""
        asked = (o for node in texts_asked(test) for o in self.ev.eval(node, frame).origins())
        return any(o.kind in ("input", "user") and "opaque-call" not in o.features for o in asked)

    def _loops(self, place: Span) -> bool:
        """Whether a place lies in a loop of its function."""
        function = self.ev.program.function_at(place)
        return function is not None and in_loop(function, place.line)

    def _beside_cached(self) -> None:
        """What must not stand beside a cache object matters where it is given."""
        for name, part in _BESIDE_CACHED.items():
            for value, span, optional in self.parts.values.get(part, ())[:1]:
                if not is_empty(value):
                    unsure = optional or may_be_missing(value) or any(self._choices((name,)))
                    self.parts.parameters[name] = Parameter(name, span, literal(value), optional=unsure)

    def _parameters(self, facts: providers.Facts, watched: bool) -> dict[str, Parameter]:
        """The parameters with their causes and, where a change of one is ``watched`` for, with what decides it."""
        depends = self.parts.depends
        found = {n: replace(p, causes=self._causes_of(depends.get(n, ()))) for n, p in self.parts.parameters.items()}
        return {
            name: self._decided(p) if watched and p.text is None and facts.invalidates(name) is not None else p
            for name, p in found.items()
        }

    def _open(self, facts: providers.Facts) -> Iterator[str]:
        """What may add to the request without being seen, each once."""
        yield from dict.fromkeys(self.parts.open)
        if self.sink.row.own:
            yield WRAPPED
        if self.breakpoints or self.placed:
            return
        marked = self.marker_seen or any(edit.kind == "mark" for edit, _ in self.edits)
        if marked or (facts.trigger == "explicit" and self._may_be_marked()):
            yield "markers set elsewhere"

    def _may_be_marked(self) -> bool:
        def sends(function: Function) -> bool:
            return any(True for _ in sinks.in_function(self.ev, function))

        return markers.may_be_set((frame.function for frame in self.chain.frames), sends)

    def _parallel(self, facts: providers.Facts, reuse: Reuse) -> Span | None:
        """Where many requests are started at once; only looked for where that could cost a prefix."""
        constant = sum(len(s.text) for s in self.segments if s.text is not None)
        if facts.concurrent or not facts.caches or reuse.turns or constant < LONG:
            return None
        steps = zip(self.chain.frames, self.chain.calls, strict=True)
        return next((place for frame, call in steps if (place := fanned_out(frame.function, call)) is not None), None)

    def _usage(self) -> Usage | None:
        """What the code makes of the usage in the reply, where it asks for a cache."""
        asked = bool(self.breakpoints) or any(n.startswith(ASKING) for n in self.parts.parameters)
        return usage_of(self.ev, [frame.function for frame in self.chain.frames]) if asked else None

    def _decided(self, parameter: Parameter) -> Parameter:
        """The parameter with what decides which of its values is sent."""
        causes = [c for c in parameter.causes if c.kind != "conditional" or SWITCHED in c.features]
        span = parameter.span
        for choice, frame in self._choices(tuple(parameter.name.split("."))):
            decides = self._causes_of_test(Guard(choice.test), frame)
            if decides and span == parameter.span:
                span = frame.module.span(choice.at)
            causes += decides
        causes = list({(c.kind, c.origin, c.conditional): c for c in causes}.values())
        return replace(parameter, span=span, causes=tuple(causes))

    def _choices(self, path: tuple[str, ...]) -> Iterator[tuple[Either, Frame]]:
        """The choices in the code among the values of a parameter."""
        row = self.sink.row
        for key, node in self.sink.call.keywords:
            if key == path[0] or (key is not None and row.parts.get(key) == "model" and path == ("model",)):
                yield from deciding(self.ev, node, self.frame, path[1:])
            elif key is None or row.parts.get(key) in ("config", "body"):
                yield from deciding(self.ev, node, self.frame, path)

    def _causes_of_test(self, guard: Guard, frame: Frame, without: str = "") -> tuple[Cause, ...]:
        """What the outcome of a test depends on, but for origins of one kind."""
        causes = self._causes(o for o in origins_of_test(self.ev, guard, frame) if o.kind != without)
        if not asks_for_command(guard):
            return causes
        return tuple(replace(c, conditional="command") for c in causes)

    def _branches(self) -> Iterator[Branch]:
        """The tests on the way to the sink."""
        for frame, call in zip(self.chain.frames, self.chain.calls, strict=True):
            for guard in call.guards:
                if guard.error or guard.test is None:
                    yield Branch(self.ev.span(frame, call), guard.sense, (), "error")
                else:
                    kind = "command" if asks_for_command(guard) else "always"
                    span = frame.module.span(guard.test.at)
                    yield Branch(span, guard.sense, self._causes_of_test(guard, frame), kind)

    def _is_seldom(self, reuse: Reuse) -> bool:
        """Whether a test of the size of the conversation, against a large limit, stands on the way to the sink.

        What does not repeat the turns is sent seldom enough once there are a few of them: their number begins anew.
        """
        for frame, call in zip(self.chain.frames, self.chain.calls, strict=True):
            guard, limit = guard_of(self.ev, call.tests, frame.function)
            few = not reuse.turns and reuse.repeats != "loop" and (limit is None or limit <= LARGE_MESSAGES)
            if guard == "threshold" and (few or (reuse.turns and limit is not None and limit > LARGE_MESSAGES)):
                return True
        return False

    def _filtered(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages as the functions leave them that the library hands them to."""
        filters = [*self.parts.values.get("filter", ()), *self._makers_of_messages()]
        if not filters and self.cut is None:
            return self._with_kept(messages)
        sent = self._behind_kept(messages)
        if self.cut is not None:
            sent = [(mutations.with_edit(sequence, self.size or self.cut), place) for sequence, place in sent]
        for value, span, _ in filters:
            for function in _functions(value):
                if function is None:
                    self.parts.open.append("a function that changes the history")
                else:
                    sent = [(self._as_filter_leaves(function, sequence, span), place) for sequence, place in sent]
        return sent

    def _makers_of_messages(self) -> Iterator[tuple[Value, Span, bool]]:
        """The functions and templates in the place of the system text that make all messages from those so far."""
        for value, span, optional in self.parts.values.get("system", ()):
            made = (o for o in options(value) if isinstance(o, (Routine, External)))
            yield from ((o, span, optional) for o in made if looks_like_messages(self._applied(o)))

    def _with_kept(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages behind those that the library or the provider keeps."""
        if not self.sink.row.stateful or self._is_made_for_call():
            return messages
        return self._after_kept(messages) if self.sink.row.continues else self._behind_kept(messages)

    def _behind_kept(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages as a library sends them that keeps the turns: what is new is added to them."""
        all_new = all(isinstance(item, One) for sequence, _ in messages for item in sequence.items)
        return self._after_kept(messages) if all_new else messages

    def _after_kept(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages, with the turns that are kept elsewhere ahead of them."""
        kept = Rest(Hole("the conversation so far", self.span), self.span)
        first, place = messages[0] if messages else (Seq("list", (), self.span), self.span)
        return [(replace(first, items=(kept, *first.items)), place), *messages[1:]]

    def _served(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages with what the server does to old ones, be they in the request or kept by the library."""
        if not self.served:
            return messages
        for edit in self.served:
            messages = [(mutations.with_edit(sequence, edit), place) for sequence, place in messages]
        return messages

    def _as_filter_leaves(self, filtering: Routine | External, kept: Seq, span: Span) -> Seq:
        state = Map({"messages": Entry(kept, span)}, span, rest=(Hole("state", span),))
        if isinstance(filtering, External):
            return containers.as_seq(self.ev, self._applied(filtering, state), span)
        function = filtering.function
        names = [p.name for p in function.parameters if p.kind == "positional"][function.is_method :]
        if not names:
            return kept
        given = {"state": state} if "state" in names else {names[-1]: kept}
        arguments = tuple(given.get(name, Hole(name, span)) for name in names)
        made = self.ev.apply(filtering, arguments, self.sink.call, self.frame)
        for option in options(made):
            entries = option.entries if isinstance(option, Map) else {}
            found = entries.get("llm_input_messages") or entries.get("messages")
            if found is not None:
                made = found.value
        lists = [o for o in options(made) if isinstance(o, Seq) or (isinstance(o, Hole) and o.window is not None)]
        sent = containers.as_seq(self.ev, join(lists), span) if lists else None
        if sent is None or len(sent.items) > len(kept.items) + MOST_ADDED:
            self.parts.open.append(function.name)
            return kept
        return sent

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

    def _handed_over(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages; where they are made for this call, as the object holds them that keeps them from then on."""
        items = [i for sequence, _ in messages for i in sequence.items]
        made = (isinstance(i, One) or (isinstance(i, History) and self._grows_on_errors(i)) for i in items)
        if not (self.sink.row.stateful and items and all(made)):
            return messages

        def held(origin: Origin) -> Origin:
            return replace(origin, level=min(origin.level, SESSION))

        return [(containers.as_seq(self.ev, s.change(held), place), place) for s, place in messages]

    def _kept_since(self) -> int | None:
        """How often the object that keeps the history is made; ``None`` when that is not known, or there is none.

        What is evaluated no more often than that stays the same in all turns of a conversation.
        """
        row, func = self.sink.row, self.sink.call.func
        if not row.stateful:
            return None
        if row.returns and self.histories_known():
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
            for name in state.CONSTRUCTORS
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
            state = re.compile(rf"{re.escape(first[0].name)}\b.*messages\b") if first else None
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

    def _mutators(self) -> Iterator[Mutator]:
        seen: set[tuple[str, Span]] = set()
        seen.update((edit.kind, edit.span) for edit, _ in self.edits if edit.alike)
        cuts: tuple[Step, ...] = ()
        cutting = {self.ev.program.function_at(e.span) for e, _ in self.edits if e.kind == "window"}
        for edit, position in self.edits:
            if (edit.kind, edit.span) in seen or edit.span.line <= 0 or edit.kind in ("mark", "unmark", "cap"):
                continue
            if edit.kind == "rewrite" and asks_for_one(edit.guards):
                continue
            if edit.kind == thinking.EDIT and not (edit.behind or self._of_old_turns(edit.span)):
                continue
            if edit.kind in ("rewrite", "prepend") and edit.value is not None and not may_be_message(edit.value):
                continue
            seen.add((edit.kind, edit.span))
            function = self.ev.program.function_at(edit.span) or self.frame.function
            if self._is_never_run(function) or self._only_sets_up(function):
                continue
            if edit.kind == "window" and function is self.frame.function and TELLS_BRIEFLY.search(function.name):
                continue  # what is to be summarised: the next summary is of other turns
            if edit.kind == "window" and self._asks_for_a_word():
                continue
            if edit.kind == "window" and asks_of_first(g.test for g in edit.guards if g.test is not None):
                continue
            causes = self._causes(edit.value.origins()) if edit.value is not None and edit.kind == "prepend" else ()
            guard, limit = guard_of(self.ev, edit.guards, function)
            if guard == "always" and syntax.in_handler(function.syntax, edit.span.line):
                guard = "error"  # also where the way of the list does not tell it
            if edit.kind == "prepend" and _retold(edit) and COMPACTS.search(function.name):
                guard = "threshold"
            if edit.what == SUMMARY and (edit.guard or guard) == "command":
                continue  # the user wants to go on with less
            rare = edit.kind in ("rewrite", "prepend") and guard in ("always", "threshold")
            if rare and (limit or 0) <= LARGE_MESSAGES:
                above = self._limit_of_calls(edit.span, inf)
                if above is not None and above > LARGE_MESSAGES:
                    guard, limit = "threshold", above
            bulk = False
            if edit.kind == "window":
                guard, bulk = self._guard_of_window(edit, guard, limit)
            elif guard == "threshold" and limit is not None and limit <= LARGE_MESSAGES:
                guard, bulk = "always", edit.what == SUMMARY
            if edit.kind == "prepend" and (
                (function in cutting and _retold(edit))
                or not self._prepends_history()
                or (not causes and edit.value is not None and role_of(edit.value) in SYSTEM_ROLES)
                or (not causes and asks_of_first(g.test for g in edit.guards if g.test is not None))
            ):
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
        """Whether only what sets its object up calls a method: what it changes was not sent by that object yet."""
        if function.owner is None or function in self.on_way or function.decorators:
            return False
        found = [c.function for c in callers.of(self.ev, function)]
        found = found or [f for f, _ in self.ev.program.calls_named(function.name, function.module)]
        return bool(found) and all(
            f.owner is function.owner and (f.name == "__init__" or (f.name in RESTORES and f not in self.on_way))
            for f in found
        )

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

    def _prepends_history(self) -> bool:
        return bool(self.histories) or any(s.kind is Kind.HISTORY for s in self.segments)


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


def _functions(value: Value) -> Iterator[Routine | External | None]:
    """The functions and templates in a value or a list; ``None`` for what is not known to be one."""
    for option in options(value):
        if isinstance(option, Seq):
            for item in option.items:
                yield from _functions(item.value)
        else:
            yield option if isinstance(option, (Routine, External)) else None


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
