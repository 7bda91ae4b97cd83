"""Early cut-off: what a run found is found again after an edit that changes no answer to anything that it asked.

A run leaves what it found and what it asked (``codebase.questions``). Places are kept apart from the findings, so that
those in changed files can be put where their lines have gone to. Comments in the code, fingerprints and code frames are
made anew (``finish``), from the texts as they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from promptlint import registry
from promptlint.answers import finish
from promptlint.answers.finish import Found
from promptlint.cache import records
from promptlint.cache.kept import Kept, Place
from promptlint.codebase.questions import Questions
from promptlint.config import Settings
from promptlint.files.moves import Gone, Moves
from promptlint.files.project import identifiers
from promptlint.files.source import Source, Unreadable
from promptlint.report import Report

_NAME = b"promptlint"
"""Stands in every comment for promptlint."""


def kept(found: Found, questions: Questions | None, settings: Settings) -> Kept:
    """What a run leaves that found this, and asked that.

    Nothing holds after an edit where what was asked is not known, and where the user has own rules: these may say on
    which line something stands.
    """
    places = records.Places()
    requests, withheld = tuple(found.requests), tuple(found.withheld)
    short = replace(found, requests=(), withheld=()), len(requests), len(withheld)
    parts = records.pickled(short, places), records.pickled((requests, withheld), places)
    listed: list[Place] = [(s.path, s.line, s.column, s.end_line, s.end_column, s.cell) for s in places.spans]
    asked = b"" if questions is None or settings.rule_paths else records.pickled(questions)
    return Kept(asked, records.pickled(tuple(listed)), *parts)


def moves(asked: Questions, data: Mapping[str, bytes]) -> dict[str, Moves] | None:
    """Where the lines of changed files have gone, by path; ``None`` when an answer of theirs is another one.

    ``data`` is what is in them now, by absolute path.
    """
    if not data.keys() <= asked.numbers.keys():
        return None
    return asked.moves({asked.numbers[file]: text for file, text in data.items()})


def report(
    left: Kept,
    asked: Questions,
    moved: Mapping[str, Moves],
    read: Callable[[str], Source | Unreadable],
    settings: Settings,
) -> Report | None:
    """The report on the files as they are now, once all that changed are known to have the same answers.

    ``read`` gives any file by its absolute path. ``None`` when something that was found stands in a line of which
    nobody knows where it has gone. Raises ``records.Damaged``.
    """
    try:
        spans = left.spans(moved)
    except Gone:
        return None
    found, requests, withheld = records.unpickled(left.found, spans)
    later = records.Later(left.rest, lambda: spans)
    sources = {file.path: read(file.file) for file in asked.files if file.path in moved}
    naming = {path for path, now in sources.items() if isinstance(now, Source) and _NAME in identifiers(now.data)}
    found = replace(
        found,
        requests=records.Part(later, 0, requests),
        withheld=records.Part(later, 1, withheld),
        annotated=(found.annotated - moved.keys()) | naming,
    )
    wanted = finish.wanted(found)
    sources = {file.path: sources.get(file.path) or read(file.file) for file in asked.files if file.path in wanted}
    return finish.report(found, sources, settings, registry.load(settings.rule_paths))
