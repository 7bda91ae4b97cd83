"""A finding for a cut names the cuts of the same history that come before it."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings

PROGRAM = """\
from openai import OpenAI

client = OpenAI()
history = []
while True:
    history.append({"role": "user", "content": input()})
    kept = history[-30:]
    while len(kept) > 8:
        kept.pop(0)
    reply = client.chat.completions.create(model="gpt-4.1", messages=kept)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
"""


def test_earlier_cuts_are_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    monkeypatch.chdir(tmp_path)
    findings = {f.primary.line: f for f in engine.check([Path()], Settings()).findings if f.rule == "sliding-window"}
    assert [(s.span.line, s.message) for s in findings[9].flow] == [
        (7, "history[-30:] also cuts this history to 30 messages")
    ]
    assert not findings[7].flow
