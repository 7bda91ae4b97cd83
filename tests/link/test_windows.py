"""A finding for a cut names the cuts of the same history that come before it."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Severity

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


ROUNDS = """\
from openai import OpenAI

client = OpenAI()
RULES = "Answer by the book. " * 300


def ask(turns):
    reply = client.chat.completions.create(model="gpt-4.1", messages=[{"role": "system", "content": RULES}, *turns])
    return reply.choices[0].message.content, reply.usage


def is_answer(turn):
    return turn["role"] == "assistant"


turns = []
while True:
    turns.append({"role": "user", "content": input()})
%s
    text, usage = ask(turns)
%s
    turns.append({"role": "assistant", "content": text})
"""


@pytest.mark.parametrize(
    "then",
    [
        "if text.strip():\n        del turns[:-12]",
        "print(text)\n    if text:\n        turns[:] = turns[-12:]",
        'if text != "":\n        del turns[: len(turns) - 12]',
        "if not text:\n        continue\n    while len(turns) > 12:\n        turns.pop(0)",
    ],
)
def test_a_cut_that_depends_on_the_first_result_of_a_call(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(ROUNDS % ("    pass", f"    {then}"), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert [f.rule for f in engine.check([Path()], Settings()).findings] == ["sliding-window"]


@pytest.mark.parametrize(
    "test",
    [
        'turns[0]["role"] != "user"',
        'turns[0].get("role") == "assistant"',
        "is_answer(turns[0])",
        'turns and turns[0]["role"] == "assistant"',
    ],
)
def test_a_list_that_has_to_begin_with_a_user(test: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(ROUNDS % (f"    while {test}:\n        turns.pop(0)", "    pass"), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert not engine.check([Path()], Settings()).findings


BUDGET = """\
import json

from openai import OpenAI

client = OpenAI()
RULES = "Answer by the book. " * 300
LIMIT = %s


def tokens_of(turn):
    return len(str(turn["content"])) // 4


class Talk:
    def __init__(self, enabled):
        self.turns = []
        self.enabled = enabled

    def add(self, role, text):
        self.turns.append({"role": role, "content": text})
        self.shorten()

    def shorten(self):
        %s


def main(enabled):
    talk = Talk(enabled)
    while True:
        talk.add("user", input())
        messages = [{"role": "system", "content": RULES}, *talk.turns]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages)
        talk.add("assistant", reply.choices[0].message.content)


main(True)
"""
SHORTEN = {
    "a loop that is left": """while True:
            total = sum(len(json.dumps(t)) for t in self.turns)
            if total <= LIMIT or len(self.turns) <= 2:
                break
            self.turns.pop(0)""",
    "a sum": """if sum(tokens_of(t) for t in self.turns) > LIMIT:
            self.turns.pop(0)""",
    "one test of two": """if self.enabled and sum(len(t["content"]) for t in self.turns) > LIMIT:
            del self.turns[:2]""",
    "the second test of two": """total_chars = sum(len(t["content"]) for t in self.turns)
        if total_chars > LIMIT and self.enabled:
            self.turns.pop(0)""",
}


@pytest.mark.parametrize("form", SHORTEN)
@pytest.mark.parametrize(("limit", "severity"), [("100_000 * 4", Severity.INFO), ("8_000", Severity.WARNING)])
def test_a_cut_near_the_size_of_a_context_is_rare(
    form: str, limit: str, severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(BUDGET % (limit, SHORTEN[form]), "utf-8")
    monkeypatch.chdir(tmp_path)
    found = [(f.rule, f.severity) for f in engine.check([Path()], Settings()).findings]
    assert found == [("sliding-window", severity)]


TURNS = """\
from openai import OpenAI

client = OpenAI()
RULES = "Answer by the book. " * 300
KEEP = 5
turns = []


%s


while True:
    turns.append({"role": "user", "content": input()})
    messages = [{"role": "system", "content": RULES}, *recent(turns)]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages)
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
LAST_TURNS = {
    "a function that tells the place": '''\
def start_of(messages):
    start, seen = 0, 0
    for i in range(len(messages) - 1, -1, -1):
        if messages[i]["role"] == "user":
            seen += 1
        if seen >= KEEP:
            start = i
            break
    return start


def recent(messages):
    return messages[start_of(messages):]''',
    "a slice in the loop": '''\
def recent(messages):
    seen = 0
    for i in reversed(range(len(messages))):
        if messages[i]["role"] == "user":
            seen += 1
            if seen == KEEP:
                return messages[i:]
    return messages''',
    "numbered elements": '''\
def recent(messages):
    seen = 0
    for i, message in reversed(list(enumerate(messages))):
        if message["role"] == "user":
            seen += 1
        if seen > KEEP:
            return messages[i:]
    return messages''',
    "places of the questions": '''\
def recent(messages):
    asked = [i for i, m in enumerate(messages) if m["role"] == "user"]
    return messages if len(asked) <= KEEP else messages[asked[-KEEP]:]''',
    "places counted from the front": '''\
def recent(messages):
    asked = [i for i in range(len(messages)) if messages[i]["role"] == "user"]
    return messages if len(asked) <= KEEP else messages[asked[len(asked) - KEEP]:]''',
}
WHOLE = {
    "since the newest summary": '''\
def recent(messages):
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("summary"):
            return messages[i:]
    return messages''',
    "a number that is counted and not used": '''\
def recent(messages):
    seen = 0
    for message in reversed(messages):
        seen += 1
    print(seen)
    return messages''',
}


