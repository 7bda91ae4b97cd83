"""A prompt that a test of the newest message chooses is another prompt for the next one, whatever the test calls."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings

PROGRAM = '''\
import re

from openai import OpenAI

client = OpenAI()
RULES = "Answer by the book. " * 400
WORDS = {{"hai", "kya", "nahi"}}
GREETING = re.compile("hello|hi")
STYLES = {{"local": "Answer in the user's language.", "other": "Answer in English."}}


def style(text):
    found = {found}
    if {test}:
        return "local"
    return "other"


turns = []
while True:
    text = input()
    turns.append({{"role": "user", "content": text}})
    system = RULES + {chosen}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[{{"role": "system", "content": system}}, *turns])
    turns.append({{"role": "assistant", "content": reply.choices[0].message.content}})
'''
TESTS = {
    "sum(1 for w in WORDS if w in text)": "found >= 2",
    'sum(1 for c in text if c > "\\u0900")': "found > len(text) * 0.3",
    "any(w in text.lower() for w in WORDS)": "found",
    're.search("hai|kya", text)': "found is not None",
    "GREETING.match(text)": "not found",
    "set(text.split()) & WORDS": "found",
    'text.count("?")': "found > 1",
}
CHOSEN = ("STYLES[style(text)]", 'STYLES.get(style(text), "")', "style(text)")


def _rules(source: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (path / "main.py").write_text(source, "utf-8")
    monkeypatch.chdir(path)
    return [f.rule for f in engine.check([Path()], Settings()).findings]


@pytest.mark.parametrize("found", TESTS)
def test_the_text_decides(found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PROGRAM.format(found=found, test=TESTS[found], chosen=CHOSEN[0])
    assert _rules(source, tmp_path, monkeypatch) == ["conditional-system"]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_however_the_answer_is_used(chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = "any(w in text for w in WORDS)"
    assert _rules(PROGRAM.format(found=found, test="found", chosen=chosen), tmp_path, monkeypatch) == [
        "conditional-system"
    ]


@pytest.mark.parametrize(
    ("found", "test"),
    [
        ("any(w in RULES for w in WORDS)", "found"),  # comes out the same in every turn
        ("len(WORDS)", "found > 2"),
        ('re.search("book", RULES)', "found"),
        ("text", "False"),
    ],
)
def test_nothing_that_changes_decides(
    found: str, test: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _rules(PROGRAM.format(found=found, test=test, chosen=CHOSEN[0]), tmp_path, monkeypatch) == []


@pytest.mark.parametrize("found", TESTS)
def test_what_is_chosen_goes_with_the_newest_message(
    found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PROGRAM.format(found=found, test=TESTS[found], chosen='""').replace(
        '"content": text}', '"content": text + STYLES[style(text)]}'
    )
    assert _rules(source, tmp_path, monkeypatch) == []
