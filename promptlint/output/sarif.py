"""``sarif``: SARIF 2.1.0 for code scanning services, within the limits that GitHub documents."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import promptlint
from promptlint.answers.baseline import FINGERPRINT
from promptlint.finding import Finding, Fix, Severity
from promptlint.output.jsonformat import dumps, interval
from promptlint.output.words import concerns_request, first_line, lost, place, recipient, sentence, spot
from promptlint.report import Report
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.registry import RuleInfo

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MAX_RESULTS = 25_000
_MAX_STEPS = 1_000
_MAX_RELATED = 1_000
_MAX_DESCRIPTION = 1_024

Json = dict[str, Any]


def _artifact(path: str) -> Json:
    relative = place(path)
    if os.path.isabs(relative):
        return {"uri": Path(relative).as_uri()}
    return {"uri": quote(relative), "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> Json:
    if span.cell:
        return {"startLine": 1}
    region: Json = {"startLine": span.line, "startColumn": span.column}
    if span.end_line:
        region |= {"endLine": span.end_line, "endColumn": span.end_column}
    return region


def _location(span: Span, message: str | None = None, identity: int | None = None) -> Json:
    location: Json = {} if identity is None else {"id": identity}
    location["physicalLocation"] = {"artifactLocation": _artifact(span.path), "region": _region(span)}
    return location if message is None else {**location, "message": {"text": message}}


def _literal(text: str) -> str:
    """Text that no viewer takes for an embedded link."""
    return text.replace("](", "\\](")


def _link(text: str, identity: int) -> str:
    escaped = re.sub(r"([\[\]\\])", r"\\\1", text)
    return f"[{escaped}]({identity})"


def _neighbours(finding: Finding) -> list[tuple[Span, str, str]]:
    """Other places the message links to: the span, the words before the link, and the text of the link."""
    places = []
    if concerns_request(finding):
        places.append((finding.site.span, f"Sent to {recipient(finding.site)} at", spot(finding.site.span)))
    if finding.origin and finding.origin != finding.primary:
        places.append((finding.origin, "The value comes from", spot(finding.origin)))
    places += [(span, "See", label or spot(span)) for span, label in finding.related]
    places += [(site.span, f"Also hits {recipient(site)} at", spot(site.span)) for site in finding.also]
    return places


def _step(step: Step) -> str:
    return f"{spot(step.span)}: {step.message}" if step.span.cell else step.message


def _flow(steps: Sequence[Step]) -> Json:
    kept = steps if len(steps) <= _MAX_STEPS else [*steps[: _MAX_STEPS - 1], steps[-1]]
    locations = [{"location": _location(step.span, _step(step))} for step in kept]
    return {"threadFlows": [{"locations": locations}]}


def _result(finding: Finding, index: int) -> Json:
    neighbours = _neighbours(finding)[:_MAX_RELATED]
    cost = lost(finding)
    text = [_literal(sentence(finding.message))]
    text += [f"In {_literal(spot(finding.primary))}."] if finding.primary.cell else []
    text += [f"Lost: {cost}."] if cost else []
    text += [f"{before} {_link(link, number)}." for number, (_, before, link) in enumerate(neighbours, 1)]
    text += [_literal(finding.advice)] if finding.advice else []
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVEL[finding.severity],
        "message": {"text": " ".join(text)},
        "locations": [_location(finding.primary, finding.label or None)],
        "relatedLocations": [
            _location(span, f"{before} {link}", number) for number, (span, before, link) in enumerate(neighbours, 1)
        ],
        "suppressions": [],
        "properties": {
            "confidence": str(finding.confidence),
            "scope": finding.scope.value,
            "region": finding.region.value,
            "kind": finding.kind,
            "tokensLost": interval(finding.tokens_lost) if finding.tokens_lost else None,
        },
    }
    if finding.fingerprint:
        result["partialFingerprints"] = {FINGERPRINT: finding.fingerprint}
    if finding.flow:
        result["codeFlows"] = [_flow(finding.flow)]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    if finding.suppressed is not None:
        reason = {"justification": finding.suppressed} if finding.suppressed else {}
        result["suppressions"] = [{"kind": "inSource", **reason}]
    return result


def _fix(fix: Fix) -> Json:
    by_path: dict[str, list[Json]] = {}
    for edit in fix.edits:
        region = _region(edit.span)
        by_path.setdefault(edit.span.path, []).append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {
        "description": {"text": f"{_literal(sentence(fix.title.capitalize()))} ({fix.applicability})"},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": changes} for path, changes in by_path.items()
        ],
    }


def _section(doc: str, heading: str) -> str:
    """The first paragraph below a heading of a rule's documentation, "" when there is none."""
    found = re.search(rf"^## {re.escape(heading)}\n+(.+?)(?:\n\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _descriptor(code: str, name: str, kind: str, summary: str, doc: str) -> Json:
    summary = summary or name
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": summary[:_MAX_DESCRIPTION]},
        "fullDescription": {"text": (_section(doc, "What it does") or summary)[:_MAX_DESCRIPTION]},
        "help": {"text": doc or summary, "markdown": doc or summary},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": sorted({"prompt-cache", kind} - {""}), "code": code},
    }


def _descriptors(rules: Sequence[RuleInfo], findings: Sequence[Finding]) -> list[Json]:
    """Every rule, whether it fired or not: code scanning wants the same list for every code base."""
    known = {rule.name: _descriptor(rule.code, rule.name, rule.kind, rule.summary, rule.doc) for rule in rules}
    for finding in findings:
        known.setdefault(finding.rule, _descriptor(finding.code, finding.rule, finding.kind, "", ""))
    return list(known.values())


def _notifications(report: Report, left_out: int) -> list[Json]:
    notes: list[Json] = []
    for problem in report.problems:
        span = Span(problem.path, first_line(problem))
        notes.append(
            {"level": "warning", "message": {"text": f"not checked: {problem.message}"}, "locations": [_location(span)]}
        )
    if left_out:
        text = f"{left_out:,} of the least severe findings are left out: SARIF consumers take {_MAX_RESULTS:,}."
        notes.append({"level": "warning", "message": {"text": text}})
    return notes


def _most_severe(findings: Sequence[Finding], most: int) -> list[Finding]:
    """At most so many findings, the most severe ones, in the order they came."""
    if len(findings) <= most:
        return list(findings)
    ranked = sorted(range(len(findings)), key=lambda index: (-findings[index].severity, index))
    return [findings[index] for index in sorted(ranked[:most])]


def render(report: Report, shown: Sequence[Finding], rules: Sequence[RuleInfo]) -> str:
    """A log with one run; suppressed findings carry their suppression."""
    findings = _most_severe(shown, _MAX_RESULTS)
    descriptors = _descriptors(rules, findings)
    index = {descriptor["id"]: number for number, descriptor in enumerate(descriptors)}
    run = {
        "tool": {
            "driver": {"name": "promptlint", "semanticVersion": promptlint.__version__, "rules": descriptors},
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": _notifications(report, len(shown) - len(findings)),
            }
        ],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The directory in which promptlint was run."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.rule]) for finding in findings],
    }
    return dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
