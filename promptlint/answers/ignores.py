"""Comments that suppress findings, written where they count: for ``--add-ignore`` and for editors."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptlint.files import comments, source
from promptlint.files.source import Broken, Source, Unreadable
from promptlint.finding import Finding

CANNOT = ("syntax-error", "unused-ignore")
"""Rules whose findings no comment should answer: the code is broken, or there is one comment too many already."""


class IgnoreError(Exception):
    """A file to which no comment could be written; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to put in front of a place of a file; line and column count from 1, columns in code points."""

    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What ``add`` did: the paths it wrote, how many findings are answered now, and those that cannot be."""

    written: tuple[str, ...]
    answered: int
    left: tuple[Finding, ...]


def insertion(file: Source, line: int, rule: str, reason: str) -> Insertion | None:
    """What makes a comment answer the findings of ``rule`` on ``line``: an addition to one that is there, or a new one.

    In a string over several lines no comment can be written: it goes behind the last line of the string, or else in
    front of the first. ``None`` when no place will do.
    """
    for change in _candidates(file, line, rule, reason):
        changed = inserted(file, change)
        moved = line + change.text.count("\n")
        answers = any(
            comment.verb == "ignore" and rule in comment.arguments and moved in comment.lines
            for comment in comments.read("", changed.text)
        )
        if answers and _same(file, changed):
            return change
    return None


def _candidates(file: Source, line: int, rule: str, reason: str) -> Iterator[Insertion]:
    lines = file.lines
    if not 0 < line <= len(lines):
        return
    for comment in comments.read("", file.text):
        if comment.verb == "ignore" and comment.arguments and line in comment.lines:
            close = lines[comment.span.line - 1].index("]", comment.span.column)
            yield Insertion(comment.span.line, close + 1, f", {rule}")
    made = f"# promptlint: ignore[{rule}] {reason}".rstrip()
    try:
        around = [span for span in comments.long_strings(file.text) if span[0] <= line <= span[1]]
    except (tokenize.TokenError, SyntaxError):
        around = []
    for last in (line, *(end for _, end in around)):
        yield Insertion(last, len(lines[last - 1].rstrip()) + 1, f"  {made}")
    for first in (line, *(start for start, _ in around)):
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        yield Insertion(first, 1, f"{indent}{made}\n")


def inserted(file: Source, change: Insertion) -> Source:
    """The file with the insertion made, in the line ends of the file."""
    ends = [0, *(found.end() for found in re.finditer(source.LINE_BREAK, file.text))]
    first = re.search(source.LINE_BREAK, file.text)
    offset = ends[change.line - 1] + change.column - 1
    text = file.text[:offset] + change.text.replace("\n", first[0] if first else "\n") + file.text[offset:]
    return replace(file, data=text.encode(file.encoding))


def _same(file: Source, changed: Source) -> bool:
    """Whether both texts are the same program."""
    before, after = file.tree, changed.tree
    return not isinstance(before, Broken) and not isinstance(after, Broken) and ast.dump(before) == ast.dump(after)


def add(findings: Sequence[Finding], reason: str) -> Result:
    """Writes comments into the files so that they answer the findings; no program is changed by it.

    Raises IgnoreError when a file cannot be written, or cannot hold the letters of the reason.
    """
    files: dict[str, Source] = {}
    down: dict[str, list[int]] = {}
    answered, left, changed = 0, [], set()
    for finding in findings:
        try:
            path, change = _answer(finding, reason, files, down)
        except UnicodeEncodeError as error:
            where = finding.primary.path
            raise IgnoreError(
                f"{where} is encoded as {error.encoding}, which cannot hold the reason: {reason}"
            ) from error
        if change is None:
            left.append(finding)
            continue
        files[path] = inserted(files[path], change)
        if change.text.endswith("\n"):
            down.setdefault(path, []).append(change.line)
        changed.add(path)
        answered += 1
    for path in sorted(changed):
        try:
            files[path].file.write_bytes(files[path].data)
        except OSError as error:
            raise IgnoreError(f"cannot write {path}: {error.strerror or error}") from error
    return Result(tuple(sorted(changed)), answered, tuple(left))


def _answer(
    finding: Finding, reason: str, files: dict[str, Source], down: dict[str, list[int]]
) -> tuple[str, Insertion | None]:
    """The file and the insertion that answer a finding, at its place or else at its origin or its request."""
    for span in dict.fromkeys((finding.primary, finding.origin or finding.primary, finding.site.span)):
        if finding.rule in CANNOT:
            break
        if span.path not in files:
            read = source.read(Path(span.path))
            if isinstance(read, Unreadable) or read.cells:  # a notebook is no text that a line could go into
                continue
            files[span.path] = read
        line = span.line
        for above in down.get(span.path, ()):  # in the order in which the lines were put in
            line += above <= line
        change = insertion(files[span.path], line, finding.rule, reason)
        if change is not None:
            return span.path, change
    return finding.primary.path, None
