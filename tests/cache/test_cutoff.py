"""After an edit that changes nothing a run asked for, its findings are moved: a new run would give the same."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import cli, config, engine
from promptlint.cache import entries
from promptlint.report import Report

FILES = {
    "app.py": '''"""A chat."""

from anthropic import Anthropic

import clock
from agents import Agent, Loud
from prompts import SYSTEM

client = Anthropic()
LIMIT = 4


def log(text, level=2):
    """Writes a line."""
    # where people look first
    if level > 1:
        print(text)


def chat(history):
    """Asks until there is nothing to say."""
    agent = Loud()
    while True:
        history.append({"role": "user", "content": input()})
        system = (
            SYSTEM
            # what follows changes
            + clock.now()
        )
        reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=system, messages=history)
        history.append({"role": "assistant", "content": reply.content})
        if len(history) > LIMIT:
            log("long")
        agent.step("go on")
''',
    "agents.py": '''import random
from anthropic import Anthropic


class Agent:
    rules = "Be brief. " * 900

    def __init__(self):
        self.client = Anthropic()
        self.turns = []

    def prompt(self):
        return self.rules

    def step(self, text):
        self.turns.append({"role": "user", "content": text})
        return self.client.messages.create(
            model="claude-sonnet-4-5", max_tokens=9, system=self.prompt(), messages=self.turns
        )

    def tidy(self):
        """Nobody calls it."""
        total = 0
        for turn in range(9):
            total += turn
        return total


class Loud(Agent):
    def prompt(self):
        return f"{random.random()} " + self.rules

    def shout(self):
        print("hey")
''',
    "prompts.py": 'SYSTEM = "Answer with care. " * 400\n\n\ndef unused():\n    return SYSTEM\n',
    "clock.py": "import datetime\n\n\ndef now():\n    return str(datetime.datetime.now())\n",
    "other.py": "def sort(items):\n    # a note\n    found = list(items)\n    found.sort()\n    return found\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    write(FILES)
    return place


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).write_text(text)


def told(*options: str) -> str:
    """All that a run says: findings with their flow, and the map of all requests."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for command, shown in ((["check", "--min-severity", "info"], "full"), (["map"], "json")):
            assert cli.run([*command, "--output-format", shown, *options]) in (0, 1)
    return said.getvalue()


def held() -> Report | None:
    return entries.Entry.of([Path(".")], config.load([Path(".")])).find()


def replaced(name: str, old: str, new: str) -> None:
    text = Path(name).read_text()
    assert text.count(old) == 1
    Path(name).write_text(text.replace(old, new))


UNSEEN = [
    ("app.py", "# where people look first", "# nowhere"),
    ("app.py", "print(text)", "print(text)\n        print(level)"),
    ("app.py", '"""Writes a line."""', '"""Writes a line.\n\n    And that is all.\n    """'),
    ("app.py", "def log(", "# more\n# and more\n\n\ndef log("),
    ("app.py", '"""A chat."""', '"""A chat.\n\n\nIt is long."""'),
    ("agents.py", "total += turn", "total += turn\n            total -= 1"),
    ("agents.py", "class Loud", "# loud\nclass Loud"),
    ("agents.py", '        """Nobody calls it."""\n', ""),
    ("other.py", "    # a note\n", ""),
    ("other.py", "found.sort()", "found.sort()\n    found.reverse()"),
]


