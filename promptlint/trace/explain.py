"""Why a request read from the cache what it read: compared with an earlier one, simulated, and judged by its usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from promptlint import simulator
from promptlint.provider import Facts
from promptlint.simulator import Call, Outcome
from promptlint.trace.conversations import Placed, shared
from promptlint.trace.divergence import Divergence, compare
from promptlint.trace.parameters import differing
from promptlint.trace.parts import Part
from promptlint.trace.sent import Sent, calls
from promptlint.trace.stored import call as entry_call
from promptlint.trace.texts import Change


class Cause(StrEnum):
    """What became of a request whose prompt goes on as an earlier one did, or that has none to go on with."""

    HIT = "hit"
    FIRST = "first request"
    NEW = "nothing in common"
    FAILED = "failed"
    REFUSED = "refused"
    UNCACHED = "no cache here"
    PARAMETER = "parameter only"
    MODEL = "model"
    BELOW = "below minimum"
    UNMARKED = "no marker"
    DROPPED = "marker dropped"
    PARALLEL = "parallel start"
    EXPIRED = "expired"
    LOOKBACK = "look-back overflow"
    UNSTORED = "no breakpoint there"
    THINKING = "thinking removed by the server"
    ROUTING = "not found by the provider"


SOUND = frozenset((Cause.HIT, Cause.FIRST, Cause.NEW, Cause.UNCACHED, Cause.FAILED))
"""Nothing was lost that a change of the program could have kept."""

FAILED = frozenset((Cause.FAILED, Cause.REFUSED))
"""No answer came, so that nothing was paid."""

_LEAST = 32
"""Tokens below which a loss is taken for rounding."""
_MUCH, _SHARE = 256, 0.05
"""Tokens, and share of the request, below which two questions that say something alike are just that."""
_TOLERANCE = 0.1
"""By how much estimated sizes of parts may be wrong."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one request.

    ``base`` is the earlier request that it was compared with, of the same conversation where ``same``. ``lost`` counts
    tokens that were in the cache, or could have been, and were paid for again. ``predicted`` is what the provider
    should have counted by the simulator, ``None`` where that cannot be known. ``gap`` are the seconds since ``base``.
    ``names`` are the parameters or tools that differ, ``divergence`` where the prompt does.
    """

    sent: Sent
    conversation: int
    cause: Cause | Change
    base: Sent | None = None
    same: bool = False
    lost: int = 0
    predicted: Outcome | None = None
    gap: float = 0.0
    names: tuple[str, ...] = ()
    divergence: Divergence | None = None
    note: str = ""

    @property
    def read(self) -> int:
        """Tokens read from the cache: as reported, else as predicted."""
        reported = self.sent.usage.read
        return reported if reported is not None else self.predicted.read if self.predicted else 0

    @property
    def region(self) -> str:
        """Where the loss begins: "tools", "system", "messages" or "parameters"; "" where nothing differs."""
        if self.divergence:
            return self.divergence.region
        return "parameters" if self.cause in (Cause.PARAMETER, Cause.MODEL) else ""


def failed(sent: Sent) -> bool:
    """Whether the provider gave no answer, so that it stored nothing."""
    return sent.status is not None and not 200 <= sent.status < 300


def explain(placed: Placed) -> Verdict:
    """The verdict on a request."""
    sent, base = placed.sent, placed.base
    plain = Verdict(sent, placed.conversation.number, Cause.FIRST, base, placed.same)
    if base is not None:
        plain = replace(plain, gap=sent.at - base.at)
    if failed(sent):
        problem = simulator.refused(calls([sent])[0], sent.facts) if sent.status == 400 else ""
        return replace(plain, cause=Cause.REFUSED if problem else Cause.FAILED, note=problem)
    known = sent.facts.policy != "none"
    if not sent.facts.caches or sent.uses or (not known and sent.usage.read is None):
        return replace(plain, cause=Cause.UNCACHED)
    pool = [one for one in placed.earlier if one.pool == sent.pool and one.at <= sent.at]
    found = _divergence(placed)
    if known and not sent.previous and not sent.guessed:  # else not all that decides is seen
        overlap = _overlap(found, base, sent) if base else None
        plain = replace(plain, predicted=_simulated(placed, pool, sent.facts, overlap))
    if base is None:
        return plain
    switched = _switched(placed, plain)
    if switched is not None:
        return switched
    if base.pool != sent.pool:
        return replace(plain, cause=Cause.NEW)
    if found is not None:
        told = _diverged(placed, plain, *found)
        if told is not None:
            return told
    return _undiverged(placed, plain, pool)


def _tokens(sent: Sent, parts: int) -> int:
    """Tokens of the leading parts."""
    return round(sum(sent.sizes[:parts]) * sent.scale)


_Found = tuple[Divergence, Sequence[Part], Sequence[Part]]


def _divergence(placed: Placed) -> _Found | None:
    sent, base = placed.sent, placed.base
    if base is None or placed.shared in (len(base.keys), len(sent.keys)):
        return None
    if sent.previous and sent.shapes[placed.shared][0] == base.shapes[placed.shared][0] == "messages":
        return None  # the earlier messages are kept by the server
    one, two = base.parts(), sent.parts()
    found = compare(one, two)
    return (found, one, two) if found else None


def _overlap(found: _Found | None, base: Sent, sent: Sent) -> tuple[int, int, int] | None:
    """The number of the earlier request, the part in which the two part, and the tokens equal in it."""
    if found is None:
        return None
    at = found[0].index
    one, two = found[1][at], found[2][at]
    if (one.region, one.role, one.kind) != (two.region, two.role, two.kind):
        return None
    texts = zip(one.text, two.text, strict=False)
    equal = next((n for n, (a, b) in enumerate(texts) if a != b), min(len(one.text), len(two.text)))
    return base.number, at, int(sent.sizes[at] * sent.scale * equal / max(1, len(two.text)))


def _simulated(
    placed: Placed, pool: Sequence[Sent], facts: Facts, overlap: tuple[int, int, int] | None = None
) -> Outcome:
    """What becomes of the request behind those of its pool and what markers have stored before."""
    requests = [*pool, placed.sent]
    made = calls(requests)
    stored = [entry_call(entry, index, made[-1]) for index, entry in placed.stored]
    if overlap is not None:
        number, at, equal = overlap
        other = next((call for call, one in zip(made, requests, strict=True) if one.number == number), None)
        if other is not None and equal:
            made[-1] = _overlapping(made[-1], other, at, equal)
    earlier = sorted([*stored, *made[:-1]], key=lambda call: call.at)
    return simulator.predict([*earlier, made[-1]], facts)[-1]


def _overlapping(call: Call, other: Call, at: int, equal: int) -> Call:
    """The call with the first tokens of a block taken from another call's."""
    blocks = list(call.blocks)
    ids = (*other.blocks[at].tokens[:equal], *blocks[at].tokens[equal:])
    blocks[at] = replace(blocks[at], tokens=ids)
    return replace(call, blocks=tuple(blocks))


