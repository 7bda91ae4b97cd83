"""The wording that formats share: places, quantities, what is lost, and the totals of a run."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import inf, isinf
from pathlib import PurePath

from promptlint import provider
from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.fix import FIXABLE
from promptlint.prices import input_price
from promptlint.report import Problem, Report
from promptlint.span import Span
from promptlint.tokens import Interval

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_UNKNOWN = "unknown"

_SCOPES = {
    Scope.TURN: "the next turn of the same conversation cannot reuse the cached prompt",
    Scope.CONVERSATION: "other conversations of this program cannot reuse the cached prompt",
    Scope.PROCESS: "other processes and machines cannot reuse the cached prompt",
    Scope.REQUEST: "the API refuses this request",
}

NO_REQUEST = "No call was recognised as sending a prompt; `promptlint map --why-not FILE:LINE` says why one was not."


def visible(character: str) -> str:
    """The character, or a replacement for one that would move the cursor or reorder the line in a terminal."""
    return "\ufffd" if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs") else character


def plain(text: str) -> str:
    """The text on one line and free of control characters, whatever the analysed source contains."""
    return "".join(visible(character) for character in " ".join(text.split()))


_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{4}|AKIA[A-Z0-9]{4}|gh[pousr]_[A-Za-z0-9]{4}|github_pat_[A-Za-z0-9]{4}"
    r"|xox[abprs]-[A-Za-z0-9]{4}|AIza[A-Za-z0-9_-]{4}|hf_[A-Za-z]{4}|gsk_[A-Za-z0-9]{4})([A-Za-z0-9_-]{12,})"
    r"|(?<=PRIVATE KEY-----)([\sA-Za-z0-9+/=]{32,})"
)


def discreet(text: str) -> str:
    """The text with what looks like a key of a known service replaced by asterisks of the same length and lines."""

    def masked(match: re.Match[str]) -> str:
        group = 1 if match[1] else 2
        return match[0][: match.start(group) - match.start()] + re.sub(r"\S", "*", match[group])

    return _SECRET.sub(masked, text)


def place(path: str) -> str:
    """The path relative to the working directory, with forward slashes; absolute only where no relative one exists."""
    if os.path.isabs(path):
        with suppress(ValueError):  # another drive
            path = os.path.relpath(path)
    return PurePath(path).as_posix()


def spot(span: Span) -> str:
    """Path and line of a place: ``app/agent.py:52``, ``notes.ipynb:cell 3:12``."""
    return f"{place(span.path)}:{span.at}"


def in_file(span: Span) -> Span:
    """The place for formats that know lines of files only: those in a notebook stand for nothing in its JSON."""
    return Span(span.path, 1) if span.cell else span


def count(number: int, noun: str) -> str:
    """The number with its noun: "1 file", "1,200 files"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def quantity(tokens: Interval) -> str:
    """An interval of tokens in words; ends less than a tenth apart are given as one number."""
    if isinf(tokens.high):
        return f"at least {tokens.low:,} tokens" if tokens.low > 0 else "an unknown number of tokens"
    high = round(tokens.high)
    if high <= tokens.low * 1.1:
        return "about " + count(round((tokens.low + high) / 2), "token")
    return f"between {tokens.low:,} and {high:,} tokens" if tokens.low > 0 else "up to " + count(high, "token")


def recipient(site: Site) -> str:
    """Provider and model of a request, as far as they are known."""
    return ", ".join(part for part in (site.provider, site.model) if part and part != _UNKNOWN) or "unknown provider"


def at(site: Site) -> str:
    """Where a request is sent and to whom: ``app/agent.py:52 (anthropic, claude-sonnet-5)``."""
    return f"{spot(site.span)} ({recipient(site)})"


def _how_often(finding: Finding) -> str:
    match finding.scope:
        case Scope.TURN:
            return "on every turn" if finding.severity is Severity.ERROR else "each time it happens"
        case Scope.CONVERSATION:
            return "in every new conversation"
        case Scope.PROCESS:
            return "in every new process"
        case Scope.REQUEST:
            return "on every call"


def lost(finding: Finding) -> str | None:
    """What the finding costs and how often, or ``None`` when there is nothing to count."""
    if finding.tokens_lost is None or finding.tokens_lost.high == 0:
        return None
    # Something missing from a request, or one of its parameters, has no text "behind" it.
    positioned = finding.region is not Region.PARAMETERS and finding.primary != finding.site.span
    behind = " behind it" if positioned else ""
    return f"{quantity(finding.tokens_lost)}{behind}, {_how_often(finding)}"


TIMES = 1000
"""How many requests a price is given for."""


def dollars_lost(finding: Finding) -> tuple[float, float] | None:
    """What the lost tokens of ``TIMES`` requests cost above a hit, at the least and at the most (``inf``: not known).

    ``None`` where no price is known or it is next to nothing. A hit would have paid the price of reading for them, a
    miss pays at least the price of uncached tokens.
    """
    tokens, site = finding.tokens_lost, finding.site
    if tokens is None or not tokens.low or not site.model or finding.scope is Scope.REQUEST:
        return None
    facts = provider.facts(site.provider, site.model)
    if facts.read is None or facts.policy == "none" or not facts.caches:
        return None
    price = input_price(facts)
    if price is None:
        return None
    least = TIMES * tokens.low * (1 - facts.read) * price(tokens.low)
    if least < 0.005:
        return None
    return least, inf if isinf(tokens.high) else TIMES * tokens.high * (1 - facts.read) * price(round(tokens.high))


def money(finding: Finding) -> str | None:
    """The same in words: "about $4.32 more for 1,000 turns than with a hit (gpt-4.1)"."""
    costs = dollars_lost(finding)
    if costs is None:
        return None
    least, most = costs
    if isinf(most):
        amount = f"at least ${least:,.2f}"
    elif most <= least * 1.1:
        amount = f"about ${(least + most) / 2:,.2f}"
    else:
        amount = f"${least:,.2f} to ${most:,.2f}"
    return f"{amount} more for {TIMES:,} {_OCCASIONS[finding.scope]} than with a hit ({finding.site.model})"


_OCCASIONS = {
    Scope.TURN: "turns",
    Scope.CONVERSATION: "new conversations",
    Scope.PROCESS: "new processes",
}


def sentence(text: str) -> str:
    """The text, closed by a full stop unless it is already."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def paragraphs(finding: Finding) -> list[str]:
    """What a finding says where no code frame can stand: the message, what it costs, and what to do instead."""
    cost = lost(finding)
    parts = [_in_cell(finding.primary) + finding.message, f"Lost: {cost}." if cost else "", finding.advice]
    return [part for part in parts if part]


def _in_cell(span: Span) -> str:
    return f"cell {span.cell_number}, line {span.row}: " if span.cell else ""


def scope(finding: Finding) -> str:
    """The reuse that is lost, in words."""
    return _SCOPES[finding.scope]


def concerns_request(finding: Finding) -> bool:
    """Whether a request stands behind the finding: not so for broken syntax and unused comments.

    They carry the scope of an API error, which no analysis can claim without knowing the API.
    """
    return finding.scope is not Scope.REQUEST or finding.site.provider not in ("", _UNKNOWN)


def active(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that no comment suppresses."""
    return [finding for finding in findings if finding.suppressed is None]


def unread(report: Report) -> list[str]:
    """One line for each input that could not be analysed."""
    return [
        f"{place(problem.path)}{_at(problem)}: not checked: {plain(problem.message)}" for problem in report.problems
    ]


def _at(problem: Problem) -> str:
    cell = f":cell {problem.cell}" if problem.cell else ""
    return f"{cell}:{problem.line}" if problem.line else cell


def first_line(problem: Problem) -> int:
    """The line for formats that want one, as ``in_file``."""
    return 1 if problem.cell else problem.line or 1


def listing(parts: Sequence[str]) -> str:
    """The parts as prose: "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _by_severity(findings: Sequence[Finding]) -> str:
    tally = Counter(finding.severity for finding in findings)
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning"}
    return ", ".join(
        count(tally[level], nouns[level]) if level in nouns else f"{tally[level]:,} info"
        for level in sorted(tally, reverse=True)
    )


def _hidden(findings: Sequence[Finding], listed: Sequence[Finding]) -> str:
    everything = [*findings, *listed]
    # Never above the defaults: what is named must not hide what is shown without options.
    severity = min(Severity.WARNING, *(f.severity for f in everything))
    confidence = min(Confidence.MEDIUM, *(f.confidence for f in everything))
    options = f"--min-severity {severity} --min-confidence {confidence}"
    pronoun = "it" if len(findings) == 1 else "them"
    return f"{_by_severity(findings)} below the thresholds ({options} shows {pronoun})"


def totals(report: Report, shown: Sequence[Finding]) -> list[str]:
    """The closing lines: what was found in how much, and what was found but is not shown."""
    listed = active(shown)
    looked_at = f"{count(report.files, 'file')}, {count(len(report.requests), 'request')}"
    if listed:
        lines = [f"Found {count(len(listed), 'problem')} ({_by_severity(listed)}) in {looked_at}."]
        fixable = sum(finding.rule in FIXABLE for finding in listed)
        if fixable:
            some = "it" if fixable == len(listed) == 1 else "them" if fixable == len(listed) else f"{fixable} of them"
            lines.append(f"To see what could be changed about {some}: promptlint check --diff --unsafe-fixes")
    else:
        lines = [f"All quiet: no finding in {looked_at}."]
    kept = set(listed)
    hidden = [finding for finding in active(report.findings) if finding not in kept]
    suppressed = len(report.findings) - len(active(report.findings))
    remarks = []
    if hidden:
        remarks.append(_hidden(hidden, listed))
    if suppressed:
        remarks.append(f"{suppressed:,} suppressed by {'a comment' if suppressed == 1 else 'comments'}")
    remarks += report.set_aside
    if remarks:
        lines.append(f"Not shown: {listing(remarks)}.")
    if report.files and not report.requests:
        lines.append(NO_REQUEST)
    if report.unparsed:
        broken = f"{count(report.unparsed, 'file')} with syntax errors"
        lines.append(f"Left out: {broken} (not reported: syntax-error is switched off).")
    return lines
