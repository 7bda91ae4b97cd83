"""What a test can demand of the requests that it made: the ``prompt_cache`` fixture of the pytest plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from promptlint import simulator
from promptlint.output import tracewords, words
from promptlint.trace.conversations import Conversations, Placed
from promptlint.trace.divergence import Divergence, compare
from promptlint.trace.explain import Cause, Verdict, explain, failed
from promptlint.trace.format import Exchange
from promptlint.trace.sent import Observer, Sent, calls
from promptlint.trace.texts import Change
from promptlint.trace.wire import BodyError

_ALIKE = 0.5
"""Share of a text that must be in the earlier one, too, for the two to be one text that has changed."""

_CHURN = frozenset((Change.CLOCK, Change.ID, Change.PERMUTATION, Change.WHITESPACE, Change.KEYS, Change.IDS))
"""Differences that nobody wants even in the newest message, if what is behind them stays the same."""

_BELIEVABLE = (0.5, 2.0)
"""How a reported number of input tokens may compare with the estimate: a faked network makes up others."""


class PromptCache:
    """The requests that a test has made so far, and assertions on them.

    An assertion that fails raises ``AssertionError`` with what differs, where, and what to do about it.
    """

    def __init__(self, requests: Sequence[Exchange]) -> None:
        self._requests = requests

    @property
    def requests(self) -> tuple[Exchange, ...]:
        """The requests, in the order in which they were sent."""
        return tuple(sorted(self._requests, key=lambda exchange: exchange.at))

    def prefix_stable(self) -> None:
        """Each request begins with all that it shares with an earlier one.

        The tools, the system text and the messages of before come again byte for byte; what is new stands behind them.
        """
        __tracebackhide__ = True
        self._demand(text for seen in self._seen() for text in _breaks(seen))

    def no_errors(self) -> None:
        """Each request was answered, and the API has no reason to refuse one for its cache markers."""
        __tracebackhide__ = True
        self._demand(text for seen in self._seen() for text in _errors(seen))

    def min_hit_ratio(self, ratio: float) -> None:
        """At least this share (0 to 1) of the input tokens was read from the cache.

        Requests that have nothing to read, because no earlier one is like them, do not count. Of a faked network, whose
        usage says nothing, the provider's cache is simulated.
        """
        __tracebackhide__ = True
        if not 0 <= ratio <= 1:
            raise ValueError(f"a hit ratio is between 0 and 1, not {ratio}")
        later = [seen for seen in self._seen() if seen.placed.base is not None and not failed(seen.sent)]
        total = sum(seen.sent.total for seen in later)
        read = sum(seen.verdict.read for seen in later)
        if not later:
            self._demand(["no request of this test could read from the cache: none is like an earlier one"])
        elif read < ratio * total:
            heading = (
                f"{read / total:.0%} of the input tokens were read from the cache, and {ratio:.0%} are demanded"
                f" ({read:,} of {total:,} in {words.count(len(later), 'request')} after the first)"
            )
            self._demand([heading, *(_loss(seen) for seen in later if seen.verdict.read < ratio * seen.sent.total)])

    def _demand(self, problems: Iterable[str]) -> None:
        __tracebackhide__ = True
        found = list(problems)
        if not self._requests:
            found = ["no request to a language model was seen in this test"]
        if found:
            raise AssertionError("\n\n".join(found))

    def _seen(self) -> Iterator[_Seen]:
        conversations, observe = Conversations(), Observer()
        for number, exchange in enumerate(self.requests, 1):
            try:
                sent = observe(exchange, number)
                if not _believable(sent):
                    sent = observe(replace(exchange, usage=None), number)
            except BodyError as error:
                raise AssertionError(f"request {number} cannot be understood: {error}") from None
            placed = conversations.look(sent) if failed(sent) else conversations.place(sent)
            yield _Seen(exchange, sent, placed, explain(placed))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A request with its place among the others and what became of it."""

    exchange: Exchange
    sent: Sent
    placed: Placed
    verdict: Verdict

    @property
    def name(self) -> str:
        return f"request {self.sent.number} ({tracewords.site(self.sent.site)})"


