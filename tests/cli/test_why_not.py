"""``map --why-not`` answers for any call: what it is instead of a request, or which gate held a finding back."""

from __future__ import annotations

import json
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


FALLBACK = """\
import datetime
import litellm

RULES = "Answer in the words of the manual. " * 300


def ask(questions, pictures):
    for question in questions:
        system = {"role": "system", "content": f"It is {datetime.datetime.now()}. {RULES}"}
        try:
            litellm.completion(model="gpt-4o", messages=[system, {"role": "user", "content": [question, pictures]}])
        except litellm.BadRequestError:
            litellm.completion(model="gpt-4o", messages=[system, AGAIN])
"""


def test_a_request_in_place_of_one_that_failed(run: Run, folder: Path) -> None:
    """It stands in the map; what can be said about it is said once, at the request that failed."""
    (folder / "app.py").write_text(FALLBACK.replace("AGAIN", '{"role": "user", "content": question}'))
    found = json.loads(run("map", "--output-format", "json").out)["requests"]
    assert [(request["line"], request["fallback"]) for request in found] == [(11, False), (13, True)]
    assert "in place of a request that failed" in run("map", "--why-not", "app.py:13").out
    checked = json.loads(run("check", "--output-format", "json").out)["findings"]
    assert [(finding["rule"], finding["request"]["line"], finding["also"]) for finding in checked] == [
        ("volatile-time", 11, [])
    ]


def test_alike_segments_are_one_line_of_the_map(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(
        "import os\nimport litellm\n\nLOOK = {'name': os.environ['TOOL'], 'input_schema': {}}\n\n\n"
        "def ask(question):\n"
        "    user = {'role': 'user', 'content': question}\n"
        "    litellm.completion(model='gpt-4o', tools=[LOOK, LOOK, LOOK, LOOK], messages=[user])\n"
    )
    out = run("map").out
    assert "1-4  tools" in out and "(4 alike)" in out and "  5  last-message" in out
    assert len(json.loads(run("map", "--output-format", "json").out)["requests"][0]["segments"]) == 5


def test_the_same_request_once_more_is_no_other_one(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(FALLBACK.replace("AGAIN]", '{"role": "user",\n  "content": [question, pictures]}]'))
    found = json.loads(run("map", "--output-format", "json").out)["requests"]
    assert [request["line"] for request in found] == [11]
    assert "sends once more, after an error, what is sent on line 11" in run("map", "--why-not", "app.py:13").out


def test_arguments_in_a_dict_may_have_changed_after_the_error(run: Run, folder: Path) -> None:
    code = FALLBACK.replace(
        'model="gpt-4o", messages=[system, {"role": "user", "content": [question, pictures]}]', "**given"
    )
    code = code.replace('model="gpt-4o", messages=[system, AGAIN]', "**given")
    code = code.replace(
        "        try:\n", '        given = {"model": "gpt-4o", "messages": [system, question], "n": 1}\n        try:\n'
    )
    (folder / "app.py").write_text(code.replace("BadRequestError:\n", 'BadRequestError:\n            given.pop("n")\n'))
    found = json.loads(run("map", "--output-format", "json").out)["requests"]
    assert [(request["line"], request["fallback"]) for request in found] == [(12, False), (15, True)]
