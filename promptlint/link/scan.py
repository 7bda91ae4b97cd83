"""Which files may hold a call that sends a request, by the words in them: the others are never parsed for their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.knowledge import SinkRow
from promptlint.link.program import Program
from promptlint.project import SourceRef

NEAR = 2_000
"""Bytes behind an opening parenthesis in which ``**`` is looked for."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a call of a row looks like: the path of names, the last name, and keywords that tell without the path.

    Names of a ``path`` that start with a dot are attributes. Any call of the last name will do when nothing ``tells``.
    """

    path: tuple[str, ...]
    last: str
    keywords: frozenset[str]
    tells: bool


def files(program: Program) -> list[SourceRef]:
    """The files in which a row, or a call with ``messages`` of an unknown library, may show; in the project's order."""
    shapes = {shape: None for row in program.knowledge.sinks if _possible(program, row) for shape in _shapes(row)}
    found = {ref for shape in shapes for ref in _holding(program, shape)}
    found.update(ref for ref in _mentioning(program, "messages") if _passes(ref.data, "messages"))
    return [ref for ref in program.project.files if ref in found]


def _possible(program: Program, row: SinkRow) -> bool:
    return row.own or row.by_shape or any(program.knows(name.partition(".")[0]) for name in row.types or (row.call,))


def _shapes(row: SinkRow) -> Iterator[_Shape]:
    *path, last = row.call.split(".")
    if last == "__call__":  # shows in a file by nothing but its class
        for name in row.types:
            library, _, cls = name.partition(".")
            yield _Shape((library,), cls.rpartition(".")[2], frozenset(), True)
        return
    if row.own:  # any call of that name may be it, of whatever object
        yield _Shape((), last, frozenset(), False)
        return
    tells = bool(path) or (row.by_shape and bool(row.requires) and not {*row.requires} & {*row.positional})
    yield _Shape(tuple(f".{p}" for p in path) if row.types else tuple(path), last, frozenset(row.requires), tells)


def _holding(program: Program, shape: _Shape) -> Iterator[SourceRef]:
    named = _mentioning(program, shape.last)
    holding = named.intersection(*(_mentioning(program, p.removeprefix(".")) for p in shape.path))
    along = {ref for ref in holding if shape.path and all(p.encode() in ref.data for p in shape.path)}
    yield from along
    rest = named - along
    telling = {keyword: rest & _mentioning(program, keyword) for keyword in shape.keywords}
    for ref in rest:
        data = ref.data
        calls = _occurrences(data, shape.last, rb"\s*\(")
        if (
            any(ref in files and _passes(data, keyword) for keyword, files in telling.items())
            or (not shape.tells and next(calls, None))
            or any(
                data.find(b"**", end, end + NEAR) >= 0
                for start, end in calls
                # A plain name may mean the bound method; an attribute is known by its path or by its keywords.
                if not shape.path or data[start - 1 : start] != b"."
            )
        ):
            yield ref


def _mentioning(program: Program, word: str) -> set[SourceRef]:
    return set(program.project.mentions(word))


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
