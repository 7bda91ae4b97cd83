"""The request of one sink in one calling context: parts, segments in wire order, breakpoints, mutators, reuse."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

from promptlint import provider as providers
from promptlint.expression import Attr as AttrNode
from promptlint.expression import Binary, Expr, Guard, LoopState, Phi, Star, Test
from promptlint.expression import Call as CallNode
from promptlint.expression import Global as GlobalNode
from promptlint.finding import Confidence, Region, Site
from promptlint.knowledge import ClientRow
from promptlint.link import callers, chains, containers, objects, strings, values
from promptlint.link.switches import SWITCHED, asks_for_command, begins_anew, on_command, starts_anew
from promptlint.link.values import (
    CALL,
    IMPORT,
    SESSION,
    Choice,
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
    Origins,
    Piece,
    Rest,
    Routine,
    Sent,
    Seq,
    Text,
    Value,
    join,
    literal,
    options,
    owner,
    union,
)
from promptlint.request import (
    Axis,
    Breakpoint,
    Cause,
    Kind,
    Moment,
    Mutator,
    Parameter,
    Request,
    Reuse,
    Segment,
)
from promptlint.span import Span, Step
from promptlint.tokens import UNKNOWN, Interval, estimate

if TYPE_CHECKING:
    from promptlint.index import Function
    from promptlint.link.chains import Chain
    from promptlint.link.evaluate import Evaluator, Frame
    from promptlint.link.sinks import Sink

HISTORY_NAMES = re.compile(
    r"(^|[._\s(])\w*(histor|conversation|transcript|dialog|chat_log|thread|past_|previous_|prior_|old_m|memory\b|memories|turns|convo|chat_context|context_messages|all_messages|stored_messages|saved_messages)",
    re.IGNORECASE,
)
MESSAGES_NAMES = re.compile(r"(messages|msgs|message_list|chat|contents|input_items|input_list)\b", re.IGNORECASE)
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
_KEY_NAMES = re.compile(r"(^|_)(id|uuid|key|phone|jid)$")
"""Parameters that tell whose request it is, rather than what it says."""
COMMAND_NAMES = re.compile(r"(command|cmd|slash|mode)", re.IGNORECASE)
SIZE_NAMES = re.compile(
    r"(len|count|token|size|num|total|length|chars|usage|budget|utili[sz]ation|context_ratio|fill)", re.IGNORECASE
)
_PATH = re.compile(r"^(\w+:)?/*[^/]*")
_ENDPOINT = re.compile(
    r"chat|compl|message|generat|respon|infer|invoke|predict|converse|llm|model|deployment|(?<!\w)ai(?!\w)", re.I
)
_OWN_MODELS = frozenset(("openai", "azure_openai"))
"""Vendors whose own client, unless told another address, reaches none but their models."""
LARGE_MESSAGES = 40
LARGE_TOKENS = 32_000
MAX_TEXT = 200_000
MANY_SEGMENTS = 80
MAX_WAYS = 3
NEAR = 15
"""Lines within which a hole and the text around it are one place to a reader."""
_OTHER_MODEL = re.compile(r"embed|rerank|moderation|transcri|speech|whisper|tts\b|images?/(gen|edit)")
MAX_GUARD_DEPTH = 4
"""Calls that are followed upwards to the test that decides about a change."""


@dataclass
class _Parts:
    """The evaluated arguments of a request, by part."""

    values: dict[str, list[tuple[Value, Span, bool]]] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    urls: list[Value] = field(default_factory=list)
    clients: list[ClientRow] = field(default_factory=list)
    base_urls: list[Value] = field(default_factory=list)
    vendors: list[str] = field(default_factory=list)
    """Of clients that are known to talk to nobody else."""
    contents: bool = False
    """Whether the body names its messages as Gemini does."""

    def add(self, part: str, value: Value, span: Span, optional: bool = False) -> None:
        self.values.setdefault(part, []).append((value, span, optional))


def requests(ev: Evaluator, sink: Sink, chain: Chain) -> list[Request]:
    """The requests of ``sink`` in the context ``chain``: one for each kind of body that the code can build.

    Empty when the arguments show that it sends no prompt.
    """
    first = _Builder(ev, sink, chain)
    found = [first.build()]
    found += [_Builder(ev, sink, chain, way).build() for way in range(1, min(first.ways, MAX_WAYS))]
    return [r for r in found if r is not None]


class _Builder:
    def __init__(self, ev: Evaluator, sink: Sink, chain: Chain, way: int = 0) -> None:
        self.ev, self.sink, self.chain = ev, sink, chain
        self.way, self.ways = way, 1
        self.frame = chain.sink_frame
        self.span = ev.span(self.frame, sink.call)
        self.parts = _Parts()
        self.segments: list[Segment] = []
        self.breakpoints: list[Breakpoint] = []
        self.edits: list[tuple[Edit, int]] = []
        self.histories: list[History] = []
        self.named_history: list[str] = []
        self.replayed: list[Item] = []
        self.loaded: Span | None = None
        self.built: Span | None = None
        self.marker_seen = False
        self.groups = 0
        self.input_in_last: set[str] = set()
        root = chain.frames[0].function
        self.root_span = objects.declaration(root)

    # -- arguments ----------------------------------------------------------------------------------------------

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
                self._spread(value, ev.span(self.frame, expr))
        if not self._is_request():
            return None
        return self._assemble()

    def _bodies(self, value: Value) -> list[Value]:
        """The alternatives of an argument that holds a whole request; of bodies that exclude each other, one."""
        found = list(options(value))
        bodies = [o for o in found if isinstance(o, (Map, External))]
        if len(bodies) < 2:
            return found
        self.ways = max(self.ways, len(bodies))
        chosen = bodies[self.way % len(bodies)]
        return [o for o in found if o is chosen or o not in bodies]

    def _spread(self, value: Value, span: Span) -> None:
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
        part = self.sink.row.parts.get(name, "param")
        self._place(part, name, value, span, optional, self.sink.row.nested.get(name, {}))

    def _place(self, part: str, name: str, value: Value, span: Span, optional: bool, nested: dict[str, str]) -> None:
        if part == "ignore":
            return
        self.parts.contents = self.parts.contents or name == "contents"
        if isinstance(value, Const) and value.value is None and part != "param":
            return
        if part == "open":
            if not (isinstance(value, Map) and not value.entries and not value.rest):
                self.parts.open.append(name)
            if _mentions_marker(value):
                self.marker_seen = True
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
        if part == "model":
            for option in options(value):
                if isinstance(option, External):
                    self._client(option, span)
                unknown = isinstance(option, External) and option.instance and not self._client_rows(option.name)
                if unknown or isinstance(option, Instance) or (isinstance(option, Map) and option.type is not None):
                    # A model object of a class that is not known, which may set breakpoints by itself.
                    self.parts.open.append("the model object")
        if part == "cache":
            self.breakpoints.append(Breakpoint(span, 0, _ttl(value), optional=optional, automatic=True))
            return
        if part == "param":
            texts = [t for o in options(value) if (t := literal(o) or _constant(o)) is not None]
            self.parts.parameters[name] = Parameter(
                name,
                span,
                texts[0] if len(texts) == 1 else None,
                self._causes(value.origins()),
                tuple(texts) if len(texts) > 1 else (),
            )
            return
        outside = span.path != self.span.path or not self.span.line <= span.line <= self.span.end_line
        if self.built is None and part in ("messages", "input", "prompt") and outside:
            self.built = span
        self.parts.add(part, value, span, optional)

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

    def _receiver_parts(self) -> None:
        receiver = self.sink.receiver
        func = self.sink.call.func
        if isinstance(func, AttrNode):
            receiver = self.ev.eval(func.base, self.frame)
        while receiver is not None:
            following: Value | None = None
            for option in options(receiver):
                if isinstance(option, External):
                    self._client(option, self.span)
                    following = option.this
                elif isinstance(option, Hole) and option.type:
                    self._client_rows(option.type)
                elif isinstance(option, Hole) and "wrapped-client" in option.features:
                    self.parts.open.append(option.name)
            receiver = following

    def _client(self, value: Value, span: Span) -> None:
        for option in options(value):
            if not isinstance(option, External):
                continue
            rows = self._client_rows(option.name)
            for row in rows[:1]:
                if row.base_url and row.base_url in option.keywords:
                    self.parts.base_urls.append(option.keywords[row.base_url])
                elif row.base_url and row.provider in _OWN_MODELS and option.instance and "**" not in option.keywords:
                    self.parts.vendors.append(row.provider)
                for name, part in row.constructor_parts.items():
                    inner = option.keywords.get(name)
                    if inner is not None:
                        self._place(part, name, inner, span, False, row.nested.get(name, {}))

    def _client_rows(self, name: str) -> list[ClientRow]:
        rows = self.ev.clients_of_type(name)
        self.parts.clients.extend(rows[:1])
        return rows

    def _is_request(self) -> bool:
        prompt = {"messages", "input", "prompt", "system"} & self.parts.values.keys()
        row = self.sink.row
        if row.parts.get("url") or "body" in row.parts.values():
            if row.suffix in ("post", "request", "stream", "Request", "urlopen"):
                keys = self.parts.values.keys()
                if self._is_other_model():
                    return False
                if "messages" in keys:
                    return "model" in keys or self._may_be_endpoint()
                if "prompt" in keys and self.parts.contents:
                    return True
                return "model" in keys and bool(keys & {"input", "prompt"}) and self._may_be_endpoint()
            return bool(prompt) or bool(self.parts.open)
        if row.id == "structural":
            return any(_looks_like_messages(v) for v, _, _ in self.parts.values.get("messages", ()))
        return bool(prompt) or bool(self.parts.open) or row.stateful

    def _is_other_model(self) -> bool:
        """Whether the address, or the code that posts, speaks of embeddings, images, speech or moderation."""
        urls = [u for v in self.parts.urls for o in options(v) if (u := _url_text(o))]
        function = self.sink.function
        names = (function.name, function.owner.name if function.owner is not None else "", function.module.name)
        return any(_OTHER_MODEL.search(text.lower()) for text in (*urls, *names))

    def _may_be_endpoint(self) -> bool:
        """Whether a URL may be that of a model: nothing of its path is known, or a part of it says so."""
        paths = [
            p for v in self.parts.urls for o in options(v) if (u := _url_text(o)) and (p := _PATH.sub("", u, count=1))
        ]
        return not paths or any(_ENDPOINT.search(p) for p in paths)

    # -- who is asked -------------------------------------------------------------------------------------------

    def _model(self) -> str | None:
        for value, _, _ in self.parts.values.get("model", ()):
            for option in options(value):
                known = literal(option)
                if known:
                    return known
                if isinstance(option, Text) and any(p.optional for p in option.pieces):
                    # One of several: its name where all are of one vendor.
                    names = [p.text for p in option.pieces if p.text is not None]
                    vendors = {providers.identify(api=None, base_url=None, model=n) for n in names}
                    if len(vendors) == 1 and len(names) == len(option.pieces):
                        return names[0]
                    continue
                if isinstance(option, Text) and option.pieces and option.pieces[0].text:
                    return "".join(p.text or "*" for p in option.pieces)
        return None

    def _provider(self, model: str | None) -> str:
        settings = self.ev.settings_provider
        if settings:
            return settings
        urls = [u for v in (*self.parts.base_urls, *self.parts.urls) for o in options(v) if (u := _url_text(o))]
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
        api = " ".join(x for x in (row.id if row.id != "structural" else "", client or named) if x)
        found = providers.identify(api=api or None, base_url=urls[0] if urls else None, model=model)
        if found == "unknown" and (client or named):
            return client or named
        return found

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

    # -- assembly -----------------------------------------------------------------------------------------------

    def _assemble(self) -> Request:
        model = self._model() or self.ev.settings_model
        provider = self._provider(model)
        facts = self._least(providers.facts(provider, model))
        messages = self._messages()
        texts = list(self.parts.values.get("prompt", ()))
        self.input_in_last = {o.what for o in self._last_message_origins(messages, texts) if o.kind == "input"}
        self.turn_level = self._turn_level(messages)
        self.kept_since = self._kept_since()
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
        cached = self.parts.values.get("cached-content")
        parameters = dict(self.parts.parameters)
        if cached:
            value, span, _ = cached[0]
            parameters["cached_content"] = Parameter("cached_content", span, literal(value))
        reuse = self._reuse(messages)
        confidence = Confidence.HIGH if self.sink.row.confidence == "high" else Confidence.MEDIUM
        if self.sink.row.id == "structural":
            confidence = Confidence.MEDIUM
        return Request(
            Site(self.span, provider, model),
            self.sink.row.id,
            facts,
            tuple(self.segments),
            tuple(self._marked()),
            parameters,
            tuple(self._mutators()),
            reuse,
            (),
            tuple(
                dict.fromkeys(
                    (
                        *self.parts.open,
                        *(("markers set elsewhere",) if self.marker_seen and not self.breakpoints else ()),
                    )
                )
            ),
            confidence,
            (*self.chain.steps, *([Step(self.built, "the request is built here")] if self.built is not None else [])),
        )

    def _marked(self) -> Iterator[Breakpoint]:
        last = max(len(self.segments) - 1, 0)
        for marker in self.breakpoints:
            yield replace(marker, segment=last) if marker.automatic else marker

    def _messages(self) -> list[tuple[Seq, Span]]:
        found: list[tuple[Seq, Span]] = []
        for part in ("messages", "input"):
            for value, span, _ in self.parts.values.get(part, ()):
                if part == "input":
                    value = self._as_messages(value, span)
                merged = [o for o in options(value) if not isinstance(o, Const)]
                if merged:
                    found.append((containers.as_seq(self.ev, join(merged), span), span))
        return found

    def _as_messages(self, value: Value, span: Span) -> Value:
        """A text input is one user message; ``{"messages": [...]}`` is the list in it."""
        made = []
        for option in options(value):
            if isinstance(option, Text) or (isinstance(option, Hole) and not _is_history_name(option.name)):
                made.append(Seq("list", (One(_message("user", option, span), span),), span))
            elif isinstance(option, Map) and "messages" in option.entries:
                made.append(option.entries["messages"].value)  # type: ignore[arg-type]
            else:
                made.append(option)  # type: ignore[arg-type]
        return join(made)

    def _last_message_origins(
        self, messages: list[tuple[Seq, Span]], texts: Sequence[tuple[Value, Span, bool]]
    ) -> Origins:
        found: list[Origins] = [v.origins() for v, _, _ in texts]
        for sequence, _ in messages:
            for item in sequence.items:
                if isinstance(item, (One, History)):
                    found.extend(_content_origins(item.value, "user"))
        return union(*found)

    # -- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        for value, span, optional in self.parts.values.get("tools", ()):
            for option in options(value):
                sequence = containers.as_seq(self.ev, option, span)
                for item in sequence.items:
                    self._tool(item, sequence.order, optional)

    def _tool(self, item: Item, order: Origins, optional: bool) -> None:
        value = item.value
        origins = union(value.origins(), order)
        pieces = list(_deep_text(self.ev, value, item.span))
        if isinstance(value, Routine):
            # The library makes the definition from the function: its name, its signature, its docstring.
            shown = f"{value.function.name} {ast.get_docstring(value.function.node) or ''}"  # type: ignore[arg-type]
            pieces = [Piece(item.span, shown)]
        known = "".join(p.text or "" for p in pieces if p.text)
        holes = [p for p in pieces if p.text is None]
        low = estimate(known).low if known else 0
        high = estimate(known).high if known else 0
        unknown = isinstance(item, (Rest, Many, History)) or isinstance(value, (Hole, External, Instance))
        varying = next((p for p in holes if self._causes(p.deps, p.span)), None)
        index = len(self.segments)
        shared = [o for o in value.origins() if o.kind != "conditional"]
        name = _tool_name(value)
        listed = next((s.span for o in order for s in o.steps if s.message == values.LISTED), item.span)
        where = varying.span if varying is not None else listed
        self.segments.append(
            Segment(
                Region.TOOLS,
                Kind.TOOL,
                where,
                Interval(low, inf if unknown or holes else high),
                known or None if not holes and not unknown else None,
                None,
                index,
                self._causes(origins),
                optional or item.optional or isinstance(item, Rest),
                isinstance(item, (Rest, Many)),
                name,
                not shared and not unknown,
            )
        )
        for marker in _markers(value):
            count = Interval(1, 1) if isinstance(item, One) else Interval(1, inf)
            loop = item.span if not isinstance(item, One) else None
            self.breakpoints.append(
                replace(marker, segment=index, count=count, loop=loop, optional=marker.optional or item.optional)
            )

    # -- system -------------------------------------------------------------------------------------------------

    def _system(self) -> None:
        for value, span, optional in self.parts.values.get("system", ()):
            for option in options(value):
                self._blocks(option, span, Region.SYSTEM, "system", optional)

    def _blocks(self, value: Value, span: Span, region: Region, role: str | None, optional: bool) -> None:
        """Text, or a list of blocks, as segments of one message."""
        if isinstance(value, Choice):
            for option in value.options:
                self._blocks(option, span, region, role, True)
            return
        if isinstance(value, Seq):
            for item in value.items:
                self._block(item, region, role, optional or item.optional, value.order)
            return
        if isinstance(value, Map):
            self._block(One(value, span), region, role, optional, ())
            return
        if isinstance(value, Routine):
            # A function that builds the text when the request is made.
            target = self.ev.generic(value.function)
            inner = self.ev.result(
                self.ev.new_frame(value.function, CALL, this=value.this or target.this), value.function, span
            )
            if any(isinstance(o, (Routine, Seq)) for o in options(inner)):
                self.parts.open.append(value.function.name)  # makes all of the messages, not one text
            else:
                self._blocks(inner, span, region, role, optional)
            return
        if isinstance(value, Const):
            return
        self._text(value, span, region, role, optional)

    def _block(self, item: Item, region: Region, role: str | None, optional: bool, order: Origins) -> None:
        self.groups += 1
        value = item.value
        for option in options(value):
            self._one_block(option, item, region, role, optional or isinstance(value, Choice), order)

    def _one_block(
        self, value: Value, item: Item, region: Region, role: str | None, optional: bool, order: Origins
    ) -> None:
        repeats = not isinstance(item, One)
        if isinstance(value, Map):
            if value.entries.keys() & {"cachePoint", "cache_point"} and not value.entries.keys() & {"text", "content"}:
                self._mark(value, item, len(self.segments) - 1, optional)
                return
            before = len(self.segments)
            inner = next(
                (
                    value.entries[k]
                    for k in ("text", "content", "parts", "input_text", "thinking", "arguments", "output")
                    if k in value.entries
                ),
                None,
            )
            if inner is not None:
                if isinstance(inner.value, (Seq, Map)):
                    self._blocks(inner.value, inner.span, region, role, optional)
                else:
                    self._text(inner.value, inner.span, region, role, optional or inner.optional, repeats, order)
            else:
                self._media(value, item, region, role, optional)
            if len(self.segments) == before and inner is not None and _is_marked(value):
                if item.guards:
                    return  # put there only under a test, which is there to see that it is not empty
                self._mark(value, item, max(before - 1, 0), optional, problem="empty")
                return
            kind = literal(value.entries["type"].value) if "type" in value.entries else None
            problem = "thinking" if kind in ("thinking", "redacted_thinking") else None
            self._mark(value, item, len(self.segments) - 1, optional, problem=problem)
            return
        if isinstance(value, Instance):
            self._text(value, item.span, region, role, optional, repeats, order)
            return
        self._text(value, item.span, region, role, optional, repeats, order)

    def _mark(self, value: Map, item: Item, index: int, optional: bool, problem: str | None = None) -> None:
        for marker in _shallow_markers(value):
            count = Interval(1, 1) if isinstance(item, One) else Interval(1, inf)
            self.breakpoints.append(
                replace(
                    marker,
                    segment=max(index, 0),
                    count=count,
                    loop=None if isinstance(item, One) else item.span,
                    optional=optional or item.optional or marker.optional,
                    problem=problem,
                )
            )

    def _media(self, value: Map, item: Item, region: Region, role: str | None, optional: bool) -> None:
        kind = literal(value.entries["type"].value) if "type" in value.entries else None
        media = kind in ("image", "image_url", "document", "input_image", "file", "audio")
        origins = value.origins()
        self.segments.append(
            Segment(
                region,
                Kind.MEDIA if media else Kind.TEXT,
                item.span,
                UNKNOWN,
                None,
                role,
                self.groups,
                self._causes(origins),
                optional or not isinstance(item, One),
                False,
                kind or "block",
            )
        )

    def _text(
        self,
        value: Value,
        span: Span,
        region: Region,
        role: str | None,
        optional: bool,
        repeats: bool = False,
        order: Origins = (),
    ) -> None:
        self.groups += 1
        pieces = strings.pieces(self.ev, value, span)
        for piece in _merged(pieces):
            # What stands between two parts is there or not together with one of them.
            switched = region is Region.SYSTEM and bool(piece.text and piece.text.strip())
            causes = self._causes(
                (
                    o
                    for o in union(piece.deps, order)
                    if o.kind != "conditional"
                    or (switched and _decides(o))
                    or (region is Region.SYSTEM and piece.text is None and SWITCHED in o.features)
                ),
                piece.span,
            )
            if piece.text is not None and not piece.text:
                continue
            if (repeats or piece.repeats) and region is not Region.SYSTEM:
                # Among messages, what repeats is a message: text that repeats inside of one is text of unknown length.
                piece = replace(
                    piece, text=None, name=piece.name or (piece.text or "").strip()[:40], optional=True, repeats=False
                )
            tokens = estimate(piece.text[:MAX_TEXT]) if piece.text is not None else self._hole_tokens(piece)
            self._append(
                Segment(
                    region,
                    Kind.TEXT,
                    _insertion(piece, span, causes),
                    tokens,
                    piece.text,
                    role,
                    self.groups,
                    causes,
                    optional or piece.optional,
                    (repeats or piece.repeats) and region is Region.SYSTEM,
                    piece.name,
                    piece.persistent and not causes,
                )
            )

    def _append(self, segment: Segment) -> None:
        """Adds a run of text; runs that may or may not be there and vary alike are told apart no further."""
        last = self.segments[-1] if self.segments else None
        if (
            last is not None
            and last.kind is Kind.TEXT
            and (last.region, last.message) == (segment.region, segment.message)
            and last.optional
            and segment.optional
            and (last.text is None or not last.causes)
            and {(c.kind, c.origin, c.grain) for c in last.causes}
            >= {(c.kind, c.origin, c.grain) for c in segment.causes}
            and (len(self.segments) > MANY_SEGMENTS or (last.text is None and segment.text is None))
        ):
            self.segments[-1] = replace(
                last,
                tokens=Interval(0, last.tokens.high + segment.tokens.high),
                text=None,
                name=last.name or segment.name or "…",
            )
            return
        self.segments.append(segment)

    # -- messages -----------------------------------------------------------------------------------------------

    def _prompt(self, value: Value, span: Span, optional: bool) -> None:
        """User content: one text, or a list of parts or of turns."""
        for option in options(value):
            if isinstance(option, Seq) and any(isinstance(i, (History, Rest)) or _role(i.value) for i in option.items):
                self._emit_messages([(option, span)])
            else:
                self._blocks(option, span, Region.LAST_MESSAGE, "user", optional)

    def _emit_messages(self, messages: list[tuple[Seq, Span]]) -> None:
        for sequence, _ in messages:
            stored = {e.span for i in sequence.items for e in _edits_of(i)}
            self.edits.extend(
                (e, len(self.segments)) for e in sequence.edits if e.kind != "decorate" or e.span not in stored
            )
            items = [i for i in sequence.items if not (isinstance(i, One) and isinstance(i.value, Const))]
            last = len(items) - 1
            leading = True
            prepended = {e.span for i in items for e in _edits_of(i) if e.kind == "prepend"}
            adapted = _by_role_of_source(items)
            self.replayed.extend(adapted)
            rounds = [(n, i.root) for n, i in enumerate(items) if isinstance(i, History)]
            cut = any(
                e.kind in ("window", "rewrite") for e in (*sequence.edits, *(e for i in items for e in _edits_of(i)))
            )
            for number, item in enumerate(items):
                role = _role(item.value)
                kept = self._is_history(item) or item in adapted
                if leading and isinstance(item, One) and role in ("system", "developer"):
                    region = Region.SYSTEM
                elif number == last and not kept:
                    region, leading = Region.LAST_MESSAGE, False
                elif leading and not kept:
                    region, leading = Region.FIRST_MESSAGE, False
                else:
                    region, leading = Region.MID_HISTORY, False
                if kept:
                    self._history(item, sequence.order)
                else:
                    before = len(self.segments)
                    self._message(item, region, role, sequence.order)
                    appended = rounds and rounds[0][0] < number < rounds[-1][0] and rounds[0][1] is not rounds[-1][1]
                    if appended or (isinstance(item, One) and item.inserted in prepended) or (cut and _retells(item)):
                        # Told by the mutator that puts it there; or what an outer loop appends ahead of an inner one.
                        self.segments[before:] = [replace(s, causes=()) for s in self.segments[before:]]

    def _message(self, item: Item, region: Region, role: str | None, order: Origins) -> None:
        before, marked = len(self.segments), len(self.breakpoints)
        self._one_message(item, region, role, order)
        if not isinstance(item, One):
            self.segments[before:] = [replace(s, repeats=True) for s in self.segments[before:]]
            self.breakpoints[marked:] = [_for_each(b, item.span) for b in self.breakpoints[marked:]]

    def _one_message(self, item: Item, region: Region, role: str | None, order: Origins) -> None:
        for option in options(item.value):
            optional = item.optional or isinstance(item.value, Choice) or not isinstance(item, One)
            if isinstance(option, Map):
                content = option.entries.get("content") or option.entries.get("parts") or option.entries.get("text")
                if content is not None:
                    if _is_marked(option) and not option.entries.keys() & {"type"}:
                        self._mark(option, item, len(self.segments), optional, problem="message")
                    self._blocks(content.value, content.span, region, role, optional or content.optional)
                    continue
                if _is_marked(option):
                    self._mark(option, item, len(self.segments) - 1, optional)
                    continue
            elif isinstance(option, Instance):
                content_value = next(
                    (
                        v
                        for n in ("content", "text")
                        if not isinstance(v := self.ev.attribute(option, n, item.span, self.frame), (Hole, Routine))
                    ),
                    None,
                )
                if content_value is not None:
                    self._blocks(content_value, item.span, region, role, optional)
                    continue
            self._text(option, item.span, region, role, optional, order=order)

    def _is_history(self, item: Item) -> bool:
        if isinstance(item, History):
            return True
        if isinstance(item, Rest):
            return isinstance(item.value, (Hole, External, Sent, Instance))
        if isinstance(item, Many):
            named = isinstance(item.of, Hole) and _is_history_name(item.of.name)
            return named or _role(item.value) is None or _role(item.value) == ""
        return False

    def _history(self, item: Item, order: Origins) -> None:
        if isinstance(item, History):
            if not _roles(item.value) <= {"system", "developer"}:
                self.histories.append(item)
            self.edits.extend(
                (self._at_each_turn(e, item), len(self.segments)) for e in item.edits if e.kind != "decorate"
            )
            origins: Origins = ()
        elif isinstance(item, Many):
            origins = tuple(
                o for o in item.value.origins() if o.kind in ("time", "random", "counter", "environment", "unordered")
            )
        else:
            origins = ()
        value = item.value
        name = value.name if isinstance(value, Hole) else "history"
        if isinstance(value, Hole):
            if value.window is not None:
                self.edits.append(
                    (
                        Edit("window", value.span, value.name, keeps=value.window or None, steps=value.cuts),
                        len(self.segments),
                    )
                )
            self.named_history.append(value.name)
        for marker in _markers(value) if not any(e.kind == "unmark" for e in _edits_of(item)) else ():
            kept = marker if marker.optional else _for_each(marker, item.span)
            self.breakpoints.append(replace(kept, segment=len(self.segments), optional=True))
        if isinstance(item, Many) and item.of is not None and isinstance(item.of, Hole):
            self.named_history.append(item.of.name)
            if item.of.window is not None:
                self.edits.append(
                    (
                        Edit("window", item.of.span, item.of.name, keeps=item.of.window or None, steps=item.of.cuts),
                        len(self.segments),
                    )
                )
        if isinstance(item, Many):
            self.named_history.append(_role_source(item.value))
            loaded = isinstance(item.of, Hole) and not item.of.root and "(" in item.of.name
            loaded = loaded or (item.of is None and _reads_role(item.value))
            self.loaded = self.loaded or (item.span if loaded and _role(item.value) == "" else None)
        self.segments.append(
            Segment(
                Region.MID_HISTORY,
                Kind.HISTORY,
                item.span,
                UNKNOWN,
                None,
                None,
                self.groups,
                self._causes(union(origins, order)),
                item.optional,
                True,
                name,
            )
        )

    # -- reuse --------------------------------------------------------------------------------------------------

    def _turn_level(self, messages: list[tuple[Seq, Span]]) -> int:
        """How many loops of the path lie outside the one whose iterations are turns; 0 when calls of the entry are."""
        lists = [s for s, _ in messages]
        lists += [o for v, _, _ in self.parts.values.get("prompt", ()) for o in options(v) if isinstance(o, Seq)]
        # What a loop that only errors repeat adds makes no turn.
        path = {loop.state.id for loop in self.chain.loops}
        levels = [
            self._grows_at(i)
            for s in lists
            for i in s.items
            if isinstance(i, History) and (not isinstance(i.root, Phi) or i.root.loop in path)
        ]
        if levels:
            return max(min(levels), CALL)
        return 0

    def _kept_since(self) -> int | None:
        """How often the object that keeps the history is made; ``None`` when that is not known, or there is none.

        What is evaluated no more often than that stays the same in all turns of a conversation.
        """
        row, func = self.sink.row, self.sink.call.func
        if not row.stateful:
            return None
        levels: list[int | None] = []
        for option in options(self.ev.eval(func.base if isinstance(func, AttrNode) else func, self.frame)):
            if not isinstance(option, External):
                continue
            if not row.keeper:
                levels.append(_made_at(option))
            elif row.keeper in option.keywords:
                levels += [_made_at(o) for o in options(option.keywords[row.keeper])]
            else:
                levels.append(self.frame.level_at(self.sink.call.loops) if option.keywords else None)
        known = [level for level in levels if level is not None]
        return min(known) if known and len(known) == len(levels) else None

    def _grows_at(self, kept: History) -> int:
        """The level at which a history grows: where the way to the sink first runs a function that adds to it."""
        if kept.level != CALL:
            return kept.level
        writers = [f for f in objects.writers(self.ev, kept.root) if objects.writer_level(self.ev, f) == CALL]
        made = self._made_at_level(kept)
        levels = [self._level_of(f) for f in writers]
        # What happens once to each of the objects that a loop makes is no turn.
        return min((level for level in levels if level > made), default=max(made + 1, CALL) if levels else CALL)

    def _made_at_level(self, kept: History) -> int:
        """How many loops of the path lie around the making of the object that keeps the history; -1 without one."""
        root = owner(kept.root)
        cls = root[0] if isinstance(root, tuple) else None
        holders = (f.this for f in self.chain.frames if isinstance(f.this, Instance) and f.this.cls is cls)
        level = next((h.level for h in holders), SESSION)
        return level if level > CALL else SESSION

    def _at_each_turn(self, edit: Edit, kept: History) -> Edit:
        """The edit of a list that methods share: what one of its calls puts in is new in every turn."""
        if edit.value is None or isinstance(owner(kept.root), Phi):
            return edit
        turn = self.turn_level
        return replace(
            edit, value=edit.value.change(lambda o: replace(o, level=max(o.level, turn)) if o.level >= CALL else o)
        )

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
        growing = [h for h in self.histories if not self._answers_one_reply(h)]
        if growing:
            kept = growing[0]
            return True, "the history is kept and sent again", kept.span, frozenset()
        since = self._kept_since()
        # Made for each call, and without tools, which would be called in turns of its own.
        fresh = since is not None and since >= self.frame.level_at(self.sink.call.loops)
        fresh = fresh and not self.sink.row.keeper and "tools" not in self.parts.values
        if self.sink.row.stateful and not fresh:
            return True, "the object keeps the history itself", self.span, frozenset()
        for name in self.named_history:
            if _is_history_name(name):
                return True, f"{name} holds the turns so far", self.span, frozenset({"history-by-name"})
        if self.loaded is not None:
            return True, "rows that say who said what are the turns so far", self.loaded, frozenset({"history-by-name"})
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
            edits = [e for e in sequence.edits if e.kind in ("window", "rewrite", "prepend")]
            if edits and any(isinstance(i, (Rest, Many)) for i in sequence.items):
                return True, "the list of messages is kept and changed", edits[0].span, frozenset()
        return False, "", None, frozenset()

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
        found = list(options(self.ev.eval(state.iterable, frame)))
        return bool(found) and all(_is_of_reply(o) for o in found)

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
            return Reuse(True, repeats, why, span, features)
        fanning = [
            loop
            for loop in chain.loops
            if not _is_small(self.ev, chain, loop) and not self._takes_one_reply(loop.state)
        ]
        if fanning:
            return Reuse(False, "loop", "this loop sends one request after another", fanning[-1].span)
        if chain.entry is not None:
            row, place = chain.entry
            if row.repeats:
                return Reuse(False, "entry", f"this is a {row.evidence}", place)
            return Reuse(False, None, "")
        if chain.kind == "assumed" and chains.is_offered(self.ev, chain.root):
            why, offered = "the package offers this to its users", frozenset({"library-entry"})
            return Reuse(False, "entry", why, self.root_span, offered)
        if chain.kind == "assumed":
            return Reuse(
                False,
                "assumed",
                "nothing in the project calls this; it may be called again and again",
                None,
                frozenset({"assumed-entry"}),
            )
        return Reuse(False, None, "")

    # -- causes -------------------------------------------------------------------------------------------------

    def _moment(self, level: int) -> Moment:
        if level <= IMPORT:
            return Moment.IMPORT
        if level == SESSION:
            return Moment.SESSION
        loops = len(self.chain.loops)
        turn = getattr(self, "turn_level", 0)
        since = getattr(self, "kept_since", None)
        if since is not None and level <= since:
            return Moment.SESSION
        if level == CALL and self.chain.kind == "script":
            return Moment.SESSION  # ahead of all loops of a program that runs once
        if self.histories_known():
            if level < turn:
                return Moment.SESSION
            return Moment.LOOP if turn else Moment.CALL
        return Moment.LOOP if loops and level >= loops else Moment.CALL

    def histories_known(self) -> bool:
        return next(self._all_histories(), None) is not None

    def _all_histories(self) -> Iterator[History]:
        for part in ("messages", "input", "prompt"):
            for value, _, _ in self.parts.values.get(part, ()):
                for option in options(value):
                    if isinstance(option, Seq):
                        yield from (i for i in option.items if isinstance(i, History))

    def _hole_tokens(self, piece: Piece) -> Interval:
        told = self.ev.hints_at(piece.span).get("tokens", "")
        return Interval(int(told), int(told)) if told.isdigit() else _hole_tokens(piece)

    def _causes(self, origins: Iterable[Origin], where: Span | None = None) -> tuple[Cause, ...]:
        """What makes a value vary that becomes part of the request at ``where``."""
        found = (c for o in origins if (c := self._cause(o)) is not None)
        return tuple(t for c in found if (t := self._told(c, where)) is not None)

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
        kind, axes, what = origin.kind, origin.axes, origin.what
        features = origin.features
        if kind == "conditional" and what.startswith("the parameter ") and self._input(origin) is None:
            return None
        if kind == "input":
            decided = self._input(origin)
            if decided is None:
                return None
            kind, axes = decided
        elif kind == "loop":
            kind, axes = "state", frozenset({Axis.CALL})
            what = f"the loop variable {origin.what}"
        elif kind == "history":
            kind, axes, what = "state", frozenset({Axis.TURN, Axis.CALL}), "text made from the conversation so far"
        elif kind == "reply":
            kind = "state"
        elif kind == "user" and axes & {Axis.CALL, Axis.TURN} and "opaque-call" in features:
            # Not what the user says, but what is looked up with it.
            kind, what = "state", f"what is looked up with {what}"
        moment = self._moment(origin.level)
        if SWITCHED in features:
            if not self._switches(origin):
                return None
            moment = Moment.LOOP if getattr(self, "turn_level", 0) else Moment.CALL
        return Cause(
            kind, what, origin.span, moment, axes, origin.grain, origin.steps, features, origin.guard, origin.because
        )

    def _switches(self, origin: Origin) -> bool:
        """Whether what writes a state runs between two sends of one conversation."""
        kept = frozenset(objects.name_of(h.root) for h in self._all_histories())
        known = self.ev.switches.get(origin.span)
        if known is None:
            place = origin.steps[0].span if origin.steps else origin.span
            module = next((m for m in self.ev.program.modules if m.source.path == place.path), None)
            return module is not None and not begins_anew(module, place.line, kept)
        function, write = known
        if starts_anew(self.ev, function, kept):
            return False
        if any(map(asks_for_command, write.guards)) or on_command(self.ev, function, kept):
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
        name = origin.what.removeprefix("the parameter ")
        if STABLE_NAMES.search(name):
            return None
        if USER_NAMES.search(name) or (_KEY_NAMES.search(name) and not TURN_NAMES.search(name)):
            return "user", frozenset({Axis.USER, Axis.CONVERSATION})
        if self.chain.kind == "assumed" and origin.what not in self.input_in_last and not TURN_NAMES.search(name):
            return None
        if origin.what in self.input_in_last or TURN_NAMES.search(name):
            return "state", frozenset({Axis.CALL, Axis.TURN})
        if self.chain.entry is None:
            return None
        return "user", frozenset({Axis.CONVERSATION})

    # -- mutators -----------------------------------------------------------------------------------------------

    def _mutators(self) -> Iterator[Mutator]:
        seen: set[tuple[str, Span]] = set()
        cuts: tuple[Step, ...] = ()
        for edit, position in self.edits:
            if (edit.kind, edit.span) in seen or edit.span.line <= 0 or edit.kind == "unmark":
                continue
            if edit.kind in ("rewrite", "prepend") and edit.value is not None and not _may_be_message(edit.value):
                continue
            seen.add((edit.kind, edit.span))
            causes = self._causes(edit.value.origins()) if edit.value is not None and edit.kind == "prepend" else ()
            guard, limit = guard_of(self.ev, edit.guards, self.frame)
            if edit.kind == "rewrite" and guard in ("always", "threshold") and (limit or 0) <= LARGE_MESSAGES:
                guard, limit = self._guard_of_calls(edit.span) or (guard, limit)
            if edit.kind == "window" and guard == "threshold":
                keeps = limit - edit.drops if edit.drops is not None and limit is not None else edit.keeps
                guard = (
                    "always"
                    if keeps is None or limit is None or limit < keeps * 1.5 or limit <= LARGE_MESSAGES
                    else "threshold"
                )
            elif guard == "threshold" and limit is not None and limit <= LARGE_MESSAGES:
                guard = "always"
            if edit.kind == "prepend" and not self._prepends_history(edit):
                continue
            flow = (*cuts, *edit.steps) if edit.kind == "window" else ()
            yield Mutator(
                edit.kind,
                edit.span,
                edit.what,
                edit.guard or guard,
                edit.keeps,
                position,
                causes,
                None,
                flow,
                edit.features,
            )
            if edit.kind == "window":
                size = f" to {edit.keeps} messages" if edit.keeps is not None else ""
                cuts = (*cuts, Step(edit.span, f"{edit.what} cuts the same history{size} before"))

    def _guard_of_calls(self, place: Span) -> tuple[str, None] | None:
        """ "threshold" when the function around ``place`` is called under a test of a size only."""
        function = self.ev.program.function_at(place)
        return ("threshold", None) if function is not None and self._only_when_large(function) else None

    def _only_when_large(self, function: Function, depth: int = 0) -> bool:
        """Whether every call of a function, or of what calls it, stands under a test of a size."""
        calls = [c for c in callers.of(self.ev, function) if c.function is not function]
        return (
            bool(calls)
            and depth < MAX_GUARD_DEPTH
            and all(self._is_large(c) or self._only_when_large(c.function, depth + 1) for c in calls)
        )

    def _is_large(self, caller: callers.Caller) -> bool:
        guard, limit = guard_of(self.ev, caller.call.guards, self.ev.generic(caller.function))
        return guard == "threshold" and (limit is None or limit > LARGE_MESSAGES)

    def _prepends_history(self, edit: Edit) -> bool:
        return bool(self.histories) or any(s.kind is Kind.HISTORY for s in self.segments)


# -- helpers -------------------------------------------------------------------------------------------------------


def guard_of(ev: Evaluator, guards: tuple[Guard, ...], frame: Frame) -> tuple[str, float | None]:
    """The kind of guard around a change, and the number that a threshold compares with."""
    for guard in reversed(guards):
        if guard.error:
            return "error", None
        test = guard.test
        if isinstance(test, Test) and test.op in (">", ">=", "<", "<=") and len(test.parts) == 2:
            left, right = test.parts
            if _counts(left) or _counts(right):
                limit = next(
                    (
                        v.value
                        for p in (right, left)
                        for o in options(ev.eval(p, ev.generic(frame.function)))
                        if isinstance(v := o, Const) and isinstance(v.value, (int, float))
                    ),
                    None,
                )
                # A share of the context is no number of messages.
                if limit is None or (isinstance(limit, float) and 0 <= limit <= 1):
                    return "threshold", None
                return "threshold", limit * LARGE_MESSAGES / LARGE_TOKENS if _tokens(left) or _tokens(right) else float(
                    limit
                )
        if asks_for_command(guard):
            return "command", None
        if not guard.sense:
            continue
        if isinstance(test, CallNode) and _names_size(test):
            return "threshold", None
    return "always", None


def _counts(node: Expr) -> bool:
    if isinstance(node, CallNode):
        if isinstance(node.func, GlobalNode) and node.func.name == "len":
            return True
        return _names_size(node)
    if isinstance(node, (AttrNode, GlobalNode)):
        return bool(SIZE_NAMES.search(node.name))
    if isinstance(node, Binary):
        return _counts(node.left) or _counts(node.right)
    return False


def _tokens(node: Expr) -> bool:
    """Whether what is compared is a number of tokens or characters, and no number of messages."""
    if isinstance(node, CallNode):
        return _tokens(node.func)
    return isinstance(node, (AttrNode, GlobalNode)) and bool(re.search(r"token|char", node.name, re.IGNORECASE))


def _names_size(node: CallNode) -> bool:
    func = node.func
    name = func.name if isinstance(func, (AttrNode, GlobalNode)) else ""
    return bool(SIZE_NAMES.search(name) or re.search(r"(should|needs?|over|exceed|too_)", name))


def _by_role_of_source(items: Sequence[Item]) -> list[Item]:
    """The templates that turn each message of one list, by its role, into one of another kind."""
    made = [i for i in items if isinstance(i, Many) and i.guards and isinstance(i.of, Hole)]
    answers = [i.of for i in made if _role(i.value) in ("assistant", "model", "ai")]
    return [i for i in made if any(i.of is of for of in answers)]


def _made_at(value: Value) -> int | None:
    """How often the code that makes an object runs, when it can be seen."""
    while isinstance(value, External):
        if value.level is not None or value.this is None:
            return value.level
        value = value.this
    return None


def _is_of_reply(value: Value) -> bool:
    """Whether a value is a reply of the model, or a field of one."""
    while isinstance(value, External) and value.this is not None:
        value = value.this
    return isinstance(value, Sent)


def _is_history_name(name: str) -> bool:
    return bool(HISTORY_NAMES.search(name))


def _message(role: str, content: Value, span: Span) -> Map:
    from promptlint.link.values import text

    return Map({"role": Entry(text(role, span), span), "content": Entry(content, span)}, span)


def _role(value: Value) -> str | None:
    """The role of a message: its text, "" when there is one that is not known, ``None`` without."""
    for option in options(value):
        if isinstance(option, Map):
            entry = option.entries.get("role") or option.entries.get("type")
            if entry is not None:
                return literal(entry.value) or ""
            if option.type is not None and "content" in option.entries:
                return ""
        if isinstance(option, Instance):
            found = option.given("role")
            if found is not None:
                return literal(found) or ""
    return None


def _retells(item: Item) -> bool:
    """Whether an element is there only when old ones were cut, and holds what they said."""
    return item.optional and {o.kind for o in item.value.origins()} <= {"reply", "history"}


def _reads_role(value: Value) -> bool:
    """Whether a message is made from a stored one (of a chain of nodes, for instance): its role is that one's."""
    role = value.entries.get("role") if isinstance(value, Map) else None
    if role is not None and isinstance(role.value, Text):
        return {"user", "assistant"} <= {p.text for p in role.value.pieces if p.optional}
    return role is not None and isinstance(role.value, Hole) and "." in role.value.name


