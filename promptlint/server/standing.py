"""The last analysis of a folder in memory, which stands as long as no edit changes an answer to what it asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptlint.cache import cutoff, records
from promptlint.cache.kept import Kept
from promptlint.codebase.questions import Questions
from promptlint.config import Settings
from promptlint.files import disk, source, walk
from promptlint.files.disk import FILE, Notes, Stamp
from promptlint.files.moves import Moves
from promptlint.files.source import Source, Unreadable
from promptlint.report import Report


@dataclass(slots=True)
class Standing:
    """What an analysis left; ``texts`` are the buffers that stood in for files in it, by absolute path."""

    settings: Settings
    texts: Mapping[str, str]
    left: Kept
    questions: Questions
    seen: dict[tuple[str, str], tuple[Stamp, bytes]]
    """What it asked of the file system."""
    known: dict[str, tuple[bytes, Moves]] = field(default_factory=dict)
    """Of changed files a digest of the text that was looked at last, and where the lines have gone in it."""

    @staticmethod
    def of(settings: Settings, texts: Mapping[str, str], left: Kept, notes: Notes) -> Standing | None:
        """What an analysis left, ``None`` when nothing of it holds for other texts."""
        if not left.asked or notes.torn:
            return None
        return Standing(settings, texts, left, records.unpickled(left.asked), dict(notes.seen))

    def report(self, settings: Settings, texts: Mapping[str, str]) -> Report | None:
        """The report with these texts in buffers, ``None`` when it takes another analysis to make it."""
        data = self._changed(texts) if settings == self.settings else None
        moved = self._moved(data) if data is not None else None
        if moved is None:
            return None

        def read(file: str) -> Source | Unreadable:
            text = texts.get(file)
            if text is None:
                return source.read(Path(file))
            return source.from_bytes(source.display(file), Path(file), source.to_bytes(text))

        return cutoff.report(self.left, self.questions, moved, read, settings)

    def _changed(self, texts: Mapping[str, str]) -> dict[str, bytes] | None:
        """What is now in the files that have changed, ``None`` when more has changed than what is in them."""
        found: dict[str, bytes] = {}
        known = self.questions.numbers
        for (kind, name), (stamp, digest) in self.seen.items():
            if kind == FILE and name in texts and name in known:
                continue
            now = disk.stamp(kind, name)
            if now == stamp:
                continue
            if digest and walk.present(kind, name) == digest:
                self.seen[kind, name] = disk.settled(now), digest
                continue
            read = source.read_bytes(Path(name), "") if kind == FILE else None
            if not isinstance(read, bytes):
                return None
            found[name] = read
        for file in texts.keys() | self.texts.keys():
            if file not in known and Path(file).exists():
                continue  # excluded, ignored or a test: its buffer is not looked at
            text = texts.get(file)
            data = source.to_bytes(text) if text is not None else source.read_bytes(Path(file), "")
            if not isinstance(data, bytes):
                return None
            before = self.texts.get(file)
            saved = self.seen.get((FILE, file), (disk.MISSING, b""))[1]
            if disk.digest(data) != (saved if before is None else disk.digest(source.to_bytes(before))):
                found[file] = data
        return found

    def _moved(self, data: Mapping[str, bytes]) -> dict[str, Moves] | None:
        """Where the lines of changed files have gone, by path; each text is asked once."""
        digests = {file: disk.digest(text) for file, text in data.items()}
        new = {file: text for file, text in data.items() if self.known.get(file, (b"", ()))[0] != digests[file]}
        moved = cutoff.moves(self.questions, new)
        if moved is None:
            return None
        paths = {file: self.questions.files[self.questions.numbers[file]].path for file in data}
        self.known = {
            file: (digests[file], moved[paths[file]] if file in new else self.known[file][1]) for file in data
        }
        return {paths[file]: moves for file, (_, moves) in self.known.items()}