def _switched(placed: Placed, plain: Verdict) -> Verdict | None:
    """The same conversation went to another model or provider before."""
    sent, other = placed.sent, placed.elsewhere
    if other is None:
        return None
    had = shared(sent, other)
    here = placed.shared if placed.base is not None and placed.base.pool == sent.pool else 0
    lost = _tokens(sent, had) - max(_tokens(sent, here), plain.read)
    if lost < _LEAST or _tokens(sent, had) < sent.facts.minimum:
        return None
    names = tuple(
        f"{name}: {old or '?'} -> {new or '?'}"
        for name, old, new in (
            ("provider", other.facts.provider, sent.facts.provider),
            ("model", other.facts.model, sent.facts.model),
        )
        if old != new
    )
    return replace(plain, cause=Cause.MODEL, base=other, gap=sent.at - other.at, lost=lost, names=names, same=True)


def _diverged(
    placed: Placed, plain: Verdict, found: Divergence, earlier: Sequence[Part], later: Sequence[Part]
) -> Verdict | None:
    """The verdict where the prompt stops being equal; ``None`` where nothing behind that place was there before."""
    sent, base = placed.sent, placed.base
    assert base is not None
    kept = round(sum(sent.sizes[index] * share for index, share in found.kept) * sent.scale)
    possible = _tokens(sent, found.index) + kept
    lost = min(kept, possible - plain.read)
    least = max(_MUCH, round(_SHARE * sent.total))
    if placed.same:  # whole parts that were there before are no rounding, however small
        least = 1 if any(share == 1 for _, share in found.kept) else _LEAST
    if lost < least or possible < sent.facts.minimum or _expired(base, sent):
        return None
    if sent.facts.trigger == "explicit" and not (_asks(sent) and _asks(base)):
        return None
    if sent.facts.forgets_thinking and compare(base.wire().parts, sent.wire().parts) is None:
        gone = replace(found, path=earlier[found.index].path)
        return replace(plain, cause=Cause.THINKING, lost=lost, divergence=gone)
    return replace(plain, cause=found.change, lost=lost, divergence=found, names=found.names)


