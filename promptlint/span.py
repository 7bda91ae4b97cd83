"""Places in source files, and the steps of a flow from source to sink."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file; lines and columns count from 1, columns in code points, the end column is exclusive."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Step:
    """One hop of a flow: what happens to the value at ``span``; ``because`` names the knowledge row that says so."""

    span: Span
    message: str
    because: str | None = None
