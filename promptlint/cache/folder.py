"""The folder in which runs keep their entries: where it is, how it is marked, what is deleted from it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlint.config import Settings

NAME = ".promptlint_cache"
SUFFIX = ".run"

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


def folder(settings: Settings) -> Path:
    """Where entries are kept: as set, or beside the file with the settings, or in the working folder."""
    return settings.cache_dir or (settings.root if settings.file is not None else Path.cwd()) / NAME


def make(place: Path) -> None:
    """Makes the folder, with its marks, where it is not there. Raises ``OSError``."""
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
