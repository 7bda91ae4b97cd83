"""What promptlint knows about libraries: sinks, clients, sources, entries, memoisers and windows, read from TOML rows.

One row is one fact, and nothing in the rows is code. Rows that a user writes under ``[tool.promptlint]`` pass through
the same loader and the same checks. The header of each file says where its facts come from and as of when.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

PARTS = {
    "model": "the model's name, or an object made by a client row that stands for it",
    "system": "system text, instructions",
    "tools": "tool definitions",
    "messages": "a list of role and content messages",
    "input": "one text, or a list of items",
    "prompt": "one user text, or a list of parts",
    "config": "an object or dict whose fields are parts themselves",
    "body": "a dict, JSON text or bytes with the whole request",
    "requests": 'a list of requests: nested parts are those of each one\'s "params"; without, each is an "input"',
    "cache": "a request-level marker that the provider or the library puts where it sees fit",
    "cache-system": "when set, the library puts a marker behind the system text",
    "cache-tools": "when set, the library puts a marker behind the tools",
    "cache-points": 'a list of places for markers: "location", and for a message "role" or "index"',
    "cached-content": "the name of a prefix that was stored before",
    "piped": "what the steps of the receiver, a chain, turn into the input of its model",
    "client": "the object, made by a client row, whose constructor parts are sent",
    "clients": "a list of such objects, or of functions below a decorator of a client row; others may add anything",
    "fills": "a dict of what the library puts in the place of {names} in system text and prompts",
    "url": "the address, which tells the provider",
    "open": "may add anything to the request",
    "param": "a parameter that is no prompt text but belongs to the request",
    "documented": "a class whose docstring is system text, or an object made by a client row that has such text",
    "filter": "a function, or a list of them, that gets the kept messages before each request and returns what is sent",
    "adds-time": "when true, the library writes the time of each run into the system text",
    "time-format": "the format of that time, as strftime reads it",
    "adds-window": "when true, the library sends only the newest of the kept turns",
    "window-size": "how many messages",
    "window-runs": "how many questions with all that was said until they were answered",
    "server-edits": "an option with which the server drops or rewrites old turns once they have become long",
    "adds-date": "when true, the library writes the date into the system text",
    "adds-environment": "when true, the library writes into the system text where the program runs",
    "adds-state": "when true, the library looks up text for each run and writes it into the system text",
    "ignore": "no part of the prefix",
}
"""What an argument of a request can be; one that a row does not name is what the row says of "*", or "param"."""

KINDS = {
    "time": ("call", "the current time"),
    "random": ("call", "a random value"),
    "environment": ("machine", "the environment"),
    "user": ("user", "text about the user"),
    "state": ("turn", "retrieved text"),
    "counter": ("turn", "a counter"),
    "unordered": ("hash-seed", "an order that is not fixed"),
    "signed": ("call", "a signed address that expires"),
}
"""Kinds of source, each with the axis and the words that hold when a row names none."""

AXES = frozenset(("call", "turn", "conversation", "user", "process", "hash-seed", "machine", "deployment"))
"""The values of ``promptlint.request.Axis`` (a higher layer; a test compares them)."""

GRAINS = {"microsecond": 1e-6, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
"""Granularity of a clock by name, in seconds."""

DOES = ("chain", "pass", "assign", "call", "remember")
"""What a step does with the value that it gets: hands it to its own steps, passes it on, adds keys to it, calls one.

One that remembers adds the turns of a session, and hands all that to its own steps.
"""
_FILLS = ("mapping", "keywords")
_HOW = ("decorator", "base", "function", "register", "module")
_QUALIFIED = re.compile(r"(?:\*|@?[A-Za-z_][\w-]*)(?:\.[A-Za-z_][\w-]*)*")
_SAME: Mapping[str, str] = {}
_NO_ROWS = frozenset(("providers.toml",))  # facts about providers, read by promptlint.provider


PROVIDER = "provider"
"""The section of a user's rows that ``promptlint.provider`` reads."""


class KnowledgeError(ValueError):
    """A row that makes no sense; the message names the file, the row and the field."""


