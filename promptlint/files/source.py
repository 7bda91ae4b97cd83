"""One Python file: its bytes, its text, its syntax tree and the places in it."""

from __future__ import annotations

import ast
import os
import re
import stat
import warnings
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from promptlint.files import disk
from promptlint.files.notebook import SUFFIX, NotANotebook, code
from promptlint.span import Cell, Span

MAX_BYTES = 8_000_000
"""Larger files are data or generated; reading them would cost more than it could tell."""

LINE_BREAK = re.compile(r"\r\n|\r|\n")
"""What ends a line for the Python tokenizer."""
_FIRST_LINES = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n)?([^\r\n]*)")
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"[ \t\f]*(?:#|$)")

_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that gives no Python text, and why, in words for the user."""

    path: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that is no valid Python; the column counts code points from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Source:
    """A file that was read and can be decoded; ``path`` is what the user is shown, ``file`` what the system opens.

    Of a notebook, ``data`` is the Python in its ``cells``.
    """

    path: str
    file: Path
    data: bytes
    encoding: str = "utf-8"
    cells: tuple[Cell, ...] = ()

    @cached_property
    def text(self) -> str:
        """The text, without byte order mark."""
        return decode(self)

    @cached_property
    def tree(self) -> ast.Module | Broken:
        """The syntax tree, or why there is none."""
        return parse(self)

    @cached_property
    def whole_cells(self) -> ast.Module | None:
        """The tree of a notebook without the cells that are no Python; ``None`` for other files."""
        return _whole_cells(self)

    def forget_tree(self) -> None:
        """Leaves the tree to those who have it."""
        self.__dict__.pop("tree", None)

    @cached_property
    def lines(self) -> list[str]:
        """The lines as the Python tokenizer counts them (a form feed or U+2028 does not end a line)."""
        return LINE_BREAK.split(self.text)

    def cell(self, line: int) -> Cell | None:
        """The cell of a notebook that holds a line."""
        return self.cells[max(0, bisect_right(self.cells, line, key=lambda c: c.first) - 1)] if self.cells else None


class Located(Protocol):
    """A syntax node with a position, as ``ast`` gives it: lines from 1, columns in UTF-8 bytes from 0."""

    @property
    def lineno(self) -> int: ...
    @property
    def col_offset(self) -> int: ...
    @property
    def end_lineno(self) -> int | None: ...
    @property
    def end_col_offset(self) -> int | None: ...


def display(file: str | os.PathLike[str]) -> str:
    """The path as the user is shown it: relative to the working directory when inside it, else absolute."""
    full = os.path.abspath(file)
    here = os.path.join(os.getcwd(), "")
    shown = full[len(here) :] if full.startswith(here) else full
    if os.sep != "/":
        shown = shown.replace(os.sep, "/")
    return shown if shown.isascii() else os.fsencode(shown).decode("utf-8", "replace")


def read(path: Path) -> Source | Unreadable:
    """Read and check one file."""
    shown = display(path)
    data = read_bytes(path, shown)
    return data if isinstance(data, Unreadable) else from_bytes(shown, path, data)


def read_bytes(file: Path, shown: str) -> bytes | Unreadable:
    """The bytes of a regular file of bearable size; never waits, not even for a pipe."""
    info, found = _bytes(file)
    disk.note_content(os.fspath(file), info, found if isinstance(found, bytes) else found.encode())
    return found if isinstance(found, bytes) else Unreadable(shown, found)


def content(file: Path) -> bytes:
    """The bytes of a file, or those of the words for why it cannot be read: what ``read_bytes`` notes."""
    found = _bytes(file)[1]
    return found if isinstance(found, bytes) else found.encode()


def _bytes(file: Path) -> tuple[os.stat_result | None, bytes | str]:
    """What a file was before it was read, and its bytes or why there are none."""
    info = None
    try:
        with open(file, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | _NO_WAIT)) as stream:
            info = os.fstat(stream.fileno())
            if not stat.S_ISREG(info.st_mode):
                return info, "not a regular file"
            if info.st_size > MAX_BYTES:
                return info, f"too large ({info.st_size / 1e6:.1f} MB; the limit is {MAX_BYTES // 10**6} MB)"
            return info, stream.readall()
    except OSError as error:
        return info, reason(error)


def reason(error: OSError) -> str:
    """What went wrong with a file, as a phrase for the user."""
    if isinstance(error, FileNotFoundError):
        return "no longer exists"
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, IsADirectoryError):
        return "is a directory"
    text = error.strerror or type(error).__name__
    return text[:1].lower() + text[1:]


def from_bytes(shown: str, file: Path, data: bytes) -> Source | Unreadable:
    """Check that the bytes of a file are Python text by the rules of PEP 263, or a notebook."""
    if file.suffix == SUFFIX:
        return _notebook(shown, file, data)
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return Unreadable(shown, "encoded as UTF-16, which Python does not read; save the file as UTF-8", 1)
    nul = data.find(b"\0")
    if nul >= 0:
        return Unreadable(shown, "holds NUL bytes: a binary file, or not encoded as UTF-8", _line_at(data, nul))
    declared = _declared_encoding(data)
    if data.startswith(BOM_UTF8):
        if declared and declared.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
            return Unreadable(shown, f'starts with a UTF-8 byte order mark but declares the encoding "{declared}"', 1)
        declared = "utf-8-sig"
    source = Source(shown, file, data, declared or "utf-8")
    try:
        source.text  # noqa: B018  (decodes once and keeps the result)
    except UnicodeDecodeError as error:
        byte, line = data[error.start], _line_at(data, error.start)
        if declared in (None, "utf-8-sig"):
            message = f"not UTF-8 (byte 0x{byte:02x}); declare its encoding in the first line or save it as UTF-8"
        else:
            message = f'declares the encoding "{declared}" but is not encoded so (byte 0x{byte:02x})'
        return Unreadable(shown, message, line)
    except LookupError:
        return Unreadable(shown, f'declares an encoding that Python does not know: "{declared}"', 1)
    except ValueError as error:
        return Unreadable(shown, f'declares the encoding "{declared}" but is not encoded so ({error})')
    return source


def _notebook(shown: str, file: Path, data: bytes) -> Source | Unreadable:
    try:
        text, cells = code(data)
    except NotANotebook as error:
        return Unreadable(shown, str(error))
    return Source(shown, file, text.encode(), cells=cells)


def to_bytes(text: str) -> bytes:
    """The bytes that an editor would write for a text: in the encoding that it declares, if that can hold it."""
    try:
        return text.encode(_declared_encoding(text.encode("utf-8", "replace")) or "utf-8")
    except (UnicodeError, LookupError):
        return text.encode("utf-8", "replace")


def _declared_encoding(data: bytes) -> str | None:
    start = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    lines = _FIRST_LINES.match(data, start)
    assert lines is not None
    found = _COOKIE.match(lines[1]) or (_COOKIE.match(lines[2]) if _BLANK.match(lines[1]) else None)
    return found[1].decode("ascii", "replace") if found else None


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def decode(source: Source) -> str:
    """The text of a source, without byte order mark; ``Source.text`` keeps it."""
    return source.data.decode(source.encoding)


def parse(source: Source) -> ast.Module | Broken:
    """The syntax tree of a source; ``Source.tree`` keeps it. Nothing that a file holds makes this raise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        return _newer(source, error)
    except (RecursionError, MemoryError):
        return Broken(1, 1, "too deeply nested to analyse")
    except ValueError as error:
        return Broken(1, 1, str(error))


