"""What a run asked of each file, and whether a changed file would have answered the same (early cut-off).

Linking asks little of most files: in which of them some words occur, whether their text matches some patterns, and of
those that it parses what their index and some of their bodies say. All of that is noted while a run links. After an
edit the changed files are asked once more. As long as every answer is the same, a new run would do step for step what
the old one did, so its findings stand; only the lines have moved. One other answer, and everything is linked again.

What cannot be noted exactly counts as a question about the whole file, which any change answers differently.
"""

from __future__ import annotations

import ast
import os
import re
import zlib
from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.code.index import Module
from promptlint.codebase import skeleton
from promptlint.codebase.shapes import ANY, CODE, Search, Shape, any_shows, bases_named
from promptlint.codebase.skeleton import Looked
from promptlint.files import comments, disk, source
from promptlint.files.moves import Gone, Moves, after, between
from promptlint.files.project import identifiers
from promptlint.files.source import Source, Unreadable

if TYPE_CHECKING:
    from promptlint.codebase.program import Program
    from promptlint.files.project import SourceRef

MOST_BYTES = 12_000_000
"""Bytes of parsed code above which nothing is noted: half of what a run holds at a time (``program.MAX_HELD``)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One file as it was asked, and its answers.

    ``text`` is the compressed code of a file that was parsed, ``module`` its name. A file without ``parts`` was asked
    as a whole.
    """

    path: str
    file: str
    is_test: bool
    words: bytes
    """A digest of the words that were asked for and occur."""
    sends: bool
    """Some of the shapes of calls that send requests shows."""
    parts: bool = True
    text: bytes = b""
    module: str = ""
    is_package: bool = False
    looked: Looked | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """A search (``shapes.Search``), and the files whose text was searched, by number, with what was found."""

    word: str
    pattern: bytes | None
    flags: int
    noted: str
    among: str
    found: Mapping[int, bool]


@dataclass(frozen=True)
class Questions:
    """Everything that a run asked of the files of its project."""

    files: tuple[Asked, ...]
    words: tuple[str, ...]
    searches: tuple[Searched, ...]
    shapes: tuple[Shape, ...]
    stored: frozenset[str]
    apart: tuple[tuple[str, int, int, int], ...]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the files, by absolute path."""
        return {asked.file: number for number, asked in enumerate(self.files)}

    def moves(self, changed: Mapping[int, bytes]) -> dict[str, Moves] | None:
        """Where the lines of changed files have gone, by path; ``None`` when some answer would be another one."""
        found: dict[str, Moves] = {}
        for number, data in changed.items():
            moved = self._moved(number, data)
            if moved is None:
                return None
            found[self.files[number].path] = moved
        try:
            same = all(
                (abs(one - other) > lines) == (abs(after(found[path], one) - after(found[path], other)) > lines)
                for path, one, other, lines in self.apart
                if path in found
            )
        except Gone:
            return None
        return found if same else None

    def _moved(self, number: int, data: bytes) -> Moves | None:
        asked = self.files[number]
        read = source.from_bytes(asked.path, Path(asked.file), data)
        if not asked.parts or isinstance(read, Unreadable):
            return None
        text = _Text(data)
        if _digest(word for word in self.words if _bytes(word) in text.words) != asked.words:
            return None
        if any_shows(self.shapes, data, text.words) != asked.sends:
            return None
        if asked.looked is None:
            return () if all(self._is_same(search, number, text) for search in self.searches) else None
        known = source.from_bytes(asked.path, Path(asked.file), zlib.decompress(asked.text))
        was, now = (_module(asked, read) for read in (known, read))
        if was is None or now is None or _has_hints(was.source) or _has_hints(now.source):
            return None
        old = identifiers(was.source.data)
        if not all(self._is_same(search, number, text, old, now.called.listed) for search in self.searches):
            return None
        before, since = (skeleton.of(module, asked.looked, self.stored) for module in (was, now))
        return between(before.numbers, since.numbers) if before.is_like(since) else None

    def _is_same(
        self,
        search: Searched,
        number: int,
        text: _Text,
        old: Set[bytes] = frozenset(),
        called: Container[str] = (),
    ) -> bool:
        """Whether a file answers a search as it did; ``old`` are the words of a file that was parsed."""
        before, word = search.found.get(number), _bytes(search.word)
        if before is None:
            if word not in text.words or word in old:
                return True  # not asked, or the index was, and its answers are part of the skeleton
            if search.among == CODE and self.files[number].is_test:
                return True
            if search.among == ANY and any(search.found.values()):
                return True
        found = word in text.words and text.holds(search)
        return found == bool(before) and (before is not None or search.noted not in called)


class _Text:
    """A text to be asked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.words = identifiers(data)

    @cached_property
    def bases(self) -> frozenset[bytes]:
        return frozenset(bases_named(self.data))

    def holds(self, search: Searched) -> bool:
        if search.pattern is None:
            return _bytes(search.word) in self.bases
        return re.search(search.pattern, self.data, search.flags) is not None


