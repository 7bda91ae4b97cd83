"""The example application: its mistakes are found where they are made, and its repaired twin is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint.config import Settings
from promptlint.engine import check
from promptlint.finding import Finding

EXAMPLES = Path(__file__).parents[2] / "examples"

MISTAKES = (
    ("volatile-time", "context.py"),
    ("volatile-state", "context.py"),
    ("unordered-tools", "tools.py"),
    ("sliding-window", "history.py"),
    ("rewritten-history", "history.py"),
    ("missing-breakpoint", "llm.py"),
    ("too-many-breakpoints", "llm.py"),
    ("ttl-order", "llm.py"),
)


def shown(name: str) -> list[Finding]:
    settings = Settings()
    return [
        finding
        for finding in check([EXAMPLES / name], settings).findings
        if finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
    ]


@pytest.fixture(scope="module")
def found() -> set[tuple[str, str]]:
    return {(finding.rule, Path(finding.primary.path).name) for finding in shown("chat_service")}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_mistake_is_found(mistake: tuple[str, str], found: set[tuple[str, str]]) -> None:
    assert mistake in found


def test_nothing_else_is_reported(found: set[tuple[str, str]]) -> None:
    assert found == set(MISTAKES)


def test_repaired_twin_is_silent() -> None:
    assert [f"{finding.primary}: {finding.rule}" for finding in shown("chat_service_fixed")] == []