@dataclass(frozen=True, slots=True)
class SinkRow:
    """A call that sends a request, and which of its arguments is which part of the request.

    ``types`` are qualified client classes and ``call`` the attribute path below the client; without types, ``call`` is
    a qualified function. ``nested`` gives, for an argument that holds a whole object ("config", "body", "requests"),
    the part of each of its keys. ``positional`` names the arguments by position (the receiver is not counted).
    ``distinctive``: ``call`` as a suffix of attributes identifies the sink without knowing the receiver; ``requires``:
    then at least one of these keywords (or ``**kwargs``) must be passed. ``stateful``: the receiver keeps the history
    itself and only appends to it; ``keeper`` names the arguments, of the constructor or else of the call, without all
    of which it keeps the history for the length of a call only. ``continues`` names the arguments of a call that is
    stateful with one of them: what goes on is a conversation that the provider keeps. ``takes`` names classes of
    messages: a call on a receiver of unknown class that is given a list of those is this one. ``returns`` names
    methods or keys of the result that give an argument back, with the turns of the call behind it. ``decorates``: the
    call makes a decorator, and the function below it sends what it returns, which ``parts`` calls "result".
    ``confidence`` is "high" or "medium".
    """

    id: str
    provider: str
    types: tuple[str, ...]
    call: str
    parts: dict[str, str]
    nested: dict[str, dict[str, str]]
    positional: tuple[str, ...]
    requires: tuple[str, ...]
    distinctive: bool
    confidence: str
    stateful: bool
    because: str
    keeper: tuple[str, ...] = ()
    returns: dict[str, str] = field(default_factory=dict)
    decorates: bool = False
    own: bool = False
    """A row of the user's, who may mean a function of the project itself."""
    continues: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """The last attribute name of the call."""
        return self.call.rpartition(".")[2]

    @property
    def by_shape(self) -> bool:
        """Whether a call on a receiver of unknown class can be told to be this one; any library may ``post`` a body."""
        return self.distinctive and self.parts.get("json") != "body" and "url" not in self.parts


@dataclass(frozen=True, slots=True)
class ClientRow:
    """How a program comes by a receiver of sinks.

    ``maker`` is a qualified class or function, or a method below another client's class
    ("google.genai.Client.chats.create"), and then the new client keeps what that client has: its provider, when the
    row's is "unknown", and its parts. It gives a ``type`` that sinks name. ``when`` holds argument values, as text,
    that are needed for that (``boto3.client("bedrock-runtime")``); of several rows the first that fits counts.
    ``base_url`` names the argument that can point the client at another provider. ``constructor_parts`` and ``nested``
    are as in ``SinkRow``: parts of every later request; ``always`` are parts that any such object has, and ``result``
    is the part that a function below ``maker``, used as a decorator, returns. ``returns`` names attributes and methods
    that give back what a constructor part, by the name of its argument, has become since.

    ``decorators`` are methods of the client that add what the function below them returns to a part. Of those in
    ``once`` the library keeps the first result with the history, unless the decorator is given a true argument of the
    name that stands there; of all of them if it is given an argument as in ``kept``.
    """

    maker: str
    type: str
    provider: str
    base_url: str | None
    when: dict[str, str]
    constructor_parts: dict[str, str]
    nested: dict[str, dict[str, str]]
    positional: tuple[str, ...]
    because: str
    decorators: dict[str, str] = field(default_factory=dict)
    once: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    result: str | None = None
    returns: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A callable or attribute whose value varies; a name that starts with "*." is a suffix of attributes.

    ``axes`` are ``promptlint.request.Axis`` values. ``grain`` is the granularity in seconds, for clocks. With more
    than ``at_most`` arguments it is no source: ``time.strftime(format, t)`` only renders ``t``. ``attribute``: reading
    it is enough, without a call. ``starts_with``: its second argument, by name, is a text that it gives until the user
    writes another: a setting, no question.
    """

    name: str
    kind: str
    axes: tuple[str, ...]
    grain: float | None
    what: str
    at_most: int | None
    attribute: bool
    because: str
    starts_with: str = ""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """Code that the outside calls again and again.

    ``how``: "decorator" (``pattern`` is its qualified name, or the name as written, where "*." stands for any
    receiver), "base" (qualified base class, whose ``methods`` are called: shell patterns; none named = all public
    ones), "function" (the name of a function), "register" (a call that is handed the function, in the argument
    ``argument`` or, when empty, in any), or "module" (the module with such a call is run again for each input).
    Rows stand most specific first. ``repeats`` is false for weak evidence: a command line is run again by hand.
    """

    how: str
    pattern: str
    evidence: str
    repeats: bool
    methods: tuple[str, ...]
    argument: str
    because: str


@dataclass(frozen=True, slots=True)
class MemoRow:
    """A decorator or class that keeps a result."""

    name: str
    because: str


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A call that drops the oldest messages.

    ``messages`` names the argument with the list (empty: the receiver is the history), ``limit`` the one with the size,
    counted in ``unit`` ("messages" or "tokens"), but in messages where ``counter`` is given ``len``. ``positional``
    names the arguments by position.
    """

    name: str
    messages: str
    limit: str
    unit: str
    counter: str
    positional: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """A class or function that makes a prompt template.

    ``messages`` or ``text`` names the argument that holds it; a text has ``role`` ("" = it stands for itself).
    ``fills`` are methods that fill it in, from a "mapping" or from "keywords"; ``partial`` binds some variables. The
    braces are those of ``str.format``, unless an argument ``template_format`` says otherwise.
    """

    maker: str
    type: str
    messages: str
    text: str
    role: str
    positional: tuple[str, ...]
    fills: dict[str, str]
    partial: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class PipeRow:
    """A class or function that makes a step of a chain: see ``DOES``.

    ``type`` is what chains are called; ``steps`` names the arguments that hold steps of its own, in their order.
    ``joins`` are prefixes of qualified classes whose objects ``|`` joins to a chain.
    """

    maker: str
    type: str
    does: str
    steps: tuple[str, ...]
    positional: tuple[str, ...]
    joins: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All rows, with the look-ups that the analysis needs."""

    sinks: tuple[SinkRow, ...]
    clients: dict[str, tuple[ClientRow, ...]]
    """By maker; several when they differ in ``when``."""
    sources: dict[str, SourceRow]
    entries: tuple[EntryRow, ...]
    memoisers: dict[str, MemoRow]
    windows: dict[str, WindowRow]
    templates: dict[str, TemplateRow]
    pipes: dict[str, PipeRow]
    sinks_by_suffix: dict[str, tuple[SinkRow, ...]] = field(default_factory=dict)
    """By the last name of ``call``, most specific ``call`` first."""
    sink_suffixes: frozenset[str] = frozenset()
    own_sinks: dict[str, SinkRow] = field(default_factory=dict)
    """The user's rows by what they name, which may be a function of the project."""
    own_sources: dict[str, SourceRow] = field(default_factory=dict)
    """The same, for what varies."""


