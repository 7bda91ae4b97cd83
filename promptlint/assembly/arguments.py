"""The arguments of a call as parts of a request, and who is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptlint import provider as providers
from promptlint.assembly import decorators, parameters, serveredits
from promptlint.assembly.bodies import is_posting, spoken_to, urls_in
from promptlint.assembly.causes import Causes
from promptlint.assembly.markers import mentions_marker, ttl_of
from promptlint.code.expression import Attr as AttrNode
from promptlint.code.expression import Global, Guard, Literal, Test
from promptlint.finding import Region
from promptlint.frozen import replace
from promptlint.knowledge.rows import ClientRow
from promptlint.link import containers
from promptlint.link.calling import binding, runs
from promptlint.link.calling.given import Given
from promptlint.link.classes import derived, objects
from promptlint.link.libraries import prompts
from promptlint.link.texts import strings
from promptlint.link.turns.messages import SYSTEM_ROLES, looks_like_messages
from promptlint.link.values import (
    SESSION,
    Const,
    Edit,
    Entry,
    External,
    Hole,
    Instance,
    Map,
    Origin,
    Routine,
    Text,
    Type,
    Value,
    literal,
    options,
    text,
)
from promptlint.request import (
    LEFT_OUT,
    Axis,
    Breakpoint,
    Parameter,
)
from promptlint.span import Span

_OWN_MODELS = frozenset(("openai", "azure_openai"))
"""Vendors whose own client, unless told another address, reaches none but their models."""
_PER_CALL = frozenset({Axis.CALL})
_ADDED: dict[str, tuple[str, str, frozenset[Axis], float | None]] = {
    "adds-time": ("time", "the time", _PER_CALL, 1e-6),
    "adds-date": ("time", "the date", _PER_CALL, 86_400.0),
    "adds-environment": ("environment", "the place", frozenset({Axis.MACHINE}), None),
    "adds-state": ("state", "what is looked up for each run", frozenset({Axis.CALL, Axis.TURN}), None),
}
"""Kind, words, axes and granularity of what a flag adds."""

_VENDOR = re.compile(r"(provider|vendor|family|maker|publisher)$", re.IGNORECASE)
"""Names of what tells whose model is asked."""


class Arguments(Causes):
    """Sorts what a call passes, and what its client holds, into the parts of a request."""

    def _bodies(self, value: Value) -> list[Value]:
        """The alternatives of an argument that holds a whole request; of bodies that exclude each other, one."""
        found = list(options(value))
        bodies = [o for o in found if isinstance(o, (Map, External))]
        if len(bodies) < 2:
            return found
        self.ways = max(self.ways, len(bodies))
        chosen = bodies[self.way % len(bodies)]
        return [o for o in found if o is chosen or o not in bodies]

    def _spread(self, value: Value) -> None:
        for option in self._bodies(value):
            if isinstance(option, Map):
                for name, entry in option.entries.items():
                    self._argument(name, entry.value, entry.span, entry.optional)
                for rest in option.rest:
                    self.parts.open.append(f"**{rest.name}" if isinstance(rest, Hole) else "**…")
                self.parts.open.extend(option.open)
            elif isinstance(option, Hole):
                self.parts.open.append(f"**{option.name}")

    def _argument(self, name: str, value: Value, span: Span, optional: bool) -> None:
        part = self.sink.row.parts.get(name) or self.sink.row.parts.get("*", "param")
        self._place(part, name, value, span, optional, self.sink.row.nested.get(name, {}))

    def _place(self, part: str, name: str, value: Value, span: Span, optional: bool, nested: dict[str, str]) -> None:
        if part == "ignore":
            return
        if part in _ADDED:
            self._added(part, name, value, span, optional)
            return
        if part == "time-format":
            self.time_format = literal(value)
            return
        if part in ("adds-window", "window-size", "window-runs"):
            self._window(part, name, value, _own(value, span))
            return
        if isinstance(value, Const) and value.value is None and part != "param":
            return
        if part == "server-edits":
            self.served.extend(serveredits.edits_of(name, value, _own(value, span)))
            return
        if part == "open":
            if not (isinstance(value, Map) and not value.entries and not value.rest):
                self.parts.open.append(name)
            for body in options(value):
                for key, entry in body.entries.items() if isinstance(body, Map) else ():
                    self._parameter(key, entry.value, entry.span, optional or entry.optional)
            if mentions_marker(value):
                self.marker_seen = True
            return
        if part == "fills":
            self.fills.append(value)
            return
        if part == "url":
            self.parts.urls.append(value)
            return
        if part in ("config", "body"):
            self._nested(value, span, optional, nested)
            return
        if part == "requests":
            self._batch(value, span, nested)
            return
        if part == "client":
            self._client(value, span)
            return
        if part == "documented":
            self._documented(value, span, optional)
            return
        if part == "piped":
            if name not in self.sink.row.positional:  # predict(question=...): each keyword is one of its values
                fields = Given(self.ev, self.sink.call, self.frame).keywords
                if name != next(iter(fields)):
                    return
                value = Map({k: Entry(v, span) for k, v in fields.items()}, span)
            for made in prompts.sent(self.ev, self._receiver(), value, self.sink.call, self.frame):
                self._place("input", name, made, span, optional, {})
            return
        if part == "clients":
            self._clients(name, value, span)
            return
        if part == "model":
            for option in options(value):
                if isinstance(option, External):
                    self._client(option, span)
                unknown = isinstance(option, External) and option.instance and not self._client_rows(option.name)
                if unknown or isinstance(option, Instance) or (isinstance(option, Map) and option.type is not None):
                    # A model object of a class that is not known, which may set breakpoints by itself.
                    self.parts.open.append("the model object")
        if part.startswith("cache") and part != "cached-content":
            self._cache(part, name, value, span, optional)
            return
        if part == "param":
            self._parameter(name, value, span, optional)
            return
        outside = span.path != self.span.path or not self.span.line <= span.line <= self.span.end_line
        if self.built is None and part in ("messages", "input", "prompt") and outside:
            self.built = span
        self.parts.add(part, prompts.spoken(value) if part == "input" else value, span, optional)

    def _parameter(self, name: str, value: Value, span: Span, optional: bool) -> None:
        for field, leaf in parameters.leaves(value, span, optional).items():
            known = tuple(t for t in leaf.texts if t is not None)
            if known == (LEFT_OUT,) and len(leaf.texts) == 1:
                continue
            sure = len(known) == len(leaf.texts)
            full = f"{name}.{field}" if field else name
            self.parts.depends[full] = leaf.origins
            self.parts.parameters[full] = Parameter(
                full,
                leaf.span,
                known[0] if sure and len(known) == 1 else None,
                alternatives=known if sure and len(known) > 1 else (),
                optional=LEFT_OUT in leaf.texts,
            )

    def _cache(self, part: str, name: str, value: Value, span: Span, optional: bool) -> None:
        """Markers that the provider or the library puts, told where by an option."""
        if isinstance(value, Const) and not value.value:
            return
        if part == "cache-points":
            points = [o for i in containers.as_seq(self.ev, value, span).items for o in options(i.value)]
            for point in points:
                self._cache(_region_of(point), name, point, span, optional)
            return
        span = _own(value, span)
        regions = {"cache-system": Region.SYSTEM, "cache-tools": Region.TOOLS}
        marker = Breakpoint(span, 0, ttl_of(value), optional=optional)
        if part == "cache":
            self.breakpoints.append(replace(marker, automatic=True, key=name))
            return
        self.placed.append((regions.get(part), marker))

    def _window(self, part: str, name: str, value: Value, span: Span) -> None:
        """An option with which the library sends only the newest turns, or one that says how many."""
        if part == "adds-window":
            if not isinstance(value, Const) or value.value:
                shown = name or (value.name.rpartition(".")[2] if isinstance(value, External) else "")
                self.cut = self.cut or Edit("window", span, shown)
        elif isinstance(value, Const) and isinstance(value.value, int):
            keeps = value.value if part == "window-size" else 2 * value.value
            self.size = Edit("window", span, f"{name}={value.value}", keeps=keeps)

    def _added(self, part: str, name: str, value: Value, span: Span, optional: bool) -> None:
        """What the library writes behind the system text when the flag ``name`` is set."""
        if isinstance(value, Const) and not value.value:
            return
        kind, what, axes, grain = _ADDED[part]
        grain = strings.strftime_grain(self.time_format) if part == "adds-time" and self.time_format else grain
        span = _own(value, span)
        level = self.frame.level_at(self.sink.call.loops)
        guard = None if isinstance(value, Const) else "configuration"
        origin = Origin(kind, f"{what} that {name} adds", span, level, axes, grain, guard=guard)
        self.parts.add("system", Hole(what, span, (origin,)), span, optional or guard is not None)

    def _nested(self, value: Value, span: Span, optional: bool, nested: dict[str, str]) -> None:
        for option in self._bodies(value):
            if isinstance(option, External) and option.name == "json.text" and option.arguments:
                self._nested(option.arguments[0], span, optional, nested)
            elif isinstance(option, External) and option.keywords:
                for name, inner in option.keywords.items():
                    self._place(nested.get(name, "param"), name, inner, span, optional, {})
            elif isinstance(option, Map):
                for name, entry in option.entries.items():
                    if name == "tools" and isinstance(entry.value, Map):
                        continue
                    self._place(
                        nested.get(name, "param"), name, entry.value, entry.span, optional or entry.optional, nested
                    )
                for rest in option.rest:
                    self.parts.open.append(rest.name if isinstance(rest, Hole) else "…")
            elif isinstance(option, Instance):
                for name, part in nested.items():
                    inner = self.ev.attribute(option, name, span, self.frame)
                    if not isinstance(inner, Hole):
                        self._place(part, name, inner, span, optional, {})
            elif isinstance(option, Hole):
                self.parts.open.append(option.name)

    def _batch(self, value: Value, span: Span, nested: dict[str, str]) -> None:
        for item in containers.as_seq(self.ev, value, span).items[:1]:
            for option in options(item.value):
                if isinstance(option, Map):
                    params = option.entries.get("params")
                    if params is not None:
                        self._nested(params.value, params.span, False, nested)

    def _receiver(self) -> Value:
        func = self.sink.call.func
        if isinstance(func, AttrNode):
            return self.ev.eval(func.base, self.frame)
        if self.sink.row.call.endswith("__call__"):  # the object itself is called
            return self.ev.eval(func, self.frame)
        return self.sink.receiver if self.sink.receiver is not None else Const(None, self.span)

    def _receiver_parts(self) -> None:
        self._reached(self._receiver())

    def _reached(self, receiver: Value) -> None:
        """What an object has a hand in, and what those have that it was taken from or made of."""
        for option in options(receiver):
            if isinstance(option, Instance):
                self._client(option, self.span)
            elif isinstance(option, External):
                self._client(option, self.span)
                if option.this is not None:
                    self._reached(option.this)
            elif isinstance(option, Hole) and option.type:
                self._client_rows(option.type)
            elif isinstance(option, Hole) and "wrapped-client" in option.features:
                self.parts.open.append(option.name)

    def _documented(self, value: Value, span: Span, optional: bool) -> None:
        """A class that says in its docstring what is asked for, or an object or text that does."""
        for option in options(value):
            if isinstance(option, External):
                self._client(option, span)
            elif isinstance(option, Type):
                written = objects.class_attribute(self.ev, option, "__doc__", span)
                known = option.cls.docstring if isinstance(written, Hole) else ""
                self.parts.add("system", text(known, span) if known else written, span, optional)
            else:
                self.parts.add("system", option, span, optional)

    def _clients(self, name: str, value: Value, span: Span) -> None:
        """A list of objects that each have a hand in the request: middleware, plug-ins, capabilities."""
        for item in containers.as_seq(self.ev, value, span).items:
            for option in options(item.value):
                if isinstance(option, External) and self.ev.clients_of_type(option.name):
                    self._client(option, span)
                elif isinstance(option, Routine) and (part := decorators.part_of(self.ev, option.function)) is not None:
                    place = binding.declaration(option.function)
                    state = runs.with_turns("state", place, self.frame.level_at(self.sink.call.loops))
                    request = replace(state, entries={**state.entries, "state": Entry(state, place)})
                    self._place(part, name, replace(option, preset=((request,), ())), place, item.optional, {})
                else:
                    self.parts.open.append(name)

    def _client(self, value: Value, span: Span) -> None:
        for found in options(value):
            option = derived.client_of(self.ev, found) if isinstance(found, Instance) else found
            if not isinstance(option, External):
                continue
            model = prompts.model_of(self.ev, option) if prompts.is_chain(self.ev, option) else None
            if model is not None:
                self._reached(model)
            for row in self._client_rows(option.name, option.maker)[:1]:
                if row.base_url and row.base_url in option.keywords:
                    self.parts.base_urls.append(option.keywords[row.base_url])
                elif row.base_url and row.provider in _OWN_MODELS and option.instance and "**" not in option.keywords:
                    self.parts.vendors.append(row.provider)
                for name, part in row.constructor_parts.items():
                    inner = option.keywords.get(name)  # what several models are given at once counts once
                    if inner is not None and all(v is not inner for v in self.parts.given.setdefault(part, [])):
                        self.parts.given[part].append(inner)
                        held = _as_made(inner) if self._is_made_once(option) else inner
                        self._place(part, name, held, span, False, row.nested.get(name, {}))
                for part in row.always:
                    self._place(part, "", option, option.span, False, {})
                for name, part in row.decorators.items():
                    for function, call in decorators.below(self.ev, option, name):
                        self._below_decorator(row, name, part, function, call)

    def _is_made_once(self, made: External) -> bool:
        """Whether an object is made ahead of the loops that send, or by code that runs once or on a command."""
        function = self.ev.program.function_at(made.span)
        if function is None:
            return False
        if self._runs_at(function, made.span, 0) < self.frame.level_at(self.sink.call.loops):
            return True
        return function not in self.on_way and not self._runs_between(function, (), (), 0)

    def _below_decorator(self, row: ClientRow, name: str, part: str, function: Routine, call: dict[str, Value]) -> None:
        """What a function adds that a method of the client decorates."""
        span = binding.declaration(function.function)
        first = name in row.once and not _is_true(call.get(row.once[name]))
        kept = any(key in call and literal(call[key]) == text for key, text in row.kept.items())
        if part == "system" and (first or kept):
            frame = self.ev.new_frame(function.function, SESSION)
            self.parts.add(part, self.ev.result(frame, function.function, span), span)
        else:
            self._place(part, name, function, span, False, {})

    def _client_rows(self, name: str, maker: str = "") -> list[ClientRow]:
        """The rows that make objects of a type; the one that made this object where that is known."""
        rows = self.ev.clients_of_type(name)
        rows = [row for row in rows if row.maker == maker] or rows
        self.parts.clients.extend(rows[:1])
        return rows

    def _is_request(self) -> bool:
        prompt = {"messages", "input", "prompt", "system"} & self.parts.values.keys()
        row = self.sink.row
        if is_posting(row):
            return bool(prompt)
        if row.id == "structural":
            return any(looks_like_messages(v) for v, _, _ in self.parts.values.get("messages", ()))
        return bool(prompt) or bool(self.parts.open) or row.stateful

    def _model(self) -> str | None:
        for value, _, _ in self.parts.values.get("model", ()):
            for option in options(value):
                known = literal(option)
                if known:
                    return known
                if isinstance(option, Text) and any(p.optional for p in option.pieces):
                    # One of several: its name where all of those that can cache are of one vendor.
                    names = [p.text for p in option.pieces if p.text is not None]
                    caching = [n for n in names if self._caches(n)] or names[:1]
                    vendors = {providers.identify(api=None, base_url=None, model=n) for n in caching}
                    if len(vendors) == 1 and len(names) == len(option.pieces):
                        return caching[0]
                    continue
                if isinstance(option, Text) and option.pieces and option.pieces[0].text:
                    return "".join(p.text or "*" for p in option.pieces)
        return None

    def _caches(self, model: str) -> bool:
        vendor = providers.identify(api=self.sink.row.id, base_url=None, model=model)
        return providers.facts(vendor, model).caches

    def _provider(self, model: str | None) -> str:
        settings = self.ev.settings_provider
        if settings:
            return settings
        urls = [u for v in (*self.parts.base_urls, *self.parts.urls) for o in options(v) for u in urls_in(o)]
        certain = {*self.parts.vendors, *(c.provider for c in self.parts.clients), self.sink.row.provider} - {"unknown"}
        if len(certain) == 1 and self.parts.vendors and not self.parts.base_urls and not self.parts.urls:
            return self.parts.vendors[0]
        row = self.sink.row
        named = row.provider if row.provider != "unknown" else ""
        known = [c.provider for c in self.parts.clients if c.provider != "unknown"]
        # Where a receiver may be of several vendors, the call says which of them it is.
        fitting = [p for p in known if named and providers.family(p) == providers.family(named)]
        # What Anthropic's client alone can call goes to no other's.
        client = next(iter(fitting or (known if providers.family(named or "unknown") != "anthropic" else ())), "")
        spoken = named or (spoken_to(urls) if is_posting(row) else "")
        url = _of_several(urls, spoken, model)
        api = " ".join(x for x in (row.id if row.id != "structural" else "", client or named) if x)
        found = providers.identify(api=api or (spoken if url is None and urls else None), base_url=url, model=model)
        if found == "unknown" and (client or named):
            return client or named
        return found

    def _as_branch_says(self, facts: providers.Facts) -> providers.Facts:
        """What is known of a vendor that a test on the way asks for, where it has no cache."""
        for call in self.chain.calls:
            for guard in call.guards:
                for name in _vendors_asked_for(guard):
                    told = providers.facts(facts.provider, name)
                    if not told.caches:
                        return told
        return facts

    def _least(self, facts: providers.Facts) -> providers.Facts:
        """With clients of several providers and no model named, the smallest minimum that one may have."""
        models = [
            o for v, _, _ in self.parts.values.get("model", ()) for o in options(v) if not isinstance(o, External)
        ]
        offered = {c.provider for c in self.parts.clients} - {"unknown"}
        if self.sink.row.provider != "unknown" or len(offered) < 2 or (models and all(literal(m) for m in models)):
            return facts
        least = min(providers.facts(p, None).minimum for p in offered)
        return replace(facts, minimum=least, minimum_known=False) if least < facts.minimum else facts


def _of_several(urls: list[str], spoken: str, model: str | None) -> str | None:
    """The address that a request goes to: where a table holds those of several vendors, one that speaks the call's
    language, and of these the one whose model is named, or the language's own; ``None`` where none of them does."""
    told: dict[str, str] = {}
    for url in urls:
        vendor = providers.identify(api=None, base_url=url, model=None)
        if vendor != providers.UNKNOWN:
            told.setdefault(vendor, url)
    if len(told) < 2:
        return next(iter(told.values()), urls[0] if urls else None)
    family = providers.family(spoken) if spoken else ""
    named = providers.identify(api=None, base_url=None, model=model)
    fitting = [v for v in told if _speaks(v, family)]
    return next((told[v] for v in (named, spoken, *fitting) if v in fitting), None)


