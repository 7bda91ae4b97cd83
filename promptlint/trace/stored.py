"""What markers have stored: the ends of prefixes, long after the requests that wrote them were forgotten."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from promptlint.simulator import Call
from promptlint.simulator.window import MODE
from promptlint.trace.sent import Sent

_MOST = 100_000
_FOUND = 3
"""Stored prefixes of a request that are looked at, the longest first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored prefix: when it was last used, from when on it can be read, for how long, and with which parameters."""

    used: float
    ready: float
    ttl: str
    parameters: Mapping[str, str]


class Entries:
    """The entries of all pools, those forgotten first that were used least recently."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[object, int], Entry] = OrderedDict()

    def found(self, sent: Sent) -> tuple[tuple[int, Entry], ...]:
        """The longest prefixes of a request that were stored, each by its last part."""
        keys = ((index, (sent.pool, sent.chain[index])) for index in range(len(sent.chain) - 1, -1, -1))
        stored = [(index, self._entries[key]) for index, key in keys if key in self._entries]
        return tuple((index, entry) for index, entry in stored[:_FOUND] if entry.used <= sent.at)

    def add(self, sent: Sent) -> None:
        """Stores what a request marks, and renews what it reads."""
        marks = dict(_marks(sent))
        for index, entry in self.found(sent)[:1]:
            marks.setdefault(index, entry.ttl)
        for index, ttl in marks.items():
            key = (sent.pool, sent.chain[index])
            known = self._entries.get(key)
            lifetime = sent.facts.lifetime(ttl)
            alive = known is not None and (lifetime is None or sent.at < known.used + lifetime)
            ready = known.ready if known is not None and alive else sent.at + sent.begins
            self._entries[key] = Entry(sent.at, ready, ttl, sent.parameters)
            self._entries.move_to_end(key)
        while len(self._entries) > _MOST:
            self._entries.popitem(last=False)


def _marks(sent: Sent) -> Iterator[tuple[int, str]]:
    if sent.facts.policy not in ("markers", "window") or not sent.keys:
        return
    yield from sent.marks.items()
    implicit = sent.facts.policy == "window" and sent.parameters.get(MODE) != "explicit"
    if sent.automatic is not None or implicit:
        yield len(sent.keys) - 1, sent.automatic or ""


def call(entry: Entry, index: int, later: Call) -> Call:
    """A call that stores what an entry holds: the first parts of a later one."""
    blocks = (*later.blocks[:index], replace(later.blocks[index], marker=entry.ttl))
    bare = tuple(block if block.marker is None else replace(block, marker=None) for block in blocks[:-1])
    begins = entry.ready - entry.used
    return Call((*bare, blocks[-1]), at=entry.used, begins=begins, parameters=entry.parameters)
