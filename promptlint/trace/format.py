"""The trace file: JSON Lines, one record a request, plain or gzip. ``docs/record.md`` describes every field.

A record is written when its answer has ended, in one write to the end of the file, under a lock: a program that is
killed loses the record it was writing, and several processes can write to one file. In a gzip trace each record is a
member of its own, so that the same holds there. Standard library only.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: appending writes of several processes are not kept apart there
    fcntl = None  # type: ignore[assignment]

VERSION = 1
"""Of the format. A reader takes records up to its own version; fields that it does not know are left out."""

_GZIP = b"\x1f\x8b\x08"
_MEMBER = b"\x1f\x8b\x08\0\0\0\0\0"
"""How a member begins that ``Writer`` made: no name, no time."""
_CHUNK = 1 << 18
_LARGEST_MEMBER = 1 << 26
"""Bytes of a gzip member that are kept so as to find the next one behind a cut one."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a call site: a function inside the user's project, its file relative to the project's folder."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it.

    ``at`` is the unix time of sending in seconds, ``began`` and ``lasted`` are the seconds from there to the first and
    the last byte of the answer. ``api`` is the shape of the body: "messages", "chat", "responses", "converse",
    "invoke", "generate" or "completions". ``provider`` is a name of ``promptlint.provider``, where whoever wrote the
    trace could tell, as the recorder can by a vendor's own host; else endpoint and model tell the reader. ``body`` is
    the JSON text as sent, secrets masked. ``status`` is ``None`` when no answer came, ``error`` says why it did not
    come or did not end. ``usage`` is the provider's own object. ``retry_of`` is the id of the exchange that this one
    repeats. ``answer`` is the text of the response. ``stack`` has the innermost frame first. ``redacted`` names the key
    with which the texts were hashed (``promptlint.trace.redaction``): only texts under one key can be compared.
    """

    id: str
    at: float
    endpoint: str
    api: str | None
    body: str
    provider: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    began: float | None = None
    lasted: float | None = None
    status: int | None = None
    error: str | None = None
    usage: Mapping[str, Any] | None = None
    response_id: str | None = None
    retry_of: str | None = None
    answer: str | None = None
    stack: tuple[Frame, ...] = ()
    pid: int | None = None
    thread: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What a reader stumbled over. ``lost``: a line that is no record; otherwise a note, such as a cut last line."""

    path: str
    line: int
    message: str
    lost: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class TraceError(Exception):
    """A record that cannot be understood."""


def encode(exchange: Exchange) -> str:
    """The record of an exchange: one line, without its end."""
    record = {name: getattr(exchange, name) for name in _TYPES}
    record["stack"] = [{"file": f.file, "line": f.line, "function": f.function} for f in exchange.stack]
    fields = (f'"{name}":{_quoted(v) if name == "body" else _dumps(v)}' for name, v in record.items())
    return f'{{"v":{VERSION},{",".join(fields)}}}'


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quoted(text: str) -> str:
    """A text as JSON; faster than ``json`` where nothing but quotes has to be escaped, as in most bodies."""
    if any(control in text for control in _CONTROLS):
        return _dumps(text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_CONTROLS = tuple(map(chr, range(32)))


_TEXT = (str, type(None))
_NUMBER = (int, float, type(None))
_TYPES: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "at": (int, float),
    "endpoint": (str,),
    "api": _TEXT,
    "body": (str,),
    "provider": _TEXT,
    "headers": (dict,),
    "began": _NUMBER,
    "lasted": _NUMBER,
    "status": (int, type(None)),
    "error": _TEXT,
    "usage": (dict, type(None)),
    "response_id": _TEXT,
    "retry_of": _TEXT,
    "answer": _TEXT,
    "stack": (list,),
    "pid": (int, type(None)),
    "thread": _TEXT,
    "redacted": _TEXT,
}
"""The fields of a record in their order, and what each can be."""
_REQUIRED = ("id", "at", "endpoint", "api", "body")


def decode(line: str | bytes) -> Exchange:
    """The exchange of one line. Raises ``TraceError``, which says what is wrong with it."""
    return restored(_object(line))


def restored(record: Mapping[str, Any]) -> Exchange:
    """The exchange of a record that was read already. Raises ``TraceError``."""
    version = record.get("v")
    if not isinstance(version, int):
        raise TraceError('not a record of a trace: it has no version ("v")')
    if version > VERSION:
        raise TraceError(f"a record of version {version}: a newer promptlint wrote it, this one reads up to {VERSION}")
    if missing := [name for name in _REQUIRED if name not in record]:
        raise TraceError(f'the record has no "{missing[0]}"')
    known = {name: record[name] for name in _TYPES if name in record}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise TraceError(f'"{name}" cannot be {json.dumps(value)[:80]}')
    try:
        stack = tuple(Frame(str(f["file"]), int(f["line"]), str(f["function"])) for f in known.pop("stack", ()))
    except (KeyError, TypeError, ValueError):
        raise TraceError('"stack" must list frames with "file", "line" and "function"') from None
    return Exchange(**known, stack=stack)