def _asks(sent: Sent) -> bool:
    """Whether a request asks for caching, where that is needed."""
    return sent.marked or bool(sent.facts.request_marker and sent.facts.request_marker in sent.parameters)


def _expired(base: Sent, sent: Sent) -> bool:
    lifetimes = [sent.facts.lifetime(ttl) for ttl in (*base.marks.values(), base.automatic)]
    known = [seconds for seconds in lifetimes if seconds is not None]
    return bool(known) and sent.at - base.at >= max(known)


def _undiverged(placed: Placed, plain: Verdict, pool: Sequence[Sent]) -> Verdict:
    """The verdict where the prompt goes on as the earlier one did, as far as it matters."""
    sent, base, facts = placed.sent, placed.base, placed.sent.facts
    assert base is not None
    had = base.total if sent.previous and placed.same else _tokens(sent, placed.shared)
    lost = had - plain.read
    whole = Cause.HIT if plain.read else Cause.NEW
    if had < facts.minimum and not plain.read:
        short = sent.total < facts.minimum and (placed.same or sent.marked)
        note = f"{sent.total:,} of {facts.minimum:,} tokens" if short else ""
        return replace(plain, cause=Cause.BELOW if short else Cause.NEW, note=note)
    if lost < _LEAST:
        return replace(plain, cause=whole)
    names = tuple(name for name in differing(base.parameters, sent.parameters) if facts.invalidates(name))
    if names:
        gone = round(sum(_dropped(sent, placed.shared, names, facts)) * sent.scale)
        if min(gone, lost) >= _LEAST:
            shown = tuple(f"{n}: {_value(base, n)} -> {_value(sent, n)}" for n in names)
            return replace(plain, cause=Cause.PARAMETER, lost=min(gone, lost), names=shown)
    if lost < max(round(had * _TOLERANCE / 2), 2 * facts.granularity if facts.granularity > 1 else 0):
        return replace(plain, cause=whole)
    if facts.trigger == "explicit" and not _asks(sent):
        asked = any(_asks(one) for one in placed.earlier)
        return replace(plain, cause=Cause.DROPPED if asked else Cause.UNMARKED, lost=lost)
    if not facts.concurrent and base.at + base.begins >= sent.at and not any(_begun(one, sent, base) for one in pool):
        return replace(plain, cause=Cause.PARALLEL, lost=lost)
    if _expired(base, sent) and not plain.read:
        return replace(plain, cause=Cause.EXPIRED, lost=lost)
    if sent.guessed:
        return replace(plain, cause=whole)
    predicted = plain.predicted.read if plain.predicted else had
    if plain.read >= predicted * (1 - _TOLERANCE) - max(facts.granularity, 2 * _LEAST):
        return _unstored(placed, plain, pool, lost)
    return replace(plain, cause=Cause.ROUTING, lost=predicted - plain.read)


def _begun(one: Sent, sent: Sent, base: Sent) -> bool:
    """Whether another request that shares as much had stored it in time."""
    return one.at + one.begins < sent.at and shared(sent, one) >= shared(sent, base)


def _value(sent: Sent, name: str) -> str:
    value = sent.parameters.get(name, "left out")
    return value if len(value) <= 40 else value[:40] + "…"


def _dropped(sent: Sent, parts: int, names: Sequence[str], facts: Facts) -> list[int]:
    """The sizes of the shared parts whose cache a change of these parameters costs."""
    rows = [row for name in names if (row := facts.invalidates(name))]
    regions = {region for row in rows for region in (*row.drops, *row.may_drop)}
    return [
        size for size, (region, _, _) in zip(sent.sizes[:parts], sent.shapes[:parts], strict=True) if region in regions
    ]


def _unstored(placed: Placed, plain: Verdict, pool: Sequence[Sent], lost: int) -> Verdict:
    """The provider behaves as predicted, and still reads less than what both requests share."""
    sent = plain.sent
    far = replace(sent.facts, lookback=None, window=None)
    if plain.predicted is not None and _simulated(placed, pool, far).read > plain.predicted.read + _LEAST:
        return replace(plain, cause=Cause.LOOKBACK, lost=lost)
    if sent.facts.policy in ("markers", "window"):
        return replace(plain, cause=Cause.UNSTORED, lost=lost)
    return replace(plain, cause=Cause.HIT)