@pytest.mark.parametrize(("name", "old", "new"), UNSEEN)
def test_what_nobody_looked_at_can_change_without_an_analysis(
    name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told()
    assert "random" in before and "clock.py" in before
    replaced(name, old, new)
    right = told("--no-cache")
    with monkeypatch.context() as during:
        during.setattr(engine, "analyse", None)
        assert told() == right
        assert told() == right  # and once more, without any change
    write(FILES)
    assert told() == before


SEEN = [
    ("app.py", "LIMIT = 4", "LIMIT = 5"),
    ("app.py", '"claude-sonnet-4-5"', '"claude-opus-4-5"'),
    ("app.py", "+ clock.now()", "+ str(len(history))"),
    ("app.py", "agent = Loud()", "agent = Agent()"),
    ("app.py", "print(text)", "client.messages.create(model='m', system=text, messages=[])"),
    ("agents.py", "class Loud(Agent)", "class Loud"),
    ("agents.py", "class Loud", "\n\n\n# further from the prompt than what is shown as one place\nclass Loud"),
    ("agents.py", "random.random()", "1"),
    ("agents.py", 'print("hey")', "self.turns = self.turns[-4:]"),
    ("agents.py", "    def tidy", "    @property\n    def turns(self):\n        return []\n\n    def tidy"),
    ("prompts.py", "Answer", "Reply"),
    ("clock.py", "import datetime", "import fixed as datetime"),
    ("clock.py", "return str(", "return repr("),
    ("other.py", "found.sort()", "import app\n    app.chat(found)"),
    ("other.py", "def sort(", "from agents import Agent\n\n\nclass Own(Agent):\n    pass\n\n\ndef sort("),
    ("other.py", "    # a note\n", "    # promptlint: tokens=7\n    import agents\n    agents.Agent.rules = input()\n"),
    ("other.py", "return found", "return ("),
]


@pytest.mark.parametrize(("name", "old", "new"), SEEN)
def test_what_matters_is_linked_again(name: str, old: str, new: str) -> None:
    told()
    replaced(name, old, new)
    assert told() == told("--no-cache")


def test_most_of_what_matters_changes_what_is_told() -> None:
    """So that the test above can fail."""
    before = told("--no-cache")
    changed = 0
    for name, old, new in SEEN:
        write(FILES)
        replaced(name, old, new)
        changed += told("--no-cache") != before
    assert changed > len(SEEN) // 2


def test_comments_that_answer_are_read_anew_where_the_code_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    told()
    replaced("clock.py", "    return str(", "    # promptlint: ignore[volatile-time] wanted\n    return str(")
    with monkeypatch.context() as during:
        during.setattr(engine, "analyse", None)
        found = held()
    assert found is not None
    [clock] = [finding for finding in found.findings if finding.rule == "volatile-time"]
    assert clock.suppressed == "wanted"
    assert told() == told("--no-cache")


def test_edits_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told()
    for name, old, new in UNSEEN[:3] + UNSEEN[5:7]:
        replaced(name, old, new)
        right = told("--no-cache")
        with monkeypatch.context() as during:
            during.setattr(engine, "analyse", None)
            assert told() == right


@pytest.mark.parametrize(
    "change",
    [
        lambda: write({"more.py": "x = 1\n"}),
        lambda: Path("other.py").unlink(),
        lambda: Path("other.py").rename("another.py"),
        lambda: write({"pyproject.toml": '[tool.promptlint]\nignore = ["PL2"]\n'}),
    ],
)
def test_other_files_and_other_settings_are_another_run(change: Callable[[], None]) -> None:
    told()
    change()
    assert held() is None
    assert told() == told("--no-cache")


LINES = [
    "# a comment",
    "",
    "print('here')",
    "pass",
    "import os",
    "value = history = []",
    "self.turns = []",
    "return None",
    "# promptlint: ignore[volatile-time, volatile-random] so it is",
    "# promptlint: lifetime[constant]",
    "SYSTEM = 'other'",
    "chat([])",
    "Agent().step('x')",
    "def prompt(self): return 'x'",
    "@staticmethod",
    "for log in (): yield log",
]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(sorted(FILES)),
        st.integers(0, 60),
        st.sampled_from(["insert", "insert", "insert", "delete", "copy", "rename"]),
        st.sampled_from(LINES),
    ),
    min_size=1,
    max_size=3,
)


def edited(text: str, at: int, how: str, line: str) -> str:
    lines = text.split("\n")
    at %= len(lines)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if how == "insert":
        lines.insert(at, indent + line)
    elif how == "delete":
        del lines[at]
    elif how == "copy":
        lines.insert(at, lines[at])
    else:
        lines[at] = lines[at].replace("history", "past").replace("total", "sum_").replace("step", "turn")
    return "\n".join(lines)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_whatever_is_edited_a_warm_run_tells_what_a_cold_one_does(edits: list[tuple[str, int, str, str]]) -> None:
    write(FILES)
    told()
    for name, at, how, line in edits:
        text = edited(Path(name).read_text(), at, how, line)
        if parses(text) or at % 7 == 0:
            Path(name).write_text(text)
        assert told() == told("--no-cache")
