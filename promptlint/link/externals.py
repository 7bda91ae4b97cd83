"""What libraries do to values: builtins, the standard library, clients, sources, and everything that is not known."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.expression import Attr, Call, Expr, Star, unchanged
from promptlint.index import Function
from promptlint.knowledge import SinkRow, SourceRow
from promptlint.link import containers, contexts, datafiles, jinja, prompts, stores, strings
from promptlint.link.loops import any_element, base_marker
from promptlint.link.objects import session_value
from promptlint.link.values import (
    IMPORT,
    Cell,
    Const,
    Edit,
    Entry,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Many,
    Map,
    Namespace,
    One,
    Origin,
    Origins,
    Piece,
    Rest,
    Routine,
    Sent,
    Seq,
    Text,
    Type,
    Value,
    held_in,
    join,
    listed,
    literal,
    only,
    options,
    text,
    truth,
    union,
)
from promptlint.request import Axis
from promptlint.source import LINE_BREAK, Unreadable, read_bytes
from promptlint.span import Span, Step
from promptlint.summarise import SESSION_STORES

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator, Frame

MAX_PROMPT_FILE = 400_000
"""Bytes of a prompt file that are read."""
PROMPT_SUFFIXES = frozenset((".md", ".txt", ".j2", ".jinja", ".jinja2", ".prompt", ".tmpl", ".xml", ""))
DATA_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".toml"))

VALIDATORS = frozenset(("model_validate", "parse_obj"))
"""Class methods of a pydantic model that make one of a dict."""

_FORMATS = {
    "json": "json",
    "orjson": "json",
    "ujson": "json",
    "simplejson": "json",
    "yaml": "yaml",
    "tomllib": "toml",
    "tomli": "toml",
    "toml": "toml",
    "pickle": "",
}
"""Modules that load data, with the format of the text; "" for one that is not read."""

_LIMIT = re.compile(r"\blimit\s+(\d+|\?|%s|:\w+|\{|\$\d)", re.IGNORECASE)
_FROM_THE_END = re.compile(
    r"\bdesc\b|\boffset\b|\border\s+by\b[^{]*\{.*\blimit\b|^(?!.*\border\s+by\b)", re.IGNORECASE | re.DOTALL
)
"""A query whose limit may leave out the oldest rows: one in ascending order keeps those."""
_FETCHES = frozenset(("fetchall", "fetchmany"))
_LIMIT_NAMES = frozenset(
    [
        "limit",
        "n",
        "k",
        "last",
        "last_n",
        "max_messages",
        "max_turns",
        "count",
        "num_messages",
        "window",
        "size",
        "top",
        "max_history",
        "history_limit",
        "message_limit",
    ]
)
_MESSAGE_CLASSES = {
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "SystemMessagePromptTemplate": "system",
    "ChatCompletionSystemMessageParam": "system",
    "ChatCompletionUserMessageParam": "user",
    "ChatCompletionAssistantMessageParam": "assistant",
    "ChatCompletionDeveloperMessageParam": "system",
    "ChatCompletionToolMessageParam": "tool",
}
_MESSAGE_FUNCTIONS = {f"mirascope.llm.messages.{role}": role for role in ("system", "user", "assistant")}
"""Functions that make a message of one role of the text that they are given first."""
_DICT_METHODS = frozenset(
    ["get", "set", "clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "update", "values", "to_dict"]
)
_JINJA_ENVIRONMENT, _JINJA_TEMPLATE = "jinja2.Environment", "jinja2.Template"
_JINJA_MARKS = ("variable_start_string", "variable_end_string")
_PASS = frozenset(
    [
        "str.strip",
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "title",
        "capitalize",
        "casefold",
        "expandtabs",
        "removeprefix",
        "removesuffix",
        "swapcase",
        "center",
        "ljust",
        "rjust",
        "zfill",
        "translate",
    ]
)
_CLOCK_METHODS: dict[str, float | None] = {
    "date": strings.DAY,
    "year": strings.YEAR,
    "month": strings.MONTH,
    "day": strings.DAY,
    "hour": strings.HOUR,
    "minute": strings.MINUTE,
    "second": strings.SECOND,
    "weekday": strings.DAY,
    "isoweekday": strings.DAY,
    "toordinal": strings.DAY,
    "tm_year": strings.YEAR,
    "tm_mon": strings.MONTH,
    "tm_mday": strings.DAY,
    "tm_hour": strings.HOUR,
    "days": strings.DAY,
}
_TIMESPECS = {
    "hours": strings.HOUR,
    "minutes": strings.MINUTE,
    "seconds": strings.SECOND,
    "milliseconds": 1e-3,
    "microseconds": strings.MICROSECOND,
    "auto": strings.MICROSECOND,
}


# -- attributes ----------------------------------------------------------------------------------------------------


def attribute(ev: Evaluator, base: External, name: str, span: Span, frame: Frame) -> Value:
    """An attribute of something outside the project: a longer qualified name."""
    if base.name == "builtins.super" and isinstance(base.this, (Instance, Type)):
        return _super(ev, base.this, name, frame)
    if base.instance and name in base.keywords and base.name.rpartition(".")[2][:1].isupper():
        return base.keywords[name]
    full = f"{base.name}.{name}"
    if base.name.rpartition(".")[2] in SESSION_STORES and not base.instance and name not in _DICT_METHODS:
        return session_value(ev, base.name, name, frame, span)
    row = ev.knowledge.sources.get(full)
    if row is not None and row.attribute:
        return source(row, span, frame.level, full)
    if base.instance and base.name == "pathlib.Path" and name == "parent":
        return base
    if full == "sys.argv":
        return Hole(full, span)
    # Below what was made by a call of another object, that object is no longer meant.
    this = base.this if base.this is not None and base.level is None else base
    return External(full, span, instance=base.instance, this=this)


def _super(ev: Evaluator, this: Value, name: str, frame: Frame) -> Value:
    owner = frame.function.owner
    cls = this.cls if isinstance(this, (Instance, Type)) else None
    if owner is None or cls is None:
        return Hole(f"super().{name}", this.span if isinstance(this, Instance) else Span("", 0))
    order = ev.program.mro(cls)
    rest = order[order.index(owner) + 1 :] if owner in order else ev.program.mro(owner)[1:]
    for c in rest:
        method = c.methods.get(name)
        if method is not None:
            return Routine(method, None, this)
    return External(f"builtins.object.{name}", Span(frame.module.path, 1))


def hole_attribute(base: Hole, name: str, span: Span, shown: str) -> Value:
    if base.type is not None:
        return External(f"{base.type}.{name}", span, instance=True, this=base)
    if name in _CLOCK_METHODS and any(o.kind == "time" for o in base.deps):
        return strings.coarsened(replace(base, name=shown), _CLOCK_METHODS[name])
    deps = containers.whose(base.deps, name, shown or f"{base.name}.{name}")
    return replace(base, name=shown or f"{base.name}.{name}", window=None, deps=deps)


def path_attribute(base: FilePath, name: str, span: Span) -> Value:
    if name == "parent":
        return FilePath(base.path.parent, span)
    if name == "parents":
        return Seq("tuple", tuple(One(FilePath(p, span), span) for p in base.path.parents), span)
    if name in ("name", "stem", "suffix"):
        return text(str(getattr(base.path, name)), span)
    return External(f".{name}", span, this=base)


# -- calls ---------------------------------------------------------------------------------------------------------


class _Args:
    """The evaluated arguments of a call, with ``*`` and ``**`` spread as far as known.

    With ``read``, other keywords than these are left out: nobody asks for them.
    """

    def __init__(self, ev: Evaluator, node: Call, frame: Frame, read: frozenset[str] | None = None) -> None:
        self.ev, self.node, self.frame = ev, node, frame
        self.span = ev.span(frame, node)
        self.values: list[Value] = []
        self.keywords: dict[str, Value] = {}
        self.rest: list[Value] = []
        for argument in node.args:
            if isinstance(argument, Star):
                spread = containers.as_seq(ev, ev.eval(argument.value, frame), self.span)
                if spread.known:
                    self.values += [i.value for i in spread.items]
                else:
                    self.rest.append(spread)
            else:
                self.values.append(ev.eval(argument, frame))
        for name, expr in node.keywords:
            if read is not None and name is not None and name not in read:
                continue
            value = ev.eval(expr, frame)
            if name is not None:
                self.keywords[name] = value
                continue
            for option in options(value):
                if isinstance(option, Map):
                    self.keywords.update({k: e.value for k, e in option.entries.items()})
                    self.rest.extend(option.rest)
                else:
                    self.rest.append(option)

    def get(self, index: int, name: str = "") -> Value | None:
        if index < len(self.values):
            return self.values[index]
        return self.keywords.get(name)

    @property
    def level(self) -> int:
        """How often the call runs."""
        return self.frame.level_at(self.node.loops)

    def expr(self, index: int) -> Expr | None:
        return self.node.args[index] if index < len(self.node.args) else None

    @property
    def origins(self) -> Origins:
        return union(*(v.origins() for v in (*self.values, *self.keywords.values(), *self.rest)))

    def hole(self, deps: Origins | None = None, **changes: object) -> Hole:
        made = Hole(self.ev.snippet(self.frame, self.node.at), self.span, self.origins if deps is None else deps)
        return replace(made, **changes) if changes else made  # type: ignore[arg-type]


def call(ev: Evaluator, func: External, node: Call, frame: Frame) -> Value:
    """The result of calling something outside the project."""
    name = func.name
    sends = ev.sink_row(name)
    if sends is not None and not prompts.asks_nobody(ev, func.this):
        return replace(reply(ev, node, frame), returns=_returned(ev, sends, node, frame))
    args = _Args(ev, node, frame, _connection(ev, name))
    if name.startswith("."):
        assert func.this is not None
        return method(ev, func.this, name[1:], args)
    special = _FUNCTIONS.get(name)
    if special is not None:
        result = special(ev, args)
        if result is not None:
            return result
    row = ev.knowledge.sources.get(name)
    if row is not None:
        shown = ev.snippet(frame, node.at, 50)
        if _seeded(func, args.level):
            return Hole(shown, args.span, args.origins)
        given = [v for v in args.values if not (isinstance(v, Const) and v.value is None)]
        if row.at_most is not None and len(given) > row.at_most:
            return strings.coarsened(args.hole(), row.grain)  # it only renders what it is given
        return source(row, args.span, args.level, shown)
    last = name.rpartition(".")[2]
    prompt = prompts.made(ev, name, args.values, args.keywords, args.span)
    if prompt is not None:
        return prompt
    made = _client(ev, name, args)
    if made is not None:
        return replace(made, this=func.this) if isinstance(func.this, External) and func.instance else made
    if last in _MESSAGE_CLASSES and not func.instance:
        return _message(_MESSAGE_CLASSES[last], last, args)
    if name in _MESSAGE_FUNCTIONS:
        return _message(_MESSAGE_FUNCTIONS[name], "", args)
    if last[:1].isupper() and not func.instance and (func.this is None or isinstance(func.this, External)):
        return _constructed(name, args)
    if func.instance or func.this is not None:
        return method(ev, func.this if func.this is not None else func, last, args, name)
    if name in ev.knowledge.windows:
        return _library_window(ev, name, args)
    return unknown(ev, name, args)


def _span_of_time(ev: Evaluator, args: _Args) -> Value:
    return args.hole(type=containers.SPANS[0])


def _seeded(func: External, level: int) -> bool:
    """Whether a draw comes from a generator that is made anew, with the same seed, ahead of it: always the same."""
    made = func.this
    if not isinstance(made, External) or made.name != "random.Random" or made.level != level:
        return False
    seeds = (*made.arguments, *made.keywords.values())
    return bool(seeds) and not any(seed.origins() for seed in seeds)


def reply(ev: Evaluator, node: Call, frame: Frame) -> Sent:
    """What a model answers."""
    span = ev.span(frame, node)
    axes = frozenset({Axis.CALL, Axis.TURN})
    return Sent(node, span, (Origin("reply", "a reply of the model", span, frame.level_at(node.loops), axes),))


def _returned(ev: Evaluator, row: SinkRow, node: Call, frame: Frame) -> dict[str, Lazy]:
    """What the result of a call gives back: the turns that the call was given, with those that it made behind them."""

    def made(key: str, argument: str) -> Value:
        given = dict(node.keywords).get(argument)
        position = row.positional.index(argument) if argument in row.positional else len(node.args)
        if given is None and position < len(node.args):
            given = node.args[position]
        span = ev.span(frame, node)
        kept = ev.eval(given, frame) if given is not None else Seq("list", (), span)
        if isinstance(kept, Map) and key in kept.entries:
            kept = kept.entries[key].value
        if isinstance(kept, Text):  # the first question
            kept = Seq("list", (One(kept, span),), span)
        sequence = containers.as_seq(ev, kept, span)
        return replace(sequence, items=(*sequence.items, Rest(Hole("the turns of the run", span), span)))

    return {key: Lazy(partial(made, key, argument)) for key, argument in row.returns.items()}


def _connection(ev: Evaluator, name: str) -> frozenset[str] | None:
    """What counts of the keywords that make a client which only holds a connection; ``None`` for anything else.

    Headers, keys and timeouts come from the depths of a configuration and say nothing about a prompt.
    """
    rows = ev.knowledge.clients.get(name, ())
    if not rows or any(row.constructor_parts or row.always or row.decorators for row in rows):
        return None
    return frozenset(n for row in rows for n in (row.base_url, *row.when, *row.positional) if n is not None)


def _client(ev: Evaluator, name: str, args: _Args) -> External | None:
    for row in ev.knowledge.clients.get(name, ()):
        if all(_matches(args, key, value, row.positional) for key, value in row.when.items()):
            keywords = dict(args.keywords)
            for position, value in enumerate(args.values):
                if position < len(row.positional):
                    keywords.setdefault(row.positional[position], value)
            if args.rest:
                keywords["**"] = args.rest[0]
            return External(row.type, args.span, True, tuple(args.values), keywords, level=args.level, maker=row.maker)
    return None


def _matches(args: _Args, key: str, wanted: str, positional: tuple[str, ...]) -> bool:
    index = positional.index(key) if key in positional else 0
    value = args.get(index, key)
    return value is not None and literal(value) == wanted


def _message(role: str, name: str, args: _Args) -> Map:
    content = args.get(0, "content") or args.get(0, "text") or Const(None, args.span)
    entries = {k: Entry(v, args.span) for k, v in args.keywords.items()}
    entries["role"] = Entry(text(role, args.span), args.span)
    entries["content"] = Entry(content, args.span)
    return Map(entries, args.span, type=name)


def _constructed(name: str, args: _Args) -> Value:
    """An object of a library: its keywords are its fields."""
    if args.keywords and not args.values:
        entries = {k: Entry(v, args.span) for k, v in args.keywords.items()}
        rest = tuple(args.rest)
        return Map(entries, args.span, rest, open=tuple(f"**{r.name}" for r in rest if isinstance(r, Hole)), type=name)
    return External(name, args.span, True, tuple(args.values), args.keywords, level=args.level)


def _library_window(ev: Evaluator, name: str, args: _Args) -> Value:
    row = ev.knowledge.windows[name]
    value = args.keywords.get(row.messages)
    if value is None and row.messages in row.positional and row.positional.index(row.messages) < len(args.values):
        value = args.values[row.positional.index(row.messages)]
    if value is None:
        return args.hole()
    limit = args.keywords.get(row.limit)
    keeps = (
        limit.value if isinstance(limit, Const) and isinstance(limit.value, int) and row.unit == "messages" else None
    )
    sequence = containers.as_seq(ev, value, args.span)
    guard = None if row.unit == "messages" else "threshold"
    edit = Edit("window", args.span, ev.snippet(args.frame, args.node.at), keeps=keeps, guard=guard)
    return containers.with_edit(sequence, edit)


def source(row: SourceRow, span: Span, level: int, shown: str) -> Value:
    """A value that a source row says varies."""
    axes = frozenset(Axis(a) for a in row.axes)
    origin = Origin(
        row.kind,
        shown if shown.endswith(")") or "." in shown else row.what,
        span,
        level,
        axes,
        row.grain,
        (Step(span, _source_words(row), row.because),),
        because=row.because,
    )
    if row.kind == "unordered":
        return Seq("list", (Rest(Hole(shown, span, persistent=True), span),), span, (origin,))
    return Hole(shown, span, (origin,))


def _source_words(row: SourceRow) -> str:
    if row.kind != "time" or row.grain is None:
        return row.what
    return f"{row.what}, {grain_word(row.grain)} granularity"


def grain_word(grain: float) -> str:
    """The name of a granularity in seconds."""
    for limit, word in ((1e-3, "microsecond"), (1.0, "second"), (60.0, "minute"), (3600.0, "hour"), (86400.0, "day")):
        if grain <= limit:
            return word
    return "month" if grain <= 31 * 86400 else "year"


def opaque(ev: Evaluator, node: Call, frame: Frame) -> Value:
    """A call of something unknown: it may depend on everything that it is given."""
    args = _Args(ev, node, frame)
    if isinstance(node.func, Attr):
        if ev.is_sink_call(node):
            return reply(ev, node, frame)
        base = ev.eval(node.func.base, frame)
        return method(ev, base, node.func.name, args)
    return unknown(ev, "", args)


def unfollowed(ev: Evaluator, found: Value, node: Call, frame: Frame) -> Value:
    """A call that is too much work to follow: it depends on what is known of it, and on everything that it is given."""
    args = _Args(ev, node, frame)
    made = unknown(ev, "", args)
    known = doubtful(found.origins(), "bound")
    return replace(made, deps=union(known, made.origins())) if isinstance(made, Hole) else made


def doubtful(origins: Origins, feature: str, step: Step | None = None) -> Origins:
    """The origins with an approximation that was taken on their way, and the step at which it first was."""
    return tuple(o if feature in o.features else _doubtful(o, feature, step) for o in origins)


def _doubtful(origin: Origin, feature: str, step: Step | None) -> Origin:
    if step is not None and origin.steps and origin.steps[-1].span == step.span:
        origin = replace(origin, steps=(*origin.steps[:-1], step))
    elif step is not None:
        origin = origin.via(step)
    return replace(origin, features=origin.features | {feature})


def unknown(ev: Evaluator, name: str, args: _Args) -> Value:
    deps = args.origins
    if any("opaque-call" not in o.features for o in deps):
        called = name or getattr(args.node.func, "name", "") or "a function"
        deps = doubtful(deps, "opaque-call", Step(args.span, f"handed to {called}(), which is not looked into"))
    wraps = any(
        isinstance(o, External) and o.instance and ev.clients_of_type(o.name) for v in args.values for o in options(v)
    )
    return args.hole(deps, window=_window(args), features=frozenset({"wrapped-client"}) if wraps else frozenset())


def _window(args: _Args) -> int | None:
    """The number of rows that a load is limited to."""
    for name, value in args.keywords.items():
        if name in _LIMIT_NAMES and isinstance(value, Const) and isinstance(value.value, int) and value.value > 1:
            return value.value
    for value in args.values:
        known = literal(value) if isinstance(value, Text) else None
        if known is None and isinstance(value, Text):
            known = "".join(p.text or "{" for p in value.pieces)
        if known:
            found = _LIMIT.search(known)
            if found and _FROM_THE_END.search(known):
                if found[1].isdigit():
                    return int(found[1])
                given = [_largest(i.value) for v in args.values if isinstance(v, Seq) for i in v.items]
                return next((n for n in reversed(given) if n is not None), 0)
    return None


def _largest(number: Value) -> int | None:
    """The largest of the numbers that a value may be, when all of them are known."""
    found = [o.value if isinstance(o, Const) else None for o in options(number)]
    known = [n for n in found if isinstance(n, int)]
    return max(known) if len(known) == len(found) else None


def _queried(args: _Args) -> int | None:
    """The number of rows that the query is limited to which was run on a cursor before it is fetched from."""
    ev, func, query = args.ev, args.node.func, None
    if not isinstance(func, Attr):
        return None
    cursor = unchanged(func.base)
    for call in ev.summary(args.frame.function).calls:
        if call is args.node:
            break
        if isinstance(call.func, Attr) and call.func.name == "execute":
            query = call if containers.is_same(unchanged(call.func.base), cursor) else query
    return _window(_Args(ev, query, args.frame)) if query is not None else None


def is_memoised(ev: Evaluator, function: Function) -> bool:
    """Whether a decorator keeps the result for the life of the process."""
    if not function.decorators:
        return False
    for decorator in function.decorators:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        qualified = ev.program.qualified(node, function.module)
        if qualified is not None and qualified in ev.knowledge.memoisers:
            return True
    return False


# -- methods of values ---------------------------------------------------------------------------------------------


def method(ev: Evaluator, this: Value, name: str, args: _Args, qualified: str = "") -> Value:
    """``this.name(...)`` by the kind of ``this``."""
    if name in ("__enter__", "__aenter__", "with_options", "copy", "__copy__") and not isinstance(this, (Seq, Map)):
        return this
    row = ev.knowledge.sources.get(f"*.{name}")
    if row is not None and all(isinstance(o, (External, Hole)) for o in options(this)):
        return source(row, args.span, args.level, ev.snippet(args.frame, args.node.at, 50))
    if name in ("to_messages", "to_string") and all(isinstance(o, (Seq, Text)) for o in options(this)):
        return this
    results = []
    for option in options(this):
        if isinstance(option, Text):
            results.append(_text_method(ev, option, name, args))
        elif isinstance(option, Seq):
            results.append(_list_method(ev, option, name, args))
        elif isinstance(option, Map):
            results.append(_dict_method(ev, option, name, args))
        elif isinstance(option, FilePath):
            results.append(_path_method(ev, option, name, args))
        elif isinstance(option, Hole):
            results.append(_hole_method(ev, option, name, args))
        elif isinstance(option, External) and option.instance:
            results.append(_instance_method(ev, option, name, args, qualified))
        elif isinstance(option, Sent) and name in option.returns:
            results.append(option.returns[name].get())
        elif isinstance(option, Instance) and name in ("model_dump", "dict", "_asdict"):
            results.append(_fields_of(option, args))
        elif isinstance(option, Type) and name in VALIDATORS:
            results.append(_validated(ev, option, args) or unknown(ev, name, args))
        else:
            results.append(unknown(ev, name, args) if not isinstance(option, Const) else args.hole())
    return join(results)


def _validated(ev: Evaluator, model: Type, args: _Args) -> Value | None:
    """``Model.model_validate(data)`` of data whose fields are known."""
    from promptlint.link.objects import validated

    data = args.get(0, "obj")
    return validated(ev, model.cls, data, args.span, args.level) if isinstance(data, Map) else None


def _fields_of(value: Instance, args: _Args) -> Value:
    entries = {k: Entry(v, args.span) for k, v in value.overrides.items()}
    return Map(entries, args.span, () if entries else (Hole(value.cls.name, args.span),))


def _text_method(ev: Evaluator, this: Text, name: str, args: _Args) -> Value:
    if name == "format":
        return strings.format_method(
            ev, this, tuple(args.values), args.keywords, union(*(r.origins() for r in args.rest)), args.span, args.frame
        )
    if name == "format_map":
        value = args.get(0)
        keywords = {k: e.value for k, e in value.entries.items()} if isinstance(value, Map) else {}
        return strings.format_method(ev, this, (), keywords, value.origins() if value else (), args.span, args.frame)
    if name == "join" and args.values:
        return strings.joined(ev, this, containers.as_seq(ev, args.values[0], args.span), args.span)
    if name == "replace" and len(args.values) >= 2:
        old = literal(args.values[0])
        if old is not None and old:
            return strings.replaced(ev, this, old, args.values[1], args.span)
        return Text((*this.pieces,)) if not args.origins else strings.concat(ev, this, args.hole(), args.span)
    if name in ("substitute", "safe_substitute", "render"):
        return strings.substitute(ev, this, args.keywords, args.origins, args.span)
    if name in _PASS:
        changes: dict[str, Callable[[str], str]] = {
            "strip": str.strip,
            "lower": str.lower,
            "upper": str.upper,
            "rstrip": str.rstrip,
            "lstrip": str.lstrip,
        }
        return strings.mapped(this, changes.get(name, lambda s: s)) if not args.values else this
    if name in ("encode", "decode"):
        return this
    if name in ("startswith", "endswith") and this.literal is not None:
        ends = _literals(args.get(0))
        if ends is not None:
            return Const(getattr(this.literal, name)(ends), args.span)
    if name in ("startswith", "endswith", "isdigit", "find", "count", "index"):
        return args.hole(union(this.origins(), args.origins))
    if name in ("split", "splitlines", "rsplit", "partition"):
        known = this.literal
        if known is not None and len(known) < 4000 and not args.values:
            parts = known.split() if name == "split" else known.splitlines()
            if len(parts) <= 40:
                return Seq("list", tuple(One(text(p, args.span), args.span) for p in parts), args.span)
        if known is not None and name == "splitlines":
            return Seq("list", (One(this, args.span),), args.span)  # its lines, taken together
        return Seq(
            "list",
            (
                Rest(
                    Hole(f"part of {args.ev.snippet(args.frame, args.node.at, 30)}", args.span, this.origins()),
                    args.span,
                ),
            ),
            args.span,
        )
    return args.hole(union(this.origins(), args.origins))


def _literals(value: Value | None) -> tuple[str, ...] | None:
    """A known text, or a tuple of known texts, as ``str.startswith`` takes them."""
    parts = [i.value for i in value.items] if isinstance(value, Seq) and value.known else [value]
    known = [part.literal if isinstance(part, Text) else None for part in parts]
    return tuple(k for k in known if k is not None) if all(k is not None for k in known) else None


def _list_method(ev: Evaluator, this: Seq, name: str, args: _Args) -> Value:
    if name in ("copy", "__copy__"):
        return replace(this, copied="shallow")
    if name in ("__enter__", "__iter__"):
        return this
    if name in ("pop", "popleft"):
        return any_element(this, args.span, ev.snippet(args.frame, args.node.at))
    if name in ("union", "difference", "intersection", "symmetric_difference"):
        other = containers.as_seq(ev, args.values[0], args.span) if args.values else Seq("set", (), args.span)
        return containers.binary(ev, "|" if name == "union" else "-", replace(this, kind="set"), other, args.span, name)
    if name in ("append", "extend", "insert", "remove", "clear", "sort", "reverse", "add", "discard", "update"):
        return Const(None, args.span)
    return args.hole(union(this.origins(), args.origins))


def _dict_method(ev: Evaluator, this: Map, name: str, args: _Args) -> Value:
    if name in ("get", "pop", "setdefault") and args.values:
        key = literal(args.values[0])
        fallback = args.get(1, "default")
        if key is not None and key in this.entries:
            entry = this.entries[key]
            if entry.optional:
                return join((entry.value, fallback if fallback is not None else Const(None, args.span)))
            return entry.value
        if key is not None and not this.rest and this.base is None:
            return fallback if fallback is not None else Const(None, args.span)
        found = containers.item(this, args.values[0], args.span, ev.snippet(args.frame, args.node.at))
        if this.base is not None and isinstance(fallback, (Seq, Map)):
            if isinstance(found, Hole):
                return base_marker(fallback, Cell(this.base, key))
            return found
        return join((found, fallback)) if fallback is not None else found
    if name == "items":
        items: list[Item] = [
            One(Seq("tuple", (One(text(k, e.span), e.span), One(e.value, e.span)), e.span), e.span, e.optional)
            for k, e in this.entries.items()
        ]
        for rest in this.rest:
            pair = Seq(
                "tuple", (One(Hole("key", args.span, rest.origins()), args.span), One(rest, args.span)), args.span
            )
            items.append(Many(pair, args.span, True))
        return Seq("iterator", tuple(items), args.span, this.order)
    if name == "values":
        items = [One(e.value, e.span, e.optional) for e in this.entries.values()]
        items += [Many(r, args.span, True) if not isinstance(r, Hole) else Rest(r, args.span, True) for r in this.rest]
        return Seq("iterator", tuple(items), args.span, this.order)
    if name == "keys":
        return containers.as_seq(ev, this, args.span)
    if name in ("copy", "model_dump", "dict", "to_dict", "__enter__"):
        return this
    if name in ("update", "clear"):
        return Const(None, args.span)
    if name == "format" and this.type is not None:
        return args.hole()
    return args.hole(union(this.origins(), args.origins))


def _path_method(ev: Evaluator, this: FilePath, name: str, args: _Args) -> Value:
    if name == "read_text":
        return _file_text(ev, this.path, args)
    if name == "open":
        return External("io.TextIOWrapper", args.span, instance=True, arguments=(this,))
    if name == "joinpath" and args.values:
        path = this.path
        for value in args.values:
            part = literal(value)
            if part is None:
                return External("pathlib.Path", args.span, instance=True)
            path = path / part
        return FilePath(path, args.span)
    if name in ("with_name", "with_suffix") and args.values:
        part = literal(args.values[0])
        if part:
            try:
                return FilePath(getattr(this.path, name)(part), args.span)
            except ValueError:
                pass
    if name in ("resolve", "absolute", "expanduser"):
        return this
    if name in ("glob", "rglob", "iterdir"):
        row = ev.knowledge.sources.get(f"pathlib.Path.{name}")
        if row is not None:
            return source(
                row, args.span, args.frame.level_at(args.node.loops), ev.snippet(args.frame, args.node.at, 50)
            )
    return args.hole((), persistent=True)


def _file_text(ev: Evaluator, path: Path, args: _Args) -> Value:
    """The text of a prompt file of the project, or a hole that lasts as long as the file."""
    shown = ev.snippet(args.frame, args.node.at)
    ref = ev.program.ref(args.frame.module)
    found = ev.program.project.prompt_file(ref, str(path))
    if found is not None and found.suffix.lower() in PROMPT_SUFFIXES | DATA_SUFFIXES:
        data = read_bytes(found, shown)
        if not isinstance(data, Unreadable) and len(data) <= MAX_PROMPT_FILE:
            try:
                return text(LINE_BREAK.sub("\n", data.decode()), args.span)
            except UnicodeDecodeError:
                pass
    return Hole(shown, args.span, persistent=True)


def _hole_method(ev: Evaluator, this: Hole, name: str, args: _Args) -> Value:
    shown = ev.snippet(args.frame, args.node.at)
    if any(o.kind == "time" for o in this.deps):
        refined = _clock_method(this, name, args)
        if refined is not None:
            return replace(refined, name=shown) if isinstance(refined, Hole) else refined
    if this.type is not None:
        row = ev.knowledge.sources.get(f"{this.type}.{name}")
        if row is not None:
            return source(row, args.span, args.frame.level_at(args.node.loops), shown)
    if name in ("read_text", "read", "read_bytes") and this.persistent:
        return replace(this, name=shown)
    field = literal(args.values[0]) if name == "get" and args.values else None
    if field is not None:
        this = replace(this, deps=containers.whose(this.deps, field, shown))
    if name in _PASS or name in ("encode", "decode", "split", "splitlines", "get", "json", "copy"):
        return replace(this, name=shown, deps=union(this.deps, args.origins), window=_window(args) or this.window)
    if name in ("format", "render", "replace", "substitute", "safe_substitute", "format_map"):
        return replace(
            this, name=shown, deps=union(this.deps, args.origins), persistent=this.persistent and not args.origins
        )
    if name == "lrange" and (kept := stores.pushed(ev, args.node, args.frame, args.span)) is not None:
        return kept
    made = unknown(ev, name, args)
    window = made.window if isinstance(made, Hole) else None
    if window is None and this.window is None and name in _FETCHES:
        window = _queried(args)
    if window is None and name in ("limit", "fetchmany", "tail") and args.values:
        first = args.values[0]
        window = first.value if isinstance(first, Const) and isinstance(first.value, int) and first.value > 1 else None
    window = this.window if window is None else window
    return Hole(shown, args.span, union(this.deps, made.origins()), root=this.root, window=window)


def _clock_method(this: Hole, name: str, args: _Args) -> Value | None:
    step = Step(args.span, f"formatted by .{name}()")
    if name in ("strftime", "format") and args.values:
        spec = literal(args.values[0])
        if spec is not None and "%" in spec:
            return strings.coarsened(this, strings.strftime_grain(spec), step)
        return this
    if name == "isoformat":
        precision = args.get(1, "timespec")
        known = literal(precision) if precision is not None else None
        return strings.coarsened(this, _TIMESPECS.get(known or "auto", strings.MICROSECOND), step)
    if name == "replace":
        if args.values:
            return None  # of text that a time was put into
        grain = 0.0
        for unit, coarse in (("microsecond", 1.0), ("second", 60.0), ("minute", 3600.0), ("hour", 86400.0)):
            value = args.keywords.get(unit)
            if isinstance(value, Const) and value.value == 0:
                grain = max(grain, coarse)
        return strings.coarsened(this, grain) if grain else this
    if name in ("date", "weekday", "isoweekday", "toordinal", "isocalendar", "today"):
        return strings.coarsened(this, strings.DAY, step)
    if name in ("timestamp", "astimezone", "time", "timetuple", "ctime", "total_seconds", "utctimetuple"):
        return this
    if name == "tzname":
        return strings.without_time(this)
    return None


def _instance_method(ev: Evaluator, this: External, name: str, args: _Args, qualified: str) -> Value:
    full = qualified or f"{this.name}.{name}"
    row = ev.knowledge.sources.get(full)
    if row is not None:
        return source(row, args.span, args.frame.level_at(args.node.loops), ev.snippet(args.frame, args.node.at, 50))
    if this.name == "json.text" and name in ("encode", "decode", "strip"):
        return this
    if this.name == contexts.TYPE and name == "get":
        return contexts.value_of(ev, this, args.node) or this.keywords.get("default") or args.hole()
    if this.name == "pathlib.Path":
        if name in ("read_text", "open"):
            return _content(ev, this, args)
        return replace(this, span=args.span)
    if this.name.startswith("io.") and name in ("read", "readlines", "__enter__"):
        path = next((a for a in this.arguments if isinstance(a, FilePath)), None)
        if name == "__enter__":
            return this
        text = _file_text(ev, path.path, args) if path is not None else _content(ev, this, args)
        # Its lines, each as it is, are taken together.
        return Seq("list", (One(text, args.span),), args.span) if name == "readlines" else text
    if this.name == _JINJA_ENVIRONMENT and name in ("from_string", "get_template"):
        return _jinja_template(ev, this, name, args)
    if this.name == _JINJA_TEMPLATE and name in ("render", "render_async"):
        return _rendered(ev, this, args)
    if this.name == "string.Template" and name in ("substitute", "safe_substitute") and this.arguments:
        template = only(this.arguments[0], Text)
        if template is not None:
            return strings.substitute(ev, template, args.keywords, args.origins, args.span)
    filled = prompts.method(ev, this, name, args.values, args.keywords, args.node, args.frame)
    if filled is not None:
        return filled
    made = _client(ev, full, args)
    if made is not None:
        return replace(made, this=this)
    if name in ("run_in_executor", "to_thread", "submit", "apply", "run_sync"):
        return _apply(ev, args, 1 if name == "run_in_executor" else 0)
    if name == "lrange" and (kept := stores.pushed(ev, args.node, args.frame, args.span)) is not None:
        return kept
    deps = union(this.origins(), unknown(ev, name, args).origins())
    return args.hole(deps, window=_queried(args) if name in _FETCHES else _window(args))


def _apply(ev: Evaluator, args: _Args, index: int) -> Value:
    """``helper(f, *args)``: the result of ``f(*args)``."""
    func = args.get(index)
    expr = args.expr(index)
    if func is None or expr is None:
        return args.hole()
    node = args.node
    handed = Call(node.at, expr, node.args[index + 1 :], node.keywords, node.loops, node.guards)
    ev.keep(handed)
    if isinstance(expr, Attr) and ev.is_sink_reference(expr):
        return reply(ev, handed, args.frame)
    return join(ev.call(f, handed, args.frame) for f in options(func))


# -- functions by name ---------------------------------------------------------------------------------------------


def _str(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if isinstance(value, FilePath):
        return value
    return Text(strings.pieces(ev, value, args.span)) if value is not None else text("", args.span)


def _list(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if value is None:
        return Seq("list", (), args.span)
    if isinstance(value, Hole):
        return value
    sequence = containers.as_seq(ev, value, args.span)
    return replace(sequence, kind="list", order=listed(sequence.order, args.span), copied="shallow")


def _set(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    base = containers.as_seq(ev, value, args.span) if value is not None else Seq("set", (), args.span)
    if value is not None and base.kind == "set":
        return base
    return Seq("set", base.items, args.span, union(base.order, containers.hash_order(ev, args.frame, args.node.at)))


def _dict(ev: Evaluator, args: _Args) -> Value | None:
    result: Map = Map({}, args.span)
    if args.values:
        result = containers.update(result, args.values[0], args.span)
    for name, value in args.keywords.items():
        result = containers.set_key(result, text(name, args.span), value, args.span)
    rest = tuple(r for r in args.rest)
    return replace(
        result, rest=(*result.rest, *rest), open=(*result.open, *(f"**{r.name}" for r in rest if isinstance(r, Hole)))
    )


def _sorted(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if value is None:
        return None
    sequence = containers.as_seq(ev, value, args.span)
    fixed = replace(sequence, kind="list", order=tuple(o for o in sequence.order if o.kind != "unordered"))
    key = args.keywords.get("key")
    return containers.ranked(ev, fixed, key, args.node, args.frame) if isinstance(key, Routine) else fixed


def _best(index: int) -> Callable[[Evaluator, _Args], Value | None]:
    """``max(values, key=f)``, ``nlargest(n, values, key=f)``: which ones are taken depends on the key."""

    def apply(ev: Evaluator, args: _Args) -> Value | None:
        value, key = args.get(index), args.keywords.get("key")
        if value is None or not isinstance(key, Routine) or len(args.values) != index + 1:
            return None
        sequence = containers.as_seq(ev, value, args.span)
        deps = containers.ranking(ev, sequence, key, args.node, args.frame)
        if index:
            return replace(sequence, kind="list", order=union(sequence.order, deps))
        one = any_element(sequence, args.span, ev.snippet(args.frame, args.node.at))
        return containers.chosen(one, deps) if deps else one

    return apply


def _same(ev: Evaluator, args: _Args) -> Value | None:
    return args.get(0)


def _copy(depth: str) -> Callable[[Evaluator, _Args], Value | None]:
    def apply(ev: Evaluator, args: _Args) -> Value | None:
        value = args.get(0)
        return replace(value, copied=depth) if isinstance(value, Seq) else value

    return apply


def _second(ev: Evaluator, args: _Args) -> Value | None:
    return args.get(1)


def _enumerate(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if value is None:
        return None
    sequence = containers.as_seq(ev, value, args.span)
    start = args.get(1, "start")
    first = start.value if isinstance(start, Const) and isinstance(start.value, int) else 0 if start is None else None
    known = sequence.known and first is not None
    items = []
    for number, item in enumerate(sequence.items, first or 0):
        index: Value = Const(number, args.span) if known else Hole("index", args.span, type="builtins.int")
        pair = Seq("tuple", (One(index, args.span), One(item.value, item.span)), item.span)
        items.append(replace(item, held=pair) if not isinstance(item, Rest) else Many(pair, item.span, True))
    return replace(sequence, kind="iterator", items=tuple(items))


def _zip(ev: Evaluator, args: _Args) -> Value | None:
    sequences = [containers.as_seq(ev, v, args.span) for v in args.values]
    if sequences and all(s.known for s in sequences):
        rows = zip(*(s.items for s in sequences), strict=False)
        return Seq("iterator", tuple(One(Seq("tuple", tuple(row), args.span), args.span) for row in rows), args.span)
    pair = Seq("tuple", tuple(One(any_element(s, args.span, "element"), args.span) for s in sequences), args.span)
    return Seq("iterator", (Many(pair, args.span, True),), args.span, union(*(s.order for s in sequences)))


def _map(ev: Evaluator, args: _Args) -> Value | None:
    if len(args.values) < 2 or args.expr(0) is None:
        return None
    sequence = containers.as_seq(ev, args.values[1], args.span)
    func = args.expr(0)
    assert func is not None
    items: list[Item] = []
    for item in sequence.items:
        result = join(ev.apply(f, (item.value,), args.node, args.frame) for f in options(args.values[0]))
        items.append(Many(result, item.span, True) if isinstance(item, Rest) else replace(item, held=result))
    return replace(sequence, kind="iterator", items=tuple(items))


def _filter(ev: Evaluator, args: _Args) -> Value | None:
    if len(args.values) < 2:
        return None
    sequence = containers.as_seq(ev, args.values[1], args.span)
    items = [replace(i, optional=True) for i in sequence.items]
    if isinstance(args.values[0], Routine):
        deps = containers.ranking(ev, sequence, args.values[0], args.node, args.frame)
        items = [replace(i, held=containers.chosen(i.value, deps)) for i in items] if deps else items
    return replace(sequence, kind="iterator", items=tuple(items))


def _len(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if isinstance(value, Seq) and value.known:
        return Const(len(value.items), args.span)
    if isinstance(value, Text) and value.literal is not None:
        return Const(len(value.literal), args.span)
    if isinstance(value, Seq) and any(isinstance(i, History) for i in value.items):
        level = args.frame.level_at(args.node.loops)
        shown = ev.snippet(args.frame, args.node.at)
        origin = Origin("counter", shown, args.span, level, frozenset({Axis.TURN, Axis.CALL}))
        return args.hole((origin,))
    # How many there are does not depend on what they say.
    return args.hole(()) if isinstance(value, (Seq, Map)) else args.hole()


def _range(ev: Evaluator, args: _Args) -> Value | None:
    numbers = [v.value for v in args.values if isinstance(v, Const) and isinstance(v.value, int)]
    if len(numbers) == len(args.values) and numbers:
        values = range(*numbers)
        if len(values) <= 40:
            return Seq("iterator", tuple(One(Const(n, args.span), args.span) for n in values), args.span)
    return Seq("iterator", (Rest(Hole("number", args.span, args.origins, type="builtins.int"), args.span),), args.span)


def _dumps(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0, "obj")
    if value is None:
        return None
    if any(isinstance(o, (Map, Seq)) for o in options(value)):
        chosen = {k: v for k, v in args.keywords.items() if k in ("sort_keys", "option")}
        return External("json.text", args.span, instance=True, arguments=(value,), keywords=chosen)
    shown = strings.pieces(ev, value, args.span)
    return Text(tuple(p.with_deps(strings.as_json(p.deps)) if p.deps else p for p in shown))


def _loads(format: str) -> _Function:
    """``json.load(file)``, ``yaml.safe_load(text)``: what the project keeps there, or what stands in its file."""

    def apply(ev: Evaluator, args: _Args) -> Value | None:
        value, source = args.get(0), args.expr(0)
        if isinstance(value, External) and value.name == "json.text":
            return value.arguments[0]
        if value is None or source is None:
            return None
        if (kept := stores.loaded(ev, source, args.frame, args.span)) is not None:
            return kept
        if not format:
            return None
        found: list[Value] = []
        for option in options(value):
            if isinstance(option, External) and option.name.startswith("io."):
                option = _instance_method(ev, option, "read", args, "")
            known = literal(option)
            data = datafiles.load(known, format, args.span) if known is not None else None
            found.append(data if data is not None else unknown(ev, "", args))
        if all(isinstance(f, Hole) for f in found) or stores.is_written(ev, source, args.frame):
            return None
        return join(found)

    return apply


def _dedent(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    return strings.mapped(value, textwrap.dedent) if isinstance(value, Text) else value


def _template(ev: Evaluator, args: _Args) -> Value | None:
    return External("string.Template", args.span, instance=True, arguments=tuple(args.values))


def _made(name: str) -> _Function:
    """An object that stands for itself, whatever it is made from."""

    def apply(ev: Evaluator, args: _Args) -> Value | None:
        return External(name, args.span, True, tuple(args.values), args.keywords, level=args.level)

    return apply


def _jinja_template(ev: Evaluator, environment: External, name: str, args: _Args) -> Value:
    """A template of an environment: from text, or from a file that the loader finds."""
    value = args.get(0, "source" if name == "from_string" else "name") or args.hole()
    loader = environment.keywords.get("loader")
    file = literal(value)
    if name == "get_template":
        folder = _folder(ev, loader, args) if isinstance(loader, External) else None
        value = _file_text(ev, folder / file, args) if folder is not None and file else args.hole((), persistent=True)
    return External(_JINJA_TEMPLATE, args.span, True, (value,), environment.keywords, level=args.level)


def _folder(ev: Evaluator, loader: External, args: _Args) -> Path | None:
    """Where a loader looks first, when that is known."""
    where = [*loader.arguments, *loader.keywords.values()]
    if loader.name.endswith("PackageLoader"):
        where = where[1:] or [text("templates", args.span)]
    first = next((o for v in where[:1] for o in options(v)), None)
    if isinstance(first, Seq) and first.items:
        first = first.items[0].value
    if isinstance(first, FilePath):
        return first.path
    known = literal(first) if first is not None else None
    return Path(known) if known is not None else None


def _content(ev: Evaluator, file: External, args: _Args) -> Hole:
    """What a file holds."""
    return Hole(ev.snippet(args.frame, args.node.at), args.span, held_in(file), persistent=True)


def _rendered(ev: Evaluator, template: External, args: _Args) -> Value:
    """``template.render(...)``."""
    source = only(template.arguments[0], Text) if template.arguments else None
    if source is None:
        made = template.arguments[0].origins() if template.arguments else ()
        filled = args.hole(union(made, args.origins))
        if not any(isinstance(o, Hole) and o.persistent for o in options(template.arguments[0])):
            return filled
        # A file that is not there to be read: what it says stands around what is filled in.
        around = Piece(args.span, None, name="the rest of the template", persistent=True)
        return Text((Piece(args.span, None, filled.origins(), filled.name), around))
    names = dict(args.keywords)
    rest = list(args.rest)
    for given in args.values:
        for option in options(given):
            if isinstance(option, Map):
                names |= {k: e.value for k, e in option.entries.items()}
                rest += option.rest
            else:
                rest.append(option)
    begin, end = (literal(template.keywords[k]) if k in template.keywords else None for k in _JINJA_MARKS)
    marks = jinja.Marks(begin or "{{", end or "}}")
    unknown_names = union(*(r.origins() for r in rest))
    frame, at = args.frame, args.node.at
    return jinja.render(ev, source, names, unknown_names, args.span, frame.module, at, args.level, marks)


def _partial(ev: Evaluator, args: _Args) -> Value | None:
    func = args.get(0)
    if isinstance(func, Routine):
        return replace(func, preset=((*func.preset[0], *args.values[1:]), (*func.preset[1], *args.keywords.items())))
    if isinstance(func, (External, Hole)):
        return External(
            "functools.partial", args.span, instance=True, arguments=tuple(args.values), keywords=args.keywords
        )
    return func


def _chain(ev: Evaluator, args: _Args) -> Value | None:
    parts = [containers.as_seq(ev, v, args.span) for v in args.values]
    return Seq("iterator", tuple(i for p in parts for i in p.items), args.span, union(*(p.order for p in parts)))


def _fromkeys(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    return containers.as_seq(ev, value, args.span) if value is not None else None


def _deque(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0, "iterable")
    limit = args.get(1, "maxlen")
    base = containers.as_seq(ev, value, args.span) if value is not None else Seq("list", (), args.span)
    if limit is None or (isinstance(limit, Const) and limit.value is None):
        return replace(base, kind="list")
    keeps = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
    edit = Edit("window", args.span, ev.snippet(args.frame, args.node.at), keeps=keeps)
    return replace(base, kind="deque", edits=(*base.edits, edit))


def _defaultdict(ev: Evaluator, args: _Args) -> Value | None:
    """A dict whose unknown keys hold what the factory makes."""
    factory = args.get(0, "default_factory")
    empty: dict[str, Value] = {
        "builtins.list": Seq("list", (), args.span),
        "builtins.dict": Map({}, args.span),
        "builtins.set": Seq("set", (), args.span),
    }
    made = empty.get(factory.name) if isinstance(factory, External) else None
    if made is None and isinstance(factory, Routine):
        made = ev.apply(factory, (), args.node, args.frame)
    return Map({}, args.span, (made,) if made is not None else ())


def _path(ev: Evaluator, args: _Args) -> Value | None:
    first = _located(args.get(0), args)
    if not isinstance(first, FilePath):
        return first
    path = first.path
    for part in args.values[1:]:
        known = literal(part)
        if known is None:
            return External("pathlib.Path", args.span, instance=True)
        path = path / known
    return FilePath(path, args.span)


def _located(value: Value | None, args: _Args) -> FilePath | External:
    """A path, by its first part."""
    if isinstance(value, FilePath):
        return value
    if isinstance(value, Text) and value.literal is not None:
        return FilePath(Path(value.literal), args.span)
    if value is None:
        return FilePath(Path("."), args.span)
    return External("pathlib.Path", args.span, instance=True, arguments=tuple(args.values))


def _resources(ev: Evaluator, args: _Args) -> Value | None:
    """``importlib.resources.files(package)``: the folder of a package, and what is in it."""
    package = args.get(0, "anchor") or args.get(0, "package")
    name = literal(package) if package is not None else args.frame.module.name
    if isinstance(package, Namespace):
        return FilePath(package.module.source.file.parent, args.span)
    if name is None:
        return None
    if name == args.frame.module.name and not args.frame.module.is_package:
        return FilePath(args.frame.module.source.file.parent, args.span)
    return FilePath(Path(*name.split(".")), args.span)


def _resource(how: str) -> _Function:
    """``read_text(package, name)``, ``open_text(package, name)`` and their like."""

    def apply(ev: Evaluator, args: _Args) -> Value | None:
        folder, name = _resources(ev, args), args.get(1, "resource")
        known = literal(name) if name is not None else None
        if not isinstance(folder, FilePath) or known is None:
            return None
        path = FilePath(folder.path / known, args.span)
        if how == "path":
            return path
        if how == "open":
            return External("io.TextIOWrapper", args.span, instance=True, arguments=(path,))
        return _file_text(ev, path.path, args)

    return apply


def _dirname(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    return FilePath(value.path.parent, args.span) if isinstance(value, FilePath) else None


def _open(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0, "file")
    paths = [_located(o, args) for o in options(value)] if value is not None else [_located(None, args)]
    return join(External("io.TextIOWrapper", args.span, instance=True, arguments=(p,)) for p in paths)


def _run(ev: Evaluator, args: _Args) -> Value | None:
    return _apply(ev, args, 0)


def _gather(ev: Evaluator, args: _Args) -> Value | None:
    return Seq(
        "list", tuple(One(v, args.span) for v in args.values) + tuple(Rest(r, args.span) for r in args.rest), args.span
    )


def _getattr(ev: Evaluator, args: _Args) -> Value | None:
    name = literal(args.values[1]) if len(args.values) > 1 else None
    if name is None:
        return args.hole()
    value = ev.attribute(args.values[0], name, args.span, args.frame, ev.snippet(args.frame, args.node.at))
    if isinstance(value, Hole) and len(args.values) > 2:
        return join((value, args.values[2]))
    return value


def _count(ev: Evaluator, args: _Args) -> Value:
    return External("itertools.count", args.span, True, tuple(args.values), args.keywords, level=args.level)


def _next(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if value is None:
        return None
    if isinstance(value, External) and value.name == "itertools.count":
        shown = ev.snippet(args.frame, args.node.at)
        origin = Origin("counter", shown, args.span, args.level, frozenset({Axis.TURN, Axis.CALL}))
        return Hole(shown, args.span, (origin,) if value.level != args.level else ())
    sequence = containers.as_seq(ev, value, args.span)
    found = (
        any_element(sequence, args.span, ev.snippet(args.frame, args.node.at))
        if sequence.items
        else Const(None, args.span)
    )
    fallback = args.get(1)
    first = sequence.items[0] if sequence.items else None
    if isinstance(first, One) and not first.optional:
        return first.value
    return join((found, fallback)) if fallback is not None else found


def _reversed(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if value is None or isinstance(value, Hole):
        return value
    sequence = containers.as_seq(ev, value, args.span)
    return replace(containers.turned(sequence), kind="iterator")


def _boolean(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    certain = truth(value) if value is not None else False
    return Const(certain, args.span) if certain is not None else args.hole()


def _isinstance(ev: Evaluator, args: _Args) -> Value | None:
    value, kind = args.get(0), args.get(1)
    if value is None or kind is None:
        return None
    names = {
        o.name
        for k in (kind.items if isinstance(kind, Seq) else (kind,))
        for o in options(k.value if isinstance(k, Item) else k)
        if isinstance(o, External)
    }
    if isinstance(value, Text) and names:
        return (
            Const("builtins.str" in names, args.span)
            if value.pieces and not any(p.optional for p in value.pieces)
            else args.hole(())
        )
    if (
        isinstance(value, Map)
        and value.base is None
        and value.type is None
        and names <= {"builtins.dict", "builtins.str", "builtins.list"}
    ):
        return Const("builtins.dict" in names, args.span)
    if isinstance(value, Seq) and names <= {"builtins.dict", "builtins.str", "builtins.list", "builtins.tuple"}:
        return Const(f"builtins.{value.kind}" in names, args.span) if value.kind in ("list", "tuple") else args.hole(())
    return args.hole(())


def _getenv(ev: Evaluator, args: _Args) -> Value | None:
    fallback = args.get(1, "default")
    shown = ev.snippet(args.frame, args.node.at)
    if fallback is not None and not (isinstance(fallback, Const) and fallback.value is None):
        return fallback
    origin = Origin(
        "environment",
        shown,
        args.span,
        IMPORT,
        frozenset({Axis.MACHINE, Axis.DEPLOYMENT}),
        because="knowledge/sources.toml: os.getenv",
    )
    return Hole(shown, args.span, (origin,), persistent=True)


def _asdict(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    return _fields_of(value, args) if isinstance(value, Instance) else value


def _replaced(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0, "obj")
    return replace(value, overrides={**value.overrides, **args.keywords}) if isinstance(value, Instance) else value


def _none(ev: Evaluator, args: _Args) -> Value | None:
    return Const(None, args.span)


def _number(ev: Evaluator, args: _Args) -> Value | None:
    value = args.get(0)
    if isinstance(value, Hole):
        # int(time.time()) has seconds, round(t / 3600) is not followed.
        return strings.coarsened(replace(value, name=ev.snippet(args.frame, args.node.at)), strings.SECOND)
    return value


def _clock_format(index: int) -> Callable[[Evaluator, _Args], Value | None]:
    def apply(ev: Evaluator, args: _Args) -> Value | None:
        spec = literal(args.values[0]) if args.values else None
        given = args.get(index)
        if given is None:
            row = ev.knowledge.sources.get("time.time") or ev.knowledge.sources["datetime.datetime.now"]
            given = source(
                row, args.span, args.frame.level_at(args.node.loops), ev.snippet(args.frame, args.node.at, 50)
            )
        if spec is None:
            return given
        return strings.coarsened(given, strings.strftime_grain(spec))

    return apply


_Function = Callable[["Evaluator", _Args], "Value | None"]
_FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(containers.SPANS, _span_of_time),
    "builtins.str": _str,
    "builtins.repr": _str,
    "builtins.format": _str,
    "builtins.list": _list,
    "builtins.tuple": _list,
    "builtins.iter": _list,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "builtins.sorted": _sorted,
    "builtins.reversed": _reversed,
    "builtins.max": _best(0),
    "builtins.min": _best(0),
    "heapq.nlargest": _best(1),
    "heapq.nsmallest": _best(1),
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.len": _len,
    "builtins.range": _range,
    "builtins.open": _open,
    "builtins.getattr": _getattr,
    "builtins.next": _next,
    "builtins.anext": _next,
    "builtins.bool": _boolean,
    "builtins.isinstance": _isinstance,
    "builtins.print": _none,
    "builtins.int": _number,
    "builtins.float": _same,
    "builtins.round": _number,
    "json.dumps": _dumps,
    "orjson.dumps": _dumps,
    "ujson.dumps": _dumps,
    **{
        f"{module}.{name}": _loads(format)
        for module, format in _FORMATS.items()
        for name in ("load", "loads", "safe_load", "full_load")
    },
    "copy.copy": _copy("shallow"),
    "copy.deepcopy": _copy("deep"),
    "typing.cast": _second,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "string.Template": _template,
    **{
        f"jinja2.{path}": _made(f"jinja2.{path.rpartition('.')[2]}")
        for path in (
            "Template",
            "environment.Template",
            "FileSystemLoader",
            "loaders.FileSystemLoader",
            "PackageLoader",
            "loaders.PackageLoader",
        )
    },
    **{
        f"jinja2.{path}": _made(_JINJA_ENVIRONMENT)
        for path in (
            "Environment",
            "environment.Environment",
            "sandbox.SandboxedEnvironment",
            "sandbox.ImmutableSandboxedEnvironment",
            "nativetypes.NativeEnvironment",
        )
    },
    "functools.partial": _partial,
    "itertools.count": _count,
    "itertools.chain": _chain,
    "builtins.dict.fromkeys": _fromkeys,
    "collections.deque": _deque,
    "collections.defaultdict": _defaultdict,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "os.path.join": _path,
    "os.path.dirname": _dirname,
    "importlib.resources.files": _resources,
    "importlib.resources.as_file": _same,
    "importlib.resources.read_text": _resource("read"),
    "importlib.resources.read_binary": _resource("read"),
    "importlib.resources.open_text": _resource("open"),
    "importlib.resources.open_binary": _resource("open"),
    "importlib.resources.path": _resource("path"),
    "pkgutil.get_data": _resource("read"),
    "os.path.abspath": _same,
    "os.path.realpath": _same,
    "io.open": _open,
    "aiofiles.open": _open,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "asyncio.to_thread": _run,
    "anyio.to_thread.run_sync": _run,
    "asyncio.run": _same,
    "asyncio.wait_for": _same,
    "asyncio.create_task": _same,
    "asyncio.ensure_future": _same,
    "asyncio.shield": _same,
    "asyncio.gather": _gather,
    "dataclasses.asdict": _asdict,
    "dataclasses.replace": _replaced,
    "time.strftime": _clock_format(1),
}