def _speaks(vendor: str, family: str) -> bool:
    """Whether requests in the form of a family's API reach a vendor; OpenAI's form is the one that others take."""
    own = providers.family(vendor)
    if family == "openai":
        return own not in ("anthropic", "gemini") or vendor == family
    return own == family


def _vendors_asked_for(guard: Guard) -> Iterator[str]:
    """The name that the provider, or the family of the model, has where a test comes out as its guard says."""
    test = guard.test
    if not isinstance(test, Test) or test.op != ("==" if guard.sense else "!=") or len(test.parts) != 2:
        return
    for asked, name in (test.parts, test.parts[::-1]):
        if isinstance(asked, (AttrNode, Global)) and _VENDOR.search(asked.name) and isinstance(name, Literal):
            yield str(name.value).lower()


def _region_of(point: Value) -> str:
    """The part that an injection point stands for (litellm ``CacheControlInjectionPoint``)."""
    told = {
        key: literal(entry.value) or _constant(entry.value)
        for key, entry in (point.entries.items() if isinstance(point, Map) else ())
    }
    if told.get("location") == "tool_config":
        return "cache-tools"
    return "cache-system" if told.get("role") in SYSTEM_ROLES or told.get("index") == "0" else "cache"


def _as_made(value: Value) -> Value:
    """What an object was given when it was made, and holds since then."""
    return value.change(lambda o: replace(o, level=min(o.level, SESSION)))


def _own(value: Value, span: Span) -> Span:
    """Where an option is written, if it is a constant; else ``span``."""
    return value.span if isinstance(value, Const) and value.span.line > 0 else span


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Const) and bool(value.value)


def _constant(value: Value) -> str | None:
    if isinstance(value, Const) and value.value is not None:
        return repr(value.value)
    return None
