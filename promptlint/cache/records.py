"""Records on the disk: pickles of which nothing but plain records of promptlint can come out.

Places can be kept apart from the records that they are part of: a pickle then holds their numbers in a list, and other
places can be put in for them when it is read.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from enum import Enum
from typing import Any, TypeVar, overload

from promptlint.span import Span

_MODULES = frozenset(
    (
        *("finding", "answers.finish", "provider", "report", "request", "span", "tokens"),
        *("codebase.questions", "codebase.shapes", "codebase.skeleton"),
    )
)
"""The modules of promptlint whose dataclasses and enumerations may come out of a pickle."""
_PLAIN: dict[tuple[str, str], type] = {("builtins", "frozenset"): frozenset, ("datetime", "date"): date}


_T = TypeVar("_T")


class Damaged(Exception):
    """Bytes that are not what this version wrote."""


class Places:
    """The places of some records, each with a number."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._numbers: dict[int, int] = {}

    def number(self, span: Span) -> int:
        known = self._numbers.get(id(span))
        if known is None:
            known = self._numbers[id(span)] = len(self.spans)
            self.spans.append(span)
        return known


def pickled(value: object, places: Places | None = None) -> bytes:
    """The pickle of a value; with ``places``, these are put there and not into the pickle."""
    if places is None:
        return pickle.dumps(value, protocol=5)
    written = io.BytesIO()
    _Pickler(written, places).dump(value)
    return written.getvalue()


def unpickled(data: bytes, spans: Sequence[Span] = ()) -> Any:
    """What was pickled, with these places in it. Raises Damaged."""
    try:
        return _Unpickler(data, spans).load()
    except Exception as error:  # whatever strange bytes bring about
        raise Damaged(str(error)) from error


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, places: Places) -> None:
        super().__init__(file, protocol=5)
        self._places = places

    def persistent_id(self, value: object) -> int | None:
        return self._places.number(value) if value.__class__ is Span else None


class _Unpickler(pickle.Unpickler):
    """Reads nothing but records: other classes and functions are not even looked up."""

    def __init__(self, data: bytes, spans: Sequence[Span]) -> None:
        super().__init__(io.BytesIO(data))
        self._spans = spans

    def persistent_load(self, number: int) -> Span:
        return self._spans[number]

    def find_class(self, module: str, name: str) -> Any:
        package, _, inner = module.partition(".")
        if package == "promptlint" and inner in _MODULES:
            import importlib

            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module:
                if issubclass(found, Enum) or hasattr(found, "__dataclass_fields__"):
                    return found
        elif (module, name) in _PLAIN:
            return _PLAIN[module, name]
        elif (module, name) == ("builtins", "getattr"):
            return _member  # how Python 3.11.0 to 3.11.3 write the member of an enumeration
        raise Damaged(f"{module}.{name}")


def _member(kind: type, name: str) -> Enum:
    if not issubclass(kind, Enum):
        raise Damaged(f"{kind.__name__}.{name}")
    return kind[name]


class Later:
    """Parts of a pickle that most outputs need only the length of; read when they are asked for.

    ``spans`` gives the places in it.
    """

    def __init__(self, data: bytes, spans: Callable[[], Sequence[Span]]) -> None:
        self._data = data
        self._spans = spans
        self._parts: tuple[tuple[Any, ...], ...] | None = None

    def part(self, number: int) -> tuple[Any, ...]:
        if self._parts is None:
            self._parts = unpickled(self._data, self._spans())
        return self._parts[number]


class Part(Sequence[_T]):
    """One of the parts of a pickle."""

    def __init__(self, later: Later, number: int, length: int) -> None:
        self._later, self._number, self._length = later, number, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        found: _T | Sequence[_T] = self._later.part(self._number)[index]
        return found

    def __iter__(self) -> Iterator[_T]:
        return iter(self._later.part(self._number))
