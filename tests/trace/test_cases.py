"""Programs after public bug reports are run, recorded and traced: what went wrong is named at the call that sent it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptlint.trace.analysis import Analysis, verdicts
from promptlint.trace.explain import SOUND, Cause, Verdict
from promptlint.trace.format import read
from promptlint.trace.tally import Tally
from promptlint.trace.texts import Change
from tests.emulator.server import emulator

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases" / "data"
RUN = """
import runpy, sys

for name in sys.argv[1:]:
    try:
        runpy.run_path(name, run_name="__main__")
    except Exception as error:  # what the API refuses
        print(name, error)
"""

EXPECTED: dict[str, Cause | Change | None] = {
    "01_clock_in_system": Change.CLOCK,
    "03_uuid_path_in_tool_description": Change.ID,
    "04_tools_from_set": Change.TOOL_REORDERED,
    "06_memory_appended_to_system": Change.TEXT,
    "07_sliding_window": Change.FRONT,
    "09_replay_new_ids_and_redump": Change.IDS,
    "10_marker_on_every_block": Cause.REFUSED,
    "11_ttl_order": Cause.REFUSED,
    "13_neg_clock_in_tool_result": None,
    "14_neg_clock_stored_with_turn": None,
    "16_neg_uuid_outside_prompt": None,
    "18_neg_clock_argument_not_rendered": None,
    "19_neg_set_sorted_or_reporting_only": None,
    "21_extra_gemini_cached_content_with_tools": Cause.REFUSED,
    "23_extra_budget_from_max_tokens": Cause.PARAMETER,
}
"""What goes wrong in each; ``None``: nothing."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Verdict]]:
    """The verdicts on the requests of each program, which run in two processes with two hash seeds."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "run.py").write_text(RUN)
    trace = folder / "trace.jsonl"
    with emulator() as vendor:
        for seed in ("1", "2"):
            environment = os.environ | {
                "ANTHROPIC_BASE_URL": vendor.url,
                "OPENAI_BASE_URL": vendor.openai,
                "ANTHROPIC_API_KEY": "key",
                "OPENAI_API_KEY": "key",
                "GOOGLE_GEMINI_BASE_URL": vendor.url,
                "GEMINI_API_KEY": "key",
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(ROOT),
            }
            command = [sys.executable, "-m", "promptlint", "record", "-o", str(trace), "--append", "--"]
            names = [f"{name}.py" for name in EXPECTED]
            done = [*command, sys.executable, str(folder / "run.py"), *names]
            subprocess.run(done, cwd=CASES, env=environment, capture_output=True, check=True)
    found: dict[str, list[Verdict]] = {name: [] for name in EXPECTED}
    for verdict in verdicts(read(trace), Analysis((), Tally())):
        for frame in verdict.sent.site:
            if Path(frame.file).stem in found:
                found[Path(frame.file).stem].append(verdict)
                break
    return found


@pytest.mark.parametrize(("name", "cause"), EXPECTED.items(), ids=EXPECTED)
def test_cause(name: str, cause: Cause | Change | None, recorded: dict[str, list[Verdict]]) -> None:
    causes = [verdict.cause for verdict in recorded[name]]
    assert len(causes) > 1
    if cause is None:
        assert set(causes) <= {*SOUND, Cause.BELOW}, causes
    else:
        assert cause in causes


def test_every_case_is_told() -> None:
    assert {file.stem for file in CASES.glob("*.py")} == EXPECTED.keys()
