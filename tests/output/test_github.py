"""Workflow commands: nothing in a message or a path can end one early or start another."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from promptlint.finding import Finding
from promptlint.output import render
from promptlint.output.github import escape_data, escape_property
from promptlint.report import Report


def unescape(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@given(st.text(st.sampled_from("a%:,\r\n日25ACD0")))
def test_escapes_are_complete_and_reversible(text: str) -> None:
    assert not re.search(r"[\r\n]", escape_data(text))
    assert not re.search(r"[\r\n:,]", escape_property(text))
    assert unescape(escape_data(text)) == unescape(escape_property(text)) == text


def test_hostile_text_stays_inside_its_command(report: Report) -> None:
    span = replace(report.findings[0].primary, path="a,b:c%/日.py", end_line=0, end_column=0)
    finding = replace(report.findings[0], primary=span, message="100%\r\n::error::no", advice="", tokens_lost=None)
    assert render(report, "github", [finding]).splitlines()[0] == (
        "::warning file=a%2Cb%3Ac%25/日.py,line=16,col=24,endLine=16,endColumn=24,title=sliding-window"
        "::100%25%0D%0A::error::no"
    )


def test_suppressed_findings_make_no_annotation(report: Report, shown: list[Finding]) -> None:
    assert "volatile-random" not in render(report, "github", shown)
