"""Carries a plan out, request by request, each after the answer to the one before."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from promptlint import simulator
from promptlint.finding import Scope
from promptlint.probe import bodies
from promptlint.probe.claims import Claim
from promptlint.probe.plan import ALONE, FILL, Destination, Plan, Step, Trial
from promptlint.probe.samples import Sample
from promptlint.probe.send import NotSent, Refused, Sender, Stop
from promptlint.probe.verdict import Ruling, Sent, Verdict, judge, refusal
from promptlint.simulator import Call, Outcome
from promptlint.trace import wire

SETTLE = 1.0
"""Seconds between two requests to a vendor: an entry may take a moment until every machine finds it."""

INTERRUPTED = "interrupted"

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Result:
    """What came of a plan. ``stopped`` says why not all of it was carried out, "" if it was."""

    verdicts: list[Verdict] = field(default_factory=list)
    stopped: str = ""
    interrupted: bool = False
    sent: int = 0


@dataclass(slots=True)
class Ledger:
    """All calls that were sent to each server, for the simulator: what one finds, another may have stored."""

    counted: Callable[[Sample], Call]
    calls: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    began: float = field(default_factory=time.monotonic)

    def call(self, sample: Sample) -> Call:
        """The request as it is sent now."""
        return replace(self.counted(sample), at=time.monotonic() - self.began)

    def expect(self, where: Destination, sample: Sample, call: Call) -> Outcome:
        """The outcome to expect of a call."""
        return simulator.predict([*self.calls[where.server], call], sample.facts)[-1]

    def add(self, where: Destination, call: Call) -> None:
        """Takes note of a call that was answered."""
        self.calls[where.server].append(call)


def standing_in(sample: Sample) -> Call:
    """The request with token ids that stand in for the provider's own."""
    return wire.call(sample.wire, sample.facts)


def run(plan: Plan, sender: Sender, progress: Progress, counted: Callable[[Sample], Call] = standing_in) -> Result:
    """The verdicts of a plan, also of the part that was reached when something ended it."""
    result = Result([_left(claim, reason) for claim, reason in plan.left])
    ledger, done = Ledger(counted), 0
    for number, trial in enumerate(plan.trials):
        try:
            if number == 0:
                sender.check({trial.destination for trial in plan.trials})
            for step in _trial(trial, sender, ledger, result.verdicts):
                done += 1
                progress(step.purpose, done, plan.requests)
        except Stop as stop:
            result.stopped = str(stop)
        except KeyboardInterrupt:
            result.stopped, result.interrupted = INTERRUPTED, True
        if result.stopped:
            rest = [claim for later in plan.trials[number:] for claim in later.claims]
            known = {id(verdict.claim) for verdict in result.verdicts}
            result.verdicts += [_left(claim, f"not sent: {result.stopped}") for claim in rest if id(claim) not in known]
            break
    result.sent = sender.sent
    return result


def _left(claim: Claim, reason: str) -> Verdict:
    return Verdict(claim, Ruling.INCONCLUSIVE, reason)


def _trial(trial: Trial, sender: Sender, ledger: Ledger, verdicts: list[Verdict]) -> Iterator[Step]:
    """Sends the steps of a trial, and adds the verdicts on its claims at the end."""
    sent: list[Sent] = []
    before: str | None = None
    try:
        for step in trial.steps:
            if sent and not trial.destination.local:
                sender.sleep(SETTLE)
            where, call = trial.destination, ledger.call(step.sample)
            expected = ledger.expect(where, step.sample, call)
            counted = sender.count(step, where) if step.purpose != ALONE else None
            body = bodies.diagnosed(step.body, step.sample, before) if step.purpose != ALONE else step.body
            answer = sender.post(step, where, body)
            ledger.add(where, call)
            before = answer.id or None
            sent.append(Sent(step, expected, answer, counted))
            yield step
    except Refused as refused:
        verdicts += [refusal(claim, str(refused)) for claim in trial.claims]
        return
    except NotSent as failed:
        which = "" if trial.steps[len(sent)].purpose == FILL else f"{trial.steps[len(sent)].purpose}: "
        readings = tuple(one.reading for one in sent)
        verdicts += [Verdict(claim, Ruling.INCONCLUSIVE, f"{which}{failed}", readings) for claim in trial.claims]
        return
    except (Stop, KeyboardInterrupt) as end:
        why = str(end) or INTERRUPTED
        readings = tuple(one.reading for one in sent)
        verdicts += [Verdict(claim, Ruling.INCONCLUSIVE, f"not decided: {why}", readings) for claim in trial.claims]
        raise
    for claim in trial.claims:
        alone = claim.finding is not None and claim.finding.scope is Scope.REQUEST
        verdicts.append(refusal(claim, None) if alone else judge(claim, sent))
