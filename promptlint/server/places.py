"""Places of an analysis as places in the documents that the editor shows now, in the units that it counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from promptlint.files import source
from promptlint.server.analysis import Buffer, Snapshot
from promptlint.span import Span


class Places:
    """Translates between an analysis and the documents of the editor.

    A document can be ahead of the analysis while it is being typed into. Lines that are in both keep their findings
    wherever they have moved; the others have none until the next analysis.
    """

    def __init__(self, snapshot: Snapshot, buffers: Mapping[str, Buffer], codec: PositionCodec) -> None:
        self.snapshot = snapshot
        self._buffers = buffers
        self.codec = codec
        self._moves: dict[str, Callable[[int], int | None]] = {}

    def uri(self, path: str) -> str:
        """The address of a file, as the editor spells it if it is open."""
        file = os.path.abspath(path)
        buffer = self._buffers.get(file)
        return buffer.uri if buffer is not None else Path(file).as_uri()

    def version(self, path: str) -> int | None:
        """The version of a document, ``None`` when it is not open."""
        buffer = self._buffers.get(os.path.abspath(path))
        return buffer.version if buffer is not None else None

    def is_current(self, path: str) -> bool:
        """Whether the document holds the very text that was analysed."""
        buffer = self._buffers.get(os.path.abspath(path))
        return buffer is None or source.LINE_BREAK.split(buffer.text) == self.snapshot.lines(path)

    def range(self, span: Span) -> types.Range | None:
        """The stretch of the document that a span covers, or ``None`` where its first line is no more."""
        lines = self.snapshot.lines(span.path)
        start = self._moved(span.path, span.line)
        if start is None or not 0 < span.line <= len(lines):
            return None
        first = self._position(start, lines[span.line - 1], span.column)
        end = self._moved(span.path, span.end_line) if span.end_line else None
        if end is None or end < start or span.end_line > len(lines):
            return types.Range(first, self._position(start, lines[span.line - 1], len(lines[span.line - 1]) + 1))
        return types.Range(first, self._position(end, lines[span.end_line - 1], span.end_column))

    def location(self, span: Span) -> types.Location | None:
        """The place of a span in whatever file it is in."""
        where = self.range(span)
        return types.Location(self.uri(span.path), where) if where is not None else None

    def point(self, path: str, position: types.Position) -> tuple[int, int] | None:
        """Line and column of the analysis, from 1, that a position in a document stands for."""
        lines = self.snapshot.lines(path)
        buffer = self._buffers.get(os.path.abspath(path))
        line: int | None = position.line + 1
        if buffer is not None and line is not None:
            line = _moves(source.LINE_BREAK.split(buffer.text), lines)(line)
        if line is None or not 0 < line <= len(lines):
            return None
        units, column = 0, 0
        for column, character in enumerate(lines[line - 1] + "\n"):  # noqa: B007
            units += self.codec.client_num_units(character)
            if units > position.character:
                break
        return line, column + 1

    def end_of_line(self, path: str, line: int) -> types.Position | None:
        """Where the text of a line of the analysis ends in the document."""
        lines = self.snapshot.lines(path)
        now = self._moved(path, line)
        return self._position(now, lines[line - 1], len(lines[line - 1]) + 1) if now is not None else None

    def _position(self, line: int, text: str, column: int) -> types.Position:
        return types.Position(line - 1, self.codec.client_num_units(text[: column - 1]))

    def _moved(self, path: str, line: int) -> int | None:
        file = os.path.abspath(path)
        if file not in self._moves:
            buffer = self._buffers.get(file)
            before = self.snapshot.lines(path)
            now = source.LINE_BREAK.split(buffer.text) if buffer is not None else before
            self._moves[file] = _moves(before, now)
        return self._moves[file](line)


def _moves(before: Sequence[str], now: Sequence[str]) -> Callable[[int], int | None]:
    """Where each line, counted from 1, of one text stands in another; ``None`` for lines that are not in it."""
    if before == now:
        return lambda line: line
    short = min(len(before), len(now))
    head = next((i for i in range(short) if before[i] != now[i]), short)
    tail = next((i for i in range(short - head) if before[-1 - i] != now[-1 - i]), short - head)
    middle = SequenceMatcher(None, before[head : len(before) - tail], now[head : len(now) - tail], autojunk=False)
    moved = {
        head + block.a + i + 1: head + block.b + i + 1
        for block in middle.get_matching_blocks()
        for i in range(block.size)
    }
    moved |= {line: line for line in range(1, head + 1)}
    moved |= {len(before) - i: len(now) - i for i in range(tail)}
    return moved.get
