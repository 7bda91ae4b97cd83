"""DuckDB, an extra: it reads and writes Parquet files, and adds up the outcomes of many traces.

It is loaded when it is needed, runs inside this process, and may neither fetch extensions nor take more memory than a
long trace does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Name = str | os.PathLike[str]

HINT = 'install "promptlint-cache[duckdb]"'
_BATCH = 256
"""Rows that are held at once."""
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "memory_limit": "400MB",
    "threads": 1,
}
_PARQUET = b"PAR1"


class MissingError(Exception):
    """Something needs DuckDB, which is not installed; the message says what, and how to get it."""


def connect(purpose: str) -> DuckDBPyConnection:
    """A database in memory. Raises ``MissingError``; ``purpose`` says what for: "x.parquet is read with"."""
    try:
        import duckdb
    except ImportError:
        raise MissingError(f"{purpose} DuckDB, which is not installed: {HINT}") from None
    return duckdb.connect(config=_SETTINGS)


@contextmanager
def told(path: Name) -> Iterator[None]:
    """Errors of DuckDB as an ``OSError`` about a file."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise OSError(0, str(error).splitlines()[0], os.fspath(path)) from None


def is_parquet(path: Name) -> bool:
    """Whether a file is a Parquet file, by its first bytes. Raises ``OSError``."""
    with open(path, "rb") as file:
        return file.read(len(_PARQUET)) == _PARQUET


def columns(path: Name) -> list[str]:
    """The names of the columns of a Parquet file. Raises ``MissingError`` and ``OSError``."""
    connection = connect(f"{os.fspath(path)} is read with")
    with told(path):
        found = connection.execute(f"DESCRIBE SELECT * FROM {tables([path])}").fetchall()
    return [row[0] for row in found]


def records(path: Name) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file. Raises ``MissingError`` and ``OSError``."""
    connection = connect(f"{os.fspath(path)} is read with")
    with told(path):
        result = connection.execute(f"SELECT * FROM {tables([path])}")
        names = [column[0] for column in result.description or ()]
        while rows := result.fetchmany(_BATCH):
            yield from (dict(zip(names, row, strict=True)) for row in rows)


def tables(paths: Iterable[Name]) -> str:
    """Parquet files as what SQL selects from."""
    return f"read_parquet([{_listed(paths)}], union_by_name=true)"


def lines(paths: Iterable[Name], types: Mapping[str, str]) -> str:
    """Files of JSON Lines with columns of these types as what SQL selects from."""
    told = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in types.items())
    return f"read_json([{_listed(paths)}], format='newline_delimited', columns={{{told}}})"


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _listed(paths: Iterable[Name]) -> str:
    """The names of files, which are no patterns here."""
    return ", ".join(quoted("".join(f"[{c}]" if c in "*?[" else c for c in os.fspath(path))) for path in paths)
