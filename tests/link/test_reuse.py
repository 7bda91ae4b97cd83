"""What nothing calls is a remark, unless the package offers it to its users."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Severity

EXTRACT = """\
from anthropic import Anthropic

MANUAL = "Name the parts, their makers and their prices, one a line, in the order of the letter. " * 300


class Extractor:
    def __init__(self):
        self.client = Anthropic()

    def parts(self, letter):
        messages = [{"role": "user", "content": letter}]
        return self.client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=MANUAL, messages=messages)
"""


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        ("from desk.extract import Extractor\n", ["missing-breakpoint"]),
        ("from desk.extract import Extractor as _Extractor\n", []),
        ("", []),
    ],
)
def test_offered(offered: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "__init__.py").write_text(offered, "utf-8")
    (tmp_path / "desk" / "extract.py").write_text(EXTRACT, "utf-8")
    monkeypatch.chdir(tmp_path)
    findings = engine.check([Path()], Settings()).findings
    assert [f.rule for f in findings if f.severity >= Severity.WARNING] == expected
