"""Wording: quantities, what is lost, and the closing lines."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.output import render, words
from promptlint.output.words import lost, plain, quantity
from promptlint.report import Report
from promptlint.span import Span
from promptlint.tokens import UNKNOWN, Interval


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (Interval(2400, 2400), "about 2,400 tokens"),
        (Interval(1, 1), "about 1 token"),
        (Interval(2390, 2410), "about 2,400 tokens"),
        (Interval(900, 16000.0), "between 900 and 16,000 tokens"),
        (Interval(0, 1900), "up to 1,900 tokens"),
        (Interval(3000, inf), "at least 3,000 tokens"),
        (UNKNOWN, "an unknown number of tokens"),
    ],
)
def test_quantity(tokens: Interval, words: str) -> None:
    assert quantity(tokens) == words


def test_lost_says_where_only_if_there_is_a_behind(report: Report) -> None:
    finding = replace(report.findings[0], tokens_lost=Interval(50, 50))
    assert lost(finding) == "about 50 tokens behind it, each time it happens"
    assert lost(replace(finding, region=Region.PARAMETERS)) == "about 50 tokens, each time it happens"
    assert lost(replace(finding, primary=finding.site.span)) == "about 50 tokens, each time it happens"
    assert lost(replace(finding, severity=Severity.ERROR)) == "about 50 tokens behind it, on every turn"


@pytest.mark.parametrize("tokens", [None, Interval(0, 0)])
def test_nothing_countable_is_no_loss(report: Report, tokens: Interval | None) -> None:
    assert lost(replace(report.findings[0], tokens_lost=tokens)) is None


def test_messages_stay_on_one_line() -> None:
    assert plain("a\n  b\x1b[31m") == "a b\ufffd[31m"


def last_lines(report: Report, shown: list[Finding]) -> list[str]:
    return render(report, "full", shown).rsplit("\n\n", 1)[-1].splitlines()


def test_hidden_findings_come_with_the_options_that_show_them(report: Report) -> None:
    hidden = replace(report.findings[0], severity=Severity.INFO, confidence=Confidence.LOW)
    report = replace(report, findings=(hidden, report.findings[0]), unparsed=0)
    assert last_lines(report, [report.findings[1]])[1:] == [
        "To see what could be changed about it: promptlint check --diff --unsafe-fixes",
        "Not shown: 1 info below the thresholds (--min-severity info --min-confidence low shows it).",
    ]


def test_suppressed_findings_are_counted(report: Report) -> None:
    quiet = tuple(replace(report.findings[0], suppressed="", fingerprint=str(number)) for number in range(2))
    assert last_lines(replace(report, findings=quiet, problems=(), unparsed=0), list(quiet)) == [
        "All quiet: no finding in 12 files, 2 requests.",
        "Not shown: 2 suppressed by comments.",
    ]


def volatile_time(report: Report) -> Finding:
    """2,400 tokens lost on every turn with claude-sonnet-5."""
    return next(finding for finding in report.findings if finding.rule == "volatile-time")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "about $6.48 more for 1,000 turns than with a hit (claude-sonnet-5)"),
        (
            {"tokens_lost": Interval(2400, 4800)},
            "$6.48 to $12.96 more for 1,000 turns than with a hit (claude-sonnet-5)",
        ),
        (
            {"tokens_lost": Interval(2400, inf), "scope": Scope.CONVERSATION},
            "at least $6.48 more for 1,000 new conv",
        ),
        ({"tokens_lost": Interval(0, inf)}, None),
        ({"tokens_lost": Interval(1, 1)}, None),
        ({"tokens_lost": None}, None),
        ({"scope": Scope.REQUEST}, None),
        ({"site": Site(Span("a.py", 1), "anthropic")}, None),
        ({"site": Site(Span("a.py", 1), "unknown", "glorp-7")}, None),
    ],
)
def test_money(monkeypatch: pytest.MonkeyPatch, report: Report, changes: dict[str, Any], text: str | None) -> None:
    """2,400 tokens at 3 dollars a million, nine tenths of which a hit would have saved: 6.48 dollars for 1,000."""
    monkeypatch.setattr(words, "input_price", lambda facts: lambda size: 3 / 1_000_000)
    said = words.money(replace(volatile_time(report), **changes))
    assert said == text or (text is not None and said is not None and said.startswith(text))


def test_no_money_without_the_package(report: Report) -> None:
    assert words.money(volatile_time(report)) is None
