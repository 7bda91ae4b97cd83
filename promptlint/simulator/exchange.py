"""What the simulator takes and gives: concrete requests with times in, tokens read, written and uncached out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Protocol, TypeVar

from promptlint.provider import Facts


@dataclass(frozen=True, slots=True)
class Block:
    """One content block or tool definition, the smallest thing that a marker can stand on.

    ``tokens`` are ids (a tuple); where only their number is known a ``range`` that stands for no other text.
    ``kind`` is "text", "image", "tool_use", "thinking" ... as the API calls it, ``role`` that of its message.
    ``marker`` is the lifetime that a marker on the block asks for, "" for the usual one; ``None``: no marker.
    """

    region: str
    tokens: Sequence[int]
    kind: str = "text"
    role: str = "user"
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the provider gets it.

    ``at`` is when it is sent, in seconds of any clock; ``begins`` how long its response takes to begin, ``lasts`` to
    end. ``parameters`` are those that are no prompt text, by the names of the facts ("tool_choice"). ``automatic`` is
    the lifetime that a request-level marker asks for ("" = the usual one). ``answer`` are the ids of the response,
    which engines keep, too. ``creates`` and ``uses`` name a cache object (Gemini).
    """

    blocks: tuple[Block, ...]
    at: float = 0.0
    begins: float = 0.0
    lasts: float = 0.0
    parameters: Mapping[str, str] = field(default_factory=dict)
    automatic: str | None = None
    answer: tuple[int, ...] = ()
    creates: str | None = None
    uses: str | None = None

    @property
    def marked(self) -> bool:
        """Whether it asks for caching."""
        return self.automatic is not None or any(block.marker is not None for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the provider counts one request: the three parts add up to its input tokens.

    ``written`` are the tokens that are billed as a cache write, by lifetime; a provider that takes no fee for writing
    counts them as ``uncached``. ``refused`` is the error that the API answers with. ``storage`` counts token-hours that
    are billed for keeping a cache object. ``unmarked``: cached without having asked, at a provider where that has a
    price of its own. ``why`` says in words where the reading ended.
    """

    read: int
    uncached: int
    written: tuple[tuple[str, int], ...] = ()
    why: str = ""
    refused: str = ""
    storage: float = 0.0
    unmarked: bool = False

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + self.uncached + self.stored

    @property
    def stored(self) -> int:
        """All written tokens."""
        return sum(tokens for _, tokens in self.written)

    def weight(self, facts: Facts) -> float:
        """The price of the input in prices of an uncached token, with what is paid for keeping it.

        Without a known price a read counts as uncached, and keeping counts nothing.
        """
        read = facts.read_unmarked if self.unmarked else facts.read
        written = sum(facts.write_price(ttl) * tokens for ttl, tokens in self.written)
        kept = self.storage * (facts.storage or 0.0)
        return self.uncached + (1.0 if read is None else read) * self.read + written + kept


def refusal(message: str) -> Outcome:
    """The outcome of a request that the API does not take: nothing is processed or billed."""
    return Outcome(0, 0, why="the API refuses the request", refused=message)


class Piece(Protocol):
    """A block of a prompt, whatever else is known of it."""

    @property
    def region(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def role(self) -> str: ...


P = TypeVar("P", bound=Piece)


def ordered(call: Call, facts: Facts) -> tuple[Block, ...]:
    """The blocks of a call that the model gets to see, in wire order."""
    return tuple(rendered(sorted(call.blocks, key=lambda block: facts.order.index(block.region)), facts))


def rendered(pieces: Sequence[P], facts: Facts) -> Iterator[P]:
    """What the model gets to see: some servers take out thinking from before the user last spoke."""
    spoke = max((i for i, piece in enumerate(pieces) if _speaks(piece)), default=-1) if facts.forgets_thinking else -1
    for index, piece in enumerate(pieces):
        if index > spoke or piece.kind not in ("thinking", "redacted_thinking"):
            yield piece


def _speaks(piece: Piece) -> bool:
    return piece.region == "messages" and piece.role == "user" and piece.kind != "tool_result"


def sizes(blocks: Sequence[Block]) -> tuple[int, ...]:
    """The number of tokens up to the end of each block."""
    return tuple(accumulate(len(block.tokens) for block in blocks))


def flat(blocks: Iterable[Block]) -> tuple[int, ...]:
    """All token ids."""
    return tuple(chain.from_iterable(block.tokens for block in blocks))


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the common prefix."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:  # invariant: equal up to low, different up to high
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


Bucket = tuple[tuple[str, str], ...]
"""Parameters with their values: a prefix that was stored with some is found with the same only."""


def bucket(call: Call, facts: Facts) -> Bucket:
    """The parameters that a cached prefix depends on."""
    return tuple((name, value) for name, value in sorted(call.parameters.items()) if facts.invalidates(name))


def buckets(call: Call, facts: Facts) -> dict[str, Bucket]:
    """The same for a prefix that ends in each of the regions."""
    rows = [(pair, row) for pair in sorted(call.parameters.items()) if (row := facts.invalidates(pair[0]))]
    return {
        region: tuple(pair for pair, row in rows if region in row.drops or region in row.may_drop)
        for region in facts.order
    }


class Prefixes:
    """Numbers for prefixes: two sequences of blocks get the same number if and only if they are equal.

    A marker is no part of a block.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Hashable], int] = {}

    def of(self, blocks: Iterable[Block]) -> Iterator[int]:
        """The number of the prefix that ends with each block."""
        number = 0  # that of nothing at all
        for block in blocks:
            item = (block.region, block.role, block.kind, block.tokens)
            number = self._numbers.setdefault((number, item), len(self._numbers) + 1)
            yield number


@dataclass(slots=True)
class Entry:
    """A stored prefix: readable after ``ready``, until ``seconds`` after ``used`` (``None``: no limit is known)."""

    ready: float
    used: float
    seconds: float | None

    def begun(self, now: float) -> bool:
        """Whether the response that stored it had begun before ``now``; requests sent together all miss."""
        return self.ready < now

    def alive(self, now: float) -> bool:
        """Whether it can be read at ``now``."""
        return self.begun(now) and (self.seconds is None or now < self.used + self.seconds)


def words(tokens: int) -> str:
    """A number of tokens in words."""
    return f"{tokens:,} token{'' if tokens == 1 else 's'}"


def ago(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
