"""The findings of earlier runs on the disk, and whether they still hold.

An entry belongs to one kind of run (its paths, settings, folder, version, Python) and says everything that the run
asked of the file system, with a stamp and a digest of each answer (``promptlint.disk``). It holds while every answer
is the same: stamps are compared, and only where one differs the content is. Whoever changes a file between two runs
changes its stamp or its content, so nothing has to be told what changed.

What is in the folder is not trusted: an entry that is damaged, of another version or made by somebody else is
ignored, and nothing but plain records of promptlint can come out of one. Entries are written beside their place and
moved there, so that runs at the same time, or killed ones, leave whole entries or none.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from promptlint import __version__, disk, source, walk
from promptlint.disk import FILE, FOLDER, KIND, Notes, Stamp
from promptlint.report import Report

if TYPE_CHECKING:
    from promptlint.config import Settings

NAME = ".promptlint_cache"
_HERE = Path(__file__).resolve().parent
"""The installation: another one of the same version, such as a checkout, may find something else."""
SUFFIX = ".run"

_MAGIC = b"promptlint run 1\n"
_LENGTHS = struct.Struct("<6Q")
_WIDTH = len(disk.MISSING)
_DIGEST = len(disk.digest(b""))
_TAG = "CACHEDIR.TAG"
_OWN = {
    ".gitignore": "# made by promptlint\n*\n",
    _TAG: "Signature: 8a477f597d28d172789f06886806bc55\n# made by promptlint; see https://bford.info/cachedir/\n",
}
"""What marks the folder as one that can be deleted, for people and for programs that make backups."""

MOST_ENTRIES = 100
MOST_BYTES = 300_000_000
OLDEST = 30 * 86_400.0
"""Seconds without use after which an entry is deleted."""
_ABANDONED = 3_600.0
"""Seconds after which a file that a killed run left behind is deleted."""
_RECORDS = frozenset(("finding", "provider", "report", "request", "span", "tokens"))
"""The modules of promptlint whose dataclasses and enumerations an entry may hold."""

_PLAIN: dict[tuple[str, str], type] = {("builtins", "frozenset"): frozenset, ("datetime", "date"): date}
_NO_MATTER = ("cache_dir", "min_severity", "min_confidence", "origins")
"""Settings that a report does not depend on."""

_T = TypeVar("_T")


class _Damaged(Exception):
    """An entry that is not what a run of this version wrote."""


def folder(settings: Settings) -> Path:
    """Where entries are kept: as set, or beside the file with the settings, or in the working folder."""
    return settings.cache_dir or (settings.root if settings.file is not None else Path.cwd()) / NAME


@dataclass(frozen=True, slots=True)
class Entry:
    """The place of the findings of one kind of run."""

    file: Path
    settings: Settings

    @staticmethod
    def of(paths: Sequence[Path], settings: Settings, finish: str = "") -> Entry:
        """The entry for a run on ``paths`` in the working folder; ``finish`` says what was made of its report."""
        asked = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in _NO_MATTER}
        maker = (__version__, str(_HERE), sys.version, sys.implementation.name)
        key = repr((maker, os.getcwd(), list(map(str, paths)), asked, finish))
        name = disk.digest(key.encode("utf-8", "surrogateescape")).hex()
        return Entry(folder(settings) / f"{name}{SUFFIX}", settings)

    def find(self) -> Report | None:
        """The report of the last run, if a new one would give the same."""
        try:
            held = _Held.read(self.file.read_bytes())
            stamps = held.current()
            if stamps is None:
                return None
            report = held.report()
            if stamps != held.stamps:
                self._write(held.with_stamps(stamps))
            elif time.time() - self.file.stat().st_mtime > 86_400:
                os.utime(self.file)  # in use
        except (OSError, _Damaged):
            return None
        return report

    def keep(self, report: Report, notes: Notes) -> None:
        """Keeps a report with everything that it follows from; does nothing where that cannot be written."""
        own = _own_files(self.settings, notes)
        if notes.torn or not notes.seen or own is None or any(problem.internal for problem in report.problems):
            return
        items = {**notes.seen, **own}
        with contextlib.suppress(OSError):
            _make(self.file.parent)
            self._write(_Held.made(items, report))
            prune(self.file.parent)

    def _write(self, held: _Held) -> None:
        waiting = self.file.with_name(f"{self.file.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        try:
            waiting.write_bytes(held.data())
            os.replace(waiting, self.file)
        finally:
            with contextlib.suppress(OSError):
                waiting.unlink()


@dataclass(slots=True)
class _Held:
    """What an entry holds: the questions to the file system with the answers, and the report in pickled parts."""

    kinds: str
    names: list[str]
    stamps: array[int]
    digests: bytes
    main: bytes
    rest: bytes

    @staticmethod
    def made(items: dict[tuple[str, str], tuple[Stamp, bytes]], report: Report) -> _Held:
        stamps = array("q")
        for stamp, _ in items.values():
            stamps.extend(stamp)
        main = {f.name: getattr(report, f.name) for f in fields(Report) if f.name not in ("requests", "withheld")}
        return _Held(
            "".join(kind for kind, _ in items),
            [name for _, name in items],
            stamps,
            b"".join(digest or bytes(_DIGEST) for _, digest in items.values()),
            _pickled((main, len(report.requests), len(report.withheld))),
            _pickled((tuple(report.requests), tuple(report.withheld))),
        )

    @staticmethod
    def read(data: bytes) -> _Held:
        head = len(_MAGIC) + _DIGEST
        if not data.startswith(_MAGIC) or disk.digest(data[head:]) != data[len(_MAGIC) : head]:
            raise _Damaged
        try:
            parts = []
            end = head + _LENGTHS.size
            for length in _LENGTHS.unpack_from(data, head):
                parts.append(data[end : end + length])
                end += length
            stamps = array("q")
            stamps.frombytes(parts[2])
            names = parts[1].decode("utf-8", "surrogateescape").split("\0")
            held = _Held(parts[0].decode(), names, stamps, parts[3], parts[4], parts[5])
        except (struct.error, ValueError) as error:
            raise _Damaged from error
        if not len(names) * _WIDTH == len(stamps) == len(held.kinds) * _WIDTH:
            raise _Damaged
        return held

    def data(self) -> bytes:
        names = "\0".join(self.names).encode("utf-8", "surrogateescape")
        parts = (self.kinds.encode(), names, self.stamps.tobytes(), self.digests, self.main, self.rest)
        body = _LENGTHS.pack(*map(len, parts)) + b"".join(parts)
        return _MAGIC + disk.digest(body) + body

    def with_stamps(self, stamps: array[int]) -> _Held:
        return _Held(self.kinds, self.names, stamps, self.digests, self.main, self.rest)

    def current(self) -> array[int] | None:
        """The present stamps if every answer is the same, else ``None``."""
        stamps = array("q")
        for kind, name in zip(self.kinds, self.names, strict=True):
            stamps.extend(disk.stamp(kind, name))
        if stamps == self.stamps:
            return stamps
        for number, (kind, name) in enumerate(zip(self.kinds, self.names, strict=True)):
            first, last = number * _WIDTH, (number + 1) * _WIDTH
            if stamps[first:last] == self.stamps[first:last]:
                continue
            digest = self.digests[number * _DIGEST : (number + 1) * _DIGEST]
            if not any(digest) or digest != _digest(kind, name):
                return None
            found: Stamp = (stamps[first], stamps[first + 1], stamps[first + 2], stamps[first + 3])
            stamps[first:last] = array("q", disk.settled(found))
        return stamps

    def report(self) -> Report:
        main, requests, withheld = _unpickled(self.main)
        later = _Later(self.rest)
        return Report(**main, requests=_Part(later, 0, requests), withheld=_Part(later, 1, withheld))


def _digest(kind: str, name: str) -> bytes:
    """The digest of the present answer."""
    if kind == KIND:
        return b""
    return disk.digest(source.content(Path(name)) if kind == FILE else walk.summary(name))


class _Later:
    """The parts of a report that most outputs need only the length of; read when they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts: tuple[tuple[Any, ...], ...] | None = None

    def part(self, number: int) -> tuple[Any, ...]:
        if self._parts is None:
            self._parts = _unpickled(self._data)
        return self._parts[number]