def load(extra: Mapping[str, Sequence[Mapping[str, object]]] | None = None) -> Knowledge:
    """The built-in rows, and those of the user by section ("sink", "client", "source", "entry", "memoiser", "window",
    "template", "pipe").

    A row of the user comes before, or replaces, a built-in row of the same name. Raises ``KnowledgeError``.
    """
    rows = {section: tables for section, tables in (extra or {}).items() if section != PROVIDER}
    if not rows:
        return _builtin()
    own = _Rows()
    own.read(dict(rows), "[tool.promptlint]", {"sink": "wrapper"})
    own.sinks = [replace(sink, own=True) for sink in own.sinks]
    return replace(
        _index(own, _builtin_rows()),
        own_sinks={f"{t}.{row.call}" if t else row.call: row for row in own.sinks for t in row.types or ("",)},
        own_sources={row.name: row for row in own.sources},
    )


class _Row:
    """One table of a file, read field by field so that what is left over is a mistake."""

    def __init__(self, table: object, where: str, *names: str) -> None:
        if not isinstance(table, Mapping):
            raise KnowledgeError(f"{where}: expected a table, got {table!r}")
        self._left = dict(table)
        name = next((self._left[n] for n in names if isinstance(self._left.get(n), str)), None)
        self.where = f'{where} ("{name}")' if name else where

    def fail(self, name: str, problem: str) -> KnowledgeError:
        return KnowledgeError(f'{self.where}, field "{name}": {problem}')

    def text(self, name: str, default: str | None = None) -> str:
        value = self._left.pop(name, default)
        if value is None:
            raise self.fail(name, "missing")
        if not isinstance(value, str) or (not value and default != ""):
            raise self.fail(name, f"expected text, got {value!r}")
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in allowed:
            raise self.fail(name, _unknown(value, allowed))
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise self.fail(name, f"expected true or false, got {value!r}")
        return value

    def number(self, name: str) -> int | None:
        value = self._left.pop(name, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self.fail(name, f"expected a number, got {value!r}")
        return value

    def texts(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of texts; one text alone stands for a list of one."""
        value = self._left.pop(name, default)
        if value is None:
            raise self.fail(name, "missing")
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) and v for v in values):
            raise self.fail(name, f"expected a list of names, got {value!r}")
        return tuple(values)

    def names(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of dotted names."""
        values = self.texts(name, default)
        for value in values:
            if not _QUALIFIED.fullmatch(value):
                raise self.fail(name, f'"{value}" is no dotted name')
        return values

    def table(self, name: str) -> dict[str, object]:
        value = self._left.pop(name, {})
        if not isinstance(value, Mapping):
            raise self.fail(name, f"expected a table, got {value!r}")
        return dict(value)

    def mapping(self, name: str) -> dict[str, str]:
        table = self.table(name)
        for key, value in table.items():
            if not isinstance(value, str):
                raise self.fail(f"{name}.{key}", f"expected text, got {value!r}")
        return {key: str(value) for key, value in table.items()}

    def parts(self, name: str, value: object, groups: Mapping[str, object], ignore: Sequence[str]) -> dict[str, str]:
        """Argument names with their parts: a table, or the name of one of the file's groups."""
        if isinstance(value, str):
            if value not in groups:
                raise self.fail(name, f'no group of parts is called "{value}"')
            value = groups[value]
        if not isinstance(value, Mapping):
            raise self.fail(name, f"expected a table of argument = part, got {value!r}")
        for key, part in value.items():
            if not isinstance(part, str) or part not in PARTS:
                raise self.fail(f"{name}.{key}", _unknown(part, tuple(PARTS)))
        return dict.fromkeys(ignore, "ignore") | dict(value)

    def take(self, name: str, default: object) -> object:
        return self._left.pop(name, default)

    def done(self, known: Sequence[str] = ()) -> None:
        for name in self._left:
            raise self.fail(name, "no such field" + _suggestion(name, known))


def _unknown(value: object, allowed: Sequence[str]) -> str:
    return f'"{value}" is none of {", ".join(sorted(allowed))}' + _suggestion(str(value), allowed)


def _suggestion(value: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(value, allowed, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


class _Rows:
    """The rows of any number of files, in reading order."""

    def __init__(self) -> None:
        self.sinks: list[SinkRow] = []
        self.clients: list[ClientRow] = []
        self.sources: list[SourceRow] = []
        self.entries: list[EntryRow] = []
        self.memoisers: list[MemoRow] = []
        self.windows: list[WindowRow] = []
        self.templates: list[TemplateRow] = []
        self.pipes: list[PipeRow] = []

    def read(self, document: dict[str, object], file: str, words: Mapping[str, str] = _SAME) -> None:
        """Adds the rows of one document; ``file`` and ``words`` for sections are how messages call these."""
        sections: dict[str, Callable[[object, str, _Header], None]] = {
            "sink": self._sink,
            "client": self._client,
            "source": self._source,
            "entry": self._entry,
            "memoiser": self._memoiser,
            "window": self._window,
            "template": self._template,
            "pipe": self._pipe,
        }
        header = _Header(_Row({k: v for k, v in document.items() if k not in sections}, file), file)
        for section, read in sections.items():
            rows = document.get(section, ())
            if isinstance(rows, str) or not isinstance(rows, Sequence):
                raise KnowledgeError(f"{file}: {section} must be a list of tables, written [[{section}]]")
            for number, row in enumerate(rows, 1):
                read(row, f"{file}, {words.get(section, section)} {number}", header)

    def _sink(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "call")
        types = header.expand(row, row.names("types", ()))
        calls = row.names("call")
        through = row.names("through", ())
        provider, positional = row.text("provider", "unknown"), row.texts("positional", ())
        requires, distinctive = row.texts("requires", ()), row.flag("distinctive")
        confidence, stateful = row.choice("confidence", ("high", "medium"), "high"), row.flag("stateful")
        keeper, returns, continues = row.texts("keeper", ()), row.mapping("returns"), row.texts("continues", ())
        decorates, takes = row.flag("decorates"), row.texts("takes", ())
        parts, nested = header.parts(row, "parts")
        row.done(("call", "types", "parts", "nested", "positional", "requires", "provider"))
        if not set(parts.values()) - {"ignore"} and not nested:
            raise row.fail("parts", "missing: no argument is part of a request")
        if unknown := set(returns.values()) - parts.keys():
            raise row.fail("returns", f"no argument of the call is named {', '.join(sorted(unknown))}")
        sink = SinkRow(
            "",
            provider,
            types,
            "",
            parts,
            nested,
            positional,
            requires,
            distinctive,
            confidence,
            stateful,
            "",
            keeper,
            returns,
            decorates,
            continues=continues,
            takes=takes,
        )
        for call in calls:
            label = f"{types[0].rpartition('.')[0]}.{call}" if types else call
            head, _, last = call.rpartition(".")
            for path in (call, *(f"{head}.{name}.{last}" for name in through)):
                self.sinks.append(replace(sink, id=label, call=path, because=f"{header.file}: {call}"))

    def _client(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "type", "makers")
        makers = header.expand(row, row.names("makers"))
        made, provider = row.text("type", ""), row.text("provider", "unknown")
        base_url, when, positional = row.text("base_url", "") or None, row.mapping("when"), row.texts("positional", ())
        parts, nested = header.parts(row, "constructor_parts")
        decorators = row.parts("decorators", row.take("decorators", {}), {}, ())
        once = row.mapping("once")
        for name in once.keys() - decorators.keys():
            raise row.fail(f"once.{name}", "no such decorator" + _suggestion(name, tuple(decorators)))
        kept, always, result = row.mapping("kept"), row.texts("always", ()), row.text("result", "") or None
        for name in (*always, *([result] if result else [])):
            if name not in PARTS:
                raise row.fail("always" if name in always else "result", _unknown(name, tuple(PARTS)))
        returns = row.mapping("returns")
        if unknown := set(returns.values()) - parts.keys():
            raise row.fail("returns", f"no argument of the constructor is named {', '.join(sorted(unknown))}")
        known = ("makers", "type", "provider", "base_url", "when", "constructor_parts", "nested", "positional")
        row.done((*known, "decorators", "once", "kept", "always", "result", "returns"))
        for maker in makers:
            because = f"{header.file}: {maker}"
            self.clients.append(
                ClientRow(
                    maker,
                    made or maker,
                    provider,
                    base_url,
                    when,
                    parts,
                    nested,
                    positional,
                    because,
                    decorators,
                    once,
                    kept,
                    always,
                    result,
                    returns,
                )
            )

    def _source(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names, kind = row.names("name"), row.choice("kind", tuple(KINDS))
        axis, words = KINDS[kind]
        axes, what = row.texts("axes", (axis,)), row.text("what", words)
        grain = GRAINS[row.choice("grain", tuple(GRAINS), "second")] if kind == "time" else None
        at_most, attribute = row.number("at_most"), row.flag("attribute", False)
        starts_with = row.text("starts_with", "")
        row.done(("name", "kind", "axes", "grain", "what", "at_most", "attribute", "starts_with"))
        for value in axes:
            if value not in AXES:
                raise row.fail("axes", _unknown(value, tuple(AXES)))
        self.sources += [
            SourceRow(n, kind, axes, grain, what, at_most, attribute, f"{header.file}: {n}", starts_with) for n in names
        ]

    def _entry(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "pattern")
        how, patterns = row.choice("how", _HOW, "decorator"), row.names("pattern")
        evidence, repeats = row.text("evidence"), row.flag("repeats", True)
        methods, argument = row.texts("methods", ()), row.text("argument", "")
        row.done(("how", "pattern", "evidence", "repeats", "methods", "argument"))
        for p in patterns:
            self.entries.append(EntryRow(how, p, evidence, repeats, methods, argument, f"{header.file}: {p}"))

    def _memoiser(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names = row.names("name")
        row.done(("name",))
        self.memoisers += [MemoRow(n, f"{header.file}: {n}") for n in names]

    def _window(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names, messages, limit = row.names("name"), row.text("messages", ""), row.text("limit", "")
        unit, positional = row.choice("unit", ("messages", "tokens"), "messages"), row.texts("positional", ())
        counter = row.text("counter", "")
        row.done(("name", "messages", "limit", "unit", "counter", "positional"))
        self.windows += [WindowRow(n, messages, limit, unit, counter, positional, f"{header.file}: {n}") for n in names]

    def _template(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "makers")
        makers = header.expand(row, row.names("makers"))
        made, messages, text = row.text("type", ""), row.text("messages", ""), row.text("text", "")
        role, positional, fills = row.text("role", ""), row.texts("positional", ()), row.mapping("fills")
        partial = row.texts("partial", ())
        row.done(("makers", "type", "messages", "text", "role", "positional", "fills", "partial"))
        if bool(messages) == bool(text):
            raise row.fail("messages", 'either "messages" or "text" must name an argument')
        for how in fills.values():
            if how not in _FILLS:
                raise row.fail("fills", _unknown(how, _FILLS))
        self.templates += [
            TemplateRow(m, made or m, messages, text, role, positional, fills, partial, f"{header.file}: {m}")
            for m in makers
        ]

    def _pipe(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "makers")
        makers = header.expand(row, row.names("makers"))
        made, does = row.text("type", ""), row.choice("does", DOES, "chain")
        steps, positional, joins = row.texts("steps", ()), row.texts("positional", ()), row.names("joins", ())
        row.done(("makers", "type", "does", "steps", "positional", "joins"))
        self.pipes += [PipeRow(m, made or m, does, steps, positional, joins, f"{header.file}: {m}") for m in makers]


class _Header:
    """The top of a file: groups that its rows share."""

    def __init__(self, row: _Row, file: str) -> None:
        self.file = file
        row.texts("package", ())
        row.text("reference", "")
        row.text("as-of", "")
        self._ignore = row.texts("ignore", ())
        self._types, self._parts = row.table("types"), row.table("parts")
        sections = ("sink", "client", "source", "entry", "memoiser", "window", "template", "pipe")
        row.done((*sections, "ignore", "types", "parts"))

    def expand(self, row: _Row, names: Sequence[str]) -> tuple[str, ...]:
        """Names with the file's groups of types replaced by their members: "@client", and "@client.copy"."""
        return tuple(member for name in names for member in self._members(row, name))

    def _members(self, row: _Row, name: str) -> Iterator[str]:
        if not name.startswith("@"):
            yield name
            return
        group, dot, path = name[1:].partition(".")
        members = self._types.get(group)
        if members is None:
            raise row.fail("types", f'no group of types is called "{group}"')
        if not isinstance(members, list) or not all(isinstance(m, str) and _QUALIFIED.fullmatch(m) for m in members):
            raise row.fail("types", f'the group "{group}" must be a list of dotted names')
        yield from (inner + dot + path for member in members for inner in self._members(row, member))

    def parts(self, row: _Row, name: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """The parts of a row and of the objects nested in its arguments, with the names that the file ignores."""
        value = row.take(name, {})
        parts = row.parts(name, value, self._parts, self._ignore if value else ())
        nested = {
            key: row.parts(f"nested.{key}", inner, self._parts, self._ignore)
            for key, inner in row.table("nested").items()
        }
        for key in nested:
            if parts.get(key) not in ("config", "body", "requests"):
                raise row.fail(f"nested.{key}", f'parts.{key} must be "config", "body" or "requests"')
        return parts, nested


@cache
def _builtin_rows() -> _Rows:
    rows = _Rows()
    folder = files(__name__)
    for name in sorted(f.name for f in folder.iterdir() if f.name.endswith(".toml") and f.name not in _NO_ROWS):
        rows.read(tomllib.loads((folder / name).read_text("utf-8")), f"knowledge/{name}")
    return rows


@cache
def _builtin() -> Knowledge:
    return _index(_builtin_rows())


def _index(*layers: _Rows) -> Knowledge:
    """One knowledge of several layers; the first layer that has a row of a name wins."""
    sinks = tuple(sink for rows in layers for sink in rows.sinks)
    clients: dict[str, list[ClientRow]] = {}
    for rows in layers:
        for client in rows.clients:
            clients.setdefault(client.maker, []).append(client)
    by_suffix: dict[str, list[SinkRow]] = {}
    for sink in sinks:
        by_suffix.setdefault(sink.suffix, []).append(sink)
    for found in by_suffix.values():
        found.sort(key=lambda s: -s.call.count("."))
    return Knowledge(
        sinks=sinks,
        clients={maker: tuple(found) for maker, found in clients.items()},
        sources={row.name: row for rows in reversed(layers) for row in rows.sources},
        entries=tuple(entry for rows in layers for entry in rows.entries),
        memoisers={row.name: row for rows in reversed(layers) for row in rows.memoisers},
        windows={row.name: row for rows in reversed(layers) for row in rows.windows},
        templates={row.maker: row for rows in reversed(layers) for row in rows.templates},
        pipes={row.maker: row for rows in reversed(layers) for row in rows.pipes},
        sinks_by_suffix={suffix: tuple(found) for suffix, found in by_suffix.items()},
        sink_suffixes=frozenset(by_suffix),
    )
