"""The request of one sink in one calling context: parts, segments in wire order, breakpoints, mutators, reuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint import provider as providers
from promptlint.assembly import bodies, markers, pace
from promptlint.assembly.changes import Changes
from promptlint.assembly.concurrency import fanned_out
from promptlint.assembly.parameters import deciding, may_be_missing, origins_of_test
from promptlint.assembly.usage import usage_of
from promptlint.code.expression import Attr, Either, Expr, Guard, Star
from promptlint.finding import Confidence, Site
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.joining import join
from promptlint.link.kept.switches import SWITCHED, asks_for_command
from promptlint.link.libraries import sinks
from promptlint.link.texts import strings
from promptlint.link.turns import mutations
from promptlint.link.turns.guards import COMPACTS, LARGE_MESSAGES, guard_of, texts_asked
from promptlint.link.turns.messages import looks_like_messages
from promptlint.link.values import (
    SESSION,
    Entry,
    External,
    History,
    Hole,
    Map,
    One,
    Origin,
    Rest,
    Routine,
    Seq,
    Text,
    Value,
    is_empty,
    literal,
    options,
)
from promptlint.request import WRAPPED, Branch, Carrier, Cause, Moment, Parameter, Request, Reuse, Usage
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.assembly.chains import Chain
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame
    from promptlint.link.libraries.sinks import Sink


_BESIDE_CACHED = {"cached_content": "cached-content", "system_instruction": "system", "tools": "tools"}
ASKING = ("cached_content", "prompt_cache_")
"""How parameters begin that ask for a cache."""
LONG = 1_000
"""Characters of constant text below which no prefix is worth a look at who sends it."""
MOST_ADDED = 8
"""Messages that a function may add to those so far; of one that leaves more, it is not known what it makes of them."""
MAX_WAYS = 3


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


class _Builder(Changes):
    """Puts the parts together."""

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
            mutators=self.mutators(reuse),
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
            lost_markers=tuple(place for _, both in self._taken_off() for place in both),
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

        taking = (self.ev.program.function_at(e.span) for e, _ in self.edits if e.kind == "unmark")
        on_the_way = (*(frame.function for frame in self.chain.frames), *(f for f in taking if f is not None))
        lost = [f for f, _ in self._taken_off()]
        return markers.may_be_set((f for f in on_the_way if f not in lost), sends, lost)

    def _taken_off(self) -> Iterator[tuple[Function, tuple[tuple[Span, str], ...]]]:
        """Functions that set a marker and take it off again before it is sent, with the places of both."""
        for place in dict.fromkeys(e.span for e, _ in self.edits if e.kind == "unmark"):
            function = self.ev.program.function_at(place)
            given = markers.taken_off_again(function, place.line) if function is not None else None
            if function is not None and given is not None:
                both = (given, "a breakpoint is set here"), (place, "and taken off again here, before anything is sent")
                yield function, both

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
        if path == ("model",) and isinstance(self.sink.call.func, Attr):
            # The model that the client was made for, which may be that of an agent.
            yield from deciding(self.ev, self.sink.call.func.base, self.frame, path * 2)

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

    def _handed_over(self, messages: list[tuple[Seq, Span]]) -> list[tuple[Seq, Span]]:
        """The messages; where they are made for this call, as the object holds them that keeps them from then on."""
        items = [i for sequence, _ in messages for i in sequence.items]
        made = (isinstance(i, One) or (isinstance(i, History) and self._grows_on_errors(i)) for i in items)
        if not (self.sink.row.stateful and items and all(made)):
            return messages

        def held(origin: Origin) -> Origin:
            return replace(origin, level=min(origin.level, SESSION))

        return [(containers.as_seq(self.ev, s.change(held), place), place) for s, place in messages]


def _functions(value: Value) -> Iterator[Routine | External | None]:
    """The functions and templates in a value or a list; ``None`` for what is not known to be one."""
    for option in options(value):
        if isinstance(option, Seq):
            for item in option.items:
                yield from _functions(item.value)
        else:
            yield option if isinstance(option, (Routine, External)) else None
