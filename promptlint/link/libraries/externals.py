"""What lies outside the project: its attributes, and what a call of it returns."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, called_name
from promptlint.code.index import Function
from promptlint.code.syntax import HANDED_STORES, SESSION_STORES
from promptlint.frozen import replace
from promptlint.knowledge.rows import SinkRow, SourceRow
from promptlint.link import containers
from promptlint.link.calling.given import Given
from promptlint.link.kept import remembered, state, stores
from promptlint.link.libraries import functions, methods, prompts
from promptlint.link.texts import jinja, strings
from promptlint.link.values import (
    Const,
    Entry,
    External,
    FilePath,
    Hole,
    Instance,
    Lazy,
    Limit,
    Map,
    One,
    Origin,
    Origins,
    Rest,
    Routine,
    Sent,
    Seq,
    Text,
    Type,
    Value,
    in_a_file,
    literal,
    options,
    text,
    union,
)
from promptlint.request import Axis, Carrier
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


_LIMIT = re.compile(r"\blimit\s+(\d+|\?|%s|:\w+|\{|\$\d)", re.IGNORECASE)
_FROM_THE_END = re.compile(
    r"\bdesc\b|\boffset\b|\border\s+by\b[^{]*\{.*\blimit\b|^(?!.*\border\s+by\b)", re.IGNORECASE | re.DOTALL
)
"""A query whose limit may leave out the oldest rows: one in ascending order keeps those."""
_PAGE_NAMES = frozenset(
    ["cursor", "start_cursor", "next_cursor", "page_token", "next_token", "starting_token", "pageToken", "nextToken"]
)
"""What a load is given that begins where the one before it ended."""
_RUNS = frozenset(("execute", "scalars", "exec", "stream", "stream_scalars", "fetch_all"))
"""Methods that run a query they are given, which may be limited (sqlalchemy, sqlmodel, databases)."""
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
_TYPES_OF_MESSAGES = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}
"""What ``message.type`` says in langchain, by role."""
_MESSAGE_FUNCTIONS = {
    **{f"mirascope.llm.messages.{role}": role for role in ("system", "user", "assistant")},
    **{f"haystack.dataclasses.ChatMessage.from_{role}": role for role in ("system", "user", "assistant")},
}
"""Functions that make a message of one role of the text that they are given first."""
_DICT_METHODS = frozenset(
    ["get", "set", "clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "update", "values", "to_dict"]
)
_ROW_NUMBERS = frozenset(("lastrowid", "inserted_id", "inserted_ids", "inserted_primary_key", "rowcount"))
"""What the result of a query says of the rows that it wrote (DB-API, pymongo, SQLAlchemy)."""
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
    "tm_min": strings.MINUTE,
    "tm_yday": strings.DAY,
    "tm_wday": strings.DAY,
    "days": strings.DAY,
    "tzinfo": None,
    "tm_zone": None,
}


def attribute(ev: Evaluator, base: External, name: str, span: Span, frame: Frame) -> Value:
    """An attribute of something outside the project: a longer qualified name."""
    if base.name == "builtins.super" and isinstance(base.this, (Instance, Type)):
        return _super(ev, base.this, name, frame)
    if (kept := turns_since(ev, base, name, span)) is not None:
        return kept
    if base.instance and name in base.keywords and base.name.rpartition(".")[2][:1].isupper():
        return base.keywords[name]
    full = f"{base.name}.{name}"
    if remembered.keeps_turns(base.name, name):
        return remembered.turns(ev, base.span, span, frame)
    if base.name.rpartition(".")[2] in SESSION_STORES and not base.instance and name not in _DICT_METHODS:
        return state.session_value(ev, base.name, name, frame, span)
    row = ev.knowledge.sources.get(full)
    if row is not None and row.attribute:
        return source(row, span, frame.level, full)
    if base.instance and base.name == "pathlib.Path" and name == "parent":
        return base
    if base.instance and full == f"{jinja.ENVIRONMENT}.globals":
        return Map({}, span)
    if full == "sys.argv":
        return Hole(full, span)
    # Below what was made by a call of another object, that object is no longer meant.
    this = base.this if base.this is not None and base.level is None else base
    return External(full, span, instance=base.instance, this=this)


def of_library_object(ev: Evaluator, made: Map, name: str, span: Span, frame: Frame) -> Value | None:
    """An attribute that an object of langchain has besides the keywords it was made with."""
    role = _MESSAGE_CLASSES.get(made.type or "") if name == "type" else None
    if role is not None:
        return text(_TYPES_OF_MESSAGES[role], span)
    return remembered.turns(ev, made.span, span, frame) if remembered.keeps_turns(made.type or "", name) else None


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


def hole_attribute(ev: Evaluator, base: Hole, name: str, span: Span, shown: str, frame: Frame) -> Value:
    if (store := base.name.rpartition(".")[2]) in HANDED_STORES and name not in _DICT_METHODS:
        return state.session_value(ev, f"*.{store}", name, frame, span)
    if base.type is not None:
        return External(f"{base.type}.{name}", span, instance=True, this=base)
    if name in _CLOCK_METHODS and any(o.kind == "time" for o in base.deps):
        return strings.coarsened(replace(base, name=shown), _CLOCK_METHODS[name])
    if base.name == "os.environ" and name == "get":
        return External("os.environ.get", span)  # what it gives where nothing is set is known
    if name in _ROW_NUMBERS:
        return Hole(shown, span)  # the database numbers its rows, whatever is written into them
    deps = containers.whose(base.deps, name, shown or f"{base.name}.{name}")
    window = base.window if name in containers.ROWS else None
    return replace(base, name=shown or f"{base.name}.{name}", window=window, deps=deps)


def path_attribute(base: FilePath, name: str, span: Span) -> Value:
    if name == "parent":
        return FilePath(base.path.parent, span)
    if name == "parents":
        return Seq("tuple", tuple(One(FilePath(p, span), span) for p in base.path.parents), span)
    if name in ("name", "stem", "suffix"):
        return text(str(getattr(base.path, name)), span)
    return External(f".{name}", span, this=base)


def call(ev: Evaluator, func: External, node: Call, frame: Frame) -> Value:
    """The result of calling something outside the project."""
    name = func.name
    sends = ev.sink_row(name)
    if sends is not None and not prompts.asks_nobody(ev, func.this):
        return replace(reply(ev, node, frame), returns=_returned(ev, sends, node, frame))
    args = Given(ev, node, frame, _connection(ev, name))
    if name.startswith("."):
        assert func.this is not None
        return methods.method(ev, func.this, name[1:], args)
    special = functions.FUNCTIONS.get(name)
    if special is not None:
        result = special(ev, args)
        if result is not None:
            return result
    row = ev.knowledge.sources.get(name)
    if row is not None:
        shown = ev.snippet(frame, node.at, 50)
        if _seeded(func, args.level):
            return Hole(shown, args.span, args.origins)
        first = args.get(1, row.starts_with) if row.starts_with else None
        if first is not None and literal(first) != "" and not (isinstance(first, Const) and first.value is None):
            return first
        given = [v for v in args.values if not (isinstance(v, Const) and v.value is None)]
        if row.at_most is not None and len(given) > row.at_most:
            return strings.coarsened(args.hole(), row.grain)  # it only renders what it is given
        if row.name in _COMMANDS and _tells_the_machine(args):
            row = replace(row, axes=(Axis.MACHINE.value,))
        drawn = source(row, args.span, args.level, shown)
        if name.endswith(".choice") and args.values:
            return functions.one_of(ev, args.values[0], drawn, args)
        return stores.filled(ev, name.rpartition(".")[2], args, drawn)
    last = name.rpartition(".")[2]
    prompt = prompts.made(ev, name, args.values, args.keywords, args.span)
    if prompt is not None:
        return prompt
    made = made_client(ev, name, args)
    if made is not None:
        return replace(made, this=func.this) if isinstance(func.this, External) and func.instance else made
    if last in _MESSAGE_CLASSES and not func.instance:
        return _message(_MESSAGE_CLASSES[last], last, args)
    if name in _MESSAGE_FUNCTIONS:
        return _message(_MESSAGE_FUNCTIONS[name], "", args)
    if last[:1].isupper() and not func.instance and (func.this is None or isinstance(func.this, External)):
        return _constructed(name, args)
    if func.instance or func.this is not None:
        return methods.method(ev, func.this if func.this is not None else func, last, args, name)
    if name in ev.knowledge.windows:
        return remembered.shortened(ev, name, args)
    return unknown(ev, name, args)


_COMMANDS = frozenset(
    ("subprocess.check_output", "subprocess.run", "subprocess.getoutput", "subprocess.getstatusoutput", "os.popen")
)
_ABOUT_THE_MACHINE = frozenset(
    ("uname", "hostname", "which", "where", "sw_vers", "lsb_release", "nproc", "arch", "ver")
)
_VERSION = frozenset(("--version", "-version", "-V", "--help"))


def _tells_the_machine(args: Given) -> bool:
    """Whether a command only tells what is installed or what machine this is, which no turn changes."""
    command = args.get(0, "args")
    if isinstance(command, Seq):
        words = [literal(i.value) or "" for i in command.items]
    else:
        words = (literal(command) or "").split() if command is not None else []
    return bool(words) and (words[0].rpartition("/")[2] in _ABOUT_THE_MACHINE or not _VERSION.isdisjoint(words))


def shuffled(ev: Evaluator, func: External, node: Call, before: Value, frame: Frame) -> Value:
    """A list after ``random.shuffle(values)``: what was in it, in an order that is drawn by that call."""
    row, level, span = ev.knowledge.sources.get(func.name), frame.level_at(node.loops), ev.span(frame, node)
    if row is None or _seeded(func, level):
        return before
    drawn = source(row, span, level, ev.snippet(frame, node.at, 50)).origins()
    values = containers.as_seq(ev, before, span)
    return replace(values, order=union(values.order, drawn))


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
        return _with_turns(ev, kept, span)

    return {key: Lazy(partial(made, key, argument)) for key, argument in row.returns.items()}


def turns_since(ev: Evaluator, base: External, name: str, span: Span) -> Seq | None:
    """What an object that keeps the turns gives back under ``name``: those that it was made with, and its own."""
    if not base.instance:
        return None
    argument = next((r.returns[name] for r in ev.knowledge.clients.get(base.maker, ()) if name in r.returns), None)
    if argument is None:
        return None
    return _with_turns(ev, base.keywords.get(argument, Seq("list", (), span)), span)


def _with_turns(ev: Evaluator, given: Value, span: Span) -> Seq:
    sequence = containers.as_seq(ev, given, span)
    return replace(sequence, items=(*sequence.items, Rest(Hole("the turns of the run", span), span)))


def _connection(ev: Evaluator, name: str) -> frozenset[str] | None:
    """What counts of the keywords that make a client which only holds a connection; ``None`` for anything else.

    Headers, keys and timeouts come from the depths of a configuration and say nothing about a prompt.
    """
    rows = ev.knowledge.clients.get(name, ())
    if not rows or any(row.constructor_parts or row.always or row.decorators for row in rows):
        return None
    return frozenset(n for row in rows for n in (row.base_url, *row.when, *row.positional) if n is not None)


def made_client(ev: Evaluator, name: str, args: Given) -> External | None:
    for row in ev.knowledge.clients.get(name, ()):
        if all(matches(args, key, value, row.positional) for key, value in row.when.items()):
            keywords = dict(args.keywords)
            for position, value in enumerate(args.values):
                if position < len(row.positional):
                    keywords.setdefault(row.positional[position], value)
            if args.rest:
                keywords["**"] = args.rest[0]
            return External(row.type, args.span, True, tuple(args.values), keywords, level=args.level, maker=row.maker)
    return None


def matches(args: Given, key: str, wanted: str, positional: tuple[str, ...]) -> bool:
    index = positional.index(key) if key in positional else 0
    value = args.get(index, key)
    return value is not None and literal(value) == wanted


def _message(role: str, name: str, args: Given) -> Map:
    content = args.get(0, "content") or args.get(0, "text") or Const(None, args.span)
    entries = {k: Entry(v, args.span) for k, v in args.keywords.items()}
    entries["role"] = Entry(text(role, args.span), args.span)
    entries["content"] = Entry(content, args.span)
    return Map(entries, args.span, type=name)


def _constructed(name: str, args: Given) -> Value:
    """An object of a library: its keywords are its fields, and so is what the body that makes it writes to them."""
    for write in args.ev.summary(args.frame.function).writes:
        if write.base is args.node:
            args.keywords[write.name] = args.ev.eval(write.value, args.frame)
    if args.keywords and not args.values:
        entries = {k: Entry(v, args.span) for k, v in args.keywords.items()}
        rest = tuple(args.rest)
        return Map(entries, args.span, rest, open=tuple(f"**{r.name}" for r in rest if isinstance(r, Hole)), type=name)
    return External(name, args.span, True, tuple(args.values), args.keywords, level=args.level)


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
        carrier=Carrier.TYPED if row.kind == "user" and Axis.TURN in axes else None,
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
    args = Given(ev, node, frame)
    if isinstance(node.func, Attr):
        if ev.is_sink_call(node):
            return reply(ev, node, frame)
        base = ev.eval(node.func.base, frame)
        return methods.method(ev, base, node.func.name, args)
    return unknown(ev, "", args)


def unfollowed(ev: Evaluator, found: Value, node: Call, frame: Frame) -> Value:
    """A call that is too much work to follow: it depends on what is known of it, and on everything that it is given."""
    args = Given(ev, node, frame)
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


_TEMPORARY = re.compile(r"\btempfile\.")
_OPENING = re.compile(r"(open|connect)(_.*)?|create_(async_)?engine|PersistentClient")
"""Functions of libraries that open what they are told by its name."""


def unknown(ev: Evaluator, name: str, args: Given) -> Value:
    # What a library makes of a file is what stands in it: where the file lies for the moment says nothing of that.
    deps = tuple(o for o in args.origins if not (name and _TEMPORARY.search(o.because or "")))
    if _OPENING.fullmatch(name.rpartition(".")[2]):
        deps = in_a_file(deps)
    if any("opaque-call" not in o.features for o in deps):
        called = name or getattr(args.node.func, "name", "") or "a function"
        deps = doubtful(deps, "opaque-call", Step(args.span, f"handed to {called}(), which is not looked into"))
    wraps = any(
        isinstance(o, External) and o.instance and ev.clients_of_type(o.name) for v in args.values for o in options(v)
    )
    return args.hole(deps, window=limit_of(args), features=frozenset({"wrapped-client"}) if wraps else frozenset())


def limit_of(args: Given) -> Limit | None:
    """What a load is limited to; nothing for one page of several, which starts where another ended."""
    for value in args.values if called_name(args.node) in _RUNS else ():
        if isinstance(value, Hole) and value.window is not None:
            return value.window  # of the query that is run
    rows = _rows(args)
    return limited(args, rows) if rows is not None else None


def limited(args: Given, rows: int) -> Limit:
    """A limit that the call itself sets."""
    shown, node = args.ev.snippet(args.frame, args.node.at), args.node
    if shown.endswith("…") and isinstance(node.func, Attr) and len(node.args) == 1:
        shown = f"….{node.func.name}({rows})"  # the end of a long chain
    return Limit(rows, args.span, shown)


def _rows(args: Given) -> int | None:
    if _PAGE_NAMES & args.keywords.keys():
        return None
    order = args.keywords.get("ScanIndexForward")
    newest_first = isinstance(order, Const) and order.value is False  # of DynamoDB, which begins with the oldest
    for name, value in args.keywords.items():
        limits = name in _LIMIT_NAMES or (name == "Limit" and newest_first)
        if limits and isinstance(value, Const) and isinstance(value.value, int) and value.value > 1:
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
