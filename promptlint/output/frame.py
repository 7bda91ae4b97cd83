"""Code frames: source lines with their numbers, and carets under the spans that matter.

Everything is measured in terminal cells, so that carets stay below their text when a line holds tabs, combining
characters, CJK or emoji; spans come in code points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len

from promptlint.output.paint import Paint
from promptlint.output.words import discreet, spot, visible
from promptlint.span import Span

_TAB = 4
_CONTEXT = 2
_LEAD = 12
"""Cells kept ahead of a span when the beginning of its line is cut off."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline, what to say about it, and the styles of both."""

    span: Span
    label: str
    style: str
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The finished lines, and the width of the line numbers so that notes below can line up."""

    lines: tuple[str, ...]
    gutter: int


def lines_of(text: str) -> list[str]:
    """The lines of a file as Python numbers them."""
    return discreet(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def sheet_of(text: str, span: Span) -> list[str]:
    """The lines of a file, or of the cell of a notebook, that the user counts the rows of a span in."""
    if not text:
        return []
    lines = lines_of(text)
    return lines[span.cell.first - 1 : span.cell.last] if span.cell else lines


def pieces(text: str) -> list[str]:
    """What to print for each code point of a line: tabs expanded, control characters replaced."""
    shown: list[str] = []
    cells = 0
    for character in text:
        piece = " " * (_TAB - cells % _TAB) if character == "\t" else visible(character)
        cells += cell_len(piece)
        shown.append(piece)
    return shown


def _cells(shown: Sequence[str]) -> int:
    return cell_len("".join(shown))


def window(shown: Sequence[str], start: int, end: int, room: int) -> tuple[int, int]:
    """The stretch of a line to print in ``room`` cells, dots for what is cut off included, around ``start:end``.

    The beginning of the line stays if the span fits behind it; otherwise about a third of the room is left to what
    follows the span.
    """
    if _cells(shown) <= room:
        return 0, len(shown)
    end = min(max(end, start + 1), len(shown))
    upto = [0, *accumulate(map(cell_len, shown))]
    left = 0
    if upto[end] > room - 1:
        while upto[start] - upto[left] > _LEAD and upto[end] - upto[left] > room * 2 // 3:
            left += 1
        while left and upto[-1] - upto[left - 1] <= room - 1:
            left -= 1
    right = bisect_right(upto, upto[left] + room) - 1
    # Joined characters can be wider than their sum, and dots take a cell each.
    while right > left and _cells(shown[left:right]) + (left > 0) + (right < len(shown)) > room:
        right -= 1
    return left, right


def clip(text: str, room: int, start: int = 0) -> str:
    """A line as a frame prints it, cut to ``room`` cells around the code point ``start``."""
    shown = pieces(text)
    left, right = window(shown, start, start + 1, room)
    return "…" * (left > 0) + "".join(shown[left:right]) + "…" * (right < len(shown))


def _columns(span: Span, length: int) -> tuple[int, int]:
    """The code points of the span's first line that it covers, from 0."""
    start = min(span.column - 1, length)
    if span.end_line > span.line:
        return start, length
    return start, max(start, min(span.end_column - 1, length))


def _label(mark: Mark) -> str:
    if mark.span.end_line > mark.span.line:
        return f"{mark.label} (to line {mark.span.end_row})".strip()
    return mark.label


def _underlines(text: str, marks: Sequence[Mark], room: int, paint: Paint) -> Iterator[str]:
    """The line itself, then one row of carets and label for each mark on it."""
    shown = pieces(text)
    left, right = window(shown, *(_columns(marks[0].span, len(text)) if marks else (0, 0)), room)
    lead = int(left > 0)
    yield ("…" * lead + "".join(shown[left:right]) + "…" * (right < len(shown))).rstrip()
    for mark in marks:
        start, end = (min(max(column, left), right) for column in _columns(mark.span, len(text)))
        offset = lead + _cells(shown[left:start])
        carets = ("^" if mark.primary else "-") * max(1, _cells(shown[start:end]))
        label = _label(mark)
        if label and offset + len(carets) + 1 + cell_len(label) > room:
            yield " " * offset + paint(carets, mark.style)
            yield " " * max(0, min(offset, room - cell_len(label))) + paint(label, mark.style)
        else:
            yield " " * offset + paint(f"{carets} {label}".rstrip(), mark.style)


def _wanted(marks: Sequence[Mark], lines: Sequence[str]) -> list[int]:
    """The numbers of the lines of one sheet to print: marked ones, and context of the primary span."""
    wanted = {mark.span.row for mark in marks}
    for mark in marks:
        if mark.primary:
            around = range(max(1, mark.span.row - _CONTEXT), min(len(lines), mark.span.row + _CONTEXT) + 1)
            filled = [number for number in around if lines[number - 1].strip() or number in wanted]
            wanted.update(range(filled[0], filled[-1] + 1))
    return sorted(wanted)


def draw(marks: Sequence[Mark], sources: Mapping[str, str], width: int, paint: Paint) -> Frame:
    """The frame of one finding: the sheet of the first mark, then the others under a line that names them.

    A sheet is what the user counts lines in: a file, or a cell of a notebook.

    Marks in files whose text is not known, or beyond its end, are left out.
    """
    sheets: dict[tuple[str, int | None], list[Mark]] = {}
    for mark in marks:
        sheets.setdefault((mark.span.path, mark.span.cell_number), []).append(mark)
    texts = {sheet: sheet_of(sources.get(sheet[0], ""), found[0].span) for sheet, found in sheets.items()}
    known = {sheet: [m for m in found if 1 <= m.span.row <= len(texts[sheet])] for sheet, found in sheets.items()}
    wanted = {sheet: _wanted(found, texts[sheet]) for sheet, found in known.items() if found}
    gutter = max((len(str(numbers[-1])) for numbers in wanted.values()), default=1)
    bar = paint("|", "blue")
    empty = f"{' ' * gutter} {bar}"
    rows: list[str] = []
    for sheet, numbers in wanted.items():
        if rows:
            first = known[sheet][0].span
            rows.append(f"{' ' * gutter}{paint(':::', 'blue')} {spot(first)}:{first.column}")
        rows.append(empty)
        previous = numbers[0] - 1
        for number in numbers:
            if number > previous + 1:
                rows.append(paint("...", "blue"))
            previous = number
            here = sorted((mark for mark in known[sheet] if mark.span.row == number), key=lambda mark: not mark.primary)
            text, *below = _underlines(texts[sheet][number - 1], here, width - gutter - 3, paint)
            rows.append(f"{paint(f'{number:>{gutter}}', 'blue')} {bar} {text}".rstrip())
            rows.extend(f"{empty} {row}" for row in below)
    return Frame(tuple(rows), gutter)
