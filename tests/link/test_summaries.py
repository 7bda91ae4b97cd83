"""A finding belongs to what a program does: how it is written changes nothing, and what is not known stays open."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Severity

EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)

PROGRAM = """\
import uuid
from datetime import datetime

from openai import OpenAI

NAMES = {"search", "fetch", "edit"}
MANUAL = "Keep the chain clean and oil it once a month. " * 200
client = OpenAI()


def stamp():
    return datetime.now().isoformat()


def system(nonce):
    return f"It is {stamp()}. {MANUAL} Request {nonce}."


def tools():
    listed = []
    for name in NAMES:
        listed.append({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
    return listed


class Chat:
    def __init__(self):
        self.turns = []

    def ask(self, text):
        self.turns.append({"role": "user", "content": text})
        if len(self.turns) > 20:
            self.turns = self.turns[-20:]
        head = {"role": "system", "content": system(uuid.uuid4())}
        reply = client.chat.completions.create(model="gpt-4.1", messages=[head, *self.turns], tools=tools())
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})


def main():
    chat = Chat()
    while True:
        chat.ask(input())


if __name__ == "__main__":
    main()
"""
EXPECTED = {
    ("sliding-window", "self.turns = self.turns[-20:]"),
    ("unordered-tools", "for name in NAMES:"),
    ("volatile-random", 'return f"It is {stamp()}. {MANUAL} Request {nonce}."'),
    ("volatile-time", 'return f"It is {stamp()}. {MANUAL} Request {nonce}."'),
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def found(folder: Path, files: dict[str, str], order: tuple[str, ...] = ()) -> set[tuple[str, str]]:
    """The rules that report something, with the text of the line they report."""
    write(folder, files)
    paths = [folder / name for name in order] or [folder]
    report = engine.check(paths, Settings(root=folder, min_severity=Severity.INFO, min_confidence=Confidence.LOW))
    lines = {name: text.splitlines() for name, text in files.items()}
    return {
        (f.rule, next(ls[f.primary.line - 1].strip() for n, ls in lines.items() if f.primary.path.endswith(n)))
        for f in report.findings
    }


def revealed(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> list[str]:
    write(folder, {f"{name}.py": text for name, text in files.items()})
    monkeypatch.chdir(folder)
    return [text for _, text in sorted(engine.reveal([Path()], EVERYTHING).items())]


def split(moved: tuple[str, ...], into: str, imports: str) -> dict[str, str]:
    """``PROGRAM`` with some of its top-level blocks in another module."""
    head, *blocks = re.split(r"\n\n\n", PROGRAM.rstrip("\n"))
    names = {re.split(r"[ (:]", b.split(" ", 1)[1])[0]: b for b in blocks if b.startswith(("def ", "class "))}
    rest = [b for b in blocks if b not in {names[m] for m in moved}]
    first_line, _, constants = head.partition("\n\nNAMES")
    other = "\n\n\n".join([f"{first_line}\n\nNAMES{constants}", *(names[m] for m in moved)])
    return {into: other + "\n", "main.py": "\n\n\n".join([imports + "\n" + head, *rest]) + "\n"}


def test_program(tmp_path: Path) -> None:
    assert found(tmp_path, {"main.py": PROGRAM}) == EXPECTED


LOCALS = r"(?<![\"'.])\b(listed|name|nonce|head|reply|chat|text|self)\b(?![\"'=])"
ATTRIBUTES = r"(?<=\.)(turns|ask)\b|\bask\b(?=\()"


@pytest.mark.parametrize("names", [LOCALS, ATTRIBUTES])
def test_renaming_changes_nothing(names: str, tmp_path: Path) -> None:
    program = re.sub(names, "renamed_\\g<0>", PROGRAM)
    assert program.count("renamed_") > 5
    assert found(tmp_path, {"main.py": program}) == {
        (rule, re.sub(names, "renamed_\\g<0>", line)) for rule, line in EXPECTED
    }


SPLITS = {
    "prompts in a module": split(("stamp", "system"), "prompts.py", "from prompts import system"),
    "prompts through the module": {
        n: t.replace('content": system(', 'content": prompts.system(')
        for n, t in split(("stamp", "system"), "prompts.py", "import prompts").items()
    },
    "tools in a package": {
        **split(("tools",), "desk/parts.py", "from desk import tools"),
        "desk/__init__.py": "from .parts import tools\n",
    },
    "the class elsewhere": split(("stamp", "system", "tools", "Chat"), "chat.py", "from chat import Chat"),
    "the entry elsewhere": {
        "desk.py": PROGRAM.partition("\n\n\ndef main")[0] + "\n",
        "run.py": "import desk\n\n\ndef main" + PROGRAM.partition("\n\n\ndef main")[2].replace("Chat()", "desk.Chat()"),
    },
}


@pytest.mark.parametrize("title", SPLITS)
def test_splitting_a_module_changes_nothing(title: str, tmp_path: Path) -> None:
    assert found(tmp_path, SPLITS[title]) == EXPECTED


def test_order_of_files_changes_nothing(tmp_path: Path) -> None:
    files = {
        **split(("stamp", "system"), "prompts.py", "from prompts import system\nfrom parts import tools"),
        "parts.py": split(("tools",), "parts.py", "")["parts.py"],
    }
    files["main.py"] = files["main.py"].replace(split(("tools",), "x.py", "")["x.py"].split("\n\n\n")[1], "")
    results = [found(tmp_path, files, order) for order in itertools.permutations(files)]
    assert all(result == EXPECTED for result in results)


def test_inlining_changes_nothing(tmp_path: Path) -> None:
    program = PROGRAM.replace("{stamp()}", "{datetime.now().isoformat()}")
    line = 'return f"It is {datetime.now().isoformat()}. {MANUAL} Request {nonce}."'
    assert found(tmp_path, {"main.py": program}) == {
        (rule, line if "stamp" in text else text) for rule, text in EXPECTED
    }


def test_extracting_changes_nothing(tmp_path: Path) -> None:
    program = PROGRAM.replace(
        "        if len(self.turns) > 20:\n            self.turns = self.turns[-20:]\n", "        self.trim()\n"
    ).replace(
        "    def ask(self, text):",
        "    def trim(self):\n        if len(self.turns) > 20:\n            self.turns = self.turns[-20:]\n\n"
        "    def ask(self, text):",
    )
    assert found(tmp_path, {"main.py": program}) == EXPECTED


OPEN = {
    "a parameter of what nothing calls": ('def show(x):\n    reveal_prompt(f"a {x} b")\n', ['"a " + {x} + " b"']),
    "a call that is not known": (
        'import other\n\nreveal_prompt("a " + other.load("b"))\n',
        ['"a " + {other.load("b")}'],
    ),
    "one of two ways": (
        'def show(x):\n    text = "a"\n    if x:\n        text += " b"\n    reveal_prompt(text + " c")\n',
        ['"a" + [" b"] + " c"'],
    ),
    "an early return": (
        'def part(x):\n    if not x:\n        return ""\n    return f"<{x}>"\n\n\n'
        'def show(x):\n    reveal_prompt(f"a {part(x)} b")\n',
        ['"a " + ["<"] + [{x}] + [">"] + " b"'],
    ),
    "a loop of unknown length": (
        'def show(xs):\n    text = "a"\n    for x in xs:\n        text += f" {x}"\n    reveal_prompt(text + " b")\n',
        ['"a" + [" "] + [{x}] + " b"'],
    ),
    "an error path": (
        'def show():\n    try:\n        text = read()\n    except OSError:\n        text = "none"\n'
        '    reveal_prompt(f"a {text} b")\n',
        ['"a " + [{read()}] + ["none"] + " b"'],
    ),
}


@pytest.mark.parametrize("title", OPEN)
def test_what_is_not_known_stays_open(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, expected = OPEN[title]
    assert revealed(tmp_path, monkeypatch, main=source) == expected


def test_two_callers_are_told_apart(tmp_path: Path) -> None:
    """Each calling context is a request of its own, so only the one with the clock is reported."""
    main = """\
