"""Twin programs: each positive shows its finding by default, its twin differs in one detail and is silent.

The first line of a program says what is expected: ``# card: timestamp | expect: volatile-time @ L14``, optionally with
``| also: missing-breakpoint`` for rules that may speak as well. In a program of several files the file that holds the
expected line carries it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from promptlint.config import Settings
from promptlint.engine import check
from promptlint.finding import Finding

HERE = Path(__file__).parent
PATTERNS = ("timestamp", "tool_order", "history", "breakpoints", "minimum")
NEAR = 2
"""Lines by which a reported place may miss the expected one."""

_HEADER = re.compile(
    r"# card: (?P<pattern>\w+) \| expect: (?:nothing|(?P<rule>[a-z-]+) @ L(?P<line>\d+))"
    r"(?: \| also: (?P<also>[a-z, -]+))?(?: \| why: (?P<why>.+))?"
)


@dataclass(frozen=True)
class Card:
    """A program and what is expected of it; ``rule`` is ``None`` where nothing is."""

    program: Path
    file: Path
    rule: str | None
    line: int
    also: frozenset[str]


def read(program: Path) -> Card:
    """The card in the header of a program, which exactly one of its files carries."""
    files = [program] if program.is_file() else sorted(program.rglob("*.py"))
    found = [(file, m) for file in files if (m := _HEADER.fullmatch(file.read_text("utf-8").split("\n", 1)[0]))]
    assert len(found) == 1, f"{program}: {len(found)} headers"
    file, header = found[0]
    also = frozenset(name.strip() for name in (header["also"] or "").split(",") if name.strip())
    return Card(program, file, header["rule"], int(header["line"] or 0), also)


def programs(kind: str) -> list[Path]:
    found = [path for pattern in PATTERNS for path in (HERE / pattern / kind).iterdir() if path.name[0].isdigit()]
    return sorted(found)


def name(path: Path) -> str:
    return path.relative_to(HERE).with_suffix("").as_posix()


def shown(program: Path) -> list[Finding]:
    """What a user sees of the program at the default thresholds."""
    settings = Settings()
    return [
        finding
        for finding in check([program], settings).findings
        if finding.severity >= settings.min_severity
        and finding.confidence >= settings.min_confidence
        and finding.suppressed is None
    ]


def places(finding: Finding) -> set[tuple[Path, int]]:
    """The lines that a finding names: where it is, where the value comes from, where the request is sent."""
    spans = [finding.primary, finding.site.span, *([finding.origin] if finding.origin else [])]
    return {(Path(span.path).resolve(), span.line) for span in spans}


def told(findings: list[Finding]) -> str:
    return "\n".join(f"{f.primary}: {f.severity} {f.rule}: {f.message}" for f in findings) or "nothing was reported"


@pytest.mark.parametrize("program", programs("pos"), ids=name)
def test_positive(program: Path) -> None:
    card, findings = read(program), shown(program)
    expected = [finding for finding in findings if finding.rule == card.rule]
    assert expected, told(findings)
    near = {(card.file, line) for line in range(card.line - NEAR, card.line + NEAR + 1)}
    assert all(places(finding) & near for finding in expected), told(expected)
    assert {finding.rule for finding in findings} <= {card.rule} | card.also, told(findings)


@pytest.mark.parametrize("program", programs("neg"), ids=name)
def test_negative(program: Path) -> None:
    findings = shown(program)
    assert not findings, told(findings)


def test_every_positive_has_a_twin() -> None:
    for pattern in PATTERNS:
        pairs = [{path.name for path in (HERE / pattern / kind).iterdir()} for kind in ("pos", "neg")]
        assert pairs[0] == pairs[1], pattern
        assert len(pairs[0]) >= 8, pattern


@pytest.mark.parametrize("program", programs("pos") + programs("neg"), ids=name)
def test_header_is_right(program: Path) -> None:
    card = read(program)
    assert card.program.relative_to(HERE).parts[1] == ("pos" if card.rule else "neg")
    files = [program] if program.is_file() else sorted(program.rglob("*.py"))
    marks = [
        (file, number, line.split("# <- ")[1].strip())
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if "# <- " in line
    ]
    assert marks == ([(card.file, card.line, card.rule)] if card.rule else [])
