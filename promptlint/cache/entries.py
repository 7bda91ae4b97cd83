"""The findings of earlier runs on the disk, and whether they still hold.

An entry belongs to one kind of run (its paths, settings, folder, version, Python) and says everything that the run
asked of the file system, with a stamp and a digest of each answer (``promptlint.files.disk``). It holds while every
answer is the same: stamps are compared, and only where one differs the content is. Whoever changes a file between two
runs changes its stamp or its content, so nothing has to be told what changed. When nothing but Python files changed,
and nothing in them that the run looked at, its findings hold, too, and only move (``promptlint.cache.cutoff``).

What is in the folder is not trusted: an entry that is damaged, of another version or made by somebody else is
ignored, and nothing but plain records of promptlint can come out of one. Entries are written beside their place and
moved there, so that runs at the same time, or killed ones, leave whole entries or none.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint import __version__
from promptlint.cache.folder import SUFFIX, folder, make, prune
from promptlint.cache.kept import Kept
from promptlint.cache.records import Damaged, Later, Part, pickled, unpickled
from promptlint.files import disk, source, walk
from promptlint.files.disk import FILE, FOLDER, Notes, Stamp
from promptlint.files.source import Source, Unreadable
from promptlint.report import Report

if TYPE_CHECKING:
    from promptlint.config import Settings

_HERE = Path(__file__).resolve().parent.parent
"""The installation: another one of the same version, such as a checkout, may find something else."""

_MAGIC = b"promptlint run 2\n"
_LENGTHS = struct.Struct("<10Q")
_WIDTH = len(disk.MISSING)
_DIGEST = len(disk.digest(b""))
_NO_MATTER = ("cache_dir", "min_severity", "min_confidence", "origins")
"""Settings that a report does not depend on."""


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

    def find(self, finish: Callable[[Report], Report] | None = None) -> Report | None:
        """The report of the last run, if a new one would give the same, at other places perhaps.

        ``finish`` makes of a report what was made of the last one.
        """
        try:
            held = _Held.read(self.file.read_bytes())
            found = held.current()
            if found is None:
                return None
            stamps, changed = found
            now = held.with_stamps(stamps) if not changed else held.cut_off(stamps, changed, self.settings, finish)
            if now is None:
                return None
            if changed or stamps != held.stamps:
                self._write(now)
            elif time.time() - self.file.stat().st_mtime > 86_400:
                os.utime(self.file)  # in use
            return now.report()
        except (OSError, Damaged):
            return None

    def keep(self, report: Report, left: Callable[[], Kept], notes: Notes) -> None:
        """Keeps a report, and what the run left that it was made of, with everything that it follows from.

        Does nothing where that cannot be written.
        """
        own = _own_files(self.settings, notes)
        if notes.torn or not notes.seen or own is None or any(problem.internal for problem in report.problems):
            return
        items = {**notes.seen, **own}
        with contextlib.suppress(OSError):
            make(self.file.parent)
            self._write(_Held.made(items, report, left()))
            prune(self.file.parent)

    def _write(self, held: _Held) -> None:
        waiting = self.file.with_name(f"{self.file.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        try:
            waiting.write_bytes(held.data())
            os.replace(waiting, self.file)
        finally:
            with contextlib.suppress(OSError):
                waiting.unlink()


@dataclass(frozen=True, slots=True)
class _Held:
    """What an entry holds: the questions to the file system with the answers, the report, and what it was made of.

    The report is one of texts that have changed since, perhaps: ``moves`` says how. ``kept`` is of the texts that were
    analysed.
    """

    kinds: str
    names: list[str]
    stamps: array[int]
    digests: bytes
    main: bytes
    moves: bytes
    kept: Kept

    @staticmethod
    def made(items: dict[tuple[str, str], tuple[Stamp, bytes]], report: Report, kept: Kept) -> _Held:
        stamps = array("q")
        for stamp, _ in items.values():
            stamps.extend(stamp)
        return _Held(
            "".join(kind for kind, _ in items),
            [name for _, name in items],
            stamps,
            b"".join(digest or bytes(_DIGEST) for _, digest in items.values()),
            _main(report),
            pickled({}),
            kept,
        )

    @staticmethod
    def read(data: bytes) -> _Held:
        head = len(_MAGIC) + _DIGEST
        if not data.startswith(_MAGIC) or disk.digest(data[head:]) != data[len(_MAGIC) : head]:
            raise Damaged
        try:
            parts = []
            end = head + _LENGTHS.size
            for length in _LENGTHS.unpack_from(data, head):
                parts.append(data[end : end + length])
                end += length
            stamps = array("q")
            stamps.frombytes(parts[2])
            names = parts[1].decode("utf-8", "surrogateescape").split("\0")
            held = _Held(parts[0].decode(), names, stamps, parts[3], parts[4], parts[5], Kept(*parts[6:]))
        except (struct.error, ValueError) as error:
            raise Damaged from error
        if not len(names) * _WIDTH == len(stamps) == len(held.kinds) * _WIDTH:
            raise Damaged
        return held

    def data(self) -> bytes:
        names = "\0".join(self.names).encode("utf-8", "surrogateescape")
        kept = (self.kept.asked, self.kept.places, self.kept.found, self.kept.rest)
        parts = (self.kinds.encode(), names, self.stamps.tobytes(), self.digests, self.main, self.moves, *kept)
        body = _LENGTHS.pack(*map(len, parts)) + b"".join(parts)
        return _MAGIC + disk.digest(body) + body

    def with_stamps(self, stamps: array[int]) -> _Held:
        return replace(self, stamps=stamps)

    def current(self) -> tuple[array[int], list[int]] | None:
        """The present stamps, and the numbers of the files with another content; ``None`` when more has changed."""
        stamps = array("q")
        for kind, name in zip(self.kinds, self.names, strict=True):
            stamps.extend(disk.stamp(kind, name))
        changed: list[int] = []
        if stamps == self.stamps:
            return stamps, changed
        for number, (kind, name) in enumerate(zip(self.kinds, self.names, strict=True)):
            first, last = number * _WIDTH, (number + 1) * _WIDTH
            if stamps[first:last] == self.stamps[first:last]:
                continue
            digest = self.digests[number * _DIGEST : (number + 1) * _DIGEST]
            if not any(digest):
                return None
            if digest != walk.present(kind, name):
                if kind != FILE:
                    return None
                changed.append(number)
            found: Stamp = (stamps[first], stamps[first + 1], stamps[first + 2], stamps[first + 3])
            stamps[first:last] = array("q", disk.settled(found))
        return stamps, changed

    def cut_off(
        self,
        stamps: array[int],
        changed: Sequence[int],
        settings: Settings,
        finish: Callable[[Report], Report] | None,
    ) -> _Held | None:
        """The entry for files with another content, where what was found in the old ones still holds."""
        if not self.kept.asked:
            return None
        from promptlint.cache import cutoff  # heavy, and most runs find nothing changed

        texts = {self.names[number]: source.read_bytes(Path(self.names[number]), "") for number in changed}
        data = {name: text for name, text in texts.items() if isinstance(text, bytes)}
        asked = unpickled(self.kept.asked)
        new = cutoff.moves(asked, data) if len(data) == len(texts) else None
        moves = {**unpickled(self.moves), **new} if new is not None else {}
        report = cutoff.report(self.kept, asked, moves, _read, settings) if new is not None else None
        if report is None:
            return None
        if finish is not None:
            report = finish(report)
        digests = bytearray(self.digests)
        for number in changed:
            digests[number * _DIGEST : (number + 1) * _DIGEST] = disk.digest(data[self.names[number]])
        return replace(self, stamps=stamps, digests=bytes(digests), main=_main(report), moves=pickled(moves))

    def report(self) -> Report:
        main, requests, withheld = unpickled(self.main)
        later = Later(self.kept.rest, lambda: self.kept.spans(unpickled(self.moves)))
        return Report(**main, requests=Part(later, 0, requests), withheld=Part(later, 1, withheld))


def _main(report: Report) -> bytes:
    main = {f.name: getattr(report, f.name) for f in fields(Report) if f.name not in ("requests", "withheld")}
    return pickled((main, len(report.requests), len(report.withheld)))


def _read(file: str) -> Source | Unreadable:
    return source.read(Path(file))


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
