"""Findings as diagnostics."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from lsprotocol import types

from promptlint.finding import Finding, Severity
from promptlint.output.words import concerns_request, paragraphs, recipient
from promptlint.server.places import Places
from promptlint.span import Span

SOURCE = "promptlint"

_LEVEL = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def of(places: Places) -> Mapping[str, list[types.Diagnostic]]:
    """The diagnostics of every file that has any, by absolute path."""
    found: defaultdict[str, list[types.Diagnostic]] = defaultdict(list)
    for finding in places.snapshot.findings:
        where = places.range(finding.primary)
        if where is not None and finding.primary.cell is None:  # cells of a notebook are documents of their own
            found[os.path.abspath(finding.primary.path)].append(_diagnostic(finding, where, places))
    return found


def _diagnostic(finding: Finding, where: types.Range, places: Places) -> types.Diagnostic:
    rule = places.snapshot.rules.get(finding.rule)
    related = [
        types.DiagnosticRelatedInformation(place, message)
        for span, message in _related(finding)
        if (place := places.location(span)) is not None
    ]
    return types.Diagnostic(
        range=where,
        severity=_LEVEL[finding.severity],
        code=finding.rule,
        code_description=types.CodeDescription(rule.path.as_uri()) if rule is not None else None,
        source=SOURCE,
        message="\n".join(paragraphs(finding)),
        tags=[types.DiagnosticTag.Unnecessary] if finding.rule == "unused-ignore" else None,
        related_information=related or None,
        data={"rule": finding.rule, "fingerprint": finding.fingerprint},
    )


def _related(finding: Finding) -> Iterator[tuple[Span, str]]:
    """The flow in its order, then where the request is sent, and what else is hit."""
    for number, step in enumerate(finding.flow, 1):
        yield step.span, f"{number}. {step.message}"
    yield from ((span, label or "see here") for span, label in finding.related)
    if concerns_request(finding) and finding.site.span != finding.primary:
        yield finding.site.span, f"sent to {recipient(finding.site)} here"
    yield from ((site.span, f"also hits {recipient(site)} here") for site in finding.also)


def result_id(items: Sequence[types.Diagnostic]) -> str:
    """A name for a list of diagnostics that is the same as long as the list is."""
    return hashlib.sha256(repr(items).encode("utf-8", "replace")).hexdigest()[:16]
