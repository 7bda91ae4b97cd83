"""Requests that others have recorded, as the exchanges of a trace; ``docs/trace.md`` has the rules of each format.

Bodies are masked like those that ``record`` writes. A file is told by its first record.
"""

from __future__ import annotations

import os
import secrets as random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from promptlint.trace.format import Exchange, Problem, read
from promptlint.trace.imports import documents, langfuse, litellm, otlp, pairs
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
    """The exchanges of a trace of ``record``, or of one of the other formats.

    What cannot be read is left out and reported. Raises ``OSError`` when the file cannot be opened.
    """
    first = documents.first(path)
    if first is None or (isinstance(first.get("v"), int) and ("body" in first or "note" in first)):
        yield from read(path, report)
        return
    mask = Masker(random.token_bytes(32))
    for number, record in documents.records(path, report):
        convert = next((convert for _, recognises, convert in _FORMATS if recognises(record)), None)
        if convert is None:
            report(Problem(os.fspath(path), number, "no request of a format that is known here"))
            continue
        for exchange in convert(record):
            found = exchange if exchange.id else replace(exchange, id=f"line {number}")
            yield replace(found, body=mask(found.body), error=mask(found.error) if found.error else None)
