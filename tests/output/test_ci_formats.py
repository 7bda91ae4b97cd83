"""Formats for CI services, each as the service that reads it wants it."""

import json
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator
from junitparser import Error, Failure, JUnitXml, Skipped

from promptlint.finding import Finding
from promptlint.output import render
from promptlint.report import Problem, Report
from promptlint.span import Span, Step

Schema = dict[str, Any]

RELATIVE: Schema = {"type": "string", "pattern": r"^[^/.][^\\]*$"}
LINE: Schema = {"type": "integer", "minimum": 1}

# docs.gitlab.com, "Import Code Quality results from a CI/CD job": these fields and no fewer.
GITLAB: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": RELATIVE,
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": LINE, "end": LINE}},
                },
            },
        },
    },
}

# reviewdog's proto/rdf: DiagnosticResult.
POSITION: Schema = {
    "type": "object",
    "required": ["line"],
    "properties": {"line": LINE, "column": LINE},
    "additionalProperties": False,
}
LOCATION: Schema = {
    "type": "object",
    "required": ["path", "range"],
    "properties": {
        "path": {"type": "string"},
        "range": {
            "type": "object",
            "required": ["start"],
            "properties": {"start": POSITION, "end": POSITION},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
NAMED: Schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
RDJSON: Schema = {
    "type": "object",
    "required": ["source", "diagnostics"],
    "properties": {
        "source": NAMED,
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["message", "location", "severity"],
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "location": LOCATION,
                    "severity": {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]},
                    "source": NAMED,
                    "code": {"type": "object", "required": ["value"], "properties": {"value": {"type": "string"}}},
                    "related_locations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "location"],
                            "properties": {"message": {"type": "string"}, "location": LOCATION},
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def test_gitlab_gets_each_finding_once(report: Report, shown: list[Finding]) -> None:
    issues = json.loads(render(report, "gitlab", shown))
    Draft202012Validator(GITLAB).validate(issues)
    assert [issue["check_name"] for issue in issues] == [f.rule for f in shown if f.suppressed is None]
    prints = [issue["fingerprint"] for issue in issues]
    assert len(set(prints)) == len(prints)  # of equal ones GitLab shows the first


def test_gitlab_takes_an_empty_list_when_nothing_is_found(report: Report) -> None:
    assert json.loads(render(report, "gitlab", [])) == []


def test_reviewdog_columns_count_bytes(report: Report) -> None:
    line = 'x = {"é日😀": now()}'
    column = line.index("now()") + 1
    finding = replace(report.findings[0], primary=Span("a.py", 2, column, 2, column + 5))
    report = replace(report, sources={"a.py": f"\n{line}\n"})
    (found, *_) = json.loads(render(report, "rdjson", [finding]))["diagnostics"]
    start, end = (found["location"]["range"][name]["column"] - 1 for name in ("start", "end"))
    assert line.encode()[start:end] == b"now()"


def test_reviewdog_diagnostics(report: Report, shown: list[Finding]) -> None:
    result = json.loads(render(report, "rdjson", shown))
    Draft202012Validator(RDJSON).validate(result)
    found = [d["code"]["value"] for d in result["diagnostics"] if "code" in d]
    assert found == [f.rule for f in shown if f.suppressed is None]
    unread = [d["location"]["path"] for d in result["diagnostics"] if "code" not in d]
    assert unread == [problem.path for problem in report.problems]


def test_junit_counts_what_happened(report: Report, shown: list[Finding]) -> None:
    read = JUnitXml.fromstring(render(report, "junit", shown).encode())
    suppressed = sum(f.suppressed is not None for f in shown)
    assert (read.tests, read.failures, read.errors, read.skipped) == (
        len(shown) + len(report.problems),
        len(shown) - suppressed,
        len(report.problems),
        suppressed,
    )
    outcomes = [type(outcome) for suite in read for case in suite for outcome in case.result]
    assert sorted(outcomes, key=str) == sorted(
        [Failure] * (len(shown) - suppressed) + [Error] * len(report.problems) + [Skipped] * suppressed, key=str
    )


def test_junit_has_a_passed_test_when_nothing_is_found() -> None:
    read = JUnitXml.fromstring(render(Report(files=1, findings=(), requests=()), "junit", []).encode())
    assert (read.tests, read.failures, read.errors) == (1, 0, 0)


def test_junit_survives_what_xml_cannot_hold(report: Report) -> None:
    hostile = "a\x00b\x1b[31m\ud800\uffff </failure> ]]> & \"'"
    flow = (Step(Span(hostile, 1), hostile),)
    finding = replace(report.findings[0], message=hostile, advice=hostile, flow=flow, primary=Span(hostile, 1))
    report = replace(report, problems=(Problem(hostile, hostile),))
    read = JUnitXml.fromstring(render(report, "junit", [finding]).encode("ascii"))
    assert (read.failures, read.errors) == (1, 1)


def test_json_lines_are_the_objects_of_json(report: Report, shown: list[Finding]) -> None:
    lines = [json.loads(line) for line in render(report, "jsonl", shown).splitlines()]
    whole = json.loads(render(report, "json", shown))
    assert lines == [*whole["findings"], *({"error": error} for error in whole["errors"])]