def _roles(value: Value) -> set[str]:
    """The roles that the messages of a history have; "" for one that is not known."""
    return {_role(option) or "" for option in options(value)}


def _content_origins(value: Value, role: str) -> Iterator[Origins]:
    """What the text of the messages of one role depends on, without looking into blocks of other kinds."""
    for option in options(value):
        if isinstance(option, Map) and _role(option) in (role, ""):
            content = option.entries.get("content") or option.entries.get("parts")
            if content is not None and isinstance(content.value, (Text, Hole, Choice)):
                yield content.value.origins()


def _role_source(value: Value) -> str:
    """How the code calls what the elements of a rendered history are taken from."""
    for option in options(value):
        if isinstance(option, Map):
            for key in ("content", "role"):
                entry = option.entries.get(key)
                if entry is not None and isinstance(entry.value, Hole):
                    return entry.value.name
    return ""


def _decides(origin: Origin) -> bool:
    """Whether what a test depends on is something that the user or a clock changes between two turns."""
    typed = origin.axes == {Axis.TURN}
    return (
        typed
        or SWITCHED in origin.features
        or origin.grain is not None
        or origin.what.startswith("the parameter ")
        or origin.kind == "mode"
    )


def _insertion(piece: Piece, content: Span, causes: tuple[Cause, ...]) -> Span:
    """Where a piece becomes prompt text: in the text, or where a vague value enters the message from elsewhere."""
    if piece.span.line <= 0:
        return content
    telling = [c for c in causes if c.moment >= Moment.CALL and c.axes & {Axis.CALL, Axis.TURN}] or causes
    vague = bool(telling) and all(c.kind in ("state", "user") for c in telling)
    elsewhere = piece.span.path != content.path or abs(piece.span.line - content.line) > NEAR
    return content if vague and elsewhere and content.line > 0 else piece.span


