"""The contract of ``--output-format json``, version 1, as a schema that allows nothing else."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from promptlint.finding import Finding
from promptlint.output import render, render_map, words
from promptlint.report import Report
from promptlint.span import Span
from promptlint.tokens import Interval

Schema = dict[str, Any]


def closed(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
ORDINAL: Schema = {"type": "integer", "minimum": 1}
PATH: Schema = {"type": "string", "pattern": r"^[^/\\][^\\]*$"}
POINT = {"path": PATH, "line": ORDINAL}
TOKENS = closed(low=COUNT, high=nullable(COUNT))
REQUEST = closed(**POINT, provider=WORD, model=nullable(WORD))

EDIT = closed(**POINT, column=ORDINAL, end_line=ORDINAL, end_column=ORDINAL, text=TEXT)
FIX = closed(
    applicability={"enum": ["safe", "unsafe", "display"]},
    title=WORD,
    options=listed(closed(title=WORD, effect=WORD)),
    edits=listed(EDIT),
)

AXES = ["call", "turn", "conversation", "user", "process", "hash-seed", "machine", "deployment"]

CHECK = closed(
    version={"const": 1},
    files=COUNT,
    requests=COUNT,
    findings=listed(
        closed(
            rule={"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
            code={"type": "string", "pattern": "^PL[0-9]{3}$"},
            kind=TEXT,
            severity={"enum": ["error", "warning", "info"]},
            confidence={"enum": ["high", "medium", "low"]},
            message=WORD,
            **POINT,
            column=ORDINAL,
            end_line=ORDINAL,
            end_column=ORDINAL,
            scope={"enum": ["turn", "conversation", "process", "request"]},
            region={"enum": ["tools", "system", "first-message", "mid-history", "last-message", "parameters"]},
            tokens_lost=nullable(TOKENS),
            dollars_lost=nullable(closed(requests=COUNT, low={"type": "number"}, high=nullable({"type": "number"}))),
            request=nullable(REQUEST),
            origin=nullable(closed(**POINT)),
            flow=listed(closed(**POINT, message=WORD, because=nullable(WORD))),
            also=listed(REQUEST),
            fix=nullable(FIX),
            fingerprint=TEXT,
            suppressed={"type": "boolean"},
            measured=nullable(closed(verdict={"enum": ["confirmed", "refuted", "inconclusive"]}, on=TEXT, reason=WORD)),
        )
    ),
    errors=listed(closed(path=PATH, line=nullable(ORDINAL), message=WORD)),
)
MAP = closed(
    version={"const": 1},
    requests=listed(
        closed(
            **POINT,
            provider=WORD,
            model=nullable(WORD),
            api=WORD,
            calls=listed(closed(**POINT)),
            fallback={"type": "boolean"},
            minimum=COUNT,
            shared_segments=COUNT,
            shared_tokens=TOKENS,
            lost_behind=nullable(TOKENS),
            growth_per_turn=nullable(TOKENS),
            segments=listed(
                closed(
                    region=WORD,
                    kind={"enum": ["text", "tool", "history", "media"]},
                    text=nullable(TEXT),
                    tokens=TOKENS,
                    lifetime={"enum": ["constant", "per process", "per conversation", "per turn", "per call"]},
                    variation=listed({"enum": AXES}),
                    breakpoint=nullable(closed(ttl=nullable(WORD))),
                    origin=closed(**POINT),
                )
            ),
        )
    ),
)


def test_check_keeps_the_contract(report: Report, shown: list[Finding]) -> None:
    Draft202012Validator(CHECK).validate(json.loads(render(report, "json", shown)))


def test_map_keeps_the_contract(report: Report) -> None:
    Draft202012Validator(MAP).validate(json.loads(render_map(report, "json")))


def test_only_what_is_shown_is_listed_and_suppressed_is_marked(report: Report, shown: list[Finding]) -> None:
    found = json.loads(render(report, "json", shown))["findings"]
    assert {f["rule"]: f["suppressed"] for f in found} == {f.rule: f.rule == "volatile-random" for f in shown}


def test_what_has_no_request_has_none(report: Report, shown: list[Finding]) -> None:
    requests = {f["rule"]: f["request"] for f in json.loads(render(report, "json", shown))["findings"]}
    assert [rule for rule, request in requests.items() if request is None] == ["unused-ignore"]


def test_no_upper_end_is_null(report: Report) -> None:
    finding = replace(report.findings[0], tokens_lost=Interval(7, inf))
    (found,) = json.loads(render(report, "json", [finding]))["findings"]
    assert found["tokens_lost"] == {"low": 7, "high": None}


def test_money_is_given_where_a_price_is_known(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """2,400 tokens at 3 dollars a million, nine tenths of which a hit would have saved."""
    monkeypatch.setattr(words, "input_price", lambda facts: lambda size: 3 / 1_000_000)
    finding = next(f for f in report.findings if f.rule == "volatile-time")
    open_ended = replace(finding, tokens_lost=Interval(2400, inf))
    found = json.loads(render(report, "json", [finding, open_ended]))["findings"]
    assert [f["dollars_lost"] for f in found] == [
        {"requests": 1000, "low": 6.48, "high": 6.48},
        {"requests": 1000, "low": 6.48, "high": None},
    ]


def test_paths_are_relative_to_the_working_directory(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = replace(report.findings[0], primary=Span(str(tmp_path / "app" / "a.py"), 1))
    (found,) = json.loads(render(report, "json", [finding]))["findings"]
    assert (found["path"], found["end_line"], found["end_column"]) == ("app/a.py", 1, 1)
