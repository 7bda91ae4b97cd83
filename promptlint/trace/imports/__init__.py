"""Requests that others have recorded, as the exchanges of a trace; ``docs/trace.md`` has the rules of each format.

Bodies are masked like those that ``record`` writes. A file is told by its first record.
"""

from __future__ import annotations

import os
import secrets as random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from promptlint.trace import duck
from promptlint.trace.format import Exchange, Problem, TraceError, read, restored
from promptlint.trace.imports import documents, langfuse, litellm, otlp, pairs
from promptlint.trace.imports.common import loaded, mapping
from promptlint.trace.secrets import Masker

_FORMATS: tuple[
    tuple[str, Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Iterator[Exchange]]], ...
] = (
    ("OpenTelemetry", otlp.recognises, otlp.exchanges),
    ("LiteLLM", litellm.recognises, litellm.exchanges),
    ("Langfuse", langfuse.recognises, langfuse.exchanges),
    ("requests with responses", pairs.recognises, pairs.exchanges),
)


def exchanges(path: str | os.PathLike[str], report: Callable[[Problem], None]) -> Iterator[Exchange]:
    """The exchanges of a trace of ``record``, or of one of the other formats; of either in a Parquet file, too.

    What cannot be read is left out and reported. Raises ``OSError`` when the file cannot be opened, and
    ``duck.MissingError`` where Parquet needs what is not installed.
    """
    if duck.is_parquet(path):
        records: Iterator[tuple[int, dict[str, Any]]] = enumerate(map(_unpacked, duck.records(path)), 1)
    else:
        first = documents.first(path)
        if first is None or _ours(first):
            yield from read(path, report)
            return
        records = documents.records(path, report)
    mask = Masker(random.token_bytes(32))
    for number, record in records:
        try:
            for exchange in _exchanges(record):
                found = exchange if exchange.id else replace(exchange, id=f"line {number}")
                yield replace(found, body=mask(found.body), error=mask(found.error) if found.error else None)
        except TraceError as error:
            report(Problem(os.fspath(path), number, str(error)))


def _exchanges(record: Mapping[str, Any]) -> Iterator[Exchange]:
    """The requests in a record. Raises ``TraceError``."""
    if _ours(record):
        yield from () if "note" in record else (restored(record),)
        return
    convert = next((convert for _, recognises, convert in _FORMATS if recognises(record)), None)
    if convert is None:
        raise TraceError("no request of a format that is known here")
    yield from convert(record)


def _ours(record: Mapping[str, Any]) -> bool:
    """Whether it is a record of a trace."""
    return isinstance(record.get("v"), int) and ("body" in record or "note" in record)


def _unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as the record that it was made of: a table has all fields in every row, and JSON as text."""
    record = {name: value for name, value in row.items() if value is not None}
    if not _ours(record):
        return record
    nested: dict[str, Any] = {name: loaded(record[name]) for name in ("headers", "usage", "stack") if name in record}
    headers = {name: value for name, value in mapping(nested.get("headers")).items() if value is not None}
    return {"api": None, **record, **nested, "headers": headers}