class _Part(Sequence[_T]):
    def __init__(self, later: _Later, number: int, length: int) -> None:
        self._later, self._number, self._length = later, number, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        found: _T | Sequence[_T] = self._later.part(self._number)[index]
        return found

    def __iter__(self) -> Iterator[_T]:
        return iter(self._later.part(self._number))


def _pickled(value: object) -> bytes:
    return pickle.dumps(value, protocol=5)


def _unpickled(data: bytes) -> Any:
    try:
        return _Records(io.BytesIO(data)).load()
    except Exception as error:  # whatever strange bytes bring about
        raise _Damaged(str(error)) from error


class _Records(pickle.Unpickler):
    """Reads nothing but records: other classes and functions are not even looked up."""

    def find_class(self, module: str, name: str) -> Any:
        package, _, inner = module.partition(".")
        if package == "promptlint" and inner in _RECORDS:
            import importlib

            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module:
                if issubclass(found, Enum) or hasattr(found, "__dataclass_fields__"):
                    return found
        elif (module, name) in _PLAIN:
            return _PLAIN[module, name]
        raise _Damaged(f"{module}.{name}")


def _own_files(settings: Settings, notes: Notes) -> dict[tuple[str, str], tuple[Stamp, bytes]] | None:
    """What of promptlint and its libraries took part in this run, ``None`` when some of it changed meanwhile.

    The standard library is known by the version of Python.
    """
    from promptlint import registry

    library = os.path.dirname(os.__file__) + os.sep
    loaded = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    modules = [os.path.abspath(f) for name, f in loaded.items() if f and not name.startswith(registry.MODULES)]
    code = {f for f in modules if not f.startswith(library) or "-packages" in f[len(library) :]}
    rules = {str(file) for file in (*_HERE.rglob("*.toml"), *registry.files(settings.rule_paths))}
    found = {}
    for names, since in ((code, _STARTED), (rules, notes.started)):
        for name in sorted(names):
            stamp = disk.stamp(FILE, name)
            if max(stamp[:2]) > since:
                return None
            found[FILE, name] = (stamp, b"")
    for path in (registry.BUILTIN, *settings.rule_paths):
        if path.is_dir():
            found[FOLDER, str(path)] = (disk.stamp(FOLDER, str(path)), disk.digest(walk.summary(str(path))))
    return found


