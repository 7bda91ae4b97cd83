"""Renderers: a report in, text out. One module a format, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlint.finding import Finding
    from promptlint.registry import RuleInfo
    from promptlint.report import Report
    from promptlint.trace.analysis import Analysis
    from promptlint.trace.matching import Comparison

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson", "html")
WITH_FIXES = ("json", "jsonl", "sarif", "rdjson")
"""The formats that say how each finding can be fixed."""
MAP_FORMATS = ("full", "json", "html")
TRACE_FORMATS = ("full", "json", "html")


def render(
    report: Report,
    format: str,
    shown: Sequence[Finding],
    *,
    color: bool = False,
    width: int = 100,
    rules: Sequence[RuleInfo] = (),
    statistics: bool = False,
) -> str:
    """The report of ``check`` in one of ``FORMATS``, ending in a newline unless it is empty.

    ``shown`` are the findings that the thresholds let through, in the order to print. Suppressed ones among them are
    listed by the machine formats, with a mark, and only counted by the others. ``width`` is the terminal's, in cells;
    ``color`` and ``width`` concern ``full`` (and ``color`` ``concise``), ``rules`` concerns ``sarif``, ``statistics``
    adds a table of counts to ``full`` and ``concise``. Raises ``ValueError`` for an unknown format.
    """
    match format:
        case "full":
            from promptlint.output import full

            return full.render(report, shown, color=color, width=width, statistics=statistics)
        case "concise":
            from promptlint.output import concise

            return concise.render(report, shown, color=color, statistics=statistics)
        case "json":
            from promptlint.output import jsonformat

            return jsonformat.render(report, shown)
        case "jsonl":
            from promptlint.output import jsonformat

            return jsonformat.render_lines(report, shown)
        case "github":
            from promptlint.output import github

            return github.render(report, shown)
        case "gitlab":
            from promptlint.output import gitlab

            return gitlab.render(shown)
        case "junit":
            from promptlint.output import junit

            return junit.render(report, shown)
        case "rdjson":
            from promptlint.output import rdjson

            return rdjson.render(report, shown)
        case "sarif":
            from promptlint.output import sarif

            return sarif.render(report, shown, rules)
        case "html":
            from promptlint.output import page

            return page.render(report, shown)
    raise ValueError(f"unknown output format {format!r}; choose from {', '.join(FORMATS)}")


def render_map(report: Report, format: str, *, color: bool = False, width: int = 100) -> str:
    """The requests of a report, as ``promptlint map`` prints them, in one of ``MAP_FORMATS``.

    Raises ``ValueError`` for an unknown format.
    """
    from promptlint.output import requestmap

    match format:
        case "full":
            return requestmap.render(report, color=color, width=width)
        case "json":
            return requestmap.render_json(report)
        case "html":
            from promptlint.output import page

            return page.render(report, report.findings)
    raise ValueError(f"unknown output format {format!r}; choose from {', '.join(MAP_FORMATS)}")


def render_trace(
    analysis: Analysis, comparison: Comparison | None, format: str, *, color: bool = False, width: int = 100
) -> str:
    """What came of a trace, as ``promptlint trace`` prints it, in one of ``TRACE_FORMATS``.

    Raises ``ValueError`` for an unknown format.
    """
    match format:
        case "full":
            from promptlint.output import traces

            return traces.render(analysis, comparison, color=color, width=width)
        case "json":
            from promptlint.output import tracejson

            return tracejson.render(analysis, comparison)
        case "html":
            from promptlint.output import tracepage

            return tracepage.render(analysis, comparison)
    raise ValueError(f"unknown output format {format!r}; choose from {', '.join(TRACE_FORMATS)}")
