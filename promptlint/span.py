"""Places in source files, and the steps of a flow from source to sink."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from promptlint.frozen import record


@record(frozen=True, slots=True)
class Cell:
    """A code cell of a notebook: its number among all cells from 1, and which lines of the notebook's code it holds."""

    number: int
    first: int
    last: int


@record(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file; lines and columns count from 1, columns in code points, the end column is exclusive.

    Lines of a notebook are those of all its code cells, one after the other; ``cell`` is the one that the span starts
    in, and what is shown to the user (``row``, ``end_row``, ``at``) counts from there.
    """

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    cell: Cell | None = field(default=None, compare=False)

    @property
    def row(self) -> int:
        """The line as the user counts it."""
        return self.line - self.cell.first + 1 if self.cell else self.line

    @property
    def end_row(self) -> int:
        """The last line as the user counts it; 0 where it is not known."""
        return self.end_line - self.cell.first + 1 if self.cell and self.end_line else self.end_line

    @property
    def cell_number(self) -> int | None:
        """The number of the cell in a notebook."""
        return self.cell.number if self.cell else None

    @property
    def at(self) -> str:
        """The line in words, with its cell in a notebook: "12", "cell 3:12"."""
        return f"cell {self.cell.number}:{self.row}" if self.cell else str(self.line)

    def __str__(self) -> str:
        return f"{self.path}:{self.at}"


class Hop(StrEnum):
    """What happens to a value in a step of its flow, where that decides how it varies."""

    KEPT = "kept"  # in a state, or as a part of one
    ENTERED = "entered"  # put into a dict that keeps what stands under other keys
    FILLED = "filled"  # the same for a dict that a loop fills, which may be made anew each time
    ONCE = "once"  # stored where nothing was stored yet
    LISTED = "listed"  # in an order that is not fixed
    RETURNED = "returned"
    CALLED = "called"  # a step on the way to a request


@record(frozen=True, slots=True)
class Step:
    """One hop of a flow: what happens to the value at ``span``; ``because`` names the knowledge row that says so."""

    span: Span
    message: str
    because: str | None = None
    hop: Hop | None = None
    place: str = ""
    """The name of the state that a value is kept in."""
