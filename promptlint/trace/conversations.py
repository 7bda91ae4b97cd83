"""Which requests belong together, and which earlier one each is best compared with, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from promptlint.trace.sent import Sent, chained
from promptlint.trace.stored import Entries, Entry

BUDGET = 256 << 20
"""Bytes of requests that are kept to compare later ones with."""
_RECENT = 4
"""Requests that are kept of each conversation."""
_SITES = 10_000


@dataclass(slots=True)
class Conversation:
    """Requests that share a history; ``recent`` are the last of them, ``count`` counts all. 0: not known yet."""

    number: int = 0
    recent: deque[Sent] = field(default_factory=deque)
    count: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """A request among the earlier ones.

    ``base`` is the one to compare it with: of the same conversation where ``same``, otherwise of another one.
    ``earlier`` are those that may have stored what it reads, in the order of their times. ``shared`` counts the parts
    that it has in common with ``base``, from the first on. ``elsewhere`` is the request of the same conversation to
    another provider or model that has most in common with it. ``stored`` are prefixes that markers stored, each by its
    last part.
    """

    sent: Sent
    conversation: Conversation
    base: Sent | None
    same: bool
    earlier: tuple[Sent, ...]
    shared: int
    elsewhere: Sent | None = None
    stored: tuple[tuple[int, Entry], ...] = ()


class Conversations:
    """The open conversations. Those that were used least recently are closed when they take more than ``budget``."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self.closed = 0
        """Conversations that were closed to save memory: a later request of theirs counts as a new one."""
        self._count = 0
        self._bytes = 0
        self._open: OrderedDict[int, Conversation] = OrderedDict()
        self._kept: dict[int, Sent] = {}
        self._prefixes: dict[tuple[object, int], tuple[int, int]] = {}
        self._wholes: dict[int, int] = {}
        self._histories: dict[int, int] = {}
        self._messages: dict[int, int] = {}
        self._responses: dict[str, int] = {}
        self._sites: OrderedDict[object, int] = OrderedDict()
        self._owners: dict[int, int] = {}
        self._entries = Entries()
        self._sessions: dict[object, int] = {}

    def place(self, sent: Sent) -> Placed:
        """Finds the request's place and keeps it for later ones."""
        placed = self.look(sent)
        conversation = placed.conversation
        if not conversation.number:
            self._count += 1
            conversation.number = self._count
            self._open[self._count] = conversation
        self._keep(sent, conversation)
        self._entries.add(sent)
        return placed

    def look(self, sent: Sent) -> Placed:
        """Finds the request's place without keeping it: one that failed has stored nothing."""
        found = self._lookup(sent)
        conversation = self._owner(sent) or Conversation()
        recent = list(conversation.recent)
        beside = self._kept.get(self._sites.get(_site(sent), 0))
        base = _best(sent, recent) or _best(sent, [*found, *([beside] if beside else [])])
        earlier = {one.number: one for one in (*recent[-2:], *found, *([base] if base else []))}
        others = [one for one in recent if one.pool != sent.pool]
        return Placed(
            sent,
            conversation,
            base,
            base is not None and base in recent,
            tuple(sorted(earlier.values(), key=lambda one: (one.at, one.number))),
            shared(sent, base) if base else 0,
            _best(sent, others),
            self._entries.found(sent),
        )

    def _owner(self, sent: Sent) -> Conversation | None:
        """The conversation that a request goes on with, if it is known.

        The history tells; the name that requests give their conversation, only where that fails: several histories may
        run under one name.
        """
        return self._by_history(sent) or (self._open.get(self._sessions.get(_named(sent), 0)) if sent.session else None)

    def _by_history(self, sent: Sent) -> Conversation | None:
        for name in (sent.previous, sent.retry_of):
            if name and name in self._responses:
                return self._open.get(self._owners.get(self._responses[name], 0))
        parts = zip(sent.nameless, sent.sizes, sent.shapes, strict=True)
        messages = [(key, size, shape) for key, size, shape in parts if shape[0] == "messages"]
        if not any(_answered(shape) for _, _, shape in messages):
            return None
        histories = list(chained([key for key, _, _ in messages]))
        for known, chains in ((self._wholes, sent.chain), (self._histories, histories)):
            for chain in reversed(chains):
                if chain in known:
                    return self._open.get(self._owners.get(known[chain], 0))
        votes: dict[int, int] = {}
        for key, size, shape in messages:
            if key in self._messages:
                number = self._messages[key]
                votes[number] = votes.get(number, 0) + size * (4 if _answered(shape) else 1)
        if not votes:
            return None
        best = max(votes, key=lambda number: (votes[number], number))
        whole = sum(size for _, size, _ in messages)
        return self._open.get(best) if votes[best] * 4 >= whole else None

    def _lookup(self, sent: Sent) -> list[Sent]:
        """The latest requests that share most from the first part on: the last one, and the last that had an answer."""
        for chain in reversed(sent.chain):
            entry = self._prefixes.get((sent.pool, chain))
            if entry is not None:
                return [self._kept[number] for number in entry if number in self._kept]
        return []

    def _keep(self, sent: Sent, conversation: Conversation) -> None:
        if len(conversation.recent) == _RECENT:
            self._drop(conversation.recent.popleft(), conversation, sent)
        conversation.recent.append(sent)
        conversation.count += 1
        self._open.move_to_end(conversation.number)
        self._owners[sent.number] = conversation.number
        self._kept[sent.number] = sent
        self._bytes += sent.weight
        for chain in sent.chain:
            last, answered = self._prefixes.get((sent.pool, chain), (0, 0))
            before = self._kept.get(last)
            begun = before is not None and before.at + before.begins < sent.at
            self._prefixes[sent.pool, chain] = (sent.number, last if begun else answered)
        self._wholes[sent.chain[-1]] = sent.number
        if history := _history(sent):
            self._histories[list(chained(history))[-1]] = sent.number
        self._messages.update(dict.fromkeys(history, conversation.number))
        for name in (sent.response_id, sent.id):
            if name:
                self._responses[name] = sent.number
        if sent.session:
            self._sessions[_named(sent)] = conversation.number
        self._sites[_site(sent)] = sent.number
        self._sites.move_to_end(_site(sent))
        if len(self._sites) > _SITES:
            self._sites.popitem(last=False)
        while self._bytes > self.budget and len(self._open) > 1:
            _, oldest = self._open.popitem(last=False)
            self.closed += 1
            for one in oldest.recent:
                self._drop(one, oldest)
                self._sessions.pop(_named(one), None)

    def _drop(self, sent: Sent, conversation: Conversation, newer: Sent | None = None) -> None:
        """Forgets a request; what ``newer`` says, too, stays known as the conversation's."""
        number = sent.number
        del self._owners[number], self._kept[number]
        self._bytes -= sent.weight
        for chain in sent.chain:
            if self._prefixes.get((sent.pool, chain), (0, 0))[0] == number:
                del self._prefixes[sent.pool, chain]
        history = _history(sent)
        for key in set(history).difference(newer.nameless if newer else ()):
            if self._messages.get(key) == conversation.number:
                del self._messages[key]
        if history and self._histories.get(whole := list(chained(history))[-1]) == number:
            del self._histories[whole]
        if self._wholes.get(sent.chain[-1]) == number:
            del self._wholes[sent.chain[-1]]
        for name in (sent.response_id, sent.id):
            if name and self._responses.get(name) == number:
                del self._responses[name]


