"""What a rule file says about itself is complete, in order, and true: both examples do what the text promises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from promptlint import registry
from promptlint.config import Settings
from promptlint.engine import check
from promptlint.finding import Confidence, Finding, Severity
from promptlint.registry import RuleInfo

HEADINGS = ["What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "Limits"]

every_rule = pytest.mark.parametrize("info", registry.load().rules, ids=lambda info: info.name)


def findings(folder: Path, source: str) -> tuple[Finding, ...]:
    (folder / "app.py").write_text(source, encoding="utf-8")
    return check([folder], Settings(root=folder)).findings


def shown(found: tuple[Finding, ...]) -> set[str]:
    """The rules that a user sees at the default thresholds."""
    return {f.rule for f in found if f.severity >= Severity.WARNING and f.confidence >= Confidence.MEDIUM}


@every_rule
def test_headings(info: RuleInfo) -> None:
    assert re.findall(r"^## (.*)$", info.doc, re.MULTILINE) == HEADINGS


@every_rule
def test_summary_is_one_sentence(info: RuleInfo) -> None:
    assert info.summary.endswith(".")
    assert ". " not in info.summary
    assert info.doc.splitlines()[1] == ""


@every_rule
def test_docstring_is_raw_and_the_file_fits_on_a_screen_or_two(info: RuleInfo) -> None:
    text = info.path.read_text(encoding="utf-8")
    assert text.startswith('r"""')
    assert len(text.splitlines()) <= 105


@every_rule
def test_good_example_is_python(info: RuleInfo) -> None:
    assert info.examples is not None
    ast.parse(info.examples[1])


@every_rule
def test_bad_example_fires_its_rule_and_no_other(info: RuleInfo, tmp_path: Path) -> None:
    assert info.examples is not None
    found = findings(tmp_path, info.examples[0])
    assert info.name in {f.rule for f in found}
    assert shown(found) <= {info.name}


@every_rule
def test_good_example_is_silent(info: RuleInfo, tmp_path: Path) -> None:
    assert info.examples is not None
    assert shown(findings(tmp_path, info.examples[1])) == set()
