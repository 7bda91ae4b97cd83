"""Rows of the user that name a function of the project itself: it is what the row says, and is not followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from promptlint.code.index import Function

if TYPE_CHECKING:
    from promptlint.codebase.program import Program

Row = TypeVar("Row")


def row_for(rows: Mapping[str, Row], program: Program, function: Function, called: str) -> Row | None:
    """The row for a function that is called by a dotted name: by where it is defined, that name, or ``*.name``."""
    return next((rows[name] for name in _names(program, function, called) if name in rows), None) if rows else None


def _names(program: Program, function: Function, called: str) -> Iterator[str]:
    yield f"{function.module.name}.{function.qualname}"
    yield called
    for cls in program.mro(function.owner)[1:] if function.owner is not None else ():
        yield f"{cls.module.name}.{cls.qualname}.{function.name}"
    yield f"*.{function.name}"
