"""Objects of the project whose methods are called like those of lists: what they keep is what their methods do."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings

KEEPER = '''\
class Talk:
    def __init__(self):
        self.turns = []

    def {put}(self, role, text):
        self.turns.append({{"role": role, "content": text}})

    def sent(self):
        return [{{"role": "system", "content": RULES}}, *{sent}]


def ask(messages):
    return client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content


'''
START = 'from openai import OpenAI\n\nclient = OpenAI()\nRULES = "Answer by the book. " * 300\n\n\n'
CALLERS = {
    "a loop of rounds inside the loop of turns": """\
talk = Talk()
while True:
    talk.{put}("user", input())
    for _ in range(20):
        talk.{put}("assistant", ask(talk.sent()))
        talk.{put}("user", "Go on.")
""",
    "handed to a function": """\
def turn(talk):
    for _ in range(20):
        talk.{put}("assistant", ask(talk.sent()))


def main():
    talk = Talk()
    while True:
        talk.{put}("user", input())
        turn(talk)


main()
""",
    "held by another object": """\
class Agent:
    def __init__(self):
        self.talk = Talk()

    def rounds(self):
        for _ in range(20):
            self.talk.{put}("assistant", ask(self.talk.sent()))

    def chat(self, text):
        self.talk.{put}("user", text)
        self.rounds()


agent = Agent()
while True:
    agent.chat(input())
""",
    "held by the module": """\
talk = Talk()


def turn(text):
    talk.{put}("user", text)
    for _ in range(20):
        talk.{put}("assistant", ask(talk.sent()))


while True:
    turn(input())
""",
}


def _cuts(source: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (path / "main.py").write_text(source, "utf-8")
    monkeypatch.chdir(path)
    return [f.rule for f in engine.check([Path()], Settings()).findings]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("put", ["append", "extend", "insert", "update", "add", "note"])
def test_a_window_is_found_whatever_the_method_is_called(
    caller: str, put: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = START + KEEPER.format(put=put, sent="self.turns[-8:]") + CALLERS[caller].format(put=put)
    assert _cuts(source, tmp_path, monkeypatch) == ["sliding-window"]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("put", ["append", "update", "note"])
def test_all_turns_are_sent(caller: str, put: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = START + KEEPER.format(put=put, sent="self.turns") + CALLERS[caller].format(put=put)
    assert _cuts(source, tmp_path, monkeypatch) == []


def test_a_list_still_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = START + (
        "turns = []\n"
        "while True:\n"
        '    turns.append({"role": "user", "content": input()})\n'
        "    for _ in range(20):\n"
        '        reply = client.chat.completions.create(model="gpt-4.1", messages=turns[-8:])\n'
        '        turns.append({"role": "assistant", "content": reply.choices[0].message.content})\n'
    )
    assert _cuts(source, tmp_path, monkeypatch) == ["sliding-window"]


def test_an_object_that_is_replaced_in_the_loop_is_not_the_first_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        START
        + KEEPER.format(put="append", sent="self.turns[-8:]")
        + """\
for question in open("questions.txt"):
    talk = Talk()
    talk.append("user", question)
    print(ask(talk.sent()))
"""
    )
    assert _cuts(source, tmp_path, monkeypatch) == []
