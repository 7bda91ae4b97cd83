"""Several programs in one tree: what is found does not depend on how many processes look for it."""

from __future__ import annotations

import contextlib
import io
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import cli, config, engine, workers
from promptlint.cache import entries, records
from promptlint.codebase import parts
from promptlint.codebase.questions import Questions

MODULES = {
    "clock.py": '''from datetime import datetime
from anthropic import Anthropic

client = Anthropic()


def ask(question):
    system = f"It is {datetime.now()}. " + "Answer with care. " * 900
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=system, messages=[
        {"role": "user", "content": question}])
''',
    "agent.py": '''import uuid
from anthropic import Anthropic
from common.prompts import RULES, signed
from common.history import History


class Agent:
    def __init__(self):
        self.client = Anthropic()
        self.history = History()

    def step(self, text):
        self.history.turns.append({"role": "user", "content": text})
        return self.client.messages.create(
            model="claude-sonnet-4-5", max_tokens=9, system=signed(RULES), messages=self.history.turns
        )
''',
    "loop.py": '''import openai
from common.prompts import RULES

client = openai.OpenAI()
turns = []


def chat():
    while True:
        turns.append({"role": "user", "content": input()})
        client.chat.completions.create(model="gpt-5", messages=[{"role": "system", "content": RULES}, *turns[-5:]])
''',
    "broken.py": "from openai import OpenAI\nOpenAI().chat.completions.create(model='gpt-5', messages=[\n",
    "plain.py": "def add(a, b):\n    return a + b\n",
    "prompt.py": '''from pathlib import Path
from anthropic import Anthropic

TEXT = (Path(__file__).parent / "prompt.txt").read_text()


def ask(question):
    return Anthropic().messages.create(model="claude-sonnet-4-5", max_tokens=9, system=TEXT + str(id(question)),
        messages=[{"role": "user", "content": question}])
''',
}
COMMON = {
    "common/__init__.py": "",
    "common/prompts.py": '''import uuid

RULES = "Be brief. " * 900


def signed(text):
    return f"{uuid.uuid4()} " + text
''',
    "common/history.py": "class History:\n    def __init__(self):\n        self.turns = []\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts, "LEAST", 1)
    return tmp_path


def write(root: Path, packages: Sequence[Sequence[str]]) -> None:
    files = dict(COMMON)
    for number, modules in enumerate(packages):
        files[f"p{number}/__init__.py"] = ""
        files[f"p{number}/prompt.txt"] = "Answer with care. " * 900
        files |= {f"p{number}/{name}": MODULES[name] for name in modules}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


ALL = [["clock.py", "agent.py"], ["agent.py", "loop.py", "broken.py"], ["prompt.py", "plain.py"]]


def analysis(jobs: int) -> engine.Analysis:
    return engine.analyse([Path(".")], config.load([Path(".")]), jobs=jobs)


def asked(found: engine.Analysis) -> Questions:
    return records.unpickled(found.left().asked)  # type: ignore[no-any-return]


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []
    fork = os.fork

    def counted() -> int:
        process = fork()
        made.append(process)
        return process

    monkeypatch.setattr(os, "fork", counted)
    return made


needs_fork = pytest.mark.skipif(not workers.can_fork(), reason="nothing is forked here")


@needs_fork
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(sorted(MODULES)), max_size=4, unique=True), min_size=1, max_size=6))
def test_one_and_several_processes_find_and_ask_the_same(
    tmp_path_factory: pytest.TempPathFactory, packages: list[list[str]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    write(root, packages)
    with contextlib.chdir(root):
        one, two = analysis(1), analysis(3)
        assert two.report.findings == one.report.findings
        assert list(two.report.requests) == list(one.report.requests)
        assert list(two.report.withheld) == list(one.report.withheld)
        assert two.report.problems == one.report.problems
        assert asked(two) == asked(one)


@needs_fork
def test_several_programs_are_looked_at_in_several_processes(folder: Path, forks: list[int]) -> None:
    write(folder, ALL)
    report = analysis(2).report
    assert len(forks) == 3
    assert {Path(f.primary.path).parts[0] for f in report.findings} == {"common", "p0", "p1", "p2"}


def test_one_program_is_looked_at_in_one_process(folder: Path, forks: list[int]) -> None:
    write(folder, [["clock.py", "agent.py", "loop.py"]])
    assert analysis(4).report.findings
    assert not forks


@needs_fork
@pytest.mark.parametrize("die", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3)])
def test_what_a_process_did_not_come_to_is_looked_at_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, die: Callable[[], None]
) -> None:
    write(folder, ALL)
    whole, here = analysis(1).report, os.getpid()
    link = engine._of_files

    def dying(*args: Any) -> Any:
        if os.getpid() != here:
            die()
        return link(*args)

    monkeypatch.setattr(engine, "_of_files", dying)
    report = analysis(2).report
    assert report.findings == whole.findings
    assert list(report.requests) == list(whole.requests)


@needs_fork
def test_what_other_processes_read_is_part_of_what_a_run_depends_on(folder: Path) -> None:
    write(folder, ALL)

    def shown(*options: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            cli.run(["check", "--output-format", "concise", "--jobs", "2", *options])
        return out.getvalue()

    before = shown()
    assert shown() == before == shown("--no-cache")
    entry = entries.Entry.of([Path(".")], config.load([Path(".")]))
    (folder / "p1/loop.py").write_text("# said before\n" + MODULES["loop.py"])
    moved = entry.find()
    assert moved is not None
    assert shown() == shown("--no-cache") != before
    (folder / "p2/prompt.txt").write_text("Short.")
    assert entry.find() is None
    assert shown() == shown("--no-cache")


def test_a_number_of_processes_is_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "--jobs", "0"]) == 2
    assert "--jobs" in capsys.readouterr().err
