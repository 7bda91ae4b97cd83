"""Which findings of a report are shown: thresholds, a baseline, changed lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.finding import Finding
    from promptlint.report import Report


Filter = tuple[str, Callable[["Finding"], bool]]


def listed(settings: Settings, filters: Sequence[Filter]) -> Callable[[Report], list[Finding]]:
    """Picks the findings that are shown from a report."""
    from promptlint.output.words import active

    def listed(report: Report) -> list[Finding]:
        found = [f for f in active(report.findings) if below(f, settings) is None]
        return [f for f in found if all(passes(f) for _, passes in filters)]

    return listed


def filters(baseline: Path | None, changed_since: str | None, place: Path) -> list[Filter]:
    """For each option that sets findings aside how to say so, and whether it lets a finding through."""
    filters: list[Filter] = []
    if baseline is not None:
        from promptlint.answers import baseline as earlier

        known = earlier.read(baseline)
        filters.append((f"of the baseline {baseline}", lambda finding: finding.fingerprint not in known))
    if changed_since is not None:
        from promptlint.answers import changes

        filters.append((f"off the lines changed since {changed_since}", changes.since(changed_since, place).touch))
    return filters


def narrowed(report: Report, filters: Sequence[Filter], settings: Settings) -> Report:
    """The report without the findings that the user asked to set aside, with a remark for those else shown."""
    from dataclasses import replace

    from promptlint.output.words import active, count

    for words, passes in filters:
        kept = tuple(finding for finding in report.findings if passes(finding))
        passed = set(kept)
        dropped = [f for f in active(report.findings) if f not in passed and below(f, settings) is None]
        remarks = (f"{count(len(dropped), 'finding')} {words}",) if dropped else ()
        report = replace(report, findings=kept, set_aside=(*report.set_aside, *remarks))
    return report


def below(finding: Finding, settings: Settings) -> str | None:
    """Which threshold holds a finding back, or ``None``."""
    if finding.severity < settings.min_severity:
        return f"its severity, {finding.severity}, is below {settings.min_severity} (--min-severity)"
    if finding.confidence < settings.min_confidence:
        return f"its confidence, {finding.confidence}, is below {settings.min_confidence} (--min-confidence)"
    return None
