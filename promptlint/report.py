"""The result of one run, which every output format renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlint.finding import Finding
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.request import Request


@dataclass(frozen=True, slots=True)
class Problem:
    """An input that could not be analysed, in words for the user; the run goes on without it."""

    path: str
    message: str
    line: int | None = None
    cell: int | None = None
    """The number of the cell in a notebook; then the line counts from its start."""
    internal: bool = False
    """It is a fault of promptlint or of a rule, not of the input."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a call is no sink, or which gate held back a finding there (``map --why-not``)."""

    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run found, before thresholds.

    ``findings`` are sorted by path, line and rule; suppressed ones are included and marked. ``unparsed`` counts files
    with broken syntax that no finding tells of, because that rule is switched off.
    """

    files: int
    findings: tuple[Finding, ...]
    requests: Sequence[Request]
    problems: tuple[Problem, ...] = ()
    withheld: Sequence[Withheld] = ()
    sources: dict[str, str] = field(default_factory=dict)
    """Text of the files that findings point into, by path, for code frames."""
    unparsed: int = 0
    set_aside: tuple[str, ...] = ()
    """What the user asked to leave out of ``findings``, in words: how many, and why."""
