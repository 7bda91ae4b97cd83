"""Requests and findings as one HTML page: a bar for each request, with what stands behind each part of it.

The page holds its data, style and script, and loads nothing. Data becomes text nodes only, never markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from promptlint.finding import Finding
from promptlint.output import describe, words
from promptlint.output.lifetime import lifetime
from promptlint.report import Report
from promptlint.request import Cause, Kind, Request
from promptlint.span import Span, Step

_EXCERPT = 1500  # characters of text that a segment shows
_AROUND = 2  # lines of code ahead of a finding and behind it


def render(report: Report, shown: Sequence[Finding]) -> str:
    """The page for a report; ``shown`` are the findings to put into it."""
    return filled("page.html", _data(report, words.active(shown)))


def filled(name: str, document: object) -> str:
    """A template of this package with the style of all pages and the data of one."""
    folder = files("promptlint") / "output"
    template = (folder / name).read_text("utf-8").replace("{{style}}", (folder / "style.css").read_text("utf-8"))
    return template.replace("{{data}}", embedded(document))


def embedded(document: object) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or opens a comment."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(report: Report, shown: Sequence[Finding]) -> dict[str, object]:
    numbers = {request.site.span: number for number, request in reversed(list(enumerate(report.requests)))}
    owners = [numbers.get(finding.site.span) for finding in shown]
    requests = [
        _request(
            request,
            [n for n, finding in enumerate(shown) if owners[n] == number or _names(finding, request)],
            report.sources,
        )
        for number, request in enumerate(report.requests)
    ]
    found = [_finding(finding, owner, report.sources) for finding, owner in zip(shown, owners, strict=True)]
    return {
        "summary": " ".join(words.totals(report, shown)),
        "requests": requests,
        "findings": found,
        "problems": words.unread(report),
    }


def _names(finding: Finding, request: Request) -> bool:
    """Whether a finding names the request besides its own."""
    return any(site.span == request.site.span for site in finding.also)


def _request(request: Request, findings: list[int], sources: Mapping[str, str]) -> dict[str, object]:
    facts, end = request.facts, describe.shared(request)
    assumed = "" if facts.minimum_known else " at the least"
    return {
        "place": words.spot(request.site.span),
        "provider": request.site.provider,
        "model": request.site.model or "",
        "api": request.api,
        "facts": list(describe.about(request)),
        "verdict": describe.border(request),
        "end": end,
        "minimum": facts.minimum,
        "least": f"caching starts at {facts.minimum:,}{assumed}" if facts.caches else "no caching",
        "segments": [_segment(request, index, sources) for index in range(len(request.segments))],
        "findings": findings,
    }


def _segment(request: Request, index: int, sources: Mapping[str, str]) -> dict[str, object]:
    segment = request.segments[index]
    marks = [describe.marker(mark) for mark in request.breakpoints if mark.segment == index]
    notes = [note for note, holds in (("optional", segment.optional), ("repeated", segment.repeats)) if holds]
    return {
        "number": index + 1,
        "region": segment.region.value,
        "role": segment.role or "",
        "tokens": describe.number(segment.tokens),
        "size": describe.drawn(segment),
        "lifetime": str(lifetime(segment)),
        "class": lifetime(segment).name.lower(),
        "grows": segment.kind is Kind.HISTORY,
        "marker": ", ".join(marks),
        "place": words.spot(segment.span),
        "what": describe.content(segment),
        "short": segment.name or segment.region.value,
        "note": ", ".join(notes),
        "text": _excerpt(segment.text),
        "causes": [_cause(cause, sources) for cause in segment.causes],
    }


def _excerpt(text: str | None) -> str:
    if not text:
        return ""
    shown = "".join(c if c == "\n" else words.visible(c) for c in text[:_EXCERPT].expandtabs(4))
    return words.discreet(shown) + (f" ... ({len(text):,} characters)" if len(text) > _EXCERPT else "")


def _cause(cause: Cause, sources: Mapping[str, str]) -> dict[str, object]:
    flow = cause.flow or (Step(cause.origin, cause.what, cause.because),)
    places = {words.spot(step.span) for step in flow} | {words.spot(cause.origin)}
    return {"what": words.plain(cause.what), "flow": _flow(flow, sources), "places": sorted(places)}


def _flow(steps: Sequence[Step], sources: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {
            "place": words.spot(step.span),
            "message": words.plain(step.message),
            "because": step.because or "",
            "code": _code(step.span, sources),
        }
        for step in steps
    ]


def _code(span: Span, sources: Mapping[str, str]) -> str:
    lines = sources.get(span.path, "").splitlines()
    return words.discreet(words.plain(lines[span.line - 1])) if 0 < span.line <= len(lines) else ""


def _finding(finding: Finding, owner: int | None, sources: Mapping[str, str]) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "code": finding.code,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "message": words.plain(finding.message),
        "place": words.spot(finding.primary),
        "origin": words.spot(finding.origin or finding.primary),
        "scope": words.scope(finding) if words.concerns_request(finding) else "",
        "lost": words.lost(finding) or "",
        "cost": words.money(finding) or "",
        "advice": finding.advice,
        "flow": _flow(finding.flow, sources),
        "frame": _frame(finding.primary, sources),
        "request": words.at(finding.site) if words.concerns_request(finding) else "",
        "request_number": owner,
    }


def _frame(span: Span, sources: Mapping[str, str]) -> list[dict[str, object]]:
    lines = sources.get(span.path, "").splitlines()
    first, last = max(1, span.line - _AROUND), min(len(lines), max(span.line, span.end_line) + _AROUND, span.line + 20)
    offset = span.row - span.line  # the cells of a notebook count their own lines
    return [
        {
            "line": number + offset,
            "text": words.discreet("".join(map(words.visible, lines[number - 1].expandtabs(4)))),
            "here": span.line <= number <= max(span.line, span.end_line),
        }
        for number in range(first, last + 1)
    ]
