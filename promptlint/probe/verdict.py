"""What the provider's counts say about a claim: confirmed, refuted, or inconclusive and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from promptlint.finding import Scope
from promptlint.probe.claims import Claim
from promptlint.probe.offline import Forecast, margin
from promptlint.probe.plan import Step
from promptlint.probe.send import Answer
from promptlint.simulator import Outcome
from promptlint.trace.usage import Usage, reported


class Ruling(StrEnum):
    """The answer to a claim that a request misses the cache."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Reading:
    """One request that was sent: input tokens read from the cache, written to it and in all, predicted and reported.

    What is reported is ``None`` where the server does not say. ``predicted_total`` is what the provider itself counted
    beforehand, or counts with a tokenizer that stands in for its own, where that is not public. ``predicted_written``
    is ``None`` where writing has no price.
    """

    purpose: str
    predicted: int
    predicted_total: int
    read: int | None
    total: int | None
    predicted_written: int | None = None
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The ruling on one claim with its reason, and the requests that it rests on.

    ``diagnosis`` is what the provider itself says.
    """

    claim: Claim
    ruling: Ruling
    reason: str
    readings: tuple[Reading, ...] = ()
    diagnosis: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """A step, what was expected of it after all that was sent before, and the answer.

    ``counted`` are its tokens as the provider counted them beforehand, where it does.
    """

    step: Step
    expected: Outcome
    answer: Answer
    counted: int | None = None

    @property
    def usage(self) -> Usage:
        """The counts of the answer."""
        return reported(self.answer.usage, self.step.sample.facts)

    @property
    def scale(self) -> float:
        """The provider's tokens for one of ours, over the whole request."""
        total = self.usage.total or self.counted
        return total / self.expected.total if total and self.expected.total else 1.0

    @property
    def reading(self) -> Reading:
        """The numbers side by side."""
        usage, expected = self.usage, self.expected
        scale = self.counted / expected.total if self.counted and expected.total else 1.0
        return Reading(
            self.step.purpose,
            round(expected.read * scale),
            round(expected.total * scale),
            usage.read,
            usage.total,
            round(expected.stored * scale) if self.step.sample.facts.write else None,
            usage.stored if usage.written is not None else None,
        )


def judge(claim: Claim, sent: Sequence[Sent]) -> Verdict:
    """The verdict on a claim from the three answers to its pair: the first request, the same again, and the second."""
    readings = tuple(one.reading for one in sent)
    diagnosis = _said(sent[-1].answer)
    ruling, reason = _ruling(claim, sent)
    return Verdict(claim, ruling, reason, readings, diagnosis)


def refusal(claim: Claim, message: str | None) -> Verdict:
    """The verdict on a claim that the API refuses a request: it did with this message, or (``None``) it did not."""
    if message is None:
        return Verdict(claim, Ruling.REFUTED, "the API takes the request")
    if not claim.finding or claim.finding.scope is not Scope.REQUEST:
        return Verdict(claim, Ruling.INCONCLUSIVE, f"the API refuses the request: {message}")
    if any(word in message.lower() for word in _ABOUT_CACHING):
        return Verdict(claim, Ruling.CONFIRMED, f"the API refuses the request: {message}")
    return Verdict(claim, Ruling.INCONCLUSIVE, f"the API refuses the request for another reason: {message}")


_ABOUT_CACHING = ("cache", "ttl", "breakpoint", "thinking", "marker", "lifetime")


def _ruling(claim: Claim, sent: Sequence[Sent]) -> tuple[Ruling, str]:
    first, control, pair = sent
    forecast = claim.forecast
    assert forecast is not None
    if control.usage.read is None or pair.usage.read is None:
        return Ruling.INCONCLUSIVE, "the server does not report how many tokens it read from a cache"
    if claim.absent:
        return _absent(first, control)
    if problem := _control(first, control):
        return Ruling.INCONCLUSIVE, problem
    if forecast.breaks and claim.shows:
        return _broken(forecast, first, control, pair)
    if forecast.breaks and forecast.difference:
        part = forecast.difference
        where = f"{part.region} at {part.path} ({part.change})"
        return Ruling.INCONCLUSIVE, f"another difference hides it: the requests part in {where} already"
    return _whole(claim, forecast, control, pair)


def _absent(first: Sent, control: Sent) -> tuple[Ruling, str]:
    if control.usage.read:
        return Ruling.REFUTED, f"the same request twice reads {_of(control)}"
    why = control.expected.why if not control.expected.read else ""
    nothing = "the same request twice reads nothing" + (" and writes nothing" if not first.usage.stored else "")
    if control.expected.read:
        return Ruling.INCONCLUSIVE, f"{nothing}, though these requests ask for caching"
    return Ruling.CONFIRMED, f"{nothing}: {why}"


