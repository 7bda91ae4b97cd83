"""Findings beside a trace: what it confirms, what it could have shown and did not, and what it cannot show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.span import Span
from promptlint.trace.analysis import analyse
from promptlint.trace.format import Exchange, Frame, encode
from promptlint.trace.matching import compared
from promptlint.trace.outcomes import writing
from promptlint.trace.sums import summed
from promptlint.trace.tally import Tally
from tests.trace.traces import RULES, Trace, claude, dialogue

PLACE = Span("app/chat.py", 12, 1, 12, 40)
HERE = (Frame("app/chat.py", 12, "ask"),)


def finding(rule: str, scope: Scope) -> Finding:
    site = Site(PLACE, "anthropic", "claude-sonnet-5")
    return Finding("said", PLACE, Severity.ERROR, Confidence.HIGH, scope, Region.SYSTEM, site, rule=rule)


def conversations(count: int, turns: int, head: str = "") -> list[Exchange]:
    trace = Trace()
    for number in range(count):
        texts = [f"{number}: {text}" for text in dialogue(turns)]
        for turn in range(1, turns + 1):
            trace.send(claude(head.format(turn) + RULES, texts[: 2 * turn - 1]), site=HERE)
    return trace.exchanges


def processes(exchanges: list[Exchange]) -> list[Exchange]:
    return [replace(one, pid=number) for number, one in enumerate(exchanges)]


@pytest.mark.parametrize("stored", [False, True], ids=["trace", "outcomes"])
@pytest.mark.parametrize(
    ("exchanges", "scope", "verdict"),
    [
        (conversations(1, 3, "It is 10:0{}:11. "), Scope.TURN, "confirmed"),
        (conversations(1, 3), Scope.TURN, "not seen"),
        (conversations(1, 1), Scope.TURN, "not exercised"),
        (conversations(2, 1), Scope.CONVERSATION, "not seen"),
        (conversations(1, 3), Scope.CONVERSATION, "not exercised"),
        (processes(conversations(2, 1)), Scope.PROCESS, "not seen"),
        (conversations(2, 2), Scope.PROCESS, "not exercised"),
        (conversations(1, 1), Scope.REQUEST, "not seen"),
    ],
)
def test_verdict(
    exchanges: list[Exchange], scope: Scope, verdict: str, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace, rows = Path("t.jsonl"), Path("o.parquet")
    trace.write_text("".join(f"{encode(one)}\n" for one in exchanges))
    with writing(rows) as written:
        tally: Tally = analyse([trace], each=written.add).tally
    [match] = compared(summed([rows]).tally if stored else tally, [finding("volatile-time", scope)]).matches
    assert match.verdict == verdict


def test_a_call_that_is_not_in_the_trace() -> None:
    [match] = compared(Tally(), [finding("volatile-time", Scope.REQUEST)]).matches
    assert match.verdict == "not exercised"
