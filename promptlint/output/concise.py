"""``concise``: one line a finding, for editors and for ``grep``."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.finding import Finding
from promptlint.output import statistics as counts
from promptlint.output.paint import SEVERITY, Paint
from promptlint.output.words import active, plain, spot, unread
from promptlint.report import Report


def _line(finding: Finding, paint: Paint) -> str:
    span = finding.primary
    level = paint(f"[{finding.severity}]", SEVERITY[finding.severity])
    where = paint(f"{spot(span)}:{span.column}:", "bold")
    return f"{where} {finding.code} {finding.rule} {level} {plain(finding.message)}"


def render(report: Report, shown: Sequence[Finding], *, color: bool, statistics: bool) -> str:
    """One line for each finding that is not suppressed, then one for each input that could not be read."""
    lines = [_line(finding, Paint(color)) for finding in active(shown)] + unread(report)
    if statistics and (table := counts.table(shown)):
        lines += ["", *table]
    return "".join(f"{line}\n" for line in lines)
