"""What a program writes to a file, a key-value store or a table and reads back: a history that is kept outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Concat,
    DictOf,
    Either,
    Expr,
    Formatted,
    Free,
    Global,
    Import,
    Item,
    Literal,
    Phi,
    Slice,
    Summary,
    unchanged,
    within,
)
from promptlint.frozen import replace
from promptlint.link import conditions
from promptlint.link.joining import join
from promptlint.link.texts import filenames
from promptlint.link.texts.filenames import OPENERS
from promptlint.link.turns import growth
from promptlint.link.turns.slices import is_same
from promptlint.link.values import CALL, WRITTEN, Const, Edit, History, Hole, Map, Origin, Seq, Value, options
from promptlint.request import Axis
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.code.index import Function, Module
    from promptlint.link.calling.given import Given
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_WRITERS = 6
MAX_NESTING = 8

_HOLDERS = frozenset(
    [
        "read",
        "read_text",
        "read_bytes",
        "decode",
        "strip",
        "fetchone",
        "fetchall",
        "first",
        "scalar",
        "open",
        "resolve",
        "absolute",
        "expanduser",
        "with_suffix",
        "with_name",
        "write",
        "write_text",
        "write_bytes",
        "__enter__",
    ]
)
"""Methods that speak of what their receiver stands for."""
_KEYED = {"get": 1, "set": 1, "setex": 1, "put": 1, "hget": 2, "hset": 2, "getset": 1, "get_item": 1, "set_item": 1}
LISTED = frozenset(("lrange", "zrange", "zrevrange"))
"""Methods that read elements of a list or sorted set that is kept under a key, from one place to another."""
_ADDERS, _CUTTERS = ("rpush", "lpush", "zadd"), ("ltrim", "zremrangebyrank")
_KEYED |= dict.fromkeys((*LISTED, *_ADDERS, *_CUTTERS), 1)
"""Methods of a store, with how many of their arguments say where in it."""
_QUERIES = frozenset(("execute", "fetchrow", "fetchval", "fetch", "fetchone", "executemany"))
_SELECTS = re.compile(r"\s*select\b(?!.*\b(role|sender|limit)\b)", re.IGNORECASE | re.DOTALL)
"""Queries for rows that are no turns of a conversation."""
_ROWS = frozenset(("execute", "fetch", "fetchall"))
MAX_TESTED = 60
_TABLE = re.compile(
    r"\b(?:from|into|(?<!\bdo\s)(?<!\bkey\s)(?<!\bfor\s)update)\s+(?:only\s+)?[\"`\[]?(\w+)", re.IGNORECASE
)
"""A table in a query; an update on a conflict is one of the table that the query names anyway."""

Place = tuple[str, ...]
"""The names and texts that tell one file, key or table of a module from another."""


def loaded(ev: Evaluator, source: Expr, frame: Frame, span: Span) -> Value | None:
    """What ``loads(source)`` gives when the same module keeps a list or dict there; ``None`` when it does not."""
    module = frame.module
    place = _place(source, ev.summary(frame.function))
    if not place:
        return None
    key = ("kept", module, place)
    override = ev.kept.get(key)
    if override is not None:
        return override
    cached = ev.attribute_cache.get(key)
    if cached is None:
        cached = _written(ev, module, place, key, span)
        if not ev.exhausted:
            ev.attribute_cache[key] = cached
    return cached if grows(cached) else None


def is_written(ev: Evaluator, source: Expr, frame: Frame) -> bool:
    """Whether the same module writes to where ``source`` reads."""
    place = _place(source, ev.summary(frame.function))
    return bool(place) and next(_writers(ev, frame.module, place), None) is not None


_READS = frozenset(("read_text", "read", "readlines"))
_LISTINGS = frozenset(("listdir", "scandir", "iterdir", "glob", "iglob", "rglob", "walk"))
_TEXT_WRITERS = ("write", "write_text", "writelines", "dump")
_MISSING = frozenset(("exists", "is_file", "isfile"))
_ADDS = re.compile(r"\binsert\s+(?:or\s+\w+\s+)?into\s+[\"`\[]?(\w+)[\"`\]]?\s*(?:\(([^)]*)\))?", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*select\s+(.*?)\s+from\b", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"\w+")


def rewritten(ev: Evaluator, name: str, args: Given) -> Value | None:
    """What is read from a file, or as rows of a table, that other code of the module adds to."""
    module, node = args.frame.module, args.node
    if not isinstance(node.func, Attr):
        return None
    if name in _READS:
        here = any(writer in module.called for writer in _TEXT_WRITERS)
        writers = tuple(_text_writers(ev, node, args)) if here else ()
        writers = writers or _writers_elsewhere(ev, node, args.frame)
    elif name in _ROWS and (query := _query(ev, node, args.frame)) is not None:
        writers = tuple(_row_writers(ev, module, query))
    else:
        return None
    return _as_written(ev, args, writers)


def reloaded(ev: Evaluator, source: Expr, args: Given) -> Value | None:
    """What ``load(source)`` gives of a file that other code of the module writes to, when it is no list that grows."""
    return _as_written(ev, args, tuple(_text_writers(ev, source, args)))


def _as_written(ev: Evaluator, args: Given, writers: tuple[tuple[Function, Call], ...]) -> Hole | None:
    """What a call reads of what others write, if anybody does."""
    return Hole(ev.snippet(args.frame, args.node.at), args.span, (_origin(ev, args, writers),)) if writers else None


def _origin(ev: Evaluator, args: Given, writers: tuple[tuple[Function, Call], ...]) -> Origin:
    shown = ev.snippet(args.frame, args.node.at)
    ev.writers_of[args.span] = writers
    function, call = writers[0]
    step = Step(function.module.span(call.at), f"written here, in {function.name}()")
    axes = frozenset({Axis.CALL, Axis.TURN})
    return Origin(WRITTEN, f"{shown} (the program writes to it)", args.span, args.level, axes, steps=(step,))


def filled(ev: Evaluator, name: str, args: Given, listing: Value) -> Value:
    """What a folder holds, which is more from turn to turn where the same module puts new files into it."""
    module, func = args.frame.module, args.node.func
    if name not in _LISTINGS or not isinstance(listing, Seq) or not isinstance(func, Attr):
        return listing
    if not any(writer in module.called for writer in _TEXT_WRITERS):
        return listing
    summary = ev.summary(args.frame.function)
    folder = args.node.args[0] if _is_module(func) and args.node.args else func.base
    writers = tuple(_fillers(ev, module, _named(ev, module, _place(folder, summary))))
    if not writers:
        return listing
    origin = _origin(ev, args, writers)
    items = tuple(replace(i, held=conditions.with_condition(i.value, (origin,))) for i in listing.items)
    return replace(listing, items=items)


def _fillers(ev: Evaluator, module: Module, folder: Place) -> Iterator[tuple[Function, Call]]:
    """The calls that write to a file of a folder which has a name of its own each time."""
    for name in _TEXT_WRITERS if folder else ():
        for function in module.called.get(name, ()):
            summary = ev.summary(function)
            for call in summary.calls:
                file = _file(call.func) if _name(call.func) == name else None
                if file is None or not isinstance(file, (Call, Binary)):
                    continue
                head, last = (file.left, file.right) if isinstance(file, Binary) else (file.args[0], file.args[-1])
                if not isinstance(last, Literal) and _named(ev, module, _place(head, summary)) == folder:
                    yield function, call


def _file(node: Expr) -> Expr | None:
    """The path of the file that something is written to, where it is joined of a folder and a name."""
    for _ in range(MAX_NESTING):
        match node:
            case Call(func=func, args=args) if _name(func) in OPENERS and args and not isinstance(func, Attr):
                node = args[0]
            case Call(func=Attr(base=Import()), args=args) if _name(node.func) in OPENERS and args:
                node = args[0]
            case Call(func=Attr(name=name) as func, args=args):
                if name in ("join", "joinpath") and len(args) > 1:
                    return node
                node = func.base
            case After(before=inner) | Phi(before=inner) | Attr(base=inner):
                node = inner
            case Binary(op="/"):
                return node
            case _:
                return None
    return None


def _text_writers(ev: Evaluator, source: Expr, args: Given) -> Iterator[tuple[Function, Call]]:
    """The calls of the module that write to the file which a call reads ``source`` of."""
    frame, module = args.frame, args.frame.module
    place = _named(ev, module, _place(source, ev.summary(frame.function)))
    for function, call in _writing(ev, module) if place else ():
        again = function is not frame.function or set(call.loops) & set(args.node.loops)
        if again and _named(ev, module, _place(_target(call), ev.summary(function))) == place:
            yield function, call


def _target(call: Call) -> Expr:
    """What a call that writes a text writes it to."""
    return call.args[1] if _name(call.func) == "dump" and len(call.args) > 1 else call


def _writing(ev: Evaluator, module: Module) -> Iterator[tuple[Function, Call]]:
    """The calls of a module that write a text which is not a constant, more than once."""
    for writer in _TEXT_WRITERS:
        for function in module.called.get(writer, ()):
            for call in ev.summary(function).calls:
                told = call.args and not isinstance(call.args[0], (Literal, Global))
                if _name(call.func) == writer and told and not _is_made_once(call):
                    yield function, call


def _writers_elsewhere(ev: Evaluator, node: Call, frame: Frame) -> tuple[tuple[Function, Call], ...]:
    """The calls of other modules that write a text to the file of the name that ``node`` reads."""
    name = filenames.spoken_of(ev, node, frame)
    if not name:
        return ()
    if name not in ev.written_files:
        word = max(_WORD.findall(name), key=len)
        modules = list(ev.program.mentioning(word, re.escape(name)))[:MAX_WRITERS]
        writing = (written for module in modules for written in _writing(ev, module))
        ev.written_files[name] = tuple((f, c) for f, c in writing if filenames.spoken_of(ev, c, ev.generic(f)) == name)
    return tuple((f, c) for f, c in ev.written_files[name] if f.module is not frame.module)


def _named(ev: Evaluator, module: Module, place: Place) -> Place:
    """The place that a name of the module stands for."""
    summary = ev.summary(module.body)
    expr = summary.names.get(place[0]) if len(place) == 1 else None
    return (_place(expr, summary) or place) if isinstance(expr, Call) else place


def _is_made_once(call: Call) -> bool:
    """Whether a call runs only where something is missing."""
    tests = (guard.test for guard in call.guards if guard.test is not None)
    return any(isinstance(n, Call) and _name(n.func) in _MISSING for n in within(tests, MAX_TESTED))


def _query(ev: Evaluator, node: Call, frame: Frame) -> str | None:
    """The text of the query whose rows a call gives: its own, or the last one that was run on the cursor."""
    func, run = node.func, node
    if not node.args and isinstance(func, Attr):
        cursor = unchanged(func.base)
        ran = [c for c in ev.summary(frame.function).calls if _name(c.func) == "execute" and isinstance(c.func, Attr)]
        ahead = [c for c in ran if c is cursor or is_same(unchanged(c.func.base), cursor)]  # type: ignore[attr-defined]
        run = next((c for c in reversed(ahead) if c.at < node.at), node)
    text = run.args[0].value if run.args and isinstance(run.args[0], Literal) else None
    return text if isinstance(text, str) else None


def _row_writers(ev: Evaluator, module: Module, query: str) -> Iterator[tuple[Function, Call]]:
    tables = {t.lower() for t in _TABLE.findall(query)} if _SELECTS.match(query) else set()
    for name in ("execute", "executemany") if len(tables) == 1 else ():
        for function in module.called.get(name, ()):
            for call in ev.summary(function).calls:
                text = call.args[0].value if call.args and isinstance(call.args[0], Literal) else None
                added = _ADDS.findall(text) if _name(call.func) == name and isinstance(text, str) else []
                if tables & {table.lower() for table, _ in added} and _writes_column(query, added):
                    yield function, call


def _writes_column(query: str, added: list[tuple[str, str]]) -> bool:
    """Whether rows are added with one of the columns that a query reads, as far as both name them."""
    read = _COLUMNS.match(query)
    if read is None or "*" in read[1] or any(not columns for _, columns in added):
        return True
    return not set(_WORD.findall(read[1].lower())).isdisjoint(w for _, cs in added for w in _WORD.findall(cs.lower()))


def _written(ev: Evaluator, module: Module, place: Place, key: tuple[str, Module, Place], span: Span) -> Value:
    """What stands at a place after all that the module writes there again and again."""
    writers = list(_writers(ev, module, place))[:MAX_WRITERS]
    result: Value = join(())
    for empty in _shapes(ev, writers, key, span):
        result = empty
        for function, expr in writers:
            value = _left(ev, function, expr, key, growth.base_marker(empty, key))
            kept = [o for o in options(value) if keeps(o, key)]
            if kept:
                result = growth.grown(ev, result, join(kept), key, function.module.span(expr.at), CALL, history=True)
        if grows(result):
            break
    return result


def _left(ev: Evaluator, function: Function, expr: Expr, key: object, before: Value) -> Value:
    """What a function writes, when ``before`` is what it finds there."""
    return ev.assuming(key, before, lambda: ev.eval(expr, ev.new_frame(function, CALL, this=ev.generic(function).this)))


def _shapes(ev: Evaluator, writers: list[tuple[Function, Expr]], key: object, span: Span) -> Iterator[Map | Seq]:
    """An empty dict or list, whichever the writers write, or each of them when that cannot be told."""
    found = [
        o
        for function, expr in writers
        for o in options(_left(ev, function, expr, key, Hole("", span, base=key)))
        if isinstance(o, (Map, Seq))
    ]
    if writers and not (found and isinstance(found[0], Seq)):
        yield Map({}, span)
    if writers and not (found and isinstance(found[0], Map)):
        yield Seq("list", (), span)


def pushed(ev: Evaluator, node: Call, frame: Frame, span: Span) -> Seq | None:
    """What ``lrange`` or its like gives when the same module adds elements to that key."""
    module = frame.module
    place = _place(node, ev.summary(frame.function))
    values: list[Value] = []
    edits: list[Edit] = []
    if _is_end(node):
        edits.append(Edit("window", span, ev.snippet(frame, node.at), keeps=_end(node)))
    for name in (*_ADDERS, *_CUTTERS) if place else ():
        for function in module.called.get(name, ()):
            generic = ev.generic(function)
            for call in ev.summary(function).calls:
                if _name(call.func) != name or _place(call, ev.summary(function)) != place:
                    continue
                if name in _CUTTERS and (name != "ltrim" or _is_end(call)):
                    cut = ev.span(generic, call)
                    keeps = _end(call) if name == "ltrim" else _left_over(call)
                    edits.append(Edit("window", cut, ev.snippet(generic, call.at), call.guards, keeps=keeps))
                elif name == "zadd":
                    scored = [d for a in call.args[1:] if isinstance(d := unchanged(a), DictOf)]
                    values += [ev.eval(member, generic) for d in scored for member, _ in d.items if member is not None]
                elif name in _ADDERS:
                    values += [ev.eval(a, generic) for a in call.args[1:]]
    if not values:
        return None
    kept = History(join(values), span, root=("kept", module, place), edits=tuple(edits))
    return Seq("list", (kept,), span)


def _is_end(node: Call) -> bool:
    """Whether ``lrange``, its like or ``ltrim`` leaves older elements out."""
    bounds = [a.value for a in node.args[1:3] if isinstance(a, Literal)]
    whole = bounds == [0, -1] or (bounds == [0] and _name(node.func) != "zrevrange")
    return len(node.args) == 3 and not whole


def _end(node: Call) -> int | None:
    first, last = (a.value if isinstance(a, Literal) else None for a in node.args[1:3])
    if isinstance(first, int) and first < 0 and last == -1:
        return -first
    return last + 1 if first == 0 and isinstance(last, int) and last >= 0 else None


def _left_over(node: Call) -> int | None:
    """How many elements ``zremrangebyrank(key, 0, -n - 1)`` leaves."""
    last = node.args[2].value if len(node.args) == 3 and isinstance(node.args[2], Literal) else None
    return -last - 1 if isinstance(last, int) and last < -1 else None


def grows(value: Value, depth: int = 0) -> bool:
    """Whether something is added to a list in it."""
    if isinstance(value, Seq):
        return any(isinstance(i, History) and not isinstance(i.value, Const) for i in value.items)
    if isinstance(value, Map) and depth < MAX_NESTING:
        return any(grows(v, depth + 1) for v in (*(e.value for e in value.entries.values()), *value.rest))
    return False


def keeps(value: Value, key: object) -> bool:
    if isinstance(value, Map):
        return value.base == key
    return isinstance(value, Seq) and any(growth.contains_base(i, key) for i in value.items)


def _writers(ev: Evaluator, module: Module, place: Place) -> Iterator[tuple[Function, Expr]]:
    """The functions of a module that dump something to ``place``, with what they dump."""
    dumping = dict.fromkeys((*module.called.get("dump", ()), *module.called.get("dumps", ())))
    for function in dumping:
        summary = ev.summary(function)
        if place[0] == "field":
            for stored in summary.writes:
                if stored.name == place[1] and (dumped := _dumped(stored.value)) is not None:
                    yield function, dumped
        for call in summary.calls:
            if _name(call.func) == "dump" and len(call.args) > 1 and _place(call.args[1], summary) == place:
                yield function, call.args[0]
                continue
            given = [*call.args, *(v for _, v in call.keywords)]
            for found in (d for a in given if (d := _dumped(a)) is not None):
                if _place(call, summary) == place:
                    yield function, found


def _dumped(node: Expr) -> Expr | None:
    """``x`` in ``dumps(x)``, also as one of the values of a query."""
    if isinstance(node, Call) and _name(node.func) == "dumps" and node.args:
        return node.args[0]
    parts = getattr(node, "items", ())
    return next((d for p in parts if isinstance(p, Expr) and (d := _dumped(p)) is not None), None)


def _name(func: Expr) -> str:
    return func.name if isinstance(func, (Attr, Global, Free)) else _last(func)


def _last(node: Expr) -> str:
    return node.dotted.rpartition(".")[2] if isinstance(node, Import) else ""


def _place(node: Expr, summary: Summary, depth: int = 0) -> Place:
    """Where a text is read from or written to; empty when that cannot be told."""
    if depth > MAX_NESTING:
        return ()
    match node:
        case After(before=inner) | Phi(before=inner) | Item(base=inner) | Slice(base=inner):
            return _place(inner, summary, depth + 1)
        case AfterLoop(phi=phi):
            return _place(phi.before, summary, depth + 1)
        case Either(options=ways):
            return next((p for way in ways if (p := _place(way, summary, depth + 1))), ())
        case Call(func=func, args=args):
            name = _name(func)
            if name in OPENERS and args and not (isinstance(func, Attr) and name == "open" and not _is_module(func)):
                return _place(args[0], summary, depth + 1)
            if isinstance(func, Attr) and name in _QUERIES and (table := _table(args, summary)):
                return ("table", table)
            if isinstance(func, Attr) and name in _HOLDERS:
                return _place(func.base, summary, depth + 1)
            if isinstance(func, Attr) and name in _KEYED and args:
                return tuple(n for a in args[: _KEYED[name]] for n in _names(a)) or _names(func.base)
        case Attr(name=name):
            return ("field", name)
    return _names(node)


def _is_module(func: Attr) -> bool:
    """``io.open``, ``aiofiles.open`` rather than ``path.open``."""
    return isinstance(func.base, Import)


def _table(args: tuple[Expr, ...], summary: Summary) -> str:
    """The table that a query names, or the only one that the queries of the body name."""
    texts = [a.value for a in args if isinstance(a, Literal) and isinstance(a.value, str)]
    if not args:
        calls = (c for c in summary.calls if _name(c.func) in _QUERIES)
        texts = [a.value for c in calls for a in c.args if isinstance(a, Literal) and isinstance(a.value, str)]
    tables = {m.lower() for t in texts for m in _TABLE.findall(t)}
    return next(iter(tables)) if len(tables) == 1 else ""


def _names(node: Expr, depth: int = 0) -> Place:
    """The constant texts and the names in an expression, in order."""
    if depth > MAX_NESTING:
        return ()
    match node:
        case Literal(value=str(value)):
            return (value,) if any(c.isalpha() for c in value) else ()
        case Attr(base=base, name=name):
            return (*_names(base, depth + 1), name)
        case Global(name=name) | Free(name=name):
            return (name,)
        case Import():
            return (_last(node),)
        case Concat(parts=parts):
            return tuple(n for p in parts for n in _names(p, depth + 1))
        case Formatted(value=value) | After(before=value) | Phi(before=value):
            return _names(value, depth + 1)
        case Binary(left=left, right=right):
            return (*_names(left, depth + 1), *_names(right, depth + 1))
        case Call(func=func, args=args):
            known = () if _name(func) in (*OPENERS, "join") else _names(func, depth + 1)
            return (*known, *(n for a in args for n in _names(a, depth + 1)))
    return ()
