"""The HTML page: it holds all data, nothing in the data can act, and it needs nothing from elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from promptlint.finding import Finding
from promptlint.output import render, render_map, words
from promptlint.report import Report
from promptlint.request import Segment


class Page(HTMLParser):
    """Start tags with their attributes, and the content of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


def test_requests_stand_in_wire_order_with_all_their_segments(report: Report, shown: list[Finding]) -> None:
    data = Page(render(report, "html", shown)).data
    assert [request["place"] for request in data["requests"]] == ["app/agent.py:20", "app/cli.py:80"]
    first = data["requests"][0]
    assert [segment["region"] for segment in first["segments"]] == [s.region for s in report.requests[0].segments]
    assert first["end"] == 3 and first["minimum"] == 1024
    assert [segment["marker"] for segment in first["segments"] if segment["marker"]] == ["1h", "5m x1+"]
    clock = first["segments"][3]
    assert (clock["lifetime"], clock["class"]) == ("per call", "call")
    assert "datetime.now()" in clock["causes"][0]["what"]


def test_findings_are_tied_to_their_requests(report: Report, shown: list[Finding]) -> None:
    data = Page(render(report, "html", shown)).data
    by_rule = {item["rule"]: item for item in data["findings"]}
    assert set(by_rule) == {finding.rule for finding in words.active(shown)}
    time = by_rule["volatile-time"]
    assert time["request_number"] == 0 and data["findings"].index(time) in data["requests"][0]["findings"]
    assert data["findings"].index(time) in data["requests"][1]["findings"]  # named besides
    assert [step["code"] != "" for step in time["flow"]] == [True, True, True]
    assert [line["here"] for line in time["frame"]] == [False, False, True, False]
    assert by_rule["unused-ignore"]["request_number"] is None


def test_map_draws_all_findings_that_are_not_suppressed(report: Report) -> None:
    data = Page(render_map(report, "html")).data
    assert len(data["findings"]) == len(words.active(report.findings))
    assert data["problems"] == words.unread(report)


HOSTILE = '</script><script>alert(1)</script><!-- <img src=x onerror="alert(2)"> \u2028 & {{data}}'


def test_code_under_analysis_cannot_act_in_the_page(report: Report, shown: list[Finding]) -> None:
    plain = Page(render(report, "html", shown))
    segments: tuple[Segment, ...] = tuple(replace(s, text=HOSTILE, name=HOSTILE) for s in report.requests[0].segments)
    requests = (replace(report.requests[0], segments=segments, open=(HOSTILE,)), *report.requests[1:])
    findings = [replace(finding, message=HOSTILE, advice=HOSTILE) for finding in shown]
    page = Page(render(replace(report, requests=requests), "html", findings))
    assert page.tags == plain.tags
    assert page.scripts[1:] == plain.scripts[1:]
    assert page.data["findings"][0]["advice"] == HOSTILE
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", "".join(page.scripts[1:]))


def test_the_page_loads_nothing(report: Report, shown: list[Finding]) -> None:
    page = Page(render(report, "html", shown))
    assert [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "embed", "base", "form")] == []
    assert [a for _, a in page.tags if "src" in a] == []
    assert [a["href"] for _, a in page.tags if "href" in a] == ["data:,"]
    [policy] = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "url(" not in render(report, "html", shown).split("</style>")[0]


def test_labels_for_people_who_do_not_see_it(report: Report, shown: list[Finding]) -> None:
    page = Page(render(report, "html", shown))
    assert ("html", {"lang": "en"}) in page.tags
    controls = [number for number, (tag, _) in enumerate(page.tags) if tag in ("select", "input")]
    assert controls and all(page.tags[number - 1][0] == "label" for number in controls)
    assert {"role": "status", "aria-live": "polite", "id": "count", "class": "soft"} in [a for _, a in page.tags]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key = 'sk-ant-api03-AbCdEfGhIjKlMnOpQr'", "key = 'sk-ant-************************'"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSF************"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "ghp_abcd****************************"),
        ("-----BEGIN PRIVATE KEY-----\n" + "A" * 40, "-----BEGIN PRIVATE KEY-----\n" + "*" * 40),
        ("ask-questions-about-everything-in-here", "ask-questions-about-everything-in-here"),
        ("the risk-adjusted return of the whole portfolio", "the risk-adjusted return of the whole portfolio"),
    ],
)
def test_keys_are_not_shown(text: str, shown: str) -> None:
    assert words.discreet(text) == shown
    assert len(shown) == len(text)
