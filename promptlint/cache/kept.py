"""What a run leaves for later ones, in pickles of which most of them need only some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from promptlint.cache.records import unpickled
from promptlint.files import moves
from promptlint.files.moves import Moves
from promptlint.span import Cell, Span

Place = tuple[str, int, int, int, int, Cell | None]
"""The parts of a ``Span``."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run asked and what it found; empty where that is not known.

    ``places`` are those of all that was found. ``found`` is a ``finish.Found`` without its requests and without the
    calls that are none, and the numbers of these; ``rest`` are they themselves.
    """

    asked: bytes
    places: bytes
    found: bytes
    rest: bytes

    def spans(self, moved: Mapping[str, Moves]) -> list[Span]:
        """The places, those in changed files where they are now. Raises ``moves.Gone``."""
        places: tuple[Place, ...] = unpickled(self.places)
        return [_after(place, moved[place[0]]) if place[0] in moved else Span(*place) for place in places]


def _after(place: Place, moved: Moves) -> Span:
    path, line, column, end_line, end_column, cell = place
    return Span(
        path, moves.after(moved, line), column, moves.after(moved, end_line) if end_line else 0, end_column, cell
    )