@dataclass(frozen=True, slots=True)
class Noted:
    """What linking a part of the tree has asked, files by number."""

    parsed: Mapping[int, Looked]
    searched: Mapping[Search, Mapping[int, bool]]
    words: frozenset[str]
    stored: frozenset[str]
    apart: frozenset[tuple[str, int, int, int]]


def noted(program: Program) -> Noted | None:
    """What was asked so far, ``None`` when some of it is forgotten, or too much was to be noted."""
    parsed = program.parsed
    if not program.is_whole or sum(len(module.source.data) for module in parsed.values()) > MOST_BYTES:
        return None
    numbers = {ref: number for number, ref in enumerate(program.project.files)}
    return Noted(
        {numbers[ref]: Looked.at(module) for ref, module in parsed.items()},
        {asked: {numbers[ref]: there for ref, there in found.items()} for asked, found in program.searched.items()},
        frozenset(program.project.words),
        frozenset(program.stored),
        frozenset(program.apart),
    )


def of(
    program: Program, parts: Sequence[Noted | None], shapes: Sequence[Shape], sending: Collection[SourceRef]
) -> Questions | None:
    """What a run has asked whose parts have asked this, ``None`` when too much was to be noted.

    ``shapes`` were searched for in all files, and show in those that are ``sending``.
    """
    whole = [part for part in parts if part is not None]
    looked: dict[int, Looked] = {}
    searched: dict[Search, dict[int, bool]] = {}
    for part in whole:
        for number, also in part.parsed.items():
            looked[number] = looked[number].and_also(also) if number in looked else also
        for search, answers in part.searched.items():
            searched.setdefault(search, {}).update(answers)
    project = program.project
    if len(whole) < len(parts) or sum(len(project.files[number].data) for number in looked) > MOST_BYTES:
        return None
    words = tuple(sorted(frozenset[str]().union(*(part.words for part in whole))))
    showing = set(sending)
    files = []
    for number, (ref, mentioned) in enumerate(zip(project.files, project.mentioned(words), strict=True)):
        asked = Asked(
            ref.path, os.path.join(ref.directory, ref.file.name), ref.is_test, _digest(mentioned), ref in showing
        )
        if number in looked:
            text = zlib.compress(ref.data, 1)
            asked = replace(asked, text=text, module=ref.module, is_package=ref.is_package, looked=looked[number])
        if ref.is_notebook or ref.problem is not None or ref.path in program.broken or ref.path in program.unreadable:
            asked = replace(asked, parts=False)
        files.append(asked)
    return Questions(
        tuple(files),
        words,
        tuple(
            Searched(
                asked.word,
                asked.pattern.pattern if asked.pattern is not None else None,
                asked.pattern.flags if asked.pattern is not None else 0,
                asked.noted,
                asked.among,
                found,
            )
            for asked, found in searched.items()
        ),
        tuple(shapes),
        frozenset[str]().union(*(part.stored for part in whole)),
        tuple(sorted(frozenset[tuple[str, int, int, int]]().union(*(part.apart for part in whole)))),
    )


def _module(asked: Asked, read: Source | Unreadable) -> Module | None:
    """The index of a text of a file that was parsed."""
    tree = read.tree if isinstance(read, Source) else None
    if not isinstance(read, Source) or not isinstance(tree, ast.Module):
        return None
    return Module(read, asked.module, asked.is_package, tree)


def _has_hints(read: Source) -> bool:
    """Whether comments tell about values or requests: what they speak of depends on where they stand."""
    return any(comment.verb not in ("ignore", "file-ignore") for comment in comments.read("", read.text))


def _digest(words: Iterable[str]) -> bytes:
    return disk.digest("\0".join(words).encode("utf-8", "replace"))


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "replace")
