"""What became of each request of a trace, a row each: what ``trace --outcomes`` writes and ``sums`` adds up.

A row has the request's place (conversation, call site, model), its cause, and everything that ``Totals`` sums, so that
the totals of any number of traces are sums over rows. ``docs/trace.md`` describes the columns.
"""

from __future__ import annotations

import os
import secrets as random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from promptlint.trace import duck
from promptlint.trace.explain import Verdict
from promptlint.trace.format import Frame
from promptlint.trace.parts import dumps
from promptlint.trace.secrets import Masker
from promptlint.trace.tally import Example, Totals, billed, example, general

VERSION = 1
"""Of the columns."""

_KINDS = {
    "str": "VARCHAR",
    "str | None": "VARCHAR",
    "int": "BIGINT",
    "int | None": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "tuple[str, ...]": "VARCHAR[]",
}
"""What the types of fields are called in SQL."""


def _columns(kind: Any) -> dict[str, str]:
    return {field.name: _KINDS[str(field.type)] for field in fields(kind)}


def _struct(kind: Any) -> str:
    named = (f'"{name}" {type}' for name, type in _columns(kind).items())
    return f"STRUCT({', '.join(named)})"


SUMMED: Mapping[str, str] = _columns(Totals)
"""The columns that are added up."""

COLUMNS: Mapping[str, str] = {
    "outcome": "BIGINT",
    "trace": "VARCHAR",
    "conversation": "BIGINT",
    "process": "BIGINT",
    "provider": "VARCHAR",
    "model": "VARCHAR",
    "site": f"{_struct(Frame)}[]",
    "cause": "VARCHAR",
    "region": "VARCHAR",
    "place": "VARCHAR",
    "size": "BIGINT",
    "expected_read": "BIGINT",
    "expected_written": "BIGINT",
    "example": _struct(Example),
    **SUMMED,
}
"""All columns in their order, with their types in SQL."""

_GROUP = 10_000
"""Rows that a Parquet file holds together: so many are in memory while it is written."""
_EXAMPLE = tuple(_columns(Example))
_SIGN = b'{"outcome":'


class Rows:
    """Writes the rows of one trace, which all carry one name made up for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._trace = random.token_hex(8)
        self._mask = Masker(random.token_bytes(32))

    def add(self, verdict: Verdict) -> None:
        """Writes what became of one request. Raises ``OSError``."""
        self._file.write(dumps(self._row(verdict)) + "\n")

    def _row(self, verdict: Verdict) -> dict[str, Any]:
        sent, totals, predicted = verdict.sent, Totals(), verdict.predicted
        totals.add(verdict, billed(verdict))
        found = example(verdict)
        shown = {name: self._masked(getattr(found, name)) for name in _EXAMPLE}
        return {
            "outcome": VERSION,
            "trace": self._trace,
            "conversation": verdict.conversation,
            "process": sent.pid,
            "provider": sent.facts.provider,
            "model": sent.facts.model or "?",
            "site": [{"file": f.file, "line": f.line, "function": f.function} for f in sent.site],
            "cause": str(verdict.cause),
            "region": verdict.region,
            "place": general(str(shown["path"])),
            "size": sent.total,
            "expected_read": predicted.read if predicted else None,
            "expected_written": predicted.stored if predicted else None,
            "example": shown,
            **{name: getattr(totals, name) for name in SUMMED},
        }

    def _masked(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return [self._masked(item) for item in value]
        return self._mask(value) if isinstance(value, str) else value


@contextmanager
def writing(path: Path) -> Iterator[Rows]:
    """A file for the rows of one trace: Parquet where its name ends in ``.parquet``, else JSON Lines.

    What was in the file is replaced. Raises ``OSError``, and ``duck.MissingError`` where Parquet needs what is not
    installed.
    """
    if path.suffix != ".parquet":
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            yield Rows(file)
        return
    connection = duck.connect(f"{path} is written with")
    try:
        with NamedTemporaryFile(
            "w", dir=path.parent, suffix=".jsonl", encoding="utf-8", errors="backslashreplace"
        ) as file:
            yield Rows(file)
            file.flush()
            whole = f"SELECT * FROM {duck.lines([file.name], COLUMNS)}"
            with duck.told(path):
                connection.execute(
                    f"COPY ({whole}) TO {duck.quoted(os.fspath(path))} (FORMAT parquet, ROW_GROUP_SIZE {_GROUP})"
                )
    finally:
        connection.close()


def recognises(path: Path) -> bool:
    """Whether a file holds rows of this kind, in either form. Raises ``OSError`` and ``duck.MissingError``."""
    if duck.is_parquet(path):
        return "outcome" in duck.columns(path)
    with open(path, "rb") as file:
        return file.read(len(_SIGN)) == _SIGN
