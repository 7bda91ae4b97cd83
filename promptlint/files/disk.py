"""What a run asks the file system, noted while it runs, so that a later run can tell whether an answer would differ."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b

Stamp = tuple[int, int, int, int]
"""What changes when a file or folder does: time of change, time of change of its inode, size, inode."""

MISSING: Stamp = (0, 0, 0, 0)
UNSURE: Stamp = (-1, 0, 0, 0)
"""The stamp of what changed so shortly before that another change could leave it as it is: the content decides."""

FILE, FOLDER, KIND = "F", "D", "K"
"""What was asked of a path: its content, what it holds, or only what it is (a file, a folder, nothing)."""

_TICK = 50_000_000
"""Nanoseconds within which a file system may give two changes the same time."""
_SECONDS = 2_500_000_000
"""The same where it counts in seconds."""


@dataclass(slots=True)
class Notes:
    """The answers of the file system, by what was asked and of which path."""

    seen: dict[tuple[str, str], tuple[Stamp, bytes]] = field(default_factory=dict)
    """For each the stamp, and the digest of the content where the content was asked for."""
    started: int = field(default_factory=time.time_ns)
    torn: bool = False
    """Something changed while it was looked at: the answers belong to no single state."""

    def add(self, kind: str, path: str, stamp: Stamp, digest: bytes = b"") -> None:
        known = self.seen.setdefault((kind, path), (stamp, digest))
        if known[1] != digest or (kind == KIND and known[0] != stamp):
            self.torn = True

    def take(self, other: Notes) -> None:
        """Adds what was noted apart from this."""
        for (kind, path), (stamp, digest) in other.seen.items():
            self.add(kind, path, stamp, digest)
        self.torn = self.torn or other.torn


_notes: ContextVar[Notes | None] = ContextVar("notes", default=None)


@contextmanager
def noting() -> Iterator[Notes]:
    """Notes what is asked inside of the ``with`` statement."""
    notes = Notes()
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def take(notes: Notes) -> None:
    """Notes here what was noted in another process."""
    own = _notes.get()
    if own is not None:
        own.take(notes)


def stamp(kind: str, path: str) -> Stamp:
    """The present stamp of a path."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return MISSING
    return (stat.S_IFMT(info.st_mode), 0, 0, 0) if kind == KIND else _stamp(info)


def _stamp(info: os.stat_result) -> Stamp:
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


def settled(stamp: Stamp) -> Stamp:
    """The stamp if it can be trusted later, else ``UNSURE``."""
    newest = max(stamp[:2])
    reach = _TICK if newest % 1_000_000 else _SECONDS
    return stamp if newest + reach < time.time_ns() else UNSURE


def digest(content: bytes) -> bytes:
    """A short name for a content."""
    return blake2b(content, digest_size=16).digest()


def note_content(path: str, info: os.stat_result | None, content: bytes) -> None:
    """Notes that a file was read; ``info`` is what it was before that, ``None`` when it could not be opened."""
    notes = _notes.get()
    if notes is not None:
        found = stamp(FILE, path) if info is None else _stamp(info)
        notes.add(FILE, os.path.abspath(path), settled(found), digest(content))


def note_folder(path: str, before: Stamp, content: bytes) -> None:
    """Notes that a folder was listed; ``content`` is what was of interest in it, ``before`` its stamp before that."""
    notes = _notes.get()
    if notes is not None:
        notes.add(FOLDER, path, settled(before), digest(content))


def _kind(path: str | os.PathLike[str]) -> int:
    name = os.path.abspath(path)
    found = stamp(KIND, name)
    notes = _notes.get()
    if notes is not None:
        notes.add(KIND, name, found)
    return found[0]


def exists(path: str | os.PathLike[str]) -> bool:
    """As ``os.path.exists``, noted."""
    return _kind(path) != 0


def is_file(path: str | os.PathLike[str]) -> bool:
    """As ``os.path.isfile``, noted."""
    return stat.S_ISREG(_kind(path))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """As ``os.path.isdir``, noted."""
    return stat.S_ISDIR(_kind(path))
