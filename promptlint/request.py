"""What one call sends: ordered segments of prompt text and tools, their variation, and the breakpoints among them.

This is the domain model that rules see. It is built by ``promptlint.link`` and knows nothing of syntax trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from promptlint.finding import Confidence, Region, Scope, Severity, Site
from promptlint.provider import Facts, fewest_markers
from promptlint.span import Span, Step
from promptlint.tokens import Interval


class Axis(StrEnum):
    """What has to change for a value's bytes to differ."""

    CALL = "call"
    TURN = "turn"
    CONVERSATION = "conversation"
    USER = "user"
    PROCESS = "process"
    HASH_SEED = "hash-seed"
    MACHINE = "machine"
    DEPLOYMENT = "deployment"


class Carrier(StrEnum):
    """What in the code brings a varying value in, where that tells how it varies."""

    PARAMETER = "parameter"  # of code that is called from outside
    LOOP_VARIABLE = "loop variable"
    COUNTER = "counter"  # a number that a loop counts
    TYPED = "typed"  # what a call gives that the user types


class Moment(IntEnum):
    """When an expression is evaluated, relative to the requests that share a prefix."""

    IMPORT = 0  # once per process: module level, or memoised
    SESSION = 1  # once per conversation: a constructor, or ahead of the turn loop
    CALL = 2  # once per call of the entry: what a turn is when the history is kept between calls
    LOOP = 3  # once per iteration of the loop that sends


@dataclass(frozen=True, slots=True)
class Cause:
    """One source that makes a value vary, with the way it took.

    ``kind`` is one of time, random, environment, user, state, counter, unordered, json, signed, conditional, opaque.
    ``grain`` is the granularity of a clock in seconds (1e-6, 1, 60, 3600, 86400), ``None`` for everything else.
    ``features`` name the approximations taken on the way ("opaque-call", "name-match", ...): each lowers the
    confidence.
    """

    kind: str
    what: str
    origin: Span
    moment: Moment
    axes: frozenset[Axis]
    grain: float | None = None
    flow: tuple[Step, ...] = ()
    features: frozenset[str] = frozenset()
    conditional: str | None = None
    """"threshold", "error", "command" or "configuration" when the source is only reached under such a guard."""
    because: str | None = None
    carrier: Carrier | None = None
    said: bool = False
    """Whether it is what somebody says, in its own words."""
    within: bool = False
    """Whether it is inside one element that something varies, and not which elements there are or in which order."""


