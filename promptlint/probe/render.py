"""The plan and the verdicts in words, and the verdicts as JSON for other programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from promptlint.output.jsonformat import VERSION, dumps
from promptlint.output.paint import Paint
from promptlint.output.words import count, discreet, listing, plain
from promptlint.prices import HINT, available
from promptlint.probe import bodies, engine
from promptlint.probe.claims import Claim
from promptlint.probe.execute import Result
from promptlint.probe.offline import Forecast
from promptlint.probe.plan import Plan, Step, Trial
from promptlint.probe.send import RETRIES
from promptlint.probe.verdict import Reading, Ruling, Verdict

_STYLE = {Ruling.CONFIRMED: "bold red", Ruling.REFUTED: "bold green", Ruling.INCONCLUSIVE: "bold yellow"}


def plan(planned: Plan, *, color: bool, width: int) -> str:
    """What would be sent, request by request, what it may cost, and what is left out."""
    return _joined(_plan(planned, Paint(color), width))


def _plan(planned: Plan, paint: Paint, width: int) -> Iterator[str]:
    size = f"{count(planned.requests, 'request')}, at most {count(planned.tokens, 'input token')}"
    yield paint(f"Plan: {size}{_dollars(planned.dollars) or ', at an unknown price'}", "bold")
    for trial in planned.trials:
        yield ""
        yield from _trial(trial, paint, width)
    yield ""
    if planned.trials:
        yield from _wrapped(
            "Prompts and parameters are those of your program, with the shortest answer that the API allows. A request"
            f" that fails is repeated up to {RETRIES} times where that cannot change the result. Nothing else is sent.",
            width,
        )
    if asked := engine.asked(planned):
        routes = listing(asked.routes)
        yield f"The server at {asked.destination.url} is asked how it counts ({routes}), which computes no answer."
    if any(bodies.countable(trial.steps[0].sample) for trial in planned.trials):
        yield from _wrapped(
            f"Anthropic counts the tokens of each prompt beforehand ({bodies.COUNTING}), for free.", width
        )
    if planned.unpriced:
        models = listing(planned.unpriced)
        yield f"No price is known for {models}{'' if available() else f': {HINT}'}."
    yield from (line for claim, reason in planned.left for line in _left(claim, reason, width))


def _dollars(dollars: float | None) -> str:
    return "" if dollars is None else f", at most ${dollars:.4f}"


def _trial(trial: Trial, paint: Paint, width: int) -> Iterator[str]:
    first = trial.steps[0].sample
    yield f"{paint(trial.claims[0].site, 'bold')}  {first.wire.model or 'no model'} at {trial.destination.url}"
    for claim in trial.claims:
        yield from _wrapped(f"{_name(claim)}: {_expectation(claim)}", width, "  ")
    for number, step in enumerate(trial.steps, 1):
        size = f"up to {count(step.tokens, 'token')} of input{_dollars(step.dollars)}"
        yield f"  {number}. {step.purpose}: {size}, {_form(step)}"
    if any(bodies.compares(step.sample) for step in trial.steps) and len(trial.steps) > 1:
        yield "     each asks the provider to compare it with the one before (its own diagnosis, free)"


def _form(step: Step) -> str:
    tokens = bodies.output(step.body)
    return f"at most {tokens:,} of output" if tokens else "no output (prewarming)"


def _left(claim: Claim, reason: str, width: int) -> Iterator[str]:
    yield from _wrapped(f"Left out: {claim.site}, {_name(claim)}: {plain(reason)}.", width)


def _name(claim: Claim) -> str:
    return claim.finding.rule if claim.finding else "no finding"


def _expectation(claim: Claim) -> str:
    """What is expected without sending anything."""
    found = claim.forecast
    if found is None:
        return "the API is said to refuse it" if claim.sample else plain(claim.missing)
    if found.refused:
        return f"the API refuses it: {found.refused}"
    if claim.absent and found.control:
        return f"nothing is to be cached by the finding, and the same request again {found.control_why}"
    if not found.control:
        return f"nothing is cached: {found.control_why}"
    if not found.breaks:
        return "nothing is lost between the two requests"
    hidden = "" if claim.shows else "; what the finding is about lies behind that"
    axis = f"; it follows {claim.axis}" if claim.axis else ""
    return f"the second request loses about {found.lost:,} of {found.total:,} tokens, {cause(found)}{axis}{hidden}"


def cause(found: Forecast) -> str:
    """Where two requests part, in words."""
    if found.difference is not None:
        part = found.difference
        texts = f"“{_snippet(part.before)}” | “{_snippet(part.after)}”"
        where = part.path if part.char is None else f"{part.path}, character {part.char + 1:,}"
        return f"parting in {part.region} at {where} ({part.change}): {texts}"
    if found.parameters:
        return f"as {listing(found.parameters)} differ{'s' if len(found.parameters) == 1 else ''}"
    return f"though the texts are equal: {found.why}"


def _snippet(text: str) -> str:
    return plain(discreet(text))


def verdicts(result: Result, *, color: bool, width: int) -> str:
    """Each verdict with its numbers, and the totals."""
    paint = Paint(color)
    return _joined(line for lines in (_verdicts(result, paint, width), _totals(result, paint)) for line in lines)


def _verdicts(result: Result, paint: Paint, width: int) -> Iterator[str]:
    for verdict in result.verdicts:
        claim = verdict.claim
        ruling = paint(_label(verdict), _STYLE[verdict.ruling])
        said = f"{claim.finding.rule}: {plain(claim.finding.message)}" if claim.finding else "no finding"
        yield f"{paint(claim.site, 'bold')}  {ruling}  {said}"
        yield from _wrapped(f"{plain(verdict.reason)}.", width, "    ")
        if claim.forecast and claim.forecast.breaks and claim.shows:
            yield from _wrapped(f"offline: {_expectation(claim)}", width, "    ")
        if verdict.diagnosis:
            yield f"    the provider says: {plain(verdict.diagnosis)}"
        yield from _table(verdict.readings)
        yield ""


def _label(verdict: Verdict) -> str:
    sound = verdict.claim.finding is None and verdict.ruling is Ruling.REFUTED
    return "no miss" if sound else "a miss" if _unforeseen(verdict) else verdict.ruling.value


def _unforeseen(verdict: Verdict) -> bool:
    return verdict.claim.finding is None and verdict.ruling is Ruling.CONFIRMED


def _table(readings: Sequence[Reading]) -> Iterator[str]:
    if not readings:
        return
    rows = [("cached tokens of all", "predicted", "reported")]
    for r in readings:
        told = (_counts(r.predicted, r.predicted_total, r.predicted_written), _counts(r.read, r.total, _paid(r)))
        rows.append((r.purpose, *told))
    broad, middle, last = (max(len(row[column]) for row in rows) for column in range(3))
    yield from (f"    {name:{broad}}  {predicted:>{middle}}  {told:>{last}}" for name, predicted, told in rows)


def _paid(reading: Reading) -> int | None:
    """Tokens that were written at a price."""
    return reading.written if reading.predicted_written is not None else None


def _counts(read: int | None, total: int | None, written: int | None) -> str:
    stored = "" if written is None else f", {written:,} written"
    return f"{_number(read)} of {_number(total)}{stored}"


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _totals(result: Result, paint: Paint) -> Iterator[str]:
    tally = Counter(verdict.ruling for verdict in result.verdicts)
    parts = [f"{tally[ruling]:,} {ruling}" for ruling in Ruling if tally[ruling]]
    sent = f"{count(result.sent, 'request')} sent" if result.sent else "nothing was sent"
    yield paint(f"{listing(parts) if parts else 'Nothing to probe'}; {sent}.", "bold")
    if result.stopped:
        yield f"The probe ended early: {plain(result.stopped)}."


def offline(claims: Sequence[Claim], *, color: bool, width: int) -> str:
    """What is expected of each claim, without verdicts."""
    paint = Paint(color)
    lines = []
    for claim in claims:
        level = "bold red" if loses(claim) else "bold green" if claim.forecast else "bold yellow"
        state = "misses" if loses(claim) else "holds" if claim.forecast and claim.forecast.control else "unknown"
        lines.append(f"{paint(claim.site, 'bold')}  {paint(f'offline: {state}', level)}  {_name(claim)}")
        lines += _wrapped(f"{_expectation(claim)}.", width, "    ")
    return _joined(lines)


def loses(claim: Claim) -> bool:
    """Whether a miss, or an error, is to be expected of a claim."""
    found = claim.forecast
    if found is None:
        return False
    return bool(found.refused) or (found.breaks and claim.shows) or (claim.absent and not found.control)


def as_json(planned: Plan, claims: Sequence[Claim], result: Result | None) -> str:
    """Everything for other programs; without a result (nothing was sent) the expectations alone."""
    ruled = {id(verdict.claim): verdict for verdict in result.verdicts} if result else {}
    return dumps(
        {
            "version": VERSION,
            "plan": {"requests": planned.requests, "tokens": planned.tokens, "usd": planned.dollars},
            "sent": result.sent if result else 0,
            "stopped": result.stopped or None if result else None,
            "claims": [_claim(claim, ruled.get(id(claim))) for claim in claims],
        }
    )


def _claim(claim: Claim, verdict: Verdict | None) -> dict[str, object]:
    finding = claim.finding
    return {
        "site": claim.site,
        "rule": finding.rule if finding else None,
        "fingerprint": finding.fingerprint if finding else None,
        "message": finding.message if finding else None,
        "offline": _forecast(claim),
        "axis": claim.axis or None,
        "verdict": verdict.ruling.value if verdict else None,
        "reason": discreet(verdict.reason) if verdict else claim.missing or None,
        "diagnosis": verdict.diagnosis or None if verdict else None,
        "requests": [_reading(reading) for reading in verdict.readings] if verdict else [],
    }


def _forecast(claim: Claim) -> dict[str, object] | None:
    found = claim.forecast
    if found is None:
        return None
    part = found.difference
    return {
        "misses": loses(claim),
        "tokens": found.total,
        "tokens_lost": found.lost,
        "refused": found.refused or None,
        "parameters": list(found.parameters),
        "difference": None
        if part is None
        else {
            "region": part.region,
            "path": part.path,
            "character": part.char,
            "change": part.change.value,
            "before": discreet(part.before),
            "after": discreet(part.after),
        },
    }


def _reading(reading: Reading) -> dict[str, object]:
    return {
        "purpose": reading.purpose,
        "predicted": {
            "read": reading.predicted,
            "written": reading.predicted_written,
            "total": reading.predicted_total,
        },
        "reported": {"read": reading.read, "written": reading.written, "total": reading.total},
    }


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    room = max(40, width)
    return textwrap.wrap(text, room, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _joined(lines: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)
