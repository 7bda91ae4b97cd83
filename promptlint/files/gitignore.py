"""Ignore patterns as git reads them (gitignore(5), "PATTERN FORMAT"), for a walk that does not enter what is ignored.

A pattern is matched against a path itself; only ``Ignore.covers`` looks at the directories above it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from promptlint.files import disk
from promptlint.files.source import LINE_BREAK, Unreadable, read_bytes

_CLASS = re.compile(r"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_NAMED = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class _Pattern:
    matches: re.Pattern[str]
    ignores: bool
    directories_only: bool


@dataclass(frozen=True, slots=True)
class Ignore:
    """The patterns of one file; ``base`` is the directory they are relative to, with a trailing separator."""

    base: str
    patterns: tuple[_Pattern, ...]

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True to ignore, False to keep, None where no pattern speaks."""
        if not path.startswith(self.base):
            return None
        inner = path[len(self.base) :].replace(os.sep, "/")
        for pattern in self.patterns:
            if (is_directory or not pattern.directories_only) and pattern.matches.fullmatch(inner):
                return pattern.ignores
        return None

    def covers(self, file: str) -> bool:
        """Whether a file, or a directory that it is in, is ignored."""
        above = (os.fspath(parent) for parent in PurePath(file).parents[:-1])  # the last is the root
        return bool(self.verdict(file, False)) or any(self.verdict(parent, True) for parent in above)


def ignored(path: str, is_directory: bool, ignores: Sequence[Ignore]) -> bool:
    """Whether the first file of patterns that speaks of a path, nearest first, ignores it."""
    verdicts = (ignore.verdict(path, is_directory) for ignore in ignores)
    return next((verdict for verdict in verdicts if verdict is not None), False)


def parse(base: str, lines: Iterable[str]) -> Ignore:
    """Read patterns; like git, take no notice of a line that is no pattern."""
    patterns = filter(None, map(_pattern, lines))
    return Ignore(os.path.join(base, ""), tuple(patterns)[::-1])  # the last one that matches decides


def read(base: str, name: str = ".gitignore") -> tuple[Ignore, ...]:
    """The patterns of a file in ``base``, none if it cannot be read."""
    found = read_bytes(Path(base, name), name)
    if isinstance(found, Unreadable):
        return ()
    return (parse(base, LINE_BREAK.split(found.decode("utf-8-sig", "surrogateescape"))),)


def above(directory: str) -> tuple[Ignore, ...]:
    """The patterns of the repository above a directory, nearest first; none outside a repository."""
    found: list[Ignore] = []
    here = directory
    while not disk.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return ()
        here = parent
        found.extend(read(here))
    return (*found, *read(here, os.path.join(".git", "info", "exclude")))


def _pattern(line: str) -> _Pattern | None:
    text = re.sub(r"(?<!\\)((?:\\\\)*)[ ]+$", r"\1", line.rstrip("\r"))
    ignores = not text.startswith("!")
    if not ignores:
        text = text[1:]
    elif text.startswith("#"):
        return None
    directories_only = text.endswith("/")
    text = text[:-1] if directories_only else text
    anchored = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    try:
        expression = _expression(text)
        matches = re.compile(expression if anchored else "(?:.*/)?" + expression, re.DOTALL)
    except (re.error, KeyError):
        return None
    return _Pattern(matches, ignores, directories_only)


def _expression(text: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(text):
        starts = at == 0 or text[at - 1] == "/"
        if starts and text.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif starts and at and text[at:] == "**":
            parts.append(".+")
            at += 2
        elif text[at] == "*":
            while text.startswith("*", at):
                at += 1
            parts.append("[^/]*")
        elif text[at] == "?":
            parts.append("[^/]")
            at += 1
        elif text[at] == "[":
            found = _CLASS.match(text, at)
            if not found:
                raise re.error("no end of the character class")
            parts.append(_class(found[1], found[2]))
            at = found.end()
        else:
            at += text[at] == "\\" and at + 1 < len(text)
            parts.append(re.escape(text[at]))
            at += 1
    return "".join(parts)


def _class(negated: str, inner: str) -> str:
    def piece(found: re.Match[str]) -> str:
        if found[1]:
            return _NAMED[found[1]]
        return re.escape(found[2]) if found[2] else re.sub(r"([\\\[\]^&~|])", r"\\\1", found[0])

    body = re.sub(r"\[:(\w+):\]|\\(.)|[^\\]", piece, inner, flags=re.DOTALL)
    return f"(?!/)[{'^' if negated else ''}{body}]"