@pytest.mark.parametrize("form", LAST_TURNS)
def test_the_last_turns_are_counted_from_the_end(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(TURNS % LAST_TURNS[form], "utf-8")
    monkeypatch.chdir(tmp_path)
    assert [f.rule for f in engine.check([Path()], Settings()).findings] == ["sliding-window"]


@pytest.mark.parametrize("form", WHOLE)
def test_nothing_is_counted(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(TURNS % WHOLE[form], "utf-8")
    monkeypatch.chdir(tmp_path)
    assert not engine.check([Path()], Settings()).findings


STEPS = """\
import os

from openai import OpenAI

client = OpenAI()


def run(said):
    turns = []
    while True:
        turns.append({"role": "user", "content": %s})
        reply = client.chat.completions.create(model="gpt-4.1", messages=turns[-%d:])
        turns.append({"role": "assistant", "content": reply.choices[0].message.content})


run(input())
"""


@pytest.mark.parametrize(
    ("newest", "keeps", "severity"),
    [
        ("input()", 60, Severity.INFO),
        ("input()", 30, Severity.WARNING),
        ("os.popen(turns[-1]['content']).read() if turns else 'begin'", 60, Severity.WARNING),
        ("os.popen(turns[-1]['content']).read() if turns else 'begin'", 120, Severity.INFO),
    ],
    ids=["a user reaches it seldom", "a user reaches it", "steps reach it soon", "steps reach it seldom"],
)
def test_how_long_a_conversation_gets_depends_on_who_goes_on(
    newest: str, keeps: int, severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(STEPS % (newest, keeps), "utf-8")
    monkeypatch.chdir(tmp_path)
    found = [f.severity for f in engine.check([Path()], Settings()).findings if f.rule == "sliding-window"]
    assert found == [severity]


BOUND = """\
from openai import OpenAI

client = OpenAI()
N = 10


class Bot:
    LIMIT = 8

    def __init__(self, turns=None):
        self.turns = turns
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model="gpt-4o", messages=self.messages[%s:])
        self.messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        return reply
"""


@pytest.mark.parametrize(
    ("bound", "keeps"),
    [
        ("-N * 2", " to 20 messages"),
        ("-2 * N", " to 20 messages"),
        ("-self.LIMIT * 2", " to 16 messages"),
        ("-(2 * self.LIMIT + 1)", " to 17 messages"),
        ("-self.turns * 2", ""),
        ("2 * -self.turns", ""),
        ("-self.turns - 1", ""),
        ("-N if N else 0", " to 10 messages"),
        ("len(self.messages) - N", " to 10 messages"),
    ],
)
def test_a_bound_counted_from_the_end(
    bound: str, keeps: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(BOUND % bound, "utf-8")
    monkeypatch.chdir(tmp_path)
    [finding] = engine.check([Path()], Settings()).findings
    assert finding.rule == "sliding-window"
    assert f"cuts the history{keeps}: " in finding.message


@pytest.mark.parametrize("bound", ["+0", "0 * -1", "-N * -2 if N < 0 else 0"])
def test_a_bound_counted_from_the_beginning(bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(BOUND % bound, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert not engine.check([Path()], Settings()).findings


CUT_OUT = """\
from anthropic import Anthropic

client = Anthropic()
turns = []


def ask(question, data):
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    document = {"type": "document", "source": source, "cache_control": {"type": "ephemeral"}}
    turns.append({"role": "user", "content": [document, {"type": "text", "text": question}]})
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=turns)
    turns[-1]["content"] = [{"type": "text", "text": question}]
    turns.append({"role": "assistant", "content": reply.content})


def main(data):
    while True:
        ask(input(), data)
"""


def test_what_is_kept_of_a_turn_is_where_its_text_was_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(CUT_OUT, "utf-8")
    monkeypatch.chdir(tmp_path)
    (found,) = [f for f in engine.check([Path()], Settings()).findings if f.rule == "lossy-replay"]
    assert [(s.span.line, s.message) for s in found.flow] == [(12, "the turn is stored here")]
