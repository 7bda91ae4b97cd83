"""What is asked of the text of a file that nobody has parsed: does a call that may send a request show, or a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import NamedTuple

NEAR = 2_000
"""Bytes behind an opening parenthesis in which ``**`` is looked for."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a call of a row looks like: the path of names, the last name, and keywords that tell without the path.

    Names of a ``path`` that start with a dot are attributes. Any call of the last name will do when nothing ``tells``;
    none at all when there is no last name, but only a keyword.
    """

    path: tuple[str, ...]
    last: str
    keywords: frozenset[str]
    tells: bool

    @property
    def words(self) -> tuple[str, ...]:
        """All identifiers of the shape."""
        return (self.last, *(name.removeprefix(".") for name in self.path), *sorted(self.keywords))


ALL, CODE, ANY = "all", "code", "any"
"""Whom a search asks: all files, all but tests, or one after the other until the first one that has it."""


class Search(NamedTuple):
    """A question to files: in which ones does a word occur, and a pattern that tells how.

    Without a pattern the word names a base of a class, or what gets another name. ``noted`` is the name under which
    ``Module.called`` tells the same of a file that is parsed, or empty.
    """

    word: str
    pattern: re.Pattern[bytes] | None
    noted: str = ""
    among: str = ALL


MESSAGES = Shape((), "messages", frozenset(("messages",)), True)
"""A call of an unknown library: some argument is called messages."""


def shows(shape: Shape, data: bytes, words: Set[str]) -> bool:
    """Whether the text of a file may hold such a call; ``words`` are those of the shape that occur in it."""
    if shape.last not in words:
        return False
    if shape.path and all(p.removeprefix(".") in words and p.encode() in data for p in shape.path):
        return True
    if any(keyword in words and _passes(data, keyword) for keyword in shape.keywords):
        return True
    if shape == MESSAGES:
        return False
    calls = _occurrences(data, shape.last, rb"\s*\(")
    return (not shape.tells and next(calls, None) is not None) or any(
        data.find(b"**", end, end + NEAR) >= 0
        for start, end in calls
        # A plain name may mean the bound method; an attribute is known by its path or by its keywords.
        if not shape.path or data[start - 1 : start] != b"."
    )


def any_shows(shapes: Iterable[Shape], data: bytes, words: Set[bytes]) -> bool:
    """Whether the text of a file, in which these identifiers occur, may hold a call of one of some shapes."""
    return any(shows(shape, data, {word for word in shape.words if word.encode() in words}) for shape in shapes)


def _passes(data: bytes, keyword: str) -> bool:
    """Whether a call passes the keyword: it stands behind a parenthesis, a comma or a comment."""
    for start, _ in _occurrences(data, keyword, rb"\s*=(?!=)"):
        before = data[max(start - 200, 0) : start].rstrip()
        if before.endswith((b"(", b",")) or b"#" in before.rpartition(b"\n")[2]:
            return True
    return False


def _occurrences(data: bytes, word: str, behind: bytes) -> Iterator[tuple[int, int]]:
    """Where an identifier stands in front of what matches ``behind``, and where that ends."""
    for match in re.finditer(word.encode() + behind, data):  # no \b ahead: a pattern with a literal start is fast
        before = data[match.start() - 1 : match.start()]
        if not (before.isalnum() or before == b"_" or before >= b"\x80"):
            yield match.span()


MAX_NAME = 200
"""Characters of a name that are looked at."""
_HEADS = re.compile(rb"class\s+(\w+)\s*(?:\[[^\]]*\]\s*)?\((?=([^:]*))")
_RENAMED = re.compile(rb"\s+as(?=\s)")
_WORD = re.compile(rb"\w+")
_LAST_WORD = re.compile(rb"\w+\Z")


def bases_named(data: bytes) -> Iterator[bytes]:
    """The words in the heads of classes, and those before ``as``, in the text of a file."""
    for _, bases in _HEADS.findall(data):
        yield from _WORD.findall(bases)
    for renamed in _RENAMED.finditer(data):
        end = renamed.start()
        word = _LAST_WORD.search(data, max(0, end - MAX_NAME), end)
        if word is not None:
            yield word[0]


def derived(data: bytes, base: str) -> Iterator[bytes]:
    """The classes in the text of a file that name a base in their heads."""
    for name, bases in _HEADS.findall(data):
        if base.encode() in _WORD.findall(bases):
            yield name
