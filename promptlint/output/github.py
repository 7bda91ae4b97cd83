"""``github``: workflow commands, which GitHub Actions shows as annotations on the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.finding import Finding, Severity
from promptlint.output.words import active, first_line, in_file, paragraphs, place
from promptlint.report import Report

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def escape_data(text: str) -> str:
    """Text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as the value of a property of a workflow command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _command(level: str, properties: dict[str, str | int], message: str) -> str:
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties.items())
    return f"::{level} {listed}::{escape_data(message)}\n"


def _finding(finding: Finding) -> str:
    span = in_file(finding.primary)
    properties: dict[str, str | int] = {"file": place(span.path), "line": span.line}
    if span.end_line > span.line:  # GitHub refuses columns unless the annotation is on one line
        properties |= {"endLine": span.end_line}
    else:
        properties |= {"col": span.column, "endLine": span.line, "endColumn": span.end_column or span.column}
    message = "\n".join(paragraphs(finding))
    return _command(_LEVEL[finding.severity], {**properties, "title": finding.rule}, message)


def render(report: Report, shown: Sequence[Finding]) -> str:
    """One command for each finding that is not suppressed, then one for each input that could not be read."""
    unread = (
        _command(
            "warning",
            {"file": place(problem.path), "line": first_line(problem), "title": "not checked"},
            problem.message,
        )
        for problem in report.problems
    )
    return "".join([*map(_finding, active(shown)), *unread])
