"""From what was found to a report: the comments that answer findings, their order, and their fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from promptlint import registry
from promptlint.answers import fingerprint, suppress
from promptlint.config import Settings
from promptlint.files.source import Source, Unreadable
from promptlint.finding import Finding
from promptlint.report import Problem, Report, Withheld
from promptlint.request import Request
from promptlint.span import Span


@dataclass(frozen=True, slots=True)
class Found:
    """What one run found, before the comments in the code are looked at.

    ``files`` counts the files that were analysed. ``broken`` are the paths of those that are no valid Python, and
    ``annotated`` of those in which the name promptlint occurs.
    """

    findings: tuple[Finding, ...]
    requests: Sequence[Request]
    withheld: Sequence[Withheld]
    problems: tuple[Problem, ...]
    files: int
    broken: frozenset[str]
    annotated: frozenset[str]


def wanted(found: Found) -> frozenset[str]:
    """The paths of all files whose text can matter to comments, fingerprints and code frames."""
    places = {span.path for finding in found.findings for span in _spans(finding)}
    return found.annotated | places | {span.path for finding in found.findings for span, _ in finding.related}


def _spans(finding: Finding) -> list[Span]:
    origin = [finding.origin] if finding.origin is not None else []
    return [finding.primary, finding.site.span, *origin, *(step.span for step in finding.flow)]


def report(
    found: Found, sources: Mapping[str, Source | Unreadable], settings: Settings, rules: registry.Registry
) -> Report:
    """The report; ``sources`` are those of the ``wanted`` files that can be had."""
    selected = rules.select(settings.select, settings.ignore)
    texts = {path: read.text for path, read in sources.items() if isinstance(read, Source)}
    books = {path: read for path, read in sources.items() if isinstance(read, Source) and read.cells}
    marked = _in_cells(suppress.apply(found.findings, texts, rules, selected), books)
    marked = suppress.drop_per_file(marked, settings, rules)
    ordered = sorted(marked, key=lambda f: (f.primary.path, f.primary.line, f.primary.column, f.code, f.message))
    final = fingerprint.with_fingerprints(ordered, texts)
    reported = {finding.primary.path for finding in final if finding.code == "PL900"}
    shown = {span.path for finding in final for span in _spans(finding)}
    return Report(
        files=found.files,
        findings=final,
        requests=found.requests,
        problems=found.problems,
        withheld=found.withheld,
        sources={path: text for path, text in texts.items() if path in shown},
        unparsed=len(found.broken - reported),
    )


def _in_cells(findings: Sequence[Finding], books: Mapping[str, Source]) -> Sequence[Finding]:
    """The findings; those about comments get the cell of the notebook that they stand in."""
    placed = []
    for finding in findings:
        span = finding.primary
        if span.path in books and span.cell is None:
            span = replace(span, cell=books[span.path].cell(span.line))
            finding = replace(finding, primary=span, site=replace(finding.site, span=span))
        placed.append(finding)
    return placed
