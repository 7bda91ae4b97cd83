"""The GitHub action: its script is run as a runner runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
BAD = """from openai import OpenAI
while True:
    OpenAI().chat.completions.create(model="gpt-4.1", messages=[
"""


def step(folder: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Runs the last step with the inputs' defaults and returns its status, its output and the outputs it sets."""
    last = ACTION["runs"]["steps"][-1]
    given = {name: inputs.get(name.replace("-", "_"), entry["default"]) for name, entry in ACTION["inputs"].items()}
    values = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    values["${{ steps.python.outputs.python-path }}"] = sys.executable
    temp = folder / ".runner"
    temp.mkdir()
    (temp / "promptlint").symlink_to(ROOT)  # as the step before it leaves it: the package and what it needs
    own = {"RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(temp / "output")}
    environment = {**os.environ, **own, **{name: values[value] for name, value in last["env"].items()}}
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", last["run"])
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    output = temp / "output"
    lines = output.read_text().splitlines() if output.exists() else []
    return done.returncode, done.stdout, dict(line.split("=", 1) for line in lines)


@pytest.fixture
def project(folder: Path) -> Path:
    """A project with a finding, and a folder that is called like ours."""
    (folder / "app.py").write_text(BAD)
    (folder / "promptlint").mkdir()
    (folder / "promptlint" / "__init__.py").write_text("raise SystemExit('the analysed code was run')\n")
    return folder


def test_findings_are_annotations_and_fail_the_step(project: Path) -> None:
    status, out, outputs = step(project, paths="app.py promptlint")
    assert (status, outputs) == (1, {"findings": "true", "sarif-file": ""})
    assert out.startswith("::warning file=app.py,line=3,")


def test_nothing_found(project: Path) -> None:
    assert step(project, paths="promptlint") == (0, "", {"findings": "false", "sarif-file": ""})


def test_a_log_for_code_scanning(project: Path) -> None:
    status, _, outputs = step(project, paths="app.py", format="sarif", fail="false")
    assert (status, outputs) == (0, {"findings": "true", "sarif-file": "promptlint.sarif"})
    log = json.loads((project / "promptlint.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["syntax-error"]


def test_a_wrong_option_fails_the_step_whatever_fail_says(project: Path) -> None:
    assert step(project, args="--no-such-option", fail="false") == (2, "", {})


def test_inputs_and_outputs_that_the_script_uses_are_declared() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text
    assert "${{ inputs." not in "".join(entry.get("run", "") for entry in ACTION["runs"]["steps"])  # no injection


def complaints(*command: str) -> str:
    """What a linter prints when it is not content."""
    program = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run((program, *command[1:], "action.yml"), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_github_accepts_the_file() -> None:
    assert complaints("check-jsonschema", "--builtin-schema", "vendor.github-actions") == ""


def test_a_security_linter_finds_nothing() -> None:
    assert complaints("zizmor", "--offline", "--no-progress", "--persona", "pedantic") == ""
