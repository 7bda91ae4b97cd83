"""``map --why-not`` answers for any call: what it is instead of a request, or which gate held a finding back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

ONCE = """\
from datetime import datetime
from anthropic import Anthropic
import stripe

RULES = "Answer briefly and name your source. " * 800


def summarise(text: str) -> str:
    return shorten(text)


def shorten(text: str) -> str:
    return text[:10]


def lost(client, order):
    stripe.messages.create(order)
    client.create(order)
    return summarise(order)
    summarise("never")


client = Anthropic()
print(client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=f"{datetime.now()} {RULES}", messages=[]))
"""

LOOP = """\
from datetime import datetime
from anthropic import Anthropic

client = Anthropic()
for item in open("items.txt"):
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9,
        system=f"It is {datetime.now()}. Answer briefly.",
        messages=[{"role": "user", "content": item}],
    )
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (9, "shorten is the project's own shorten() (app.py:12)"),
        (17, "stripe.messages.create is stripe.messages.create, which no row of what promptlint knows names"),
        (18, "the receiver of client.create is not known"),
        (20, "never reached"),
        (21, "there is no call on this line"),
        (24, "it is sent once (no loop, entry or kept history leads here)"),
    ],
)
def test_any_line_has_an_answer(run: Run, folder: Path, line: int, words: str) -> None:
    (folder / "app.py").write_text(ONCE)
    answer = run("map", "--why-not", f"app.py:{line}")
    assert answer.status == 0 and words in answer.out


def test_the_gate_that_held_a_value_back_is_named(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(LOOP)
    said = run("map", "--why-not", "app.py:6").out
    assert "no history is kept" in said
    assert "datetime.now() (app.py:9) is no finding: behind it another conversation could reuse" in said
    assert "and caching starts at 1,024" in said


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("plain.py", "print(1)\n", "nothing in it looks like a call that sends one"),
        ("broken.py", "def f(:\n", "this file cannot be analysed: "),
        ("tests/test_app.py", LOOP, "this file is not looked at"),
    ],
)
def test_a_file_that_is_not_analysed_says_so(run: Run, folder: Path, name: str, text: str, words: str) -> None:
    (folder / "app.py").write_text(ONCE)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    assert words in run("map", ".", "--why-not", f"{name}:1").out
