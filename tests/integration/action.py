"""Runs the steps of action.yml as a runner does: ``python tests/integration/action.py``.

Not part of the test suite, which runs the last step only: the first one fetches our dependencies. What
``actions/setup-python`` does is left to the Python that runs this. Prints what it checks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def run(folder: Path, temp: Path, **given: str) -> tuple[int, str, dict[str, str]]:
    """The status of the last step that was run, all that was printed, and the outputs of the action."""
    inputs = {name: given.get(name.replace("-", "_"), entry["default"]) for name, entry in ACTION["inputs"].items()}
    values = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
    values["${{ steps.python.outputs.python-path }}"] = sys.executable
    output = temp / "output"
    output.write_text("")
    own = {"RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(ROOT)}
    printed, status = "", 0
    for step in (step for step in ACTION["runs"]["steps"] if "run" in step):
        environment = {**os.environ, **own, **{name: values[value] for name, value in step["env"].items()}}
        command = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed, status = printed + done.stdout, done.returncode
        if status:
            break
    return status, printed, dict(line.split("=", 1) for line in output.read_text().splitlines())


def expect(what: str, holds: bool, printed: object) -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
    if not holds:
        sys.exit(str(printed))


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        temp, folder = Path(temporary) / "runner", Path(temporary) / "work"
        temp.mkdir()
        shutil.copytree(ROOT / "examples" / "chat_service", folder / "chat_service")
        result = run(folder, temp)
        expect("findings are annotations and fail the step", result[0] == 1 and "::error file=" in result[1], result)
        expect("the output says so", result[2]["findings"] == "true", result)
        result = run(folder, temp, format="sarif", fail="false")
        results = json.loads((folder / "promptlint.sarif").read_text("utf-8"))["runs"][0]["results"]
        expect(f"a log of {len(results)} results, and the step passes", result[0] == 0 and bool(results), result)
        result = run(folder, temp, args="--baseline promptlint.sarif")
        expect("with the log as its baseline nothing is new", result[0] == 0, result)


if __name__ == "__main__":
    main()
