"""Runs the pages of this folder, which say what the analysis knows.

Each ``##`` section of a page is one test. Its fenced blocks are files, named by a line such as `` `prompts.py`: ``
ahead of the block (``main.py`` where a Python block has no name); blocks ahead of the first section belong to all.
``# error: [rule]`` marks a line on which exactly these findings stand, remarks included, out of the rules that a line
``rules: a, b`` of the section or of the page names. On a page that says ``level: warning`` remarks do not count.
``# revealed: ...`` is the text that ``reveal_prompt`` shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Severity

HERE = Path(__file__).parent
EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)

_NAME = re.compile(r"`([\w./-]+)`:")
_LEVEL = "level: warning"
_RULES = re.compile(r"rules: ([a-z, -]+)")
_ERROR = re.compile(r"# error: \[([a-z, -]+)\]")
_REVEALED = re.compile(r"reveal_prompt\(.*# revealed: (.+)$")


@dataclass(frozen=True)
class Spec:
    """One section: files by name, and the rules it is about (all when empty)."""

    page: str
    title: str
    files: tuple[tuple[str, str], ...] = ()
    rules: frozenset[str] = frozenset()
    settings: Settings = EVERYTHING

    def lines(self) -> list[tuple[str, int, str]]:
        """All lines of the Python files with their places."""
        return [
            (name, number, line)
            for name, text in self.files
            if name.endswith(".py")
            for number, line in enumerate(text.splitlines(), 1)
        ]


def read(page: Path) -> list[Spec]:
    """The sections of a page, each with what stands ahead of the first."""
    head, *sections = re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)
    shared = parse(Spec(page.stem, "every section"), head)
    return [parse(replace(shared, title=text.partition("\n")[0]), text) for text in sections]


def parse(spec: Spec, text: str) -> Spec:
    """``spec`` with the files and rules of a stretch of Markdown; its own rules replace those of the page."""
    files = dict(spec.files)
    rules = spec.rules
    fence: list[str] | None = None
    name = ""
    for line in text.splitlines():
        if fence is not None:
            if line == "```":
                assert name not in files, f"{spec.page}: {spec.title}: {name} is given twice"
                files[name] = "".join(fence)
                fence, name = None, ""
            else:
                fence.append(line + "\n")
        elif line.startswith("```"):
            assert name or line == "```python", f"{spec.page}: {spec.title}: a block without a name"
            fence, name = [], name or "main.py"
        elif found := _NAME.fullmatch(line):
            name = found[1]
        elif found := _RULES.fullmatch(line):
            rules = frozenset(rule.strip() for rule in found[1].split(","))
        elif line == _LEVEL:
            spec = replace(spec, settings=Settings())
    assert fence is None, f"{spec.page}: {spec.title}: a block without an end"
    return replace(spec, files=tuple(files.items()), rules=rules)


PAGES = sorted(HERE.glob("*.md"))
SPECS = [spec for page in PAGES for spec in read(page)]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.page}: {spec.title}")
def test_section(spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in spec.files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)

    expected = {
        (name, number, rule.strip())
        for name, number, line in spec.lines()
        if (found := _ERROR.search(line))
        for rule in found[1].split(",")
    }
    reported = {
        (finding.primary.path, finding.primary.line, finding.rule)
        for finding in engine.check([Path()], spec.settings).findings
        if finding.suppressed is None
        and finding.severity >= spec.settings.min_severity
        and (not spec.rules or finding.rule in spec.rules)
    }
    assert reported == expected

    revealed = {(name, number): found[1] for name, number, line in spec.lines() if (found := _REVEALED.search(line))}
    if revealed:
        assert engine.reveal([Path()], EVERYTHING) == revealed


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.page}: {spec.title}")
def test_section_is_well_formed(spec: Spec) -> None:
    """Every file parses, and every section expects something of rules that it names."""
    assert any(name.endswith(".py") for name, _ in spec.files)
    for name, text in spec.files:
        if name.endswith(".py"):
            compile(text, name, "exec")
    named = {rule.strip() for *_, line in spec.lines() for m in _ERROR.findall(line) for rule in m.split(",")}
    assert named <= spec.rules
    assert spec.rules or any(_REVEALED.search(line) for *_, line in spec.lines())
