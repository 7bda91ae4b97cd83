"""Which files under a path are Python that belongs to the project: the directory walk and its ignore rules."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptlint.files import disk, gitignore, notebook
from promptlint.files.gitignore import Ignore
from promptlint.files.source import Unreadable, content, display, reason

SUFFIXES = (".py", notebook.SUFFIX)
"""What files with Python are called."""

# fmt: off
_SKIPPED = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pixi",
    ".promptlint_cache", ".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "__pypackages__",
    "dist-packages", "node_modules", "site-packages",
))
# fmt: on
_ENVIRONMENT = frozenset(("pyvenv.cfg", "conda-meta"))
_PROJECT = frozenset(("pyproject.toml", "setup.py", "setup.cfg"))
_TELLING = _ENVIRONMENT | _PROJECT | {".gitignore", "lib"}
"""Names that matter to the walk although they are no Python."""
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")


@dataclass(slots=True)
class Listing:
    """What the walk under one given path found; all paths are absolute."""

    files: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Symbolic links that are named as Python files."""
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


def walk(given: str, exclude: Ignore, keep_tests: bool) -> Listing:
    """List the Python files under a directory in a fixed order. Symbolic links to directories are not followed.

    The directory was asked for: if ignore files above it leave nothing of it, they do not count.
    """
    above = gitignore.above(given)
    listing = _walk(given, exclude, keep_tests, above)
    return listing if listing.files or not above else _walk(given, exclude, keep_tests, ())


def _walk(given: str, exclude: Ignore, keep_tests: bool, above: tuple[Ignore, ...]) -> Listing:
    listing = Listing()
    pending = [(given, above)]
    while pending:
        directory, ignores = pending.pop()
        before = disk.stamp(disk.FOLDER, directory)
        try:
            entries = _entries(directory)
        except OSError as error:
            disk.note_folder(directory, before, b"")
            listing.unreadable.append(Unreadable(display(directory), reason(error)))
            continue
        names = {entry.name for entry in entries}
        disk.note_folder(directory, before, _summary(entries))
        if directory != given and _left_out(directory, names):
            continue
        if "__init__.py" in names:
            listing.packages.add(directory)
        if names & _PROJECT:
            listing.projects.add(directory)
        if ".gitignore" in names:
            ignores = (*gitignore.read(directory), *ignores)
        below = []
        for entry in entries:
            is_directory = _is_directory(entry)
            if entry.name in _SKIPPED if is_directory else not entry.name.endswith(SUFFIXES):
                continue
            if is_directory and (entry.is_symlink() or entry.name.endswith(".egg-info")):
                continue
            if not keep_tests and is_test((entry.name, "") if is_directory else (entry.name,)):
                listing.tests = True
            elif exclude.verdict(entry.path, is_directory) or gitignore.ignored(entry.path, is_directory, ignores):
                listing.ignored = True
            elif is_directory:
                below.append((entry.path, ignores))
            elif entry.is_symlink():
                listing.links.append(entry.path)
            else:
                listing.files.append(entry.path)
        pending.extend(reversed(below))
    return listing


def summary(directory: str) -> bytes:
    """What a directory holds as far as it matters to the walk; nothing when it cannot be listed."""
    try:
        return _summary(_entries(directory))
    except OSError:
        return b""


def present(kind: str, name: str) -> bytes:
    """The digest of the present answer to a question to the file system."""
    if kind == disk.KIND:
        return b""
    return disk.digest(content(Path(name)) if kind == disk.FILE else summary(name))


def _summary(entries: Sequence[os.DirEntry[str]]) -> bytes:
    names = []
    for entry in entries:
        is_directory = _is_directory(entry)
        if entry.name in _TELLING or (entry.name not in _SKIPPED if is_directory else entry.name.endswith(SUFFIXES)):
            names.append(f"{entry.name}\0{is_directory:d}{entry.is_symlink():d}")
    return "\0".join(names).encode("utf-8", "surrogateescape")


def _entries(directory: str) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as scan:
        return sorted(scan, key=lambda entry: entry.name)


def _left_out(directory: str, names: set[str]) -> bool:
    """Whether a directory is a virtual environment, or the copy of the package that ``setup.py build`` makes."""
    return not names.isdisjoint(_ENVIRONMENT) or (os.path.basename(directory) == "build" and "lib" in names)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle
