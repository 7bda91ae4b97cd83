"""``json`` and ``jsonl``: the contract for other programs, version 1. Fields may be added to it, never changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isinf

from promptlint.finding import Finding, Fix, Measured, Site
from promptlint.output.words import TIMES, concerns_request, dollars_lost, place
from promptlint.report import Problem, Report
from promptlint.span import Span
from promptlint.tokens import Interval

VERSION = 1


def interval(tokens: Interval) -> dict[str, int | None]:
    """The two ends of an interval; no upper end is ``null``."""
    return {"low": tokens.low, "high": None if isinf(tokens.high) else round(tokens.high)}


def point(span: Span) -> dict[str, str | int]:
    """The file and line of a span, and the cell that the line counts from in a notebook."""
    return {"path": place(span.path), **_cell(span.cell_number), "line": span.row}


def _cell(number: int | None) -> dict[str, int]:
    return {"cell": number} if number else {}


def _request(site: Site) -> dict[str, str | int | None]:
    return {**point(site.span), "provider": site.provider, "model": site.model}


def _finding(finding: Finding) -> dict[str, object]:
    primary = finding.primary
    return {
        "rule": finding.rule,
        "code": finding.code,
        "kind": finding.kind,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "message": finding.message,
        "path": place(primary.path),
        **_cell(primary.cell_number),
        "line": primary.row,
        "column": primary.column,
        "end_line": primary.end_row or primary.row,
        "end_column": primary.end_column or primary.column,
        "scope": finding.scope.value,
        "region": finding.region.value,
        "tokens_lost": interval(finding.tokens_lost) if finding.tokens_lost else None,
        "dollars_lost": _dollars(finding),
        "request": _request(finding.site) if concerns_request(finding) else None,
        "origin": point(finding.origin) if finding.origin else None,
        "flow": [{**point(step.span), "message": step.message, "because": step.because} for step in finding.flow],
        "also": [_request(site) for site in finding.also],
        "fix": _fix(finding.fix) if finding.fix else None,
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed is not None,
        "measured": _measured(finding.measured),
    }


def _dollars(finding: Finding) -> dict[str, float | None] | None:
    """What is paid above a hit for so many requests; ``None`` without a price."""
    costs = dollars_lost(finding)
    if costs is None:
        return None
    least, most = costs
    return {"requests": TIMES, "low": round(least, 4), "high": None if isinf(most) else round(most, 4)}


def _measured(measured: Measured | None) -> dict[str, str] | None:
    if measured is None:
        return None
    return {"verdict": measured.ruling, "on": measured.on.isoformat(), "reason": measured.reason}


def _fix(fix: Fix) -> dict[str, object]:
    return {
        "applicability": fix.applicability.value,
        "title": fix.title,
        "options": [{"title": option.title, "effect": option.effect} for option in fix.options],
        "edits": [
            {
                "path": place(edit.span.path),
                "line": edit.span.line,
                "column": edit.span.column,
                "end_line": edit.span.end_line,
                "end_column": edit.span.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }


def _problem(problem: Problem) -> dict[str, object]:
    where = {"path": place(problem.path), **_cell(problem.cell), "line": problem.line}
    return {**where, "message": problem.message}


def dumps(document: object) -> str:
    """JSON text that survives any terminal or pipe encoding."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def render(report: Report, shown: Sequence[Finding]) -> str:
    """The findings that the thresholds let through, suppressed ones marked."""
    return dumps(
        {
            "version": VERSION,
            "files": report.files,
            "requests": len(report.requests),
            "findings": [_finding(finding) for finding in shown],
            "errors": [_problem(problem) for problem in report.problems],
        }
    )


def render_lines(report: Report, shown: Sequence[Finding]) -> str:
    """``jsonl``: each finding on a line of its own, then ``{"error": ...}`` for each input that could not be read."""
    objects = [*map(_finding, shown), *({"error": _problem(problem)} for problem in report.problems)]
    return "".join(f"{json.dumps(entry, allow_nan=False)}\n" for entry in objects)