class Kind(StrEnum):
    """What a segment is."""

    TEXT = "text"  # literal text, or a hole in it
    TOOL = "tool"  # one tool definition, or an unknown list of them
    HISTORY = "history"  # the turns kept so far, of unknown number
    MEDIA = "media"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A cache marker (``cache_control``, ``cachePoint``, ``prompt_cache_breakpoint``) in wire order.

    ``count`` is how many the expression writes (a marker in a loop over unknown elements has no upper bound, and its
    ``loop`` is the span of the loop). ``problem`` is set when the API refuses it there: "empty", "thinking",
    "message" or "string". ``ttl`` is the text, "5m" when left out, ``None`` when not known.
    """

    span: Span
    segment: int
    ttl: str | None = "5m"
    count: Interval = Interval(1, 1)
    loop: Span | None = None
    problem: str | None = None
    optional: bool = False
    automatic: bool = False
    """The request-level marker that the provider puts on the last block."""
    key: str = ""
    """The field that it is written as."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of prompt text or one tool definition, in wire order.

    ``text`` when it is known to the letter. ``message`` numbers the message or block it belongs to within its region.
    ``repeats`` marks a template for an unknown number of elements.
    """

    region: Region
    kind: Kind
    span: Span
    tokens: Interval
    text: str | None = None
    role: str | None = None
    message: int = 0
    causes: tuple[Cause, ...] = ()
    optional: bool = False
    repeats: bool = False
    name: str = ""
    """How the code calls the value ("self.history", "build_rules()"), for messages; empty for literal text."""
    persistent: bool = False
    """A hole that is the same for every request of the program (a file read at import, a constant that is not text)."""
    placed: Span | None = None
    """Where a text that is the whole of a message is put into the request, if it is written elsewhere."""


LAST_EXCHANGE = 2
"""Messages: a question and its answer."""

LEFT_OUT = ""
"""Stands among the alternatives of a parameter for a request without it."""

WRAPPED = "what the wrapper does"
"""Stands under ``Request.open`` where a wrapper of the user's sends, which may set markers of its own."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A request parameter that is no prompt text, or one field of it ("model", "thinking.budget_tokens" ...).

    ``text`` when it is a constant that every request has. ``causes``: what makes the value vary, or decides which of
    the ``alternatives`` is sent.
    """

    name: str
    span: Span
    text: str | None = None
    causes: tuple[Cause, ...] = ()
    alternatives: tuple[str, ...] = ()
    """The different constant values it can take in this program, when more than one; ``LEFT_OUT`` for none."""
    optional: bool = False
    """Whether some requests go without it."""

    @property
    def head(self) -> str:
        """The name of the whole parameter that this is a field of."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Reuse:
    """Evidence that a prefix is sent more than once (the first gate of ``levels``).

    ``turns``: a history is kept and sent again. ``repeats``: "loop", "entry", "template" or ``None``; "assumed" when
    nothing in the project calls the code that sends. ``why`` says it in words, at ``span``.
    """

    turns: bool
    repeats: str | None
    why: str
    span: Span | None = None
    features: frozenset[str] = frozenset()
    scripted: bool = False
    """Whether a program of one file that runs once asks nothing but what stands in its code."""
    at_most: int | None = None
    """How often the request is sent in one conversation, where the code loops over a list of known length."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A test on the way to a request: it is sent when the test at ``span`` comes out as ``sense``.

    ``causes`` are what the outcome depends on. ``guard`` is "error" in an except clause (without a test), "command"
    when the test looks for a command of the user, else "always".
    """

    span: Span
    sense: bool
    causes: tuple[Cause, ...] = ()
    guard: str = "always"


@dataclass(frozen=True, slots=True)
class Pace:
    """How far apart requests are sent: ``seconds`` at the least, ``why`` in words ("the loop waits"), at ``span``."""

    seconds: float
    why: str
    span: Span


@dataclass(frozen=True, slots=True)
class Usage:
    """The token counts that the code around a request reads.

    ``read`` are the places where it reads how long the prompt was, nearest to the request first; ``cached`` says
    whether the program looks at the counts of cached tokens anywhere, or hands all counts on. ``added`` are sums of the
    length of the prompt and of the cached tokens.
    """

    read: tuple[Span, ...]
    near: bool
    cached: bool
    added: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Mutator:
    """Something that changes, between two sends, what was already sent.

    ``kind``: "window" (drops the oldest), "rewrite" (edits or replaces old messages), "prepend" (inserts ahead of old
    messages), "decorate" (changes the sent copy only), "replay" (re-serialises stored turns differently), "unthink"
    (takes thinking out of old messages). ``guard``:
    "always", "threshold", "command", "error" or "configuration". ``keeps`` is the size of a window in messages, or
    ``None``. ``position`` is the index of the segment before which the change happens.
    """

    kind: str
    span: Span
    what: str
    guard: str = "always"
    keeps: int | None = None
    position: int = 0
    causes: tuple[Cause, ...] = ()
    origin: Span | None = None
    flow: tuple[Step, ...] = ()
    features: frozenset[str] = frozenset()
    behind: bool = False
    """Whether the turns behind the changed one, which were sent with it, are part of the next request."""
    bulk: bool = False
    """Whether a change takes several turns at once, so that it is not due again for some turns."""