_STARTED = time.time_ns()
"""When this process began to load promptlint."""


def _make(place: Path) -> None:
    if not (place / _TAG).exists():
        place.mkdir(parents=True, exist_ok=True)
        for name, text in _OWN.items():
            (place / name).write_text(text, encoding="utf-8")


def prune(place: Path) -> None:
    """Deletes entries that were not used for long, the oldest of too many, and what killed runs left behind."""
    now = time.time()
    kept: list[tuple[float, int, str]] = []
    with os.scandir(place) as scan:
        for entry in scan:
            with contextlib.suppress(OSError):
                info = entry.stat()
                age = now - info.st_mtime
                if entry.name.endswith(SUFFIX) and age < OLDEST:
                    kept.append((age, info.st_size, entry.path))
                elif entry.name.endswith(SUFFIX) or (_is_waiting(entry.name) and age > _ABANDONED):
                    os.unlink(entry.path)
    size = 0
    for number, (_, length, path) in enumerate(sorted(kept)):
        size += length
        if number and (number >= MOST_ENTRIES or size > MOST_BYTES):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _is_waiting(name: str) -> bool:
    return f"{SUFFIX}." in name and name.endswith(".tmp")


def clean(place: Path) -> int:
    """Deletes all entries of a folder, and the folder when nothing else is in it; gives the number of entries.

    Raises ``OSError``.
    """
    if not (place / _TAG).is_file():
        return 0
    entries = [file for file in place.iterdir() if file.name.endswith(SUFFIX) or _is_waiting(file.name)]
    for file in entries:
        file.unlink(missing_ok=True)
    if all(file.name in _OWN for file in place.iterdir()):
        for name in _OWN:
            (place / name).unlink(missing_ok=True)
        place.rmdir()
    return sum(file.name.endswith(SUFFIX) for file in entries)
