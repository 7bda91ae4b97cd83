"""Each approximation on the way of a value shows: in the flow, in the confidence, and in words."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Finding, Severity

HEAD = """\
from datetime import datetime

from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
"""
OPAQUE = """\
from elsewhere import dressed

turns = []
while True:
    turns.append({"role": "user", "content": input()})
    now = datetime.now().strftime("%H:%M:%S")
    system = {"role": "system", "content": f"{dressed(now)} {RULES}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *turns])
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
BY_NAME = """\
class Model:
    def complete_turn(self, system, turns):
        return client.chat.completions.create(model="gpt-4.1", messages=[system, *turns]).choices[0].message.content


def main(model):
    turns = []
    while True:
        turns.append({"role": "user", "content": input()})
        system = {"role": "system", "content": f"{datetime.now():%H:%M:%S} {RULES}"}
        turns.append({"role": "assistant", "content": model.complete_turn(system, turns)})
"""
DRESSED_BY_NAME = """\
class Dresser:
    def dressed_up(self):
        return f"{datetime.now():%H:%M:%S} {RULES}"


def main(dresser):
    turns = []
    while True:
        turns.append({"role": "user", "content": input()})
        system = {"role": "system", "content": dresser.dressed_up()}
        reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *turns])
        turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
SEEN = DRESSED_BY_NAME.replace("def main(dresser):", "def main():\n    dresser = Dresser()")


def found(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    (folder / "main.py").write_text(HEAD + program, "utf-8")
    monkeypatch.chdir(folder)
    findings = engine.check([Path()], Settings()).findings
    (finding,) = (f for f in findings if f.rule == "volatile-time" and f.severity is Severity.ERROR)
    return finding


@pytest.mark.parametrize(
    ("program", "doubt", "step"),
    [
        (
            OPAQUE,
            "a value goes through code that is not looked into",
            "handed to elsewhere.dressed(), which is not looked into",
        ),
        (BY_NAME, "a method was found by its name", None),
        (DRESSED_BY_NAME, "a method was found by its name", "returned by Dresser.dressed_up(), found by its name"),
    ],
)
def test_an_approximation_shows(
    program: str, doubt: str, step: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = found(program, tmp_path, monkeypatch)
    assert finding.confidence is Confidence.MEDIUM
    assert doubt in finding.doubts
    assert step is None or step in [s.message for s in finding.flow]


def test_what_is_seen_is_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = found(SEEN, tmp_path, monkeypatch)
    assert (finding.confidence, finding.doubts) == (Confidence.HIGH, ())


COMMAND = """\
class Manner:
    def __init__(self, tone):
        self.tone = tone


class Chat:
    def __init__(self, manner: Manner):
        self.manner = manner
        self.turns = []

    def ask(self, text):
        self.turns.append({"role": "user", "content": text})
        system = {"role": "system", "content": f"{RULES} Tone: {self.manner.tone}"}
        reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *self.turns])
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})


def main(chat: Chat):
    while True:
        word, _, rest = input().partition(" ")
        if word == "/tone":
            chat.manner.tone = rest
            continue
        chat.ask(word)
"""


def test_what_is_typed_with_a_command_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(HEAD + COMMAND, "utf-8")
    monkeypatch.chdir(tmp_path)
    (request,) = engine.check([Path()], Settings()).requests
    (tone,) = (s for s in request.segments if s.name == "tone")
    assert {cause.conditional for cause in tone.causes} == {"command"}
