"""A trace from its first record to its last: each request is placed, explained and counted, and then forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from pathlib import Path

from promptlint.trace import imports
from promptlint.trace.conversations import BUDGET, Conversations
from promptlint.trace.explain import Verdict, explain, failed
from promptlint.trace.format import Exchange, Problem
from promptlint.trace.sent import Observer
from promptlint.trace.tally import Tally
from promptlint.trace.wire import BodyError

Progress = Callable[[str, int, int], None]

_WAITING = 512
_WAITING_BYTES = 64 << 20
"""Records are written when their answers end: so many of them are put in the order of their starts."""
_TURN = 0.001
_NAMED = 20
"""Problems of one kind that are listed one by one."""


@dataclass(slots=True)
class Analysis:
    """What came of a trace. ``skipped`` counts records that are no request, ``closed`` conversations that were closed
    to save memory.
    """

    files: tuple[str, ...]
    tally: Tally
    problems: list[Problem] = field(default_factory=list)
    skipped: int = 0
    closed: int = 0


def analyse(
    files: Sequence[Path],
    progress: Progress = lambda phase, done, total: None,
    budget: int = BUDGET,
    each: Callable[[Verdict], object] = lambda verdict: None,
) -> Analysis:
    """Reads traces, one after the other, as if they were one; ``each`` verdict is handed on as well.

    Raises ``OSError`` for a file that cannot be read, and ``duck.MissingError`` for one that needs what is missing.
    """
    analysis = Analysis(tuple(map(str, files)), Tally())
    for verdict in verdicts(_exchanges(files, analysis, progress), analysis, budget):
        analysis.tally.add(verdict)
        each(verdict)
    return analysis


def verdicts(exchanges: Iterable[Exchange], analysis: Analysis, budget: int = BUDGET) -> Iterator[Verdict]:
    """The verdict on each exchange, in the order in which they were sent."""
    conversations, observe = Conversations(budget), Observer()
    for number, exchange in enumerate(_timed(_in_order(exchanges)), 1):
        try:
            sent = observe(exchange, number)
        except BodyError as error:
            _report(analysis, Problem(exchange.id, number, f"left out: {error}"))
            continue
        if not sent.keys:
            analysis.skipped += 1
            continue
        placed = conversations.place(sent) if not failed(sent) else conversations.look(sent)
        yield explain(placed)
    analysis.closed = conversations.closed


def _timed(exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
    """Requests of which nobody knows when their answers began, at different times, as if they had come in turn."""
    last = 0.0
    for exchange in exchanges:
        if exchange.began is None and exchange.lasted is None and exchange.at <= last:
            exchange = replace(exchange, at=last + _TURN)
        last = max(last, exchange.at)
        yield exchange


def _exchanges(files: Sequence[Path], analysis: Analysis, progress: Progress) -> Iterator[Exchange]:
    sizes = [os.path.getsize(file) for file in files]
    done = 0
    for file, size in zip(files, sizes, strict=True):
        seen = 0
        for exchange in imports.exchanges(file, lambda problem: _report(analysis, problem)):
            seen += len(exchange.body) + 300
            progress("reading", min(done + seen, done + size), sum(sizes))
            yield exchange
        done += size


def _report(analysis: Analysis, problem: Problem) -> None:
    if len(analysis.problems) < _NAMED:
        analysis.problems.append(problem)
    if problem.lost:
        analysis.skipped += 1


def _in_order(exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
    """By the time of sending, as far as a bounded number of waiting records allows."""
    waiting: list[tuple[float, int, Exchange]] = []
    size = 0
    for number, exchange in enumerate(exchanges):
        heappush(waiting, (exchange.at, number, exchange))
        size += len(exchange.body)
        while len(waiting) > _WAITING or (size > _WAITING_BYTES and len(waiting) > 1):
            first = heappop(waiting)[2]
            size -= len(first.body)
            yield first
    while waiting:
        yield heappop(waiting)[2]
