"""What a user sees, in every format. Read the golden files in ``data/`` before accepting a change to them."""

import re
from collections.abc import Callable, Sequence

import pytest

from promptlint.finding import Finding
from promptlint.output import FORMATS, render, render_map
from promptlint.registry import RuleInfo
from promptlint.report import Report

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "html"])  # see test_page.py
def test_check(format: str, report: Report, shown: list[Finding], rules: Sequence[RuleInfo], golden: Golden) -> None:
    golden(f"check.{format}", render(report, format, shown, rules=rules, statistics=True))


@pytest.mark.parametrize("format", ["full", "json"])
def test_map(format: str, report: Report, golden: Golden) -> None:
    golden(f"map.{format}", render_map(report, format))


def test_narrow_terminal(report: Report, shown: list[Finding], golden: Golden) -> None:
    golden("check.narrow", render(report, "full", shown, width=60))


def test_nothing_found(golden: Golden) -> None:
    golden("check.quiet", render(Report(files=1, findings=(), requests=()), "full", []))


@pytest.mark.parametrize("format", ["full", "concise"])
def test_colour_adds_escape_codes_and_nothing_else(format: str, report: Report, shown: list[Finding]) -> None:
    coloured = render(report, format, shown, color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(report, format, shown, color=False)


def test_coloured_map_reads_the_same(report: Report) -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", render_map(report, "full", color=True)) == render_map(report, "full")


def test_unknown_formats_are_named(report: Report) -> None:
    with pytest.raises(ValueError, match=r"yaml.*full, concise, json, jsonl, sarif, github, gitlab, junit, rdjson"):
        render(report, "yaml", [])
    with pytest.raises(ValueError, match=r"sarif.*full, json"):
        render_map(report, "sarif")
