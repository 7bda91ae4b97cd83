"""``rdjson``: the Reviewdog Diagnostic Format, with which reviewdog comments on the changed lines of a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promptlint.finding import Finding, Severity
from promptlint.fix.edits import applied
from promptlint.output.frame import lines_of
from promptlint.output.jsonformat import dumps
from promptlint.output.words import active, first_line, paragraphs, place
from promptlint.report import Report
from promptlint.span import Span

_LEVEL = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}

Json = dict[str, object]


def _position(line: int, column: int, lines: Sequence[str]) -> Json:
    """A position whose column counts UTF-8 bytes, as the format wants it; without the text, only the line is sure."""
    if not 1 <= line <= len(lines):
        return {"line": line}
    return {"line": line, "column": 1 + len(lines[line - 1][: column - 1].encode("utf-8", "surrogatepass"))}


def _location(span: Span, sources: Mapping[str, str]) -> Json:
    if span.cell:
        return {"path": place(span.path), "range": {"start": {"line": 1}}}
    lines = lines_of(sources.get(span.path, ""))
    where: Json = {"start": _position(span.line, span.column, lines)}
    if span.end_line:
        where["end"] = _position(span.end_line, span.end_column, lines)
    return {"path": place(span.path), "range": where}


def _suggestions(finding: Finding, sources: Mapping[str, str]) -> list[Json]:
    """The fix as one replacement of whole lines, where it concerns the file of the finding alone."""
    edits = finding.fix.edits if finding.fix is not None else ()
    path = finding.primary.path
    if not edits or path not in sources or any(edit.span.path != path for edit in edits):
        return []
    lines = lines_of(sources[path])
    first, last = min(e.span.line for e in edits), min(max(e.span.end_line for e in edits), len(lines))
    before, behind = lines[: first - 1], lines[last:]
    changed = lines_of(applied("\n".join(lines), edits))
    text = "\n".join(changed[len(before) : len(changed) - len(behind)])
    where = {"start": _position(first, 1, lines), "end": _position(last, len(lines[last - 1]) + 1, lines)}
    return [{"range": where, "text": text}]


def _finding(finding: Finding, sources: Mapping[str, str]) -> Json:
    suggestions = _suggestions(finding, sources)
    return {
        "message": "\n".join(paragraphs(finding)),
        "location": _location(finding.primary, sources),
        "severity": _LEVEL[finding.severity],
        "source": {"name": "promptlint"},
        "code": {"value": finding.rule},
        **({"suggestions": suggestions} if suggestions else {}),
        "related_locations": [
            {"message": step.message, "location": _location(step.span, sources)} for step in finding.flow
        ],
    }


def render(report: Report, shown: Sequence[Finding]) -> str:
    """One diagnostic for each finding that is not suppressed, then one for each input that could not be read."""
    diagnostics = [_finding(finding, report.sources) for finding in active(shown)]
    diagnostics += [
        {
            "message": f"not checked: {problem.message}",
            "location": {"path": place(problem.path), "range": {"start": {"line": first_line(problem)}}},
            "severity": "WARNING",
            "source": {"name": "promptlint"},
        }
        for problem in report.problems
    ]
    return dumps({"source": {"name": "promptlint"}, "diagnostics": diagnostics})
