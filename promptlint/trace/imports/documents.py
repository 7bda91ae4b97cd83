"""JSON objects from a file: one a line, the items of a list, or the items of a list that an object holds."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from typing import IO, Any

from promptlint.trace.format import Problem

_LISTS = ("data", "observations", "items", "records", "logs", "rows", "results")
_LARGEST = 1 << 28
"""Bytes of a document that is not one object a line, which has to be read as a whole."""


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]


def first(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The first object of a file; ``None`` where nothing of the kind can be found."""
    return next((record for _, record in records(path, lambda problem: None)), None)


def records(path: str | os.PathLike[str], report: Callable[[Problem], None]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with the line, or the number in the list, of each."""
    name = os.fspath(path)
    with _opened(path) as file:
        try:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if number == 1 or (number == 2 and line[:1].isspace()):
                        break  # one document over several lines
                    report(Problem(name, number, f"not JSON: {error}"))
                    continue
                if isinstance(record, dict) and not any(isinstance(record.get(key), list) for key in _LISTS):
                    yield number, record
                else:
                    yield from enumerate(_items(record), 1)
            else:
                return
            file.seek(0)
            text = file.read(_LARGEST + 1)
        except (EOFError, gzip.BadGzipFile) as error:
            report(Problem(name, 0, f"the file is damaged: {error}"))
            return
    if len(text) > _LARGEST:
        report(Problem(name, 1, f"one document of more than {_LARGEST >> 20} MB; write one record a line instead"))
        return
    try:
        yield from enumerate(_items(json.loads(text)), 1)
    except (ValueError, RecursionError) as error:
        report(Problem(name, 1, f"not JSON: {error}"))


def _items(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        yield from (item for item in document if isinstance(item, dict))
    elif isinstance(document, dict):
        held = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
        yield from _items(held) if held is not None else iter((document,))