def _may_be_message(value: Value) -> bool:
    """Whether a changed element can be a message or a block of one, and not an element of some other list."""
    for option in options(value):
        if isinstance(option, Map):
            known = option.entries.keys() & {
                "role",
                "content",
                "parts",
                "text",
                "type",
                "tool_calls",
                "input",
                "output",
            }
            if known or not option.entries:
                return True
        elif isinstance(option, Instance):
            names = {*option.overrides, *option.cls.fields, *(n for m in option.cls.methods.values() for n in m.stores)}
            if names & {"role", "content", "parts", "text"}:
                return True
        elif not isinstance(option, (Text, Const)):
            return True
    return False


def _looks_like_messages(value: Value) -> bool:
    for option in options(value):
        if isinstance(option, Seq):
            if any(_role(i.value) is not None for i in option.items if not isinstance(i, Rest)):
                return True
            if any(
                isinstance(i, Rest) and isinstance(i.value, Hole) and MESSAGES_NAMES.search(i.value.name)
                for i in option.items
            ):
                return True
        if isinstance(option, Hole) and MESSAGES_NAMES.search(option.name):
            return True
    return False


def _merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Adjacent literal pieces of the same standing as one."""
    current: Piece | None = None
    for piece in pieces:
        if (
            current is not None
            and current.text is not None
            and piece.text is not None
            and current.optional == piece.optional
            and current.repeats == piece.repeats
            and not current.deps
            and not piece.deps
        ):
            span = current.span if len(current.text) >= len(piece.text) else piece.span
            current = replace(current, text=current.text + piece.text, span=span)
            continue
        if current is not None:
            yield current
        current = piece
    if current is not None:
        yield current


def _hole_tokens(piece: Piece) -> Interval:
    if piece.deps and all(o.kind in ("time", "random", "counter") for o in piece.deps):
        return Interval(1, 60)
    return UNKNOWN


def _deep_text(ev: Evaluator, value: Value, span: Span) -> Iterator[Piece]:
    """All text in a tool definition, in order."""
    if isinstance(value, Map):
        for key, entry in value.entries.items():
            if key in containers.MARKERS:
                continue
            yield Piece(span, f'"{key}": ')
            yield from _deep_text(ev, entry.value, entry.span)
        for rest in value.rest:
            yield from _deep_text(ev, rest, span)
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _deep_text(ev, item.value, item.span)
    else:
        yield from strings.pieces(ev, value, span)


def _tool_name(value: Value) -> str:
    for option in options(value):
        if isinstance(option, Routine):
            return option.function.name
        if isinstance(option, Map):
            for key in ("name", "function"):
                entry = option.entries.get(key)
                if entry is not None:
                    return literal(entry.value) or _tool_name(entry.value)
        if isinstance(option, Hole):
            return option.name
    return ""


def _ttl(value: Value) -> str | None:
    for option in options(value):
        if isinstance(option, Map):
            entry = option.entries.get("ttl")
            if entry is None:
                return None if option.rest else "5m"
            return literal(entry.value)
    return None


def _is_marked(value: Map) -> bool:
    return bool(value.entries.keys() & containers.MARKERS)


def _shallow_markers(value: Map) -> Iterator[Breakpoint]:
    for key in containers.MARKERS & value.entries.keys():
        entry = value.entries[key]
        kept = [o for o in options(entry.value) if not (isinstance(o, Const) and o.value is None)]
        if kept:
            yield Breakpoint(
                entry.span, 0, _ttl(join(kept)), optional=entry.optional or len(kept) < len(list(options(entry.value)))
            )


def _markers(value: Value, depth: int = 0) -> Iterator[Breakpoint]:
    """The markers anywhere in a value."""
    if depth > 6:
        return
    for option in options(value):
        if isinstance(option, Map):
            yield from _shallow_markers(option)
            for key, entry in option.entries.items():
                if key not in containers.MARKERS:
                    yield from _markers(entry.value, depth + 1)
        elif isinstance(option, Seq):
            for item in option.items:
                yield from _markers(item.value, depth + 1)


def _for_each(marker: Breakpoint, loop: Span) -> Breakpoint:
    """A marker that every one of an unknown number of elements carries."""
    return replace(marker, count=Interval(1, inf), loop=loop)


def _edits_of(item: Item) -> tuple[Edit, ...]:
    return item.edits if isinstance(item, History) else ()


def _mentions_marker(value: Value) -> bool:
    return next(_markers(value), None) is not None


def _constant(value: Value) -> str | None:
    if isinstance(value, Const) and value.value is not None:
        return repr(value.value)
    return None


def _url_text(value: Value) -> str | None:
    if isinstance(value, Text):
        return "".join(p.text or "x" for p in value.pieces) or None
    return None


def _is_small(ev: Evaluator, chain: Chain, loop: chains.Loop) -> bool:
    """Whether a loop is known to run once at most."""
    iterable = loop.state.iterable
    if iterable is None:
        return False
    frame = next((f for f in chain.frames if loop.state.id in f.path_loops), None)
    if frame is None:
        return False
    value = ev.eval(iterable, frame)
    return isinstance(value, Seq) and value.known and len(value.items) < 2