@dataclass(frozen=True, slots=True)
class Break:
    """Where a prefix ends too early, judged by the gates and levels of ``levels``.

    ``segment`` is the index of the segment that varies, ``lost`` the tokens behind it that do not vary in ``scope``.
    """

    segment: int
    cause: Cause
    scope: Scope
    severity: Severity
    confidence: Confidence
    lost: Interval
    earliest: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it will stand on the wire, in one calling context."""

    site: Site
    api: str
    """The knowledge row, for instance "anthropic.messages.create"; "structural" when no row matched."""
    facts: Facts
    segments: tuple[Segment, ...]
    breakpoints: tuple[Breakpoint, ...] = ()
    parameters: dict[str, Parameter] = field(default_factory=dict)
    mutators: tuple[Mutator, ...] = ()
    reuse: Reuse = Reuse(False, None, "")
    breaks: tuple[Break, ...] = ()
    open: tuple[str, ...] = ()
    """What may add to the request without being seen (an unresolved ``**kwargs``, ``extra_body``, middleware)."""
    confidence: Confidence = Confidence.HIGH
    path: tuple[Step, ...] = ()
    """The calls that lead from the entry to the sink, outermost first."""
    root: Span | None = None
    """The code in which the way to the sink begins."""
    branches: tuple[Branch, ...] = ()
    """The tests on that way, outermost first; only known where turns are kept."""
    seldom: bool = False
    """It is sent only once the conversation has grown beyond a large limit: the request that asks for a summary."""
    pace: Pace | None = None
    """Where breakpoints are set: the time between two requests, as far as the code says it."""
    company: tuple[Site, ...] = ()
    """Where breakpoints are set or writing costs by itself: other requests of the program that begin alike."""
    parallel: Span | None = None
    """Where the code starts many such requests before the first is answered."""
    usage: Usage | None = None
    """What the code makes of the token counts in the reply; only known where it asks for a cache."""
    traffic: float | None = None
    """Requests an hour that could share a prefix, where the user says so."""
    added: int = 1
    """Blocks that the newest turn surely adds behind what was kept, as ``Facts.lookback`` counts them."""
    aside: bool = False
    """Whether the program asks something of its own about the turns of another request, with other text ahead."""
    fallback: bool = False
    """Whether it is sent in place of a request of the same function that failed: no rule gets to see it."""
    lost_markers: tuple[tuple[Span, str], ...] = ()
    """Where breakpoints are set that are taken off again before any request is sent, and where that is, in words."""
    keepers: frozenset[Span] = frozenset()
    """Where the objects are made that hold the turns, as far as that is seen on the way."""

    def of(self, *regions: Region) -> Iterator[tuple[int, Segment]]:
        """The segments of these regions with their indices, in wire order."""
        return ((i, s) for i, s in enumerate(self.segments) if s.region in regions)

    @property
    def size(self) -> Interval:
        """Tokens of the whole request."""
        return sum((s.tokens for s in self.segments), Interval(0, 0))

    def before(self, index: int) -> Interval:
        """Tokens of the prefix that ends just before segment ``index``."""
        return sum((s.tokens for s in self.segments[:index]), Interval(0, 0))

    @property
    def breakpoint_limit(self) -> int | None:
        """How many breakpoints the API accepts; where the model behind a router is not known, those that take any."""
        marker = self.breakpoints[0].key if self.breakpoints else ""
        return fewest_markers(marker) if self.facts.trigger == "unknown" else self.facts.max_breakpoints

    @property
    def has_history(self) -> bool:
        """Whether turns kept from earlier requests are part of this one."""
        return any(s.kind is Kind.HISTORY for s in self.segments)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The requests of one call site that share a growing history, with what changes that history."""

    request: Request

    @property
    def mutators(self) -> tuple[Mutator, ...]:
        return self.request.mutators


@dataclass(frozen=True, slots=True)
class Siblings:
    """The requests that send the turns of one history, in source order: one, or several of different call sites."""

    requests: tuple[Request, ...]
