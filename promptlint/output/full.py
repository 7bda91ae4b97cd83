"""``full``: for people at a terminal. Code frame, the way the value took, what it costs, what to do instead."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from promptlint.finding import Confidence, Finding
from promptlint.output import statistics as counts
from promptlint.output import words
from promptlint.output.frame import Mark, clip, draw, sheet_of
from promptlint.output.paint import SEVERITY, Paint
from promptlint.report import Report
from promptlint.span import Step

_ALSO = 5


def _header(finding: Finding, paint: Paint) -> str:
    span = finding.primary
    where = paint(f"{words.spot(span)}:{span.column}", "bold")
    level = paint(f"{finding.severity}[{finding.rule}]", SEVERITY[finding.severity])
    return f"{where} {level} {paint(words.plain(finding.message), 'bold')}"


def _marks(finding: Finding) -> list[Mark]:
    marks = [Mark(finding.primary, words.plain(finding.label), SEVERITY[finding.severity], primary=True)]
    for span, label in finding.related:
        if span != finding.primary:
            marks.append(Mark(span, words.plain(label), "cyan"))
    return marks


def _steps(flow: Sequence[Step], sources: Mapping[str, str], gutter: int, width: int, paint: Paint) -> Iterator[str]:
    """The numbered flow: each step with the row of knowledge that says so, and its source line below it."""
    yield f"{' ' * gutter} {paint('=', 'blue')} {paint('flow:', 'bold')}"
    digits = len(str(len(flow)))
    indent = " " * (gutter + 5 + digits)
    for number, step in enumerate(flow, 1):
        because = paint(f"  [{words.plain(step.because)}]", "dim") if step.because else ""
        yield f"{' ' * (gutter + 3)}{number:>{digits}}. {words.spot(step.span)}: {words.plain(step.message)}{because}"
        lines = sheet_of(sources.get(step.span.path, ""), step.span)
        if 1 <= step.span.row <= len(lines) and lines[step.span.row - 1].strip():
            line = lines[step.span.row - 1]
            margin = len(line) - len(line.lstrip())
            start = max(0, step.span.column - 1 - margin)
            yield f"{indent}{paint('|', 'blue')} {clip(line.strip(), width - len(indent) - 2, start)}"


def _note(label: str, text: str, gutter: int, width: int, paint: Paint) -> Iterator[str]:
    lead = f"{' ' * gutter} {paint('=', 'blue')} {paint(f'{label}:', 'bold')} "
    indent = gutter + len(label) + 5
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, max(30, width - indent)) or [""]]
    yield lead + lines[0]
    for line in lines[1:]:
        yield (" " * indent + line).rstrip()


def _notes(finding: Finding) -> Iterator[tuple[str, str]]:
    """What stands below the frame and the flow, as label and text."""
    if cost := words.lost(finding):
        yield "lost", cost
    if dollars := words.money(finding):
        yield "cost", dollars
    if words.concerns_request(finding):
        yield "scope", words.scope(finding)
    if finding.confidence is not Confidence.HIGH:
        yield "confidence", f"{finding.confidence}{': ' if finding.doubts else ''}{'; '.join(finding.doubts)}"
    if words.concerns_request(finding):
        yield "sent at", words.at(finding.site)
    if finding.also:
        rest = len(finding.also) - _ALSO
        sites = [words.at(site) for site in finding.also[:_ALSO]] + ([f"{rest:,} more"] if rest > 0 else [])
        yield "also hits", words.listing(sites)
    if finding.measured:
        yield "probe", words.plain(str(finding.measured))
    options = finding.fix.options if finding.fix is not None else ()
    for number, option in enumerate(options):
        yield "or" if number else "help", f"{option.title} ({option.effect})"
    if finding.advice and not options:
        yield "help", finding.advice


def _finding(finding: Finding, sources: Mapping[str, str], width: int, paint: Paint) -> Iterator[str]:
    yield _header(finding, paint)
    frame = draw(_marks(finding), sources, width, paint)
    yield from frame.lines
    if frame.lines:
        yield f"{' ' * frame.gutter} {paint('|', 'blue')}"
    if finding.flow:
        yield from _steps(finding.flow, sources, frame.gutter, width, paint)
    for label, text in _notes(finding):
        yield from _note(label, text, frame.gutter, width, paint)
    yield ""


def render(report: Report, shown: Sequence[Finding], *, color: bool, width: int, statistics: bool) -> str:
    """Every finding that is not suppressed, inputs that could not be read, and the totals."""
    paint = Paint(color)
    listed = words.active(shown)
    lines = [line for finding in listed for line in _finding(finding, report.sources, width, paint)]
    if unread := words.unread(report):
        lines += [*unread, ""]
    if statistics and listed:
        lines += [*counts.table(listed), ""]
    first, *rest = words.totals(report, shown)
    return "".join(f"{line}\n" for line in [*lines, paint(first, "bold"), *rest])
