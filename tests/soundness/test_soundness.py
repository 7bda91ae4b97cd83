"""Random little programs are run for real: what promptlint reports of them has to agree with what they send.

``pytest tests/soundness --programs 5000`` looks at more of them than continuous integration does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Finding, Severity
from tests.soundness import judge, truth
from tests.soundness.programs import Plan, plainer, plans, render

EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)
BATCH = 50
"""Programs that share their two processes."""


def write(plan: Plan, folder: Path) -> dict[str, str]:
    """The files of a plan, in an own folder."""
    folder.mkdir(parents=True)
    files = render(plan)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return files


def report(folder: Path) -> tuple[Finding, ...]:
    return engine.check([folder], EVERYTHING).findings


def faults(batch: list[Plan], work: Path) -> list[list[str]]:
    """What is wrong with the findings of each program."""
    folders = [work / f"p{number}" for number in range(len(batch))]
    written = [write(plan, folder) for plan, folder in zip(batch, folders, strict=True)]
    runs = truth.execute(folders, work)
    both = zip(written, runs, folders, strict=True)
    return [list(judge.faults(files, run, report(folder))) for files, run, folder in both]


def plainest(plan: Plan, fault: str, factory: pytest.TempPathFactory) -> Plan:
    """A plan with the same kind of fault and as little else as possible."""
    kind = judge.kind(fault)
    while True:
        for other in plainer(plan):
            if any(judge.kind(f) == kind for f in faults([other], factory.mktemp("plainer"))[0]):
                plan = other
                break
        else:
            return plan


def test_reports_agree_with_what_is_sent(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    wanted = request.config.getoption("--programs")

    @settings(
        max_examples=max(wanted // BATCH, 1),
        phases=[Phase.generate],
        deadline=None,
        derandomize=wanted <= 500,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(plans(), min_size=BATCH, max_size=BATCH))
    def agree(batch: list[Plan]) -> None:
        for plan, wrong in zip(batch, faults(batch, tmp_path_factory.mktemp("batch")), strict=True):
            if wrong:
                small = plainest(plan, wrong[0], tmp_path_factory)
                told = "\n\n".join(f"# {name}\n{text}" for name, text in render(small).items())
                pytest.fail(f"{wrong[0]}\n\n{small}\n\n{told}", pytrace=False)

    agree()
