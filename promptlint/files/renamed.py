"""Packages that a build gives another name than the folder they lie in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptlint.files import disk, source

_FILE = "pyproject.toml"
_HATCH = (("tool", "hatch", "build", "sources"), ("tool", "hatch", "build", "targets", "wheel", "sources"))
"""Tables of the folders of a package by what they become: https://hatch.pypa.io/latest/config/build/#rewriting-paths"""
_SETUPTOOLS = ("tool", "setuptools", "package-dir")
"""The other way round: https://setuptools.pypa.io/en/latest/userguide/pyproject_config.html"""


def folders(project: str) -> dict[str, str]:
    """Where packages of a project would lie if their folders were called as the build calls them, by where they lie.

    All paths are absolute. A project file that cannot be read says nothing.
    """
    file = os.path.join(project, _FILE)
    data = source.read_bytes(Path(file), _FILE) if disk.is_file(file) else b""
    if isinstance(data, source.Unreadable) or (b"sources" not in data and b"package-dir" not in data):
        return {}
    import tomllib

    try:
        settings = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}
    renamed = {folder: name for path in _HATCH for folder, name in _names(settings, path)}
    renamed |= {folder: name.replace(".", "/") for name, folder in _names(settings, _SETUPTOOLS)}
    there = {os.path.normpath(os.path.join(project, old)): os.path.join(project, new) for old, new in renamed.items()}
    return {old: new for old, new in there.items() if old != new}


def _names(settings: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The pairs of a table in which neither side is the root of the project or of the package."""
    table: object = settings
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    for old, new in table.items() if isinstance(table, dict) else ():
        if old and isinstance(new, str) and new:
            yield old, new