from datetime import datetime

from openai import OpenAI

client = OpenAI()


def send(system, turns):
    return client.chat.completions.create(model="gpt-4.1", messages=[{"role": "system", "content": system}, *turns])


def fixed():
    turns = []
    while True:
        turns.append({"role": "user", "content": input()})
        turns.append(send("Be brief.", turns).choices[0].message)


def loose():
    turns = []
    while True:
        turns.append({"role": "user", "content": input()})
        turns.append(send(f"It is {datetime.now()}.", turns).choices[0].message)


fixed()
loose()
"""
    write(tmp_path, {"main.py": main})
    report = engine.check([tmp_path], Settings(root=tmp_path))
    assert [(f.rule, f.primary.line) for f in report.findings] == [("volatile-time", 23)]
    assert [r.reuse.turns for r in report.requests] == [True, True]


COPIES = {
    'sent[-1]["content"] += "!"': ["transient-decoration"],
    'sent[-1] = {**sent[-1], "content": "!"}': ["transient-decoration"],
    'sent[-1]["content"] = [{"type": "text", "text": sent[-1]["content"], "cache_control": {"type": "ephemeral"}}]': [],
    'sent[-1]["content"] += "!"\n    turns = sent': [],
    'turns[-1]["content"] += "!"\n    sent = turns': [],
}


@pytest.mark.parametrize("change", COPIES)
def test_a_copy_differs_from_what_is_kept(change: str, tmp_path: Path) -> None:
    main = f"""\
import copy

from openai import OpenAI

client = OpenAI()
turns = []
while True:
    turns.append({{"role": "user", "content": input()}})
    sent = copy.deepcopy(turns)
    {change}
    reply = client.chat.completions.create(model="gpt-4.1", messages=sent)
    turns.append({{"role": "assistant", "content": reply.choices[0].message.content}})
"""
    write(tmp_path, {"main.py": main})
    report = engine.check([tmp_path], Settings(root=tmp_path))
    assert [f.rule for f in report.findings] == COPIES[change]