def _object(line: str | bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise TraceError("not a JSON object")
    return record


def read(path: str | os.PathLike[str], report: Callable[[Problem], None] = lambda problem: None) -> Iterator[Exchange]:
    """The exchanges of a trace, in the order of the file, which is that of their ends; one is held in memory at a time.

    What cannot be read is left out and reported, and so is a note in the file that recording stopped. Raises
    ``OSError`` when the file cannot be opened.
    """
    name, number = os.fspath(path), 0
    for number, line in enumerate(_lines(name), 1):
        if not line.strip():
            continue
        try:
            yield _exchange(line)
        except _Note as note:
            report(Problem(name, number, str(note), lost=False))
        except TraceError as error:
            if line.endswith(b"\n"):
                report(Problem(name, number, str(error)))
            else:
                report(Problem(name, number, "the last record is cut off: it is left out", lost=False))


class _Note(Exception):
    """A line that is no request but something that the writer had to say."""


def _exchange(line: bytes) -> Exchange:
    if line.startswith(b'{"v":1,"note":'):
        raise _Note(str(_object(line)["note"]))
    return decode(line)


def _lines(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        if file.read(len(_GZIP)) != _GZIP:
            file.seek(0)
            yield from file
            return
        file.seek(0)
        rest = b""
        for piece in _unpacked(lambda: file.read(_CHUNK)):
            first, newline, tail = piece.partition(b"\n")
            if not newline:
                rest += first
                continue
            yield rest + first + b"\n"
            *whole, rest = tail.split(b"\n")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest


def _unpacked(chunk: Callable[[], bytes]) -> Iterator[bytes]:
    """The contents of gzip members. Behind one that is cut or damaged it goes on with the next, on a new line."""
    data, ended = chunk(), True
    while data:
        member, seen, damaged = zlib.decompressobj(31), bytearray(data), False
        while data and not member.eof:
            try:
                piece = member.decompress(data, _CHUNK)
            except zlib.error:
                damaged = True
                break
            if piece:
                ended = piece.endswith(b"\n")
                yield piece
            data = member.unconsumed_tail
            if not data and not member.eof:
                data = chunk()
                if len(seen) < _LARGEST_MEMBER:
                    seen += data
        if member.eof:
            data = member.unused_data or chunk()
        elif (start := seen.find(_MEMBER, 1)) >= 0:
            data = bytes(seen[start:])
            if not ended:
                yield b"\n"
        elif not damaged:
            return
        else:
            data = _next_member(chunk)


def _next_member(chunk: Callable[[], bytes]) -> bytes:
    """What follows from the start of the next member on; empty when there is none."""
    rest = b""
    while data := chunk():
        rest = rest[-len(_MEMBER) :] + data
        if (start := rest.find(_MEMBER)) >= 0:
            return rest[start:]
    return b""


class Writer:
    """Appends exchanges to a trace; gzip when the name ends in ``.gz``. Threads and processes may share a file.

    With ``max_bytes`` the file never grows beyond that: what would not fit is left out, and a note says so once.
    Raises ``OSError`` when the file cannot be opened, and ``write`` when it cannot be written; what was there before
    stays whole then.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int | None = None) -> None:
        self.path = os.path.abspath(path)
        self.max_bytes = max_bytes
        self._open()

    def _open(self) -> None:
        # Read access is for a look at the last byte. A fork opens anew: the lock belongs to the open file.
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)

    def write(self, exchange: Exchange) -> bool:
        """Whether the exchange was written: not if the trace is full or closed."""
        return self.write_line(encode(exchange))

    def write_line(self, line: str) -> bool:
        """The same for a record that is encoded already."""
        data = self._packed(line)
        if self._pid != os.getpid():
            self._open()
        with self._lock:
            if self._file < 0:
                return False
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                return self._append(data)
            finally:
                if fcntl is not None:
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def _append(self, data: bytes) -> bool:
        size, fits = os.fstat(self._file).st_size, True
        if self.max_bytes is not None:
            note = self._packed(
                f'{{"v":{VERSION},"note":"recording stopped here: the trace has reached its limit of'
                f' {self.max_bytes:,} bytes, and later requests are not in it"}}'
            )
            noted = self._tail(size, len(note)) == note
            fits = not noted and size + len(data) + len(note) < self.max_bytes
            if noted or (not fits and size + len(note) >= self.max_bytes):
                return False
            data = data if fits else note
        if size and not self.path.endswith(".gz") and self._tail(size, 1) != b"\n":
            data = b"\n" + data  # someone was killed while writing
        try:
            written = os.write(self._file, data)
        except OSError:
            os.ftruncate(self._file, size)
            raise
        if written < len(data):
            os.ftruncate(self._file, size)
            raise OSError(errno.ENOSPC, f"no room for a record of {len(data):,} bytes", self.path)
        return fits

    def _tail(self, size: int, length: int) -> bytes:
        if size < length:
            return b""
        os.lseek(self._file, size - length, os.SEEK_SET)
        return os.read(self._file, length)

    def _packed(self, line: str) -> bytes:
        # A lone surrogate, which UTF-8 cannot say, becomes the escape that JSON has for it.
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        return gzip.compress(data, 6, mtime=0) if self.path.endswith(".gz") else data

    def close(self) -> None:
        """Nothing is written afterwards."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1  # the number may be another file's from now on
