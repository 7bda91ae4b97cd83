"""The rows: one is one fact about a library, and nothing in them is code. What their words mean stands here as well."""

from __future__ import annotations

from dataclasses import dataclass, field

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
