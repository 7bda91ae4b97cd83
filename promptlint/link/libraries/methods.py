"""Methods of known values: texts, lists, dicts, paths, clocks, and objects of libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Attr,
    Call,
    unchanged,
)
from promptlint.files.source import LINE_BREAK, Unreadable, read_bytes
from promptlint.frozen import replace
from promptlint.knowledge.rows import SourceRow
from promptlint.link import containers
from promptlint.link.calling.given import Given
from promptlint.link.joining import join
from promptlint.link.kept import contexts, documents, queries, remembered, stores
from promptlint.link.libraries import externals, functions, prompts
from promptlint.link.texts import clocks, jinja, strings
from promptlint.link.turns import slices
from promptlint.link.turns.growth import base_marker
from promptlint.link.values import (
    Cell,
    Const,
    Entry,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Limit,
    Many,
    Map,
    One,
    Rest,
    Sent,
    Seq,
    Text,
    Type,
    Value,
    in_a_file,
    literal,
    only,
    options,
    text,
    union,
)
from promptlint.span import Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


MAX_PROMPT_FILE = 400_000
"""Bytes of a prompt file that are read."""
PROMPT_SUFFIXES = frozenset((".md", ".txt", ".j2", ".jinja", ".jinja2", ".prompt", ".tmpl", ".xml", ""))
DATA_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".toml"))
VALIDATORS = frozenset(("model_validate", "parse_obj"))
"""Class methods of a pydantic model that make one of a dict."""
_FETCHES = frozenset(("fetchall", "fetchmany"))
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
_TIMESPECS = {
    "hours": strings.HOUR,
    "minutes": strings.MINUTE,
    "seconds": strings.SECOND,
    "milliseconds": 1e-3,
    "microseconds": strings.MICROSECOND,
    "auto": strings.MICROSECOND,
}


def _queried(args: Given) -> Limit | None:
    """What the query is limited to which was run on a cursor before it is fetched from."""
    ev, func, query = args.ev, args.node.func, None
    if not isinstance(func, Attr):
        return None
    cursor = unchanged(func.base)
    for call in ev.summary(args.frame.function).calls:
        if call is args.node:
            break
        if isinstance(call.func, Attr) and call.func.name == "execute":
            query = call if slices.is_same(unchanged(call.func.base), cursor) else query
    return externals.limit_of(Given(ev, query, args.frame)) if query is not None else None


_FINAL = frozenset(("get_final_message", "get_final_text", "get_final_completion", "get_final_response", "parse"))
"""Methods of a stream, or of a raw response, that give the whole reply (anthropic, openai)."""


def method(ev: Evaluator, this: Value, name: str, args: Given, qualified: str = "") -> Value:
    """``this.name(...)`` by the kind of ``this``."""
    if name in ("__enter__", "__aenter__", "with_options", "copy", "__copy__") and not isinstance(this, (Seq, Map)):
        return this
    if name in stores.LISTED and (kept := stores.pushed(ev, args.node, args.frame, args.span)) is not None:
        return kept
    if name in documents.READS and (document := documents.found(ev, name, args)) is not None:
        return document
    row = ev.knowledge.sources.get(f"*.{name}")
    if row is not None and all(isinstance(o, (External, Hole)) for o in options(this)):
        return externals.source(row, args.span, args.level, ev.snippet(args.frame, args.node.at, 50))
    if (changing := stores.rewritten(ev, name, args)) is not None:
        return changing
    if name in ("to_messages", "to_string") and all(isinstance(o, (Seq, Text)) for o in options(this)):
        return this
    if name == "result" and all(isinstance(o, (Seq, Text, Map, Instance)) for o in options(this)):
        return this  # what a task or a future gives
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
        elif isinstance(option, Sent) and name in _FINAL:
            results.append(option)
        elif isinstance(option, Instance) and name in ("model_dump", "dict", "_asdict"):
            results.append(_fields_of(ev, option, args))
        elif isinstance(option, Type) and name in VALIDATORS:
            results.append(_validated(ev, option, args) or externals.unknown(ev, name, args))
        else:
            results.append(externals.unknown(ev, name, args) if not isinstance(option, Const) else args.hole())
    return join(results)


def _validated(ev: Evaluator, model: Type, args: Given) -> Value | None:
    """``Model.model_validate(data)`` of data whose fields are known."""
    from promptlint.link.classes.construction import validated

    data = args.get(0, "obj")
    return validated(ev, model.cls, data, args.span, args.level) if isinstance(data, Map) else None


def _fields_of(ev: Evaluator, value: Instance, args: Given) -> Value:
    """An object as a dict; what a field holds that may have changed is found out when it is asked for."""
    from promptlint.link.classes import construction, objects

    def held(name: str) -> Lazy:
        return Lazy(lambda: objects.attribute(ev, value, name, args.span, args.frame))

    classes = list(reversed(ev.program.mro(value.cls)))
    names = [name for c in classes for name in c.fields]
    if not construction.is_record(ev, value.cls):
        made = (m for c in classes if (m := c.methods.get("__init__")) is not None and m.is_method)
        names = [
            k.partition(".")[2] for m in made for k in ev.summary(m).exit if k.startswith(f"{m.parameters[0].name}.")
        ]
    entries = {name: Entry(held(name), args.span) for name in names if "." not in name}
    entries |= {k: Entry(v, args.span) for k, v in value.overrides.items()}
    return Map(entries, args.span, () if entries else (Hole(value.cls.name, args.span),))


def _text_method(ev: Evaluator, this: Text, name: str, args: Given) -> Value:
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
    if name in ("split", "splitlines", "rsplit", "partition", "rpartition"):
        known = this.literal
        parted = clocks.parts(this, name, args.values[0] if args.values else None, args.span)
        if parted is not None:
            return parted
        told = _parts(known, name, args.values) if known is not None and len(known) < 4000 else None
        if told is not None and len(told) <= 40:
            return Seq("list", tuple(One(text(p, args.span), args.span) for p in told), args.span)
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


def _parts(known: str, name: str, given: list[Value]) -> list[str] | None:
    """What a text is split into; ``None`` where it is not known at what."""
    if not given:
        return known.split() if name == "split" else known.splitlines()
    between = literal(given[0]) if len(given) == 1 else None
    return list(getattr(known, name)(between)) if between and name != "splitlines" else None


def _literals(value: Value | None) -> tuple[str, ...] | None:
    """A known text, or a tuple of known texts, as ``str.startswith`` takes them."""
    parts = [i.value for i in value.items] if isinstance(value, Seq) and value.known else [value]
    known = [part.literal if isinstance(part, Text) else None for part in parts]
    return tuple(k for k in known if k is not None) if all(k is not None for k in known) else None


def _list_method(ev: Evaluator, this: Seq, name: str, args: Given) -> Value:
    if name in ("copy", "__copy__"):
        return replace(this, copied="shallow")
    if name in ("__enter__", "__iter__"):
        return this
    if name in ("getvalue", "read"):
        return strings.joined(ev, text("", args.span), this, args.span)  # the text that was written to a buffer
    if name in ("pop", "popleft"):
        index = args.values[0] if args.values else Const(0 if name == "popleft" else -1, args.span)
        return containers.item(this, index, args.span, ev.snippet(args.frame, args.node.at))
    if name in ("union", "difference", "intersection", "symmetric_difference"):
        other = containers.as_seq(ev, args.values[0], args.span) if args.values else Seq("set", (), args.span)
        return containers.binary(ev, "|" if name == "union" else "-", replace(this, kind="set"), other, args.span, name)
    if name in ("append", "extend", "insert", "remove", "clear", "sort", "reverse", "add", "discard", "update"):
        return Const(None, args.span)
    if name in ("write", "writelines", "seek"):
        return args.hole(())
    return args.hole(union(this.origins(), args.origins))


def _dict_method(ev: Evaluator, this: Map, name: str, args: Given) -> Value:
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
        return join((found, fallback)) if fallback is not None and not _has_begun_as(found, fallback) else found
    if name == "items":
        items: list[Item] = [
            One(Seq("tuple", (One(text(k, e.span), e.span), One(e.value, e.span)), e.span), e.span, e.optional)
            for k, e in this.entries.items()
        ]
        for rest in this.rest:
            under = containers.unknown_key(this, rest, args.span)
            pair = Seq("tuple", (One(under, args.span), One(rest, args.span)), args.span)
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


def _has_begun_as(found: Value, fallback: Value) -> bool:
    """Whether what is kept is the object, or begins with the list, that stands for it where there is none yet."""
    if isinstance(fallback, Instance):
        return any(isinstance(o, Instance) and o.span == fallback.span for o in options(found))
    if not isinstance(found, Seq) or not isinstance(fallback, Seq) or not fallback.known:
        return False
    held = {i.span for i in found.items if isinstance(i, One)}
    return any(isinstance(i, History) for i in found.items) and all(i.span in held for i in fallback.items)


def _listed(ev: Evaluator, row: SourceRow, name: str, args: Given) -> Value:
    """What a source gives; of a folder that the program fills, more from turn to turn."""
    listing = externals.source(row, args.span, args.level, ev.snippet(args.frame, args.node.at, 50))
    return stores.filled(ev, name, args, listing)


def _path_method(ev: Evaluator, this: FilePath, name: str, args: Given) -> Value:
    if name == "read_text":
        return _file_text(ev, this.path, args)
    if name == "open":
        return External("io.TextIOWrapper", args.span, instance=True, arguments=(this,))
    if name == "joinpath" and args.values:
        path = this.path
        for value in args.values:
            part = literal(value)
            if part is None:
                return External("pathlib.Path", args.span, instance=True, arguments=tuple(args.values))
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
            return _listed(ev, row, name, args)
    return args.hole((), persistent=True)


def _file_text(ev: Evaluator, path: Path, args: Given) -> Value:
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


def _hole_method(ev: Evaluator, this: Hole, name: str, args: Given) -> Value:
    shown = ev.snippet(args.frame, args.node.at)
    if any(o.kind == "time" for o in this.deps):
        refined = _clock_method(this, name, args)
        if refined is not None:
            return replace(refined, name=shown) if isinstance(refined, Hole) else refined
    if this.type is not None:
        row = ev.knowledge.sources.get(f"{this.type}.{name}")
        if row is not None:
            return externals.source(row, args.span, args.frame.level_at(args.node.loops), shown)
    if name in ("read_text", "read", "read_bytes") and this.persistent:
        return replace(this, name=shown)
    if name in ("read_text", "read_bytes"):
        this = replace(this, deps=in_a_file(this.deps))
    field = literal(args.values[0]) if name == "get" and args.values else None
    if field is not None:
        this = replace(this, deps=containers.whose(this.deps, field, shown))
    parted = clocks.parts(this, name, args.values[0] if args.values else None, args.span)
    if parted is not None:
        return parted
    if name in _PASS or name in ("encode", "decode", "split", "splitlines", "get", "json", "copy"):
        return replace(
            this, name=shown, deps=union(this.deps, args.origins), window=externals.limit_of(args) or this.window
        )
    if name in ("format", "render", "replace", "substitute", "safe_substitute", "format_map"):
        return replace(
            this, name=shown, deps=union(this.deps, args.origins), persistent=this.persistent and not args.origins
        )
    made = externals.unknown(ev, name, args)
    window = made.window if isinstance(made, Hole) else None
    if window is None and this.window is None and name in _FETCHES:
        window = _queried(args)
    limited = window is None and name in ("limit", "fetchmany", "tail") and args.values
    if limited and queries.is_newest_first(args.node) is not False:
        first = args.values[0]
        rows = first.value if isinstance(first, Const) and isinstance(first.value, int) else 0
        window = externals.limited(args, rows) if rows > 1 else None
    window = this.window if window is None else window
    return Hole(shown, args.span, union(this.deps, made.origins()), root=this.root, window=window)


def _clock_method(this: Hole, name: str, args: Given) -> Value | None:
    step = Step(args.span, f"formatted by .{name}()")
    if name in ("strftime", "format") and args.values:
        spec = literal(args.values[0])
        if spec is not None and "%" in spec:
            return strings.coarsened(this, strings.strftime_grain(spec), step)
        grain = clocks.told_by(spec) if spec is not None else None
        return strings.coarsened(this, grain, step) if grain is not None else this
    if name in ("floor", "round", "start_of") and args.values:
        grain = clocks.unit(literal(args.values[0]) or "")
        return strings.coarsened(this, grain, step) if grain is not None else this
    if name == "isoformat":
        precision = args.get(1, "timespec")
        known = literal(precision) if precision is not None else None
        cut = strings.coarsened(this, _TIMESPECS.get(known or "auto", strings.MICROSECOND), step)
        return clocks.printed(cut)
    if name == "replace":
        if args.values:
            return None  # of text that a time was put into
        grain = 0.0
        for unit, coarse in (("microsecond", 1.0), ("second", 60.0), ("minute", 3600.0), ("hour", 86400.0)):
            value = args.keywords.get(unit)
            if isinstance(value, Const) and value.value == 0:
                grain = max(grain, coarse)
        return strings.coarsened(this, grain) if grain else this
    if name in ("date", "weekday", "isoweekday", "toordinal", "isocalendar", "today", "normalize", "to_date_string"):
        return strings.coarsened(this, strings.DAY, step)
    if name in ("timestamp", "astimezone", "time", "timetuple", "ctime", "total_seconds", "utctimetuple"):
        return this
    if name == "tzname":
        return strings.without_time(this)
    return None


def _instance_method(ev: Evaluator, this: External, name: str, args: Given, qualified: str) -> Value:
    full = qualified or f"{this.name}.{name}"
    row = ev.knowledge.sources.get(full)
    if row is not None:
        return _listed(ev, row, name, args)
    if (turns := externals.turns_since(ev, this, name, args.span)) is not None:
        return turns
    if this.name == "json.text" and name in ("encode", "decode", "strip"):
        return this
    if this.name == contexts.TYPE and name == "get":
        return contexts.value_of(ev, this, args.node, args.span) or this.keywords.get("default") or args.hole()
    if this.name in contexts.QUEUES and name in ("get", "get_nowait"):
        return contexts.taken(ev, this, args) or args.hole()
    if this.name == "pathlib.Path":
        if name in ("read_text", "open"):
            return functions._content(ev, this, args)
        return replace(this, span=args.span)
    if this.name.startswith("io.") and name in ("read", "readlines", "__enter__"):
        path = next((a for a in this.arguments if isinstance(a, FilePath)), None)
        if name == "__enter__":
            return this
        text = _file_text(ev, path.path, args) if path is not None else functions._content(ev, this, args)
        # Its lines, each as it is, are taken together.
        return Seq("list", (One(text, args.span),), args.span) if name == "readlines" else text
    if this.name == jinja.ENVIRONMENT and name in ("from_string", "get_template"):
        return functions._jinja_template(ev, this, name, args)
    if this.name == jinja.TEMPLATE and name in ("render", "render_async"):
        return functions._rendered(ev, this, args)
    if this.name == "string.Template" and name in ("substitute", "safe_substitute") and this.arguments:
        template = only(this.arguments[0], Text)
        if template is not None:
            return strings.substitute(ev, template, args.keywords, args.origins, args.span)
    if name in remembered.READS and remembered.keeps_turns(this.name, "messages"):
        return remembered.turns(ev, this.span, args.span, args.frame)
    if name in remembered.RECALLS and (recalled := remembered.recalled(ev, this, args.span)) is not None:
        return recalled
    filled = prompts.method(ev, this, name, args.values, args.keywords, args.node, args.frame)
    if filled is not None:
        return filled
    made = externals.made_client(ev, full, args)
    if made is not None:
        return replace(made, this=this)
    if name in ("run_in_executor", "to_thread", "submit", "apply", "run_sync"):
        return _apply(ev, args, 1 if name == "run_in_executor" else 0)
    if name in ("run_until_complete", "create_task") and this.name.startswith("asyncio."):
        return args.get(0) or args.hole()
    if name == "map" and this.name.startswith(("concurrent.futures.", "multiprocessing.")):
        return functions._map(ev, args) or args.hole()
    deps = union(this.origins(), externals.unknown(ev, name, args).origins())
    return args.hole(deps, window=_queried(args) if name in _FETCHES else externals.limit_of(args))


def _apply(ev: Evaluator, args: Given, index: int) -> Value:
    """``helper(f, *args)``: the result of ``f(*args)``."""
    func = args.get(index)
    expr = args.expr(index)
    if func is None or expr is None:
        return args.hole()
    node = args.node
    handed = Call(node.at, expr, node.args[index + 1 :], node.keywords, node.loops, node.guards)
    if isinstance(expr, Attr) and ev.is_sink_reference(expr):
        return externals.reply(ev, handed, args.frame)
    return join(ev.call(f, handed, args.frame) for f in options(func))
