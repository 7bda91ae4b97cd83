"""Which files under a path are Python that belongs to the project: the directory walk and its ignore rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pathspec import GitIgnoreSpec

from promptlint.source import Unreadable, display, reason

# fmt: off
_SKIPPED = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pixi",
    ".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "__pypackages__", "dist-packages",
    "node_modules", "site-packages",
))
# fmt: on
_ENVIRONMENT = frozenset(("pyvenv.cfg", "conda-meta"))
_PROJECT = frozenset(("pyproject.toml", "setup.py", "setup.cfg"))
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")


@dataclass(frozen=True, slots=True)
class Ignore:
    """Patterns as in ``.gitignore``, relative to the directory ``base`` (with a trailing separator)."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True to ignore, False to keep, None where no pattern speaks."""
        if not path.startswith(self.base):
            return None
        inner = path[len(self.base) :]
        return self.spec.check_file(inner + os.sep if is_directory else inner).include

    def inside(self, given: str) -> Ignore:
        """The same without the patterns that ignore the given path itself: it was asked for."""
        inner = os.path.join(given, "")[len(self.base) :]
        if not inner or not given.startswith(self.base):
            return self
        return Ignore(self.base, GitIgnoreSpec([p for p in self.spec.patterns if p.match_file(inner) is None]))


@dataclass(slots=True)
class Listing:
    """What the walk under one given path found; all paths are absolute."""

    files: list[str] = field(default_factory=list)
    packages: set[str] = field(default_factory=set)
    """Directories with an ``__init__.py``."""
    projects: set[str] = field(default_factory=set)
    """Directories with a ``pyproject.toml`` or ``setup.py``."""
    unreadable: list[Unreadable] = field(default_factory=list)
    ignored: bool = False
    """Some Python file or directory was left out because a pattern says so."""
    tests: bool = False
    """Some Python file or directory was left out because it is a test."""


def is_test(parts: Sequence[str]) -> bool:
    """Whether a file, as the parts of its path, is a test or stands among tests."""
    *directories, name = parts
    return not {"tests", "test"}.isdisjoint(directories) or _TEST_FILE.fullmatch(name) is not None


def patterns(base: str, lines: Iterable[str]) -> Ignore:
    """Read ignore patterns; like git, take no notice of a line that is no pattern."""
    valid = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        valid.append(line)
    return Ignore(os.path.join(base, ""), GitIgnoreSpec.from_lines(valid))


def walk(given: str, exclude: Ignore, keep_tests: bool) -> Listing:
    """List the Python files under a directory in a fixed order. Symbolic links to directories are not followed."""
    listing = Listing()
    exclude = exclude.inside(given)
    pending = [(given, tuple(ignore.inside(given) for ignore in _ignores_above(given)))]
    while pending:
        directory, ignores = pending.pop()
        try:
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            listing.unreadable.append(Unreadable(display(directory), reason(error)))
            continue
        names = {entry.name for entry in entries}
        if directory != given and _left_out(directory, names):
            continue
        if "__init__.py" in names:
            listing.packages.add(directory)
        if names & _PROJECT:
            listing.projects.add(directory)
        if ".gitignore" in names:
            ignores = (*_read_ignore(directory, ".gitignore"), *ignores)
        below = []
        for entry in entries:
            is_directory = _is_directory(entry)
            if entry.name in _SKIPPED if is_directory else not entry.name.endswith(".py"):
                continue
            if is_directory and (entry.is_symlink() or entry.name.endswith(".egg-info")):
                continue
            if not keep_tests and is_test((entry.name, "") if is_directory else (entry.name,)):
                listing.tests = True
            elif exclude.verdict(entry.path, is_directory) or _ignored(entry.path, is_directory, ignores):
                listing.ignored = True
            elif is_directory:
                below.append((entry.path, ignores))
            else:
                listing.files.append(entry.path)
        pending.extend(reversed(below))
    return listing


def _left_out(directory: str, names: set[str]) -> bool:
    """Whether a directory is a virtual environment, or the copy of the package that ``setup.py build`` makes."""
    return not names.isdisjoint(_ENVIRONMENT) or (os.path.basename(directory) == "build" and "lib" in names)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle


def _ignored(path: str, is_directory: bool, ignores: Sequence[Ignore]) -> bool:
    for ignore in ignores:
        verdict = ignore.verdict(path, is_directory)
        if verdict is not None:
            return verdict
    return False


def _ignores_above(directory: str) -> list[Ignore]:
    """The ignore files of the repository above a directory, nearest first; none outside a repository."""
    found: list[Ignore] = []
    here = directory
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return []
        here = above
        found.extend(_read_ignore(here, ".gitignore"))
    found.extend(_read_ignore(here, os.path.join(".git", "info", "exclude")))
    return found


def _read_ignore(base: str, name: str) -> tuple[Ignore, ...]:
    try:
        with open(os.path.join(base, name), encoding="utf-8-sig", errors="replace") as stream:
            return (patterns(base, stream.read().split("\n")),)
    except OSError:
        return ()