def _newer(source: Source, error: SyntaxError) -> ast.Module | Broken:
    """The tree of a text that is written for a newer Python, or what is wrong with it for every Python."""
    from promptlint.files.downlevel import downlevel  # its patterns take time to compile and are seldom needed

    found = downlevel(source.text)
    if isinstance(found, ast.Module):
        return found
    for cell in source.cells:
        tree = _cell(source, cell).tree
        if isinstance(tree, Broken):  # what is left open in a cell ends with it
            return replace(tree, line=tree.line + cell.first - 1)
    return _broken(source, found or error)


def _cell(source: Source, cell: Cell) -> Source:
    """One cell as a text of its own."""
    return Source(source.path, source.file, "\n".join(source.lines[cell.first - 1 : cell.last]).encode())


def _whole_cells(source: Source) -> ast.Module | None:
    lines = list(source.lines)
    for cell in source.cells:
        if isinstance(_cell(source, cell).tree, Broken):
            lines[cell.first - 1 : cell.last] = [""] * (cell.last - cell.first + 1)
    tree = replace(source, data="\n".join(lines).encode(), cells=()).tree if source.cells else None
    return tree if isinstance(tree, ast.Module) and tree.body else None


def _broken(source: Source, error: SyntaxError) -> Broken:
    line = min(max(error.lineno or 1, 1), len(source.lines))
    message = error.msg
    if message.startswith("too many nested"):
        message = "too deeply nested to analyse"
    return Broken(line, max(error.offset or 1, 1), message)


def span(source: Source, node: Located) -> Span:
    """Where a node stands, in lines and code points from 1."""
    end_line = node.end_lineno or node.lineno
    end_column = node.col_offset if node.end_col_offset is None else node.end_col_offset
    return Span(
        source.path,
        node.lineno,
        _column(source, node.lineno, node.col_offset),
        end_line,
        _column(source, end_line, end_column),
        source.cell(node.lineno) if source.cells else None,
    )


def _column(source: Source, line: int, offset: int) -> int:
    if source.text.isascii():
        return offset + 1
    text = source.lines[line - 1] if line <= len(source.lines) else ""
    if text.isascii():
        return offset + 1
    # The first n bytes lie within the first n code points: a long line is encoded only as far as needed.
    return len(text[:offset].encode()[:offset].decode("utf-8", "ignore")) + 1
