"""Functions of Python and of libraries that are known by their qualified names."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Either,
    Expr,
    Global,
    Literal,
    Mutate,
    Phi,
    Slice,
    Star,
    Test,
    each_once,
    is_none,
    unchanged,
)
from promptlint.frozen import replace
from promptlint.link import conditions, containers
from promptlint.link.calling.given import Given
from promptlint.link.joining import join
from promptlint.link.kept import stores
from promptlint.link.libraries import externals, methods
from promptlint.link.loops import any_element
from promptlint.link.texts import clocks, datafiles, jinja, jsontext, strings
from promptlint.link.turns import mutations
from promptlint.link.values import (
    CALL,
    IMPORT,
    SESSION,
    Const,
    Edit,
    Entry,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Many,
    Map,
    Namespace,
    One,
    Origin,
    Piece,
    Rest,
    Routine,
    Seq,
    Text,
    Type,
    Value,
    held_in,
    in_sorted_order,
    listed,
    literal,
    only,
    options,
    text,
    truth,
    union,
)
from promptlint.request import Axis

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


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
_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w]|\{\{|\}\})+")
"""A regular expression that stands for one text."""
_JINJA_MARKS = ("variable_start_string", "variable_end_string")


def _span_of_time(ev: Evaluator, args: Given) -> Value:
    return args.hole(type=containers.SPANS[0])


def _str(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if isinstance(value, FilePath):
        return value
    return Text(strings.pieces(ev, value, args.span)) if value is not None else text("", args.span)


def _format(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    return strings.formatted(ev, value, args.get(1), args.span) if value is not None else None


def _list(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if value is None:
        return Seq("list", (), args.span)
    if isinstance(value, Hole):
        return value
    sequence = containers.as_seq(ev, value, args.span)
    return replace(sequence, kind="list", order=listed(sequence.order, args.span), copied="shallow")


def _set(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    base = containers.as_seq(ev, value, args.span) if value is not None else Seq("set", (), args.span)
    if value is not None and base.kind == "set":
        return base
    return Seq("set", base.items, args.span, union(base.order, containers.hash_order(ev, args.frame, args.node.at)))


def _dict(ev: Evaluator, args: Given) -> Value | None:
    result: Map = Map({}, args.span)
    if args.values:
        result = containers.update(result, args.values[0], args.span)
    for name, value in args.keywords.items():
        result = containers.set_key(result, text(name, args.span), value, args.span)
    rest = tuple(r for r in args.rest)
    return replace(
        result, rest=(*result.rest, *rest), open=(*result.open, *(f"**{r.name}" for r in rest if isinstance(r, Hole)))
    )


def _sorted(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if value is None:
        return None
    sequence = containers.as_seq(ev, value, args.span)
    fixed = replace(sequence, kind="list", order=in_sorted_order(sequence.order))
    key = args.keywords.get("key")
    return conditions.ranked(ev, fixed, key, args.node, args.frame) if isinstance(key, Routine) else fixed


def _best(index: int) -> Callable[[Evaluator, Given], Value | None]:
    """``max(values, key=f)``, ``nlargest(n, values, key=f)``: which ones are taken depends on the key."""

    def apply(ev: Evaluator, args: Given) -> Value | None:
        value, key = args.get(index), args.keywords.get("key")
        if len(args.values) > 1 and any(isinstance(v, Hole) and "base" in v.features for v in args.values):
            return args.hole(features=frozenset({"base"}))  # a number that goes on from what it was, within bounds
        if len(args.values) > 1 and index == 0 and any(o.kind == "counter" for o in args.origins):
            return args.hole()
        if value is None or not isinstance(key, Routine) or len(args.values) != index + 1:
            return None
        sequence = containers.as_seq(ev, value, args.span)
        deps = conditions.ranking(ev, sequence, key, args.node, args.frame)
        if index:
            return replace(sequence, kind="list", order=union(sequence.order, deps))
        one = any_element(sequence, args.span, ev.snippet(args.frame, args.node.at))
        return conditions.chosen(one, deps) if deps else one

    return apply


def _same(ev: Evaluator, args: Given) -> Value | None:
    return args.get(0)


def _copy(depth: str) -> Callable[[Evaluator, Given], Value | None]:
    def apply(ev: Evaluator, args: Given) -> Value | None:
        value = args.get(0)
        return replace(value, copied=depth) if isinstance(value, Seq) else value

    return apply


def _second(ev: Evaluator, args: Given) -> Value | None:
    return args.get(1)


def _enumerate(ev: Evaluator, args: Given) -> Value | None:
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


def _zip(ev: Evaluator, args: Given) -> Value | None:
    sequences = [containers.as_seq(ev, v, args.span) for v in args.values]
    if sequences and all(s.known for s in sequences):
        rows = zip(*(s.items for s in sequences), strict=False)
        return Seq("iterator", tuple(One(Seq("tuple", tuple(row), args.span), args.span) for row in rows), args.span)
    pair = Seq("tuple", tuple(One(any_element(s, args.span, "element"), args.span) for s in sequences), args.span)
    return Seq("iterator", (Many(pair, args.span, True),), args.span, union(*(s.order for s in sequences)))


def _map(ev: Evaluator, args: Given) -> Value | None:
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


def _filter(ev: Evaluator, args: Given) -> Value | None:
    if len(args.values) < 2:
        return None
    sequence = containers.as_seq(ev, args.values[1], args.span)
    items = [replace(i, optional=True) for i in sequence.items]
    if isinstance(args.values[0], Routine):
        deps = conditions.ranking(ev, sequence, args.values[0], args.node, args.frame)
        items = [replace(i, held=conditions.chosen(i.value, deps)) for i in items] if deps else items
    return replace(sequence, kind="iterator", items=tuple(items))


def _len(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if isinstance(value, Seq) and value.known:
        return Const(len(value.items), args.span)
    if isinstance(value, Text) and value.literal is not None:
        return Const(len(value.literal), args.span)
    if isinstance(value, Seq) and any(isinstance(i, History) for i in value.items):
        if _is_under_way(args.expr(0), args.frame):
            return args.hole(())
        level = args.frame.level_at(args.node.loops)
        shown = ev.snippet(args.frame, args.node.at)
        origin = Origin("counter", shown, args.span, level, frozenset({Axis.TURN, Axis.CALL}))
        return args.hole((origin,))
    if isinstance(value, Seq) and _is_overlap(args.expr(0)):
        return args.hole()  # how many of the words are in both
    # How many there are does not depend on what they say.
    return args.hole(()) if isinstance(value, (Seq, Map)) else args.hole()


def _is_overlap(asked: Expr | None) -> bool:
    """``a & b`` or ``a.intersection(b)``."""
    if isinstance(asked, Call):
        return isinstance(asked.func, Attr) and asked.func.name == "intersection"
    return isinstance(asked, Binary) and asked.op == "&"


def _is_under_way(named: Expr | None, frame: Frame) -> bool:
    """Whether a list is filled by a loop that sends nothing, one iteration of which asks how long it is so far."""
    for node in _states(named):
        if isinstance(node, Phi) and node.loop in frame.bindings and node.loop not in frame.path_loops:
            if any(isinstance(n, Mutate) and n.op in _FILLS for n in _states(node.state.steps.get(node.name))):
                return True
    return False


_FILLS = frozenset(("append", "extend", "insert"))


def _states(named: Expr | None) -> Iterator[Expr]:
    """What a variable stood for step by step, the latest first."""
    waiting = [named] if named is not None else []
    for node in each_once(waiting):
        yield node
        if isinstance(node, Mutate):
            waiting.append(node.base)
        elif isinstance(node, (After, Phi)):
            waiting.append(node.before)
        elif isinstance(node, AfterLoop):
            waiting.append(node.phi)
        elif isinstance(node, Either):
            waiting.extend(node.options)


MAX_COUNTED = 40
"""Numbers of a ``range`` that are looked at one by one."""


def _range(ev: Evaluator, args: Given) -> Value | None:
    numbers = [v.value for v in args.values if isinstance(v, Const) and isinstance(v.value, int)]
    if len(numbers) == len(args.values) and 1 <= len(numbers) <= 3 and numbers[2:] != [0]:
        values = range(*numbers)
        if not values[MAX_COUNTED:]:
            return Seq("iterator", tuple(One(Const(n, args.span), args.span) for n in values), args.span)
    return Seq("iterator", (Rest(Hole("number", args.span, args.origins, type="builtins.int"), args.span),), args.span)


def _dumps(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0, "obj")
    if value is None:
        return None
    if any(isinstance(o, (Map, Seq)) for o in options(value)):
        chosen = {k: v for k, v in args.keywords.items() if k in jsontext.OPTIONS}
        return External("json.text", args.span, instance=True, arguments=(value,), keywords=chosen)
    shown = strings.pieces(ev, value, args.span)
    return Text(tuple(p.with_deps(jsontext.as_json(p.deps)) if p.deps else p for p in shown))


def _loads(format: str) -> _Function:
    """``json.load(file)``, ``yaml.safe_load(text)``: what the project keeps there, or what stands in its file."""

    def apply(ev: Evaluator, args: Given) -> Value | None:
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
                option = methods._instance_method(ev, option, "read", args, "")
            known = literal(option)
            data = datafiles.load(known, format, args.span) if known is not None else None
            found.append(data if data is not None else externals.unknown(ev, "", args))
        if all(isinstance(f, Hole) for f in found) or stores.is_written(ev, source, args.frame):
            return stores.reloaded(ev, source, args)
        return join(found)

    return apply


def _dedent(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    return strings.mapped(value, textwrap.dedent) if isinstance(value, Text) else value


def _docstring(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    written = ev.attribute(value, "__doc__", args.span, args.frame) if isinstance(value, (Routine, Type)) else None
    return strings.mapped(written, inspect.cleandoc) if isinstance(written, Text) else None


def _substituted(ev: Evaluator, args: Given) -> Value | None:
    """``re.sub(pattern, new, text)`` of a pattern that is plain text."""
    pattern, new, source = args.get(0, "pattern"), args.get(1, "repl"), args.get(2, "string")
    spelled = literal(pattern) if pattern is not None else None
    if not isinstance(source, Text) or spelled is None or not isinstance(new, (Text, Hole)):
        return None
    plain = _PLAIN.fullmatch(spelled)
    return strings.replaced(ev, source, re.sub(r"\\(.)", r"\1", spelled), new, args.span) if plain is not None else None


def _template(ev: Evaluator, args: Given) -> Value | None:
    return External("string.Template", args.span, instance=True, arguments=tuple(args.values))


def _made(name: str) -> _Function:
    """An object that stands for itself, whatever it is made from."""

    def apply(ev: Evaluator, args: Given) -> Value | None:
        return External(name, args.span, True, tuple(args.values), args.keywords, level=args.level)

    return apply


def _buffer(ev: Evaluator, args: Given) -> Value | None:
    """A buffer of text, as the list of what is written to it."""
    first = args.get(0, "initial_value")
    return Seq("list", (One(first, args.span),) if first is not None else (), args.span)


def _jinja_template(ev: Evaluator, environment: External, name: str, args: Given) -> Value:
    """A template of an environment: from text, or from a file that the loader finds."""
    value = args.get(0, "source" if name == "from_string" else "name") or args.hole()
    file = literal(value)
    if name == "get_template":
        value = (_template_file(ev, environment, file, args) if file else None) or args.hole((), persistent=True)
    keywords = {**environment.keywords, "globals": _template_globals(ev, environment)}
    return External(jinja.TEMPLATE, args.span, True, (value,), keywords, level=args.level)


def _template_file(ev: Evaluator, made: External, name: str, args: Given) -> Value | None:
    """The text of a file that the loader of an environment, or of a template of it, finds."""
    loader = made.keywords.get("loader")
    folder = _folder(ev, loader, args) if isinstance(loader, External) else None
    return methods._file_text(ev, folder / name, args) if folder is not None else None


def _template_globals(ev: Evaluator, environment: External) -> Map:
    """What all templates of an environment can name, by the code around the place where it is made."""
    module = next((m for m in ev.program.modules if m.path == environment.span.path), None)
    maker = ev.program.function_at(environment.span)
    names: dict[str, Entry] = {}
    for function in filter(None, (maker, module.body if module is not None else None)):
        for write in ev.summary(function).filled:
            if write.name != "globals":
                continue
            frame = ev.module_frame(function.module)
            if function is maker:
                level = environment.level if environment.level is not None else CALL
                frame = ev.new_frame(function, level, this=ev.generic(function).this)
            owners = options(ev.eval(write.base, frame))
            if any(isinstance(o, External) and o.span == environment.span for o in owners):
                names |= next((o.entries for o in options(ev.eval(write.value, frame)) if isinstance(o, Map)), {})
    return Map(names, environment.span)


def _folder(ev: Evaluator, loader: External, args: Given) -> Path | None:
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


def _content(ev: Evaluator, file: External, args: Given) -> Hole:
    """What a file holds."""
    return Hole(ev.snippet(args.frame, args.node.at), args.span, held_in(file), persistent=True)


def _rendered(ev: Evaluator, template: External, args: Given) -> Value:
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
    shared = template.keywords.get("globals")
    names = {k: e.value for k, e in shared.entries.items()} if isinstance(shared, Map) else {}
    names |= args.keywords
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

    def load(name: str) -> Text | None:
        found = _template_file(ev, template, name, args)
        return found if isinstance(found, Text) else None

    return jinja.render(ev, source, names, unknown_names, args.span, frame.module, at, args.level, marks, load)


def _partial(ev: Evaluator, args: Given) -> Value | None:
    func = args.get(0)
    if isinstance(func, Routine):
        return replace(func, preset=((*func.preset[0], *args.values[1:]), (*func.preset[1], *args.keywords.items())))
    if isinstance(func, (External, Hole)):
        return External(
            "functools.partial", args.span, instance=True, arguments=tuple(args.values), keywords=args.keywords
        )
    return func


def _chain(ev: Evaluator, args: Given) -> Value | None:
    parts = [containers.as_seq(ev, v, args.span) for v in args.values]
    return Seq("iterator", tuple(i for p in parts for i in p.items), args.span, union(*(p.order for p in parts)))


def _fromkeys(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    return containers.as_seq(ev, value, args.span) if value is not None else None


def _deque(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0, "iterable")
    limit = args.get(1, "maxlen")
    base = containers.as_seq(ev, value, args.span) if value is not None else Seq("list", (), args.span)
    if limit is None or (isinstance(limit, Const) and limit.value is None):
        return replace(base, kind="list")
    keeps = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
    edit = Edit("window", args.span, ev.snippet(args.frame, args.node.at), keeps=keeps)
    return replace(base, kind="deque", edits=(*base.edits, edit))


def _defaultdict(ev: Evaluator, args: Given) -> Value | None:
    """A dict that is filled as ``dict`` does it, and whose other keys hold what the factory makes."""
    factory = args.get(0, "default_factory")
    made = ev.apply(factory, (), args.node, args.frame) if isinstance(factory, (Routine, Type, External)) else None
    if isinstance(made, Instance):
        made = replace(made, level=max(made.level, SESSION))  # made where a key is first asked for
    filled = Map({}, args.span)
    for given in args.values[1:2]:
        filled = containers.update(filled, given, args.span)
    for name, value in args.keywords.items():
        filled = containers.set_key(filled, text(name, args.span), value, args.span)
    return replace(filled, rest=(*filled.rest, made)) if made is not None else filled


def _path(ev: Evaluator, args: Given) -> Value | None:
    first = _located(args.get(0), args)
    if not isinstance(first, FilePath):
        return first
    path = first.path
    for part in args.values[1:]:
        known = literal(part)
        if known is None:
            return External("pathlib.Path", args.span, instance=True, arguments=tuple(args.values))
        path = path / known
    return FilePath(path, args.span)


def _located(value: Value | None, args: Given) -> FilePath | External:
    """A path, by its first part."""
    if isinstance(value, FilePath):
        return value
    if isinstance(value, Text) and value.literal is not None:
        return FilePath(Path(value.literal), args.span)
    if value is None:
        return FilePath(Path("."), args.span)
    return External("pathlib.Path", args.span, instance=True, arguments=tuple(args.values))


def _resources(ev: Evaluator, args: Given) -> Value | None:
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

    def apply(ev: Evaluator, args: Given) -> Value | None:
        folder, name = _resources(ev, args), args.get(1, "resource")
        known = literal(name) if name is not None else None
        if not isinstance(folder, FilePath) or known is None:
            return None
        path = FilePath(folder.path / known, args.span)
        if how == "path":
            return path
        if how == "open":
            return External("io.TextIOWrapper", args.span, instance=True, arguments=(path,))
        return methods._file_text(ev, path.path, args)

    return apply


def _dirname(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    return FilePath(value.path.parent, args.span) if isinstance(value, FilePath) else None


def _open(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0, "file")
    paths = [_located(o, args) for o in options(value)] if value is not None else [_located(None, args)]
    return join(External("io.TextIOWrapper", args.span, instance=True, arguments=(p,)) for p in paths)


def _run(ev: Evaluator, args: Given) -> Value | None:
    return methods._apply(ev, args, 0)


def _gather(ev: Evaluator, args: Given) -> Value | None:
    return Seq(
        "list", tuple(One(v, args.span) for v in args.values) + tuple(Rest(r, args.span) for r in args.rest), args.span
    )


def _getattr(ev: Evaluator, args: Given) -> Value | None:
    name = literal(args.values[1]) if len(args.values) > 1 else None
    if name is None:
        return args.hole()
    value = ev.attribute(args.values[0], name, args.span, args.frame, ev.snippet(args.frame, args.node.at))
    if isinstance(value, Hole) and len(args.values) > 2:
        return join((value, args.values[2]))
    return value


def one_of(ev: Evaluator, value: Value, drawn: Value, args: Given) -> Value:
    """The element of a list that something decides about: what ``drawn`` says, where the elements are not known."""
    among = options(value)[0]
    if not (isinstance(among, Seq) and among.known and len(among.items) > 1):
        return drawn
    one = any_element(among, args.span, ev.snippet(args.frame, args.node.at))
    return conditions.chosen(one, drawn.origins())


def _islice(ev: Evaluator, args: Given) -> Value | None:
    """``islice(x, 3)`` is ``x[:3]``, ``islice(x, 2, None)`` is ``x[2:]``; of ``reversed(x)`` the first are the last."""
    node = args.node
    if not 2 <= len(node.args) <= 4 or any(isinstance(a, Star) for a in node.args):
        return None
    source, *bounds = node.args
    given = [None if is_none(b) else b for b in ([Literal(node.at, None), *bounds] if len(bounds) == 1 else bounds)]
    lower, upper, step = (*given, None)[:3]
    turned = isinstance(source, Call) and isinstance(source.func, Global) and source.func.name == "reversed"
    if isinstance(source, Call) and turned and source.args and lower is None and upper is not None and step is None:
        newest = Slice(node.at, source.args[0], Test(node.at, "minus", (upper,)), None, None)
        return mutations.turned(containers.as_seq(ev, ev.eval(newest, args.frame), args.span))
    part = Slice(node.at, source, lower, upper, step)
    return ev.eval(part, args.frame)


def _next(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if value is None:
        return None
    if isinstance(value, External) and value.name in ("itertools.count", "itertools.cycle"):
        shown = ev.snippet(args.frame, args.node.at)
        origin = Origin("counter", shown, args.span, args.level, frozenset({Axis.TURN, Axis.CALL}))
        counted = Hole(shown, args.span, (origin,) if value.level != args.level else ())
        cycles = value.name == "itertools.cycle" and value.arguments
        return one_of(ev, value.arguments[0], counted, args) if cycles else counted
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


def _reversed(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if value is None or isinstance(value, Hole):
        return value
    sequence = containers.as_seq(ev, value, args.span)
    return replace(mutations.turned(sequence), kind="iterator")


def _boolean(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    certain = truth(value) if value is not None else False
    return Const(certain, args.span) if certain is not None else args.hole()


def _isinstance(ev: Evaluator, args: Given) -> Value | None:
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


def _empty(value: Value | None) -> bool:
    """Whether it is the text of no sign: what ``getenv("KEY", "")`` falls back on is the lack of a value, no value."""
    return isinstance(value, Text) and not value.pieces


def _getenv(ev: Evaluator, args: Given) -> Value | None:
    fallback = args.get(1, "default")
    shown = ev.snippet(args.frame, args.node.at)
    stated = not (isinstance(fallback, Const) and fallback.value is None) and not _empty(fallback)
    if fallback is not None and stated:
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


def _asdict(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    return methods._fields_of(ev, value, args) if isinstance(value, Instance) else value


def _replaced(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0, "obj")
    return replace(value, overrides={**value.overrides, **args.keywords}) if isinstance(value, Instance) else value


def _none(ev: Evaluator, args: Given) -> Value | None:
    return Const(None, args.span)


def _number(ev: Evaluator, args: Given) -> Value | None:
    value = args.get(0)
    if isinstance(value, Hole):
        # int(time.time()) has seconds, int(time.time() / 3600) hours.
        shown, grain = replace(value, name=ev.snippet(args.frame, args.node.at)), strings.SECOND
        given = unchanged(args.node.args[0]) if args.node.args and len(args.values) == 1 else None
        if isinstance(given, Binary) and given.op == "/":
            divided = clocks.divided("//", ev.eval(given.left, args.frame), ev.eval(given.right, args.frame))
            grain = max(grain, divided or 0.0)
        return strings.coarsened(shown, grain)
    written = literal(value) if value is not None and len(args.values) == 1 else None
    if isinstance(written, str) and written.strip().isdecimal():
        return Const(int(written), args.span)
    return value


def _clock_format(index: int) -> Callable[[Evaluator, Given], Value | None]:
    def apply(ev: Evaluator, args: Given) -> Value | None:
        spec = literal(args.values[0]) if args.values else None
        given = args.get(index)
        if given is None:
            row = ev.knowledge.sources.get("time.time") or ev.knowledge.sources["datetime.datetime.now"]
            given = externals.source(
                row, args.span, args.frame.level_at(args.node.loops), ev.snippet(args.frame, args.node.at, 50)
            )
        if spec is None:
            return given
        return strings.coarsened(given, strings.strftime_grain(spec))

    return apply


def _said_time(name: str) -> _Function:
    """A time that words tell: ``numpy.datetime64("now", "D")``."""

    def apply(ev: Evaluator, args: Given) -> Value | None:
        word = literal(args.values[0]) if args.values else None
        if word not in ("now", "today"):
            return args.get(0) or args.hole()
        told = externals.source(ev.knowledge.sources[name], args.span, args.level, ev.snippet(args.frame, args.node.at))
        unit = literal(args.values[1]) if len(args.values) > 1 else None
        step = unit or ("D" if word == "today" else "s") if name == "numpy.datetime64" else ""
        return strings.coarsened(told, clocks.STEPS.get(step, strings.MICROSECOND))

    return apply


_Function = Callable[["Evaluator", Given], "Value | None"]
FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(containers.SPANS, _span_of_time),
    "builtins.str": _str,
    "builtins.format": _format,
    "builtins.repr": _str,
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
    "inspect.getdoc": _docstring,
    "re.sub": _substituted,
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
        f"jinja2.{path}": _made(jinja.ENVIRONMENT)
        for path in (
            "Environment",
            "environment.Environment",
            "sandbox.SandboxedEnvironment",
            "sandbox.ImmutableSandboxedEnvironment",
            "nativetypes.NativeEnvironment",
        )
    },
    "functools.partial": _partial,
    "itertools.count": _made("itertools.count"),
    "itertools.cycle": _made("itertools.cycle"),
    "operator.itemgetter": _made("operator.itemgetter"),
    "itertools.chain": _chain,
    "itertools.islice": _islice,
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
    "io.StringIO": _buffer,
    **dict.fromkeys(
        ("asyncio.get_event_loop", "asyncio.get_running_loop", "asyncio.new_event_loop"), _made("asyncio.EventLoop")
    ),
    "asyncio.TaskGroup": _made("asyncio.TaskGroup"),
    "asyncio.run_coroutine_threadsafe": _same,
    "asyncio.to_thread": _run,
    "anyio.to_thread.run_sync": _run,
    "asyncio.run": _same,
    "asyncio.wait_for": _same,
    "asyncio.create_task": _same,
    "asyncio.ensure_future": _same,
    "asyncio.shield": _same,
    "asyncio.gather": _gather,
    "builtins.vars": _asdict,
    "dataclasses.asdict": _asdict,
    "dataclasses.replace": _replaced,
    "time.strftime": _clock_format(1),
    **{name: _said_time(name) for name in ("numpy.datetime64", "pandas.Timestamp", "pandas.to_datetime")},
}
