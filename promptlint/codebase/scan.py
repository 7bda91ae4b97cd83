"""Which files may hold a call that sends a request, by the words in them: the others are never parsed for their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptlint.codebase.program import Program
from promptlint.codebase.shapes import MESSAGES, Shape, any_shows, derived, shows
from promptlint.files.project import SourceRef, identifiers
from promptlint.knowledge.rows import SinkRow


def files(program: Program, shapes: Sequence[Shape]) -> list[SourceRef]:
    """The files in which one of the shapes may show; in the project's order."""
    found = _showing(program, tuple(shapes))
    found.update(ref for name in _derived(program) for ref in program.project.having(name))
    return [ref for ref in program.project.files if ref in found]


def _showing(program: Program, shapes: tuple[Shape, ...]) -> set[SourceRef]:
    """The files in which one of the shapes shows; only those are searched of which that is not remembered."""
    known = program.memory.shown(shapes) if program.memory is not None else {}
    if not known:
        found = {ref for shape in shapes for ref in _holding(program, shape)}
        known.update((ref, ref in found) for ref in program.project.files)
    for ref in program.project.files:
        if ref not in known:
            known[ref] = any_shows(shapes, ref.data, identifiers(ref.data))
    return {ref for ref, shows in known.items() if shows}


def shapes(program: Program) -> tuple[Shape, ...]:
    """What calls look like that send a request by some row, or with ``messages`` of an unknown library."""
    rows = (row for row in program.knowledge.sinks if _possible(program, row))
    return (*dict.fromkeys(shape for row in rows for shape in _shapes(row)), MESSAGES)


def _possible(program: Program, row: SinkRow) -> bool:
    return row.own or row.by_shape or any(program.knows(name.partition(".")[0]) for name in row.types or (row.call,))


def _shapes(row: SinkRow) -> Iterator[Shape]:
    *path, last = row.call.split(".")
    if last == "__call__":  # shows in a file by nothing but its class
        for name in row.types:
            library, _, cls = name.partition(".")
            yield Shape((library,), cls.rpartition(".")[2], frozenset(), True)
        return
    if row.own:  # any call of that name may be it, of whatever object
        yield Shape((), last, frozenset(), False)
        return
    tells = bool(path) or (row.by_shape and bool(row.requires) and not {*row.requires} & {*row.positional})
    yield Shape(tuple(f".{p}" for p in path) if row.types else tuple(path), last, frozenset(row.requires), tells)


def _derived(program: Program) -> frozenset[str]:
    """The names of classes made of one whose objects are called themselves to send a request."""
    rows = (row for row in program.knowledge.sinks if row.call.endswith("__call__") and not row.own)
    kinds = {name for row in rows for name in row.types if program.knows(name.partition(".")[0])}
    found: set[str] = set()
    for library, last in sorted({(name.partition(".")[0], name.rpartition(".")[2]) for name in kinds}):
        knowing = set(program.project.having(library))
        found.update(
            name.decode() for ref in program.project.having(last) if ref in knowing for name in derived(ref.data, last)
        )
    return frozenset(found)


def _holding(program: Program, shape: Shape) -> Iterator[SourceRef]:
    mentioned = {word: set(program.project.having(word)) for word in shape.words}
    for ref in program.project.having(shape.last):
        if shows(shape, ref.data, {word for word, refs in mentioned.items() if ref in refs}):
            yield ref