def _believable(sent: Sent) -> bool:
    if not sent.usage.total or not sent.estimated:
        return sent.usage.total is None
    least, most = _BELIEVABLE
    return least <= sent.usage.total / sent.estimated <= most


def _breaks(seen: _Seen) -> Iterator[str]:
    base, verdict = seen.placed.base, seen.verdict
    if base is None or failed(seen.sent):
        return
    if verdict.cause in (Cause.MODEL, Cause.PARAMETER):
        yield f"{seen.name} differs from request {base.number} in {', '.join(verdict.names)}\n" + _indented(
            tracewords.advice(verdict.cause)
        )
        return
    if base.pool != seen.sent.pool:
        return
    earlier, later = base.parts(), seen.sent.parts()
    found = compare(earlier, later)
    if found is not None and _matters(found, len(later), seen):
        yield _divergence(seen, base, found)


def _matters(found: Divergence, later: int, seen: _Seen) -> bool:
    """Whether what differs was meant to be the same: much of what stands there or behind it was there before."""
    behind = [share for index, share in found.kept if index > found.index]
    within = next((share for index, share in found.kept if index == found.index), 0.0)
    size = max(1, len(seen.sent.parts()[found.index].text))
    alike = within >= _ALIKE or (found.char or 0) / size >= _ALIKE
    if found.region == "tools":
        return bool(found.kept)
    if found.region == "system":
        return alike or (seen.placed.same and bool(behind))
    if found.newest and found.index == later - 1:  # a new question in place of the last one
        return within >= _ALIKE and found.change in _CHURN
    if found.newest:  # it came again, changed
        return alike
    return bool(behind) and (seen.placed.same or found.moved != 0 or alike or len(behind) * 2 >= later - found.index)


def _divergence(seen: _Seen, base: Sent, found: Divergence) -> str:
    spot = f", character {found.char:,}" if found.char is not None else ""
    kind = f"{found.change} in the {found.region}" if "tool" not in str(found.change) else str(found.change)
    lines = [f"{seen.name} does not begin as request {base.number} did: {kind}", _indented(f"{found.path}{spot}")]
    if found.before or found.after:
        before, after = tracewords.pair(found.change, found.before, found.after)
        lines += [_indented(f"request {base.number}: {before}"), _indented(f"request {seen.sent.number}: {after}")]
        lines.append(_indented(" " * (len(f"request {seen.sent.number}: ") + _common(before, after)) + "^"))
    if found.names:
        lines.append(_indented(", ".join(found.names)))
    behind = round(sum(seen.sent.sizes[index] * share for index, share in found.kept) * seen.sent.scale)
    if behind:
        lines.append(
            _indented(f"about {words.count(behind, 'token')} from there on were sent before, and are paid for again")
        )
    if found.newest and found.change not in _CHURN:
        advice = "It was the newest message then: what is sent with it has to stay with it."
    else:
        advice = tracewords.advice(found.change)
    return "\n".join([*lines, _indented(advice)])


def _common(before: str, after: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )


def _errors(seen: _Seen) -> Iterator[str]:
    exchange = seen.exchange
    if exchange.error is not None or (exchange.status is not None and exchange.status >= 400):
        status = f" with status {exchange.status}" if exchange.status else ""
        yield f"{seen.name} failed{status}: {tracewords.shown(exchange.error or 'no reason was given')}"
    elif refused := simulator.refused(calls([seen.sent])[0], seen.sent.facts):
        yield f"{seen.name} would be refused: {refused}"


def _loss(seen: _Seen) -> str:
    sent, verdict, base = seen.sent, seen.verdict, seen.placed.base
    lines = [f"{seen.name} read {verdict.read:,} of {sent.total:,} tokens: {verdict.cause}"]
    if verdict.cause is Cause.NEW and base is not None and sent.total < sent.facts.minimum:
        lines = [
            f"{seen.name} read nothing: it has {sent.total:,} tokens, and caching starts at {sent.facts.minimum:,}"
        ]
    if verdict.note:
        lines.append(_indented(verdict.note))
    if verdict.divergence is not None and base is not None:
        lines.append(_divergence(seen, base, verdict.divergence).partition("\n")[2])
    elif advice := tracewords.advice(verdict.cause):
        lines.append(_indented(advice))
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
