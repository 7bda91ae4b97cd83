"""Small programs after public bug reports: a line that ends in ``# <- rule`` is reported by it, ``neg`` is silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptlint import registry
from promptlint.config import Settings
from promptlint.engine import check
from promptlint.finding import Confidence, Finding, Severity

HERE = Path(__file__).parent
CASES = sorted((HERE / "data").glob("*.py"))
RULES = {info.name for info in registry.load()}
EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)
NEAR = 2
"""Lines by which a reported place may miss the expected one."""


def expectations() -> list[tuple[Path, int, str]]:
    """The marked lines of all cases whose rule exists."""
    return [
        (path, number, rule)
        for path in CASES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for rule in re.findall(r"# <- ([a-z-]+)", line)
        if rule in RULES
    ]


def lines(finding: Finding) -> set[int]:
    """The lines that a finding names: all of its place, where the value comes from, where the request is sent."""
    primary = finding.primary
    found = set(range(primary.line, max(primary.line, primary.end_line) + 1)) | {finding.site.span.line}
    return found | ({finding.origin.line} if finding.origin else set())


@pytest.mark.parametrize(
    ("path", "line", "rule"), expectations(), ids=lambda value: value.stem if isinstance(value, Path) else str(value)
)
def test_marked_line_is_reported(path: Path, line: int, rule: str) -> None:
    findings = check([path], EVERYTHING).findings
    near = set(range(line - NEAR, line + NEAR + 1))
    assert any(f.rule == rule and lines(f) & near for f in findings), [f"{f.rule}@{f.primary.line}" for f in findings]


@pytest.mark.parametrize("path", [path for path in CASES if "_neg_" in path.name], ids=lambda path: path.stem)
def test_negative_is_silent(path: Path) -> None:
    settings = Settings()
    shown = [
        f"{f.rule}@{f.primary.line}: {f.message}"
        for f in check([path], settings).findings
        if f.severity >= settings.min_severity and f.confidence >= settings.min_confidence
    ]
    assert not shown
