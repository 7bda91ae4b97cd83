"""Bodies with their texts replaced, item by item: of a body that goes on as an earlier one did, only what is new.

A conversation is sent again with every turn, and a program waits while its requests are redacted. So the ends of the
items of a body's long list are remembered, in the body and in the result, for the last few bodies. Standard library
only.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_LISTS = ("messages", "input", "contents")
"""The fields that grow with a conversation."""
_REMEMBERED = 4
_LONGEST = 1 << 22
"""Characters above which a body is not remembered: memory is the program's."""
_BLOCK = 2048
"""Characters that are compared at once."""
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

Ends = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Done:
    """A body with its result, and where the items of the list called ``name`` end in both."""

    body: str
    result: str
    name: str
    ends: Ends


class Bodies:
    """Rewrites the JSON objects that are sent as bodies. ``value`` makes the JSON text of a value in the field of some
    name, ``field`` the same for a field of the body itself, ``name`` that of a name.
    """

    def __init__(
        self, value: Callable[[Any, str], str], field: Callable[[Any, str], str], name: Callable[[str], str]
    ) -> None:
        self.value, self.field, self.name = value, field, name
        self._recent: deque[_Done] = deque(maxlen=_REMEMBERED)

    def __call__(self, body: str) -> str:
        """The body rewritten. Raises ``ValueError`` for one that is no JSON object."""
        reader = _Reader(self, body)
        shared, done = self._earlier(body)
        if done is None or not reader.resume(done, shared):
            reader.take("{")
            if reader.next() != "}" or reader.more("}"):
                reader.fields()
        if reader.next():
            raise ValueError("something stands behind the object")
        result = "".join(reader.pieces)
        if reader.ends and len(body) <= _LONGEST:
            self._recent.append(_Done(body, result, reader.growing, reader.ends))
        return result

    def _earlier(self, body: str) -> tuple[int, _Done | None]:
        """A body that this one goes on from, and the characters that they share; the latest that will do."""
        best: tuple[int, _Done | None] = (0, None)
        for done in reversed(list(self._recent)):
            if (shared := _shared(done.body, body)) > best[0]:
                best = (shared, done)
            if 2 * best[0] > len(body):
                break
        return best


@dataclass(slots=True)
class _Reader:
    """A body on its way: read up to ``at``, its result so far, of ``size`` characters, and where the items of the list
    called ``growing`` ended.
    """

    bodies: Bodies
    body: str
    at: int = 0
    size: int = 0
    pieces: list[str] = field(default_factory=list)
    growing: str = ""
    ends: Ends = field(default_factory=list)

    def resume(self, done: _Done, shared: int) -> bool:
        """Goes on behind the last item that both bodies have; whether there is one."""
        self.ends = [end for end in done.ends if end[0] <= shared]
        if not self.ends:
            return False
        self.at, size = self.ends[-1]
        self.growing = done.name
        self.put(done.result[:size])
        if self.more("]"):
            self.items()
        if self.more("}"):
            self.fields()
        return True

    def fields(self) -> None:
        while True:
            name = self.read()
            if not isinstance(name, str):
                raise ValueError("a field has no name")
            self.put(self.bodies.name(name))
            self.take(":")
            if name in _LISTS and not self.growing and self.next() == "[":
                self.growing = name
                self.take("[")
                if self.next() != "]" or self.more("]"):
                    self.items()
            else:
                self.put(self.bodies.field(self.read(), name))
            if not self.more("}"):
                return

    def items(self) -> None:
        while True:
            self.put(self.bodies.value(self.read(), self.growing))
            if self.body[self.at - 1] in '}]"':  # a number might go on
                self.ends.append((self.at, self.size))
            if not self.more("]"):
                return

    def more(self, end: str) -> bool:
        """Takes a comma, if another one follows, or the end."""
        another = self.next() == ","
        self.take("," if another else end)
        return another

    def take(self, mark: str) -> None:
        if self.next() != mark:
            raise ValueError(f"no {mark} at {self.at}")
        self.at += 1
        self.put(mark)

    def next(self) -> str:
        """The next character that is no space; "" at the end."""
        found = _SPACE.match(self.body, self.at)
        self.at = found.end() if found else self.at
        return self.body[self.at : self.at + 1]

    def read(self) -> Any:
        self.next()
        value, self.at = _DECODER.raw_decode(self.body, self.at)
        return value

    def put(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)


def _shared(one: str, two: str) -> int:
    """How many characters two texts have in common at the front, in whole blocks."""
    shorter, front = min(len(one), len(two)), 0
    while front < shorter and one[front : front + _BLOCK] == two[front : front + _BLOCK]:
        front += _BLOCK
    return min(front, shorter)
