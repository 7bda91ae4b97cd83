"""Rewrites files so that a failure on the way leaves each either as it was or as it should be."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from promptlint.files import source
from promptlint.files.source import Source


class FixError(Exception):
    """A fix that cannot be made; the message names the file and says why, and what was done."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file as it was read, and the text that it gets."""

    source: Source
    text: str


def diff(rewrites: Iterable[Rewrite]) -> str:
    """The changes as a unified diff, which ``patch -p0`` takes."""
    lines: list[str] = []
    for rewrite in rewrites:
        path = rewrite.source.path
        before, after = _lines(rewrite.source.text), _lines(rewrite.text)
        for line in unified_diff(before, after, path, path):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{line}\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def write(rewrites: Sequence[Rewrite]) -> None:
    """Writes the files in their encoding and with their permissions. Raises FixError.

    None is written when one of them is read-only or no longer what was analysed.
    """
    for rewrite in rewrites:
        _require_writable(rewrite.source)
    for done, rewrite in enumerate(rewrites):
        try:
            _replace(rewrite)
        except OSError as error:
            others = f"{done} other files were fixed" if done else "nothing was changed"
            raise FixError(f"cannot write {rewrite.source.path}: {source.reason(error)}; {others}") from error


def _require_writable(was: Source) -> None:
    now = source.read(was.file)
    if not isinstance(now, Source):
        raise FixError(f"cannot fix {was.path}: {now.message}; nothing was changed")
    if now.data != was.data:
        raise FixError(f"{was.path} was changed while it was analysed; nothing was fixed, run it again")
    if not os.stat(was.file).st_mode & stat.S_IWUSR or not os.access(was.file, os.W_OK):
        raise FixError(f"cannot fix {was.path}: it is read-only; nothing was changed")


def _replace(rewrite: Rewrite) -> None:
    """Puts a complete new file in the place of the old one; a symbolic link goes on pointing to it."""
    target = Path(os.path.realpath(rewrite.source.file))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(handle, "wb") as stream:
            stream.write(rewrite.text.encode(rewrite.source.encoding))
        os.chmod(name, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