def _control(first: Sent, control: Sent) -> str:
    """Why the control says nothing, if so: the same request sent again has to be read from the cache."""
    read, hoped = control.usage.read or 0, control.expected.read * control.scale
    if not control.expected.read and not read:
        return f"the same request twice is not cached: {control.expected.why}"
    if read and (read >= hoped / 2 or read >= (first.usage.read or 0) + first.usage.stored):
        return ""
    asked = first.step.sample.facts.trigger == "explicit"
    if asked and first.usage.written is not None and not first.usage.stored and not first.usage.read:
        return "the same request twice is not cached, and nothing was written: the server does not support it here"
    return (
        f"the same request twice reads {read:,} of about {round(hoped):,} tokens: it went to another machine (routing),"
        " or the entry was not ready, or dropped already"
    )


def _broken(forecast: Forecast, first: Sent, control: Sent, pair: Sent) -> tuple[Ruling, str]:
    """A pair that should miss: does it?"""
    read = pair.usage.read or 0
    expected = pair.expected.read * pair.scale
    ideal = _ideal(forecast, control)
    if ideal - expected <= margin(pair.usage.total or 0, pair.step.sample.facts.granularity):
        alone = _counted(forecast.pair, forecast.total, pair)
        if ideal - alone > margin(pair.usage.total or 0, pair.step.sample.facts.granularity):
            return Ruling.INCONCLUSIVE, "an earlier request of this probe has stored what this one would lose"
        return Ruling.INCONCLUSIVE, f"only {max(0, round(ideal - expected)):,} tokens are at stake: too few to tell"
    lost = round(ideal) - read
    if read <= (expected + ideal) / 2:
        return Ruling.CONFIRMED, f"the second request reads {read:,} tokens where the first one again reads " + (
            f"{control.usage.read:,}: {lost:,} are lost"
        )
    if (first.usage.read or 0) > (first.expected.read * first.scale) + margin(first.usage.total or 0):
        return Ruling.INCONCLUSIVE, (
            "the requests were in the cache before the probe began: try again when their lifetime is over"
        )
    return Ruling.REFUTED, f"the second request reads {_of(pair)}, past the difference"


def _whole(claim: Claim, forecast: Forecast, control: Sent, pair: Sent) -> tuple[Ruling, str]:
    """A pair in which nothing should be lost: is it?"""
    read, ideal = pair.usage.read or 0, _ideal(forecast, control)
    if read >= ideal - margin(pair.usage.total or 0, pair.step.sample.facts.granularity):
        differs = "the requests do not differ there, and " if claim.finding else ""
        return Ruling.REFUTED, f"{differs}the second request reads {_of(pair)}"
    missed = f"the second request reads {read:,} of about {round(ideal):,} tokens, though nothing differs before"
    answer = pair.answer
    if answer.asked and _pending(answer.diagnosis):
        return Ruling.INCONCLUSIVE, f"{missed}; the provider's diagnosis is pending"
    if said := _said(answer):
        return Ruling.INCONCLUSIVE, f"{missed}; the provider says: {said}"
    return (
        Ruling.INCONCLUSIVE,
        f"{missed}: it went to another machine (routing), or a rule is at work that is not known",
    )


def _ideal(forecast: Forecast, control: Sent) -> float:
    """Tokens that a sound second request reads: what the control shows, up to where the two should be equal."""
    read = control.usage.read or 0
    if forecast.control <= forecast.ideal:
        return read
    return min(read, _counted(forecast.ideal, forecast.first, control))


def _counted(tokens: int, of: int, one: Sent) -> float:
    """Tokens of a forecast as the provider counts them, by what both make of the whole request."""
    return tokens * (one.usage.total or of) / of if of else tokens


def _of(one: Sent) -> str:
    return f"{one.usage.read or 0:,} of {one.usage.total or 0:,} tokens"


def _pending(diagnosis: Mapping[str, Any] | None) -> bool:
    return diagnosis is not None and "cache_miss_reason" in diagnosis and diagnosis["cache_miss_reason"] is None


def _said(answer: Answer) -> str:
    """The provider's own words about the second request, "" where it has none."""
    found = answer.diagnosis
    if found is None:
        return ""
    if "cache_miss_reason" in found:
        reason = found["cache_miss_reason"]
        if not isinstance(reason, Mapping):
            return "diagnosis pending"
        return _phrase(reason.get("type"), reason.get("cache_missed_input_tokens"))
    return _phrase(found.get("reason") or found.get("type"), found.get("cache_missed_tokens"))


def _phrase(kind: object, tokens: object) -> str:
    words = str(kind).replace("_", " ")
    return f"{words}, {tokens:,} tokens missed" if isinstance(tokens, int) else words