def _history(sent: Sent) -> list[int]:
    """The parts that are messages, without ids."""
    return [key for key, (region, _, _) in zip(sent.nameless, sent.shapes, strict=True) if region == "messages"]


def _answered(shape: tuple[str, str, str]) -> bool:
    """Whether a part comes from the model, or answers it."""
    return shape[2] in ("assistant", "model", "tool") or shape[1] in ("tool_use", "tool_result")


def _best(sent: Sent, requests: Iterable[Sent]) -> Sent | None:
    """The one that shares most from the first part on; of equals the latest from the same place in the code."""

    def worth(one: Sent) -> tuple[bool, int, bool, int]:
        return one.pool == sent.pool, _tokens(sent, one), one.site == sent.site, one.number

    return max(requests, key=worth, default=None)


def _tokens(sent: Sent, one: Sent) -> int:
    return sum(sent.sizes[: shared(sent, one)])


def shared(sent: Sent, one: Sent) -> int:
    """The number of leading parts that two requests have in common."""
    low, high = 0, min(len(sent.chain), len(one.chain))
    while low < high:
        middle = (low + high + 1) // 2
        if sent.chain[middle - 1] == one.chain[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _named(sent: Sent) -> object:
    return sent.session, _site(sent)


def _site(sent: Sent) -> object:
    """Where a request is sent from: the call site, or without one what identifies the kind of request."""
    return sent.site or (sent.pool, sent.api, sum(region != "messages" for region, _, _ in sent.shapes))
