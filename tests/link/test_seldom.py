"""What happens when a conversation begins, and cuts that take many turns at once, in the words of the findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Finding, Scope, Severity

ATTEMPTS = """\
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600


class Worker:
    def __init__(self, system):
        self.system = system
        self.turns = []

    @classmethod
    def told(cls, system):
        return cls(system)

    def step(self, text):
        self.turns.append({"role": "user", "content": text})
        messages = [{"role": "system", "content": self.system}, *self.turns]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages)
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})
        return reply


class Attempts:
    def __init__(self):
        self.number = 0
        self.prepare()

    def again(self):
        self.number += 1
        self.prepare()

    def prepare(self):
        self.worker = Worker.told(f"This is attempt {self.number}. {RULES}")

    def run(self):
        while True:
            reply = self.worker.step(input())
            if "FAILED" in reply.choices[0].message.content:
                self.again()


Attempts().run()
"""
BULK = """\
from openai import OpenAI

client = OpenAI()


class Session:
    def __init__(self):
        self.turns = []

    def compress(self):
        self.turns = self.turns[-10:]

    def ask(self, text):
        self.turns.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model="gpt-4.1", messages=self.turns)
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})
        if len(self.turns) > 30:
            self.compress()


session = Session()
while True:
    session.ask(input())
"""

SUMMED = """\
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "Answer briefly. " * 600}


def tokens_of(turns):
    return sum(len(turn["content"]) // 4 for turn in turns)


def shorten(turns):
    told = "\\n".join(turn["content"] for turn in turns)
    asked = [{"role": "user", "content": f"Sum up: {told}"}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=asked)
    turns[:] = [{"role": "user", "content": "So far: " + reply.choices[0].message.content}]


class Session:
    def __init__(self):
        self.turns = []

    def ask(self, text):
        self.turns.append({"role": "user", "content": text})
        if tokens_of(self.turns) > TOKENS:
            shorten(self.turns)
        reply = client.chat.completions.create(model="gpt-4.1", messages=[RULES, *self.turns])
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})


session = Session()
while True:
    session.ask(input())
"""

SETTING = """\
from flask import Flask, request
from openai import OpenAI

app = Flask(__name__)
client = OpenAI()
turns = []
RULES = "Answer politely. " * 300


class Profile:
    def __init__(self):
        self.topic = ""

    def text(self):
        return f"{RULES} It is about {self.topic}."


profile = Profile()


@app.post("/topic")
def topic():
    profile.topic = request.json["topic"]
    return "ok"


@app.post("/chat")
def chat():
    turns.append({"role": "user", "content": request.json["text"]})
    messages = [{"role": "system", "content": profile.text()}, *turns]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content
    turns.append({"role": "assistant", "content": reply})
    return reply
"""

LANGUAGE = """\
import json

from openai import OpenAI

client = OpenAI()
turns = []
texts = {}


def load_texts(language):
    global texts
    with open(f"locales/{language}.json") as file:
        texts = json.load(file)


def told(key):
    return texts.get(key, key)


def tools():
    return [{"type": "function", "function": {"name": "find", "description": told("Finds a file"), "parameters": {}}}]


def handled(text):
    command, *words = text.split()
    if command == "/language":
        load_texts(words[0])
        return True
    return False


def main():
    load_texts("en")
    while True:
        text = input()
        if handled(text):
            continue
        turns.append({"role": "user", "content": text})
        sent = client.chat.completions.create(model="gpt-4.1", messages=turns, tools=tools())
        turns.append({"role": "assistant", "content": sent.choices[0].message.content})


main()
"""


def one(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Finding:
    (folder / "main.py").write_text(program, "utf-8")
    monkeypatch.chdir(folder)
    (found,) = engine.check([Path()], Settings()).findings
    return found


def test_what_a_new_object_is_made_with_differs_from_conversation_to_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = one(tmp_path, monkeypatch, ATTEMPTS)
    assert (found.rule, found.scope) == ("volatile-counter", Scope.CONVERSATION)
    assert found.message.startswith("the counter number in the system text")


def test_what_an_object_is_told_later_differs_from_turn_to_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = '        self.turns.append({"role": "user"'
    later = ATTEMPTS.replace(kept, f'        self.system = f"Turn {{len(self.turns)}}. {{RULES}}"\n{kept}')
    found = one(tmp_path, monkeypatch, later)
    assert (found.rule, found.scope) == ("volatile-counter", Scope.TURN)


def test_a_cut_of_many_turns_at_once_is_not_made_on_every_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "each cut lets the next turn pay again" in one(tmp_path, monkeypatch, BULK).message
    small = BULK.replace("> 30", "> 12")
    assert "each turn drops the oldest message" in one(tmp_path, monkeypatch, small).message


def test_a_summary_once_there_are_some_messages_comes_back_after_some_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = one(tmp_path, monkeypatch, SUMMED.replace("TOKENS", "2_500"))
    assert (found.rule, found.severity) == ("rewritten-history", Severity.WARNING)
    always = SUMMED.replace("if tokens_of(self.turns) > TOKENS:", "if self.turns:")
    assert one(tmp_path, monkeypatch, always).severity is Severity.ERROR


def test_what_another_route_stores_is_changed_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(program: str) -> list[tuple[Severity, bool]]:
        (tmp_path / "main.py").write_text(program, "utf-8")
        monkeypatch.chdir(tmp_path)
        found = [f for f in engine.check([Path()], Settings()).findings if f.severity > Severity.INFO]
        return [(f.severity, "on a command of the user" in f.message) for f in found]

    assert told(SETTING) == [(Severity.WARNING, True)]
    stored = '    profile.topic = request.json["topic"]\n'
    same = SETTING.replace(stored, "", 1).replace("    turns.append({", f"{stored}    turns.append({{", 1)
    assert told(same) == [(Severity.ERROR, False)]


def test_what_is_set_up_again_on_a_command_is_changed_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = one(tmp_path, monkeypatch, LANGUAGE)
    assert (found.rule, found.severity) == ("volatile-tool-definition", Severity.WARNING)
    assert "on a command of the user" in found.message
    each = LANGUAGE.replace('if command == "/language":', "if words:")
    assert one(tmp_path, monkeypatch, each).severity is Severity.ERROR
