"""``gitlab``: a Code Quality report, which GitLab shows in merge requests and pipelines."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.finding import Finding, Severity
from promptlint.output.jsonformat import dumps
from promptlint.output.words import active, in_file, paragraphs, place, sentence

_LEVEL = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
"""As other linters map their levels: ``critical`` and ``blocker`` stay free for what must not be merged."""


def _finding(finding: Finding) -> dict[str, object]:
    span = in_file(finding.primary)
    return {
        "description": " ".join(map(sentence, paragraphs(finding))),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": _LEVEL[finding.severity],
        "location": {
            "path": place(span.path),
            "lines": {"begin": span.line, "end": max(span.line, span.end_line)},
        },
    }


def render(shown: Sequence[Finding]) -> str:
    """A list with one issue for each finding that is not suppressed; the format has no place for anything else."""
    return dumps([_finding(finding) for finding in active(shown)])
