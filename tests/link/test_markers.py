"""Each marker of a request is one breakpoint."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings

PROGRAM = """\
import anthropic

client = anthropic.Anthropic()
MARK = {"type": "ephemeral"}
SYSTEM = [{"type": "text", "text": part * 300, "cache_control": MARK} for part in ("One. ", "Two. ", "Three. ")]


def ask(text):
    return client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=SYSTEM,
        messages=[{"role": "user", "content": text}],
        cache_control=MARK,
    )


for line in open("questions.txt"):
    print(ask(line))
"""


def test_the_marker_of_the_request_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    monkeypatch.chdir(tmp_path)
    report = engine.check([Path()], Settings())
    (request,) = report.requests
    assert [(m.segment, m.automatic, m.key) for m in request.breakpoints] == [
        (0, False, "cache_control"),
        (1, False, "cache_control"),
        (2, False, "cache_control"),
        (len(request.segments) - 1, True, "cache_control"),
    ]
    assert "too-many-breakpoints" not in {f.rule for f in report.findings}
