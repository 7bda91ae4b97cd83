"""Where the lines of a file have gone in an edit, as far as they are the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

Run = tuple[int, int, int]
"""Lines that have moved together: the first one before and now, and how many."""
Moves = tuple[Run, ...]
"""The lines of one file that are still there, in order."""


class Gone(Exception):
    """A line is not one of those that are still there."""


def between(before: Sequence[int], now: Sequence[int]) -> Moves:
    """The moves of lines with these numbers, in order, to lines with those."""
    runs: list[Run] = []
    for one, other in zip(before, now, strict=True):
        if runs and (one - runs[-1][0], other - runs[-1][1]) == (runs[-1][2], runs[-1][2]):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((one, other, 1))
    return tuple(runs)


def after(moves: Moves, line: int) -> int:
    """Where a line has gone. Raises Gone."""
    at = bisect_right(moves, line, key=_first) - 1
    if at < 0 or line >= moves[at][0] + moves[at][2]:
        raise Gone
    return line - moves[at][0] + moves[at][1]


def _first(run: Run) -> int:
    return run[0]
