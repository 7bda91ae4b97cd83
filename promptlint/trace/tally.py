"""Sums over the requests of a trace: tokens, money, hit ratios and causes, in memory that does not grow with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from promptlint.prices import Price, input_price
from promptlint.provider import facts
from promptlint.trace.explain import FAILED, SOUND, Cause, Verdict
from promptlint.trace.format import Frame
from promptlint.trace.sent import Sent
from promptlint.trace.texts import Change

BUCKETS = 240
"""Parts of the timeline."""
ROWS = 2000
"""Requests that are listed one by one; of longer traces the first."""
SEVERAL = 4
"""Conversations, and processes, of a call site that are told apart: it matters whether there are two."""
MOST = 20_000
"""Groups and conversations that are told apart; those that lost least are summed up as others beyond that."""
_AGREES = 0.05
_STEP = 1000
"""Tokens by which sizes of requests are rounded up for their price, which depends on them with some models."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What the input of one request cost, and what of it was lost, in prices of an uncached token; and that price in
    dollars, 0 where it is not known.
    """

    weight: float
    lost: float
    price: float


def billed(verdict: Verdict) -> Bill:
    """The bill of a request, by its usage."""
    sent, usage, facts = verdict.sent, verdict.sent.usage, verdict.sent.facts
    read = 1.0 if facts.read is None else facts.read
    written = usage.written or ()
    weight = sent.total - (usage.read or 0) - usage.stored + (usage.read or 0) * read
    weight += sum(tokens * facts.write_price(ttl) for ttl, tokens in written)
    if usage.read is None and verdict.predicted:
        written = verdict.predicted.written
    paid = max((facts.write_price(ttl) for ttl, tokens in written if tokens), default=1.0)
    size = -(-sent.total // _STEP) * _STEP
    return Bill(weight, verdict.lost * max(0.0, paid - read), _price(facts.provider, facts.model, size))


@cache
def _price(provider: str, model: str | None, size: int) -> float:
    """Dollars of an input token in a request of this size."""
    price = _prices(provider, model)
    return price(size) if price else 0.0


@cache
def _prices(provider: str, model: str | None) -> Price | None:
    return input_price(facts(provider, model))


@dataclass(slots=True)
class Totals:
    """``total``, ``read`` and ``written`` are input tokens. ``reported`` are the input tokens of requests whose answer
    said what was read. ``weight`` is what was paid for input, and ``lost_weight`` what of it was lost, in prices of an
    uncached token; ``dollars`` and ``lost_dollars`` the same, as far as prices are known. ``predicted`` sums what the
    simulator expected to be read where it could tell and the answer did: ``compared`` requests, of which ``agreed``
    came out as expected; ``compared_read`` is what those read. ``writes``, ``writes_agreed``, ``predicted_written`` and
    ``compared_written`` are the same for what was written to the cache, of requests whose answer says that.
    """

    requests: int = 0
    failed: int = 0
    total: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    reported: int = 0
    weight: float = 0.0
    dollars: float = 0.0
    lost: int = 0
    lost_weight: float = 0.0
    lost_dollars: float = 0.0
    compared: int = 0
    agreed: int = 0
    predicted: int = 0
    compared_read: int = 0
    writes: int = 0
    writes_agreed: int = 0
    predicted_written: int = 0
    compared_written: int = 0

    @property
    def hit_ratio(self) -> float | None:
        """The share of input tokens that came from the cache, of those of which it is known."""
        return self.read / self.reported if self.reported else None

    def add(self, verdict: Verdict, bill: Bill) -> None:
        """Counts one more request."""
        sent, usage = verdict.sent, verdict.sent.usage
        self.requests += 1
        if verdict.cause in FAILED:
            self.failed += 1
            return
        self.total += sent.total
        self.output += usage.output or 0
        self.written += usage.stored
        if usage.read is not None:
            self.reported += sent.total
            self.read += usage.read
        if usage.read is not None and usage.total is not None and verdict.predicted is not None:
            self.compared += 1
            self.agreed += _agree(verdict.predicted.read, usage.read, sent)
            self.predicted += verdict.predicted.read
            self.compared_read += usage.read
            if usage.written is not None:
                self.writes += 1
                self.writes_agreed += _agree(verdict.predicted.stored, usage.stored, sent)
                self.predicted_written += verdict.predicted.stored
                self.compared_written += usage.stored
        self.lost += verdict.lost
        self.weight += bill.weight
        self.lost_weight += bill.lost
        self.dollars += bill.weight * bill.price
        self.lost_dollars += bill.lost * bill.price

    def __iadd__(self, other: Totals) -> Totals:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def _agree(expected: int, counted: int, sent: Sent) -> bool:
    return abs(expected - counted) <= max(_AGREES * sent.total, 2 * sent.facts.granularity)


@dataclass(frozen=True, slots=True)
class Example:
    """One request of a group, and the earlier one that it was compared with."""

    request: str
    base: str | None
    at: float
    gap: float
    same: bool
    lost: int
    path: str
    char: int | None
    before: str
    after: str
    names: tuple[str, ...]
    moved: int
    newest: bool
    note: str


@dataclass(slots=True)
class Group:
    """Requests from one place in the code that lost tokens for one reason in one part of the prompt."""

    cause: Cause | Change
    site: tuple[Frame, ...]
    region: str
    path: str
    totals: Totals
    example: Example
    models: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Spread:
    """Some of the conversations and processes that the requests of a call site are from, as names."""

    conversations: set[object] = field(default_factory=set)
    processes: set[object] = field(default_factory=set)

    def add(self, conversation: object, process: object) -> None:
        """Notes where one more request is from."""
        for known, name in ((self.conversations, conversation), (self.processes, process)):
            if len(known) < SEVERAL:
                known.add(name)


@dataclass(frozen=True, slots=True)
class Row:
    """One request of the list: what was sent, read and lost."""

    id: str
    at: float
    conversation: int
    site: tuple[Frame, ...]
    model: str
    total: int
    read: int | None
    written: int
    predicted: int | None
    predicted_written: int | None
    cause: Cause | Change
    lost: int


@dataclass(slots=True)
class Bucket:
    """A stretch of time: tokens read, written, uncached and lost in it."""

    requests: int = 0
    read: int = 0
    written: int = 0
    uncached: int = 0
    lost: int = 0


class Timeline:
    """Buckets of equal length from the first request on; the length doubles when there are too many of them."""

    def __init__(self) -> None:
        self.start: float | None = None
        self.seconds = 1.0
        self.buckets: dict[int, Bucket] = {}

    def add(self, verdict: Verdict) -> None:
        """Counts one more request."""
        sent = verdict.sent
        if self.start is None:
            self.start = sent.at
        while (sent.at - self.start) / self.seconds >= BUCKETS:
            self.seconds *= 2
            old, self.buckets = self.buckets, {}
            for number, bucket in sorted(old.items()):
                half = self.buckets.setdefault(number // 2, Bucket())
                for name in Bucket.__slots__:
                    setattr(half, name, getattr(half, name) + getattr(bucket, name))
        bucket = self.buckets.setdefault(max(0, int((sent.at - self.start) / self.seconds)), Bucket())
        bucket.requests += 1
        if verdict.cause in FAILED:
            return
        bucket.read += sent.usage.read or 0
        bucket.written += sent.usage.stored
        bucket.uncached += sent.total - (sent.usage.read or 0) - sent.usage.stored
        bucket.lost += verdict.lost

    def items(self) -> Iterator[tuple[float, Bucket]]:
        """Each bucket with the time at which it begins."""
        for number, bucket in sorted(self.buckets.items()):
            yield (self.start or 0.0) + number * self.seconds, bucket


class Tally:
    """Everything that is counted while a trace goes by."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.causes: dict[Cause | Change, Totals] = {}
        self.models: dict[tuple[str, str], Totals] = {}
        self.sites: dict[tuple[Frame, ...], Totals] = {}
        self.spreads: dict[tuple[Frame, ...], Spread] = {}
        self.conversations: dict[int, Totals] = {}
        self.others = Totals()
        """Conversations that are not told apart any more."""
        self.conversation_count = 0
        self.groups: dict[tuple[object, ...], Group] = {}
        self.timeline = Timeline()
        self.rows: list[Row] = []

    def add(self, verdict: Verdict) -> None:
        """Counts one more request."""
        sent, bill = verdict.sent, billed(verdict)
        self.totals.add(verdict, bill)
        self.causes.setdefault(verdict.cause, Totals()).add(verdict, bill)
        self.models.setdefault((sent.facts.provider, sent.facts.model or "?"), Totals()).add(verdict, bill)
        if sent.site in self.sites or len(self.sites) < MOST:
            self.sites.setdefault(sent.site, Totals()).add(verdict, bill)
            self.spreads.setdefault(sent.site, Spread()).add(verdict.conversation, sent.pid)
        self.conversation_count = max(self.conversation_count, verdict.conversation)
        self.conversations.setdefault(verdict.conversation, Totals()).add(verdict, bill)
        if len(self.conversations) > 2 * MOST:
            ranked = sorted(self.conversations, key=lambda number: -self.conversations[number].lost_weight)
            for number in ranked[MOST:]:
                self.others += self.conversations.pop(number)
        self.timeline.add(verdict)
        if len(self.rows) < ROWS:
            self.rows.append(_row(verdict))
        if verdict.cause not in SOUND:
            self._group(verdict, bill)

    def _group(self, verdict: Verdict, bill: Bill) -> None:
        divergence = verdict.divergence
        path = general(divergence.path) if divergence else ""
        key = (verdict.cause, verdict.sent.site, verdict.region, path)
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= MOST:
                return
            group = Group(verdict.cause, verdict.sent.site, verdict.region, path, Totals(), example(verdict))
            self.groups[key] = group
        elif verdict.lost > group.example.lost:
            group.example = example(verdict)
        group.totals.add(verdict, bill)
        group.models.add(verdict.sent.facts.model or "?")

    def ranked(self) -> list[Group]:
        """The groups, the dearest first."""
        return sorted(self.groups.values(), key=lambda group: (-group.totals.lost_weight, -group.totals.requests))


def general(path: str) -> str:
    """A path for all places of its kind, without the numbers in it."""
    return re.sub(r"\[\d+\]", "[*]", path)


def example(verdict: Verdict) -> Example:
    """A verdict as the example of a group."""
    found, base = verdict.divergence, verdict.base
    return Example(
        request=verdict.sent.id,
        base=base.id if base else None,
        at=verdict.sent.at,
        gap=verdict.gap,
        same=verdict.same,
        lost=verdict.lost,
        path=found.path if found else "",
        char=found.char if found else None,
        before=found.before if found else "",
        after=found.after if found else "",
        names=verdict.names,
        moved=found.moved if found else 0,
        newest=bool(found and found.newest),
        note=verdict.note,
    )


def _row(verdict: Verdict) -> Row:
    sent = verdict.sent
    return Row(
        id=sent.id,
        at=sent.at,
        conversation=verdict.conversation,
        site=sent.site,
        model=sent.facts.model or "?",
        total=sent.total,
        read=sent.usage.read,
        written=sent.usage.stored,
        predicted=verdict.predicted.read if verdict.predicted else None,
        predicted_written=verdict.predicted.stored if verdict.predicted else None,
        cause=verdict.cause,
        lost=verdict.lost,
    )
