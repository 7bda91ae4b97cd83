"""Listening to answers that are read from a file-like object, piece by piece, by whoever the program hands it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from promptlint.recorder.flight import Flight, Hearing, quietly


@quietly
def overhear(answer: Any, flight: Flight) -> None:
    """Feeds what is read from the answer to the flight, which ends where the answer does, or is closed."""
    nested = False

    def listening(method: Callable[..., Any], fill: bool = False) -> Callable[..., Any]:
        @wraps(method)
        def reading(*args: Any, **kwargs: Any) -> Any:
            nonlocal nested
            if nested:  # one method of the library's is written in terms of another
                return method(*args, **kwargs)
            nested = True
            try:
                found = method(*args, **kwargs)
            except BaseException as error:
                flight.ended(error)
                raise
            finally:
                nested = False
            _heard(found, args[0] if fill else None, args)
            return found

        return reading

    @quietly
    def _heard(found: Any, filled: Any, args: tuple[Any, ...]) -> None:
        data = bytes(memoryview(filled)[:found]) if filled is not None else found
        flight.fed(data)
        if (not data and (not args or args[0] != 0)) or getattr(answer, "closed", False):
            flight.ended()

    def pieces(method: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
        @wraps(method)
        def reading(*args: Any, **kwargs: Any) -> Iterator[bytes]:
            nonlocal nested
            source = method(*args, **kwargs)
            if nested:
                yield from source
                return
            with Hearing(flight):
                while True:
                    nested = True
                    try:
                        piece = next(source)
                    except StopIteration:
                        break
                    finally:
                        nested = False
                    flight.fed(piece)
                    yield piece

        return reading

    def closing(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def closed(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            finally:
                if not nested:  # at the end of the answer, and at an error, the library closes it by itself
                    flight.ended(early=True)

        return closed

    for name in ("read", "read1", "readline"):
        if hasattr(answer, name):
            setattr(answer, name, listening(getattr(answer, name)))
    if hasattr(answer, "readinto"):
        answer.readinto = listening(answer.readinto, fill=True)
    if hasattr(answer, "read_chunked"):  # urllib3
        answer.read_chunked = pieces(answer.read_chunked)
    for name in ("close", "release_conn"):
        if hasattr(answer, name):
            setattr(answer, name, closing(getattr(answer, name)))
