"""A project that is looked at again and again: only what has changed since is read anew."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptlint.files import disk, source, walk
from promptlint.files.disk import FILE, Notes, Stamp
from promptlint.files.project import Options, Project, SourceRef, discover

MOST_CHANGED = 20
"""Files with another text above which it is faster to find the project anew."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What decides, beside the disk, which files a project has."""

    folder: str
    given: tuple[str, ...]
    unsaved: frozenset[str]
    """Those of the given paths that texts stand in for."""
    options: Options

    @staticmethod
    def by(paths: Sequence[Path], options: Options, texts: Mapping[str, bytes]) -> _Wanted:
        given = tuple(os.path.abspath(path) for path in paths)
        return _Wanted(os.getcwd(), given, frozenset(texts.keys() & given), options)


@dataclass(slots=True)
class Tree:
    """A project whose files have been read, and what was asked of the file system for that."""

    project: Project
    _wanted: _Wanted
    _notes: Notes
    _refs: Mapping[str, tuple[int, SourceRef]]
    """The number and the file of each absolute path."""

    @staticmethod
    def found(paths: Sequence[Path], options: Options, overlay: Mapping[Path, bytes]) -> Tree:
        """What is under the given paths, as ``project.discover`` finds it. Raises as that does."""
        with disk.noting() as notes:
            project = discover(paths, options, overlay)
            project.having("")  # reads all files
        disk.take(notes)
        refs = {os.path.join(ref.directory, ref.file.name): (n, ref) for n, ref in enumerate(project.files)}
        return Tree(project, _Wanted.by(paths, options, _by_name(overlay)), notes, refs)

    def renewed(
        self, paths: Sequence[Path], options: Options, overlay: Mapping[Path, bytes]
    ) -> tuple[SourceRef, ...] | None:
        """The files with another text than before, once the project is as ``discover`` would find it now.

        ``None`` when that has other files, or some that cannot be read: then the project is of no use any more.
        """
        texts = _by_name(overlay)
        if self._notes.torn or _Wanted.by(paths, options, texts) != self._wanted:
            return None
        if any(ref.problem is not None for ref in self.project.files) or not self._stands():
            return None
        now = list(self._now(texts))
        if len(now) > MOST_CHANGED:
            return None
        changed = []
        for file, data in now:
            number, ref = self._refs[file]
            known = self._notes.seen.get((FILE, file))
            before = known[1] if known is not None else disk.digest(ref.unsaved or b"")
            with disk.noting() as notes:
                read = source.read_bytes(ref.file, ref.path) if data is None else data
            self._notes.seen.pop((FILE, file), None)
            self._notes.seen.update(notes.seen)
            if isinstance(read, source.Unreadable):
                return None
            if before == disk.digest(read):
                ref.unsaved = data
                continue
            self.project.replace(number, read, unsaved=data is not None)
            if ref.problem is not None:  # a notebook that is none
                return None
            changed.append(ref)
        self.project.words.clear()
        disk.take(self._notes)
        return tuple(changed)

    def _stands(self) -> bool:
        """Whether everything but the texts of the files is as it was."""
        for (kind, name), (stamp, digest) in self._notes.seen.items():
            if kind == FILE and name in self._refs:
                continue
            now = disk.stamp(kind, name)
            if now != stamp:
                if not digest or walk.present(kind, name) != digest:
                    return False
                self._notes.seen[kind, name] = disk.settled(now), digest
        return True

    def _now(self, texts: Mapping[str, bytes]) -> Iterator[tuple[str, bytes | None]]:
        """The files that may have changed, with the text that stands in for each; ``None``: what is on the disk."""
        for file, (_, ref) in self._refs.items():
            text = texts.get(file)
            if text is not None:
                if text != ref.unsaved:
                    yield file, text
            elif ref.unsaved is not None or disk.stamp(FILE, file) != self._stamp(file):
                yield file, None

    def _stamp(self, file: str) -> Stamp:
        return self._notes.seen.get((FILE, file), (disk.MISSING, b""))[0]


def _by_name(overlay: Mapping[Path, bytes]) -> dict[str, bytes]:
    return {os.path.abspath(file): data for file, data in overlay.items()}
