"""Bad input: a named finding or error for that file, the rest analysed, no traceback, and an end."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli
from promptlint.assembly import chains
from promptlint.files import project, tree

GOOD = """\
from datetime import datetime
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly and name your source. " * 800
history = []
while True:
    history.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=99, system=f"{datetime.now()} {RULES}", messages=history
    )
    history.append({"role": "assistant", "content": reply.content})
"""
"""A program with a finding, which stands beside the bad file in each test."""

ASK = "import anthropic\nclient = anthropic.Anthropic()\n"
SEND = 'client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=s, messages=[])\n'
"""Around bad code, so that the file is one that the analysis needs."""


@dataclass
class Outcome:
    status: int
    report: dict[str, Any]
    err: str

    def of(self, name: str) -> list[str]:
        """Rules of the findings, and messages of the errors, in a file."""
        found = [f["rule"] for f in self.report["findings"] if f["path"] == name]
        return found + [e["message"] for e in self.report["errors"] if e["path"] == name]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(GOOD)
    yield tmp_path


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*paths: str) -> Outcome:
        status = cli.run(["check", "--output-format", "json", *(paths or ["."])])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and "internal error" not in err, err
        return Outcome(status, json.loads(out) if out else {}, err)

    return run


def assert_rest_is_analysed(outcome: Outcome) -> None:
    assert "volatile-time" in outcome.of("good.py")
    assert outcome.status == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(ASK + SEND + "def f(:\n", "syntax-error", id="broken syntax"),
        pytest.param(ASK + SEND + "match = = 3\n", "syntax-error", id="newer Python, or a mistake"),
        pytest.param(f"{ASK}s = {'(' * 300}1{')' * 300}\n{SEND}", "syntax-error", id="nested parentheses"),
        pytest.param(f"{ASK}s = {'-' * 60_000}1\n{SEND}", "syntax-error", id="nested operators"),
        pytest.param(ASK + 's = "\0"\n' + SEND, "holds NUL bytes", id="NUL bytes"),
        pytest.param((ASK + "s = 'é'\n" + SEND).encode("latin-1"), "not UTF-8", id="undeclared encoding"),
        pytest.param("# coding: klingon\n" + ASK + SEND, "klingon", id="unknown encoding"),
    ],
)
def test_a_file_that_cannot_be_analysed_is_named(check: Any, folder: Path, data: str | bytes, said: str) -> None:
    (folder / "bad.py").write_bytes(data if isinstance(data, bytes) else data.encode())
    outcome = check()
    assert any(said in words for words in outcome.of("bad.py")), outcome.report
    assert_rest_is_analysed(outcome)


@pytest.mark.parametrize("path", ["bad.py", "./inner/../bad.py", "inner/link.py"])
def test_a_broken_file_is_reported_however_it_is_named(check: Any, folder: Path, path: str) -> None:
    (folder / "inner").mkdir()
    (folder / "bad.py").write_text("x = (\n")
    (folder / "inner" / "link.py").symlink_to(folder / "bad.py")
    assert [finding["rule"] for finding in check(path).report["findings"]] == ["syntax-error"]
    assert_rest_is_analysed(check(path, "good.py"))


def test_a_broken_file_that_is_reported_is_not_said_to_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.py").write_text("x = (\n")
    assert cli.run(["check", "bad.py"]) == 1
    assert "Left out" not in capsys.readouterr().out
    (folder / "bad.py").write_text(f"{ASK}x = (\n{SEND}")
    assert cli.run(["check", "bad.py", "--ignore", "syntax-error"]) == 0
    assert "Left out: 1 file with syntax errors" in capsys.readouterr().out


@pytest.mark.parametrize("name", [[], ["--stdin-filename", "inner/bad.py"]])
def test_broken_code_on_standard_input_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x = (\n")))
    assert cli.run(["check", "-", "--output-format", "concise", *name]) == 1
    assert "cannot be parsed" in capsys.readouterr().out


def test_a_named_file_in_utf_16_is_told_what_is_wrong(check: Any, folder: Path) -> None:
    (folder / "bad.py").write_text(ASK + SEND, encoding="utf-16")
    outcome = check("bad.py", "good.py")
    assert "UTF-16" in outcome.of("bad.py")[0]
    assert_rest_is_analysed(outcome)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xef\xbb\xbf" + GOOD.encode(), id="byte order mark"),
        pytest.param(b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + GOOD.encode(), id="latin-1 cookie"),
        pytest.param(GOOD.replace("\n", "\r\n").encode(), id="Windows line ends"),
        pytest.param(GOOD.rstrip("\n").encode(), id="no line end at the end"),
        pytest.param(b"import anthropic\n" + b"x = 1\n" * 50_000 + GOOD.encode(), id="50,000 lines"),
        pytest.param(b"import anthropic\nx = '" + b"a" * 2_000_000 + b"'\n" + GOOD.encode(), id="a line of 2 MB"),
        pytest.param(b"import anthropic\nx = [" + b"1, " * 600_000 + b"]\n" + GOOD.encode(), id="a list of 2 MB"),
    ],
)
def test_unusual_files_are_analysed_like_others(check: Any, folder: Path, data: bytes) -> None:
    (folder / "bad.py").write_bytes(data)
    outcome = check()
    assert ("volatile-time" in outcome.of("bad.py")) == bool(data)
    assert outcome.report["errors"] == []
    assert_rest_is_analysed(outcome)


def calls(body: str, depth: int) -> str:
    """Functions of which each returns an expression of the next."""
    return "".join(f"def f{i}(): return {body.format(i + 1)}\n" for i in range(depth))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("s = s\n", id="a name bound to itself"),
        pytest.param("def s(): return s\ns = s()\n", id="a function that returns itself"),
        pytest.param("s = ''\ndef f():\n    global s\n    s = s + f()\nf()\n", id="a global of itself"),
        pytest.param("s = t\nt = s\nu = s = t\n", id="names in a circle"),
        pytest.param("def f(n): return g(n) + 'f'\ndef g(n): return f(n) + 'g'\ns = f(1)\n", id="mutual recursion"),
        pytest.param("def f(x): return [f(y) for y in x] or f(f(x))\ns = f(f)\n", id="recursion in an argument"),
        pytest.param("class A(A): s = A\ns = A().s\n", id="a class that is its own base"),
        pytest.param("class A(B): ...\nclass B(A): ...\ns = A().x\n", id="bases in a circle"),
        pytest.param("class A:\n    @property\n    def p(self): return self.p\ns = A().p\n", id="a recursive property"),
        pytest.param("class A:\n    def __init__(self): self.a = A(self)\ns = A().a.a.a\n", id="an endless structure"),
        pytest.param("s = []\ns.append(s)\ns.extend(s)\n", id="a list in itself"),
        pytest.param(
            "class A:\n    def __init__(self): self.a = []\n    def add(self, x):\n"
            "        self.a = list({k: v for k, v in self.a})\n        self.a.append(x)\nb = A()\nb.add(1)\ns = b.a\n",
            id="a dict made of kept elements",
        ),
        pytest.param("s = {}\ns['s'] = s\ns.update(s)\n", id="a dict in itself"),
        pytest.param("s = ''\nfor i in range(9): s = f'{s}{s}{i}'\n", id="text that doubles"),
        pytest.param("s = 'a'\n" + "s = s + s\n" * 60, id="60 doublings"),
        pytest.param("s = 'a' * 10 ** 12\n", id="a text of a terabyte"),
        pytest.param("s = '%1000000000000d' % 1\n", id="a wide format"),
        pytest.param("s = f'{1:>1000000000000}'\n", id="a wide f-string"),
        pytest.param("s = 'a'.ljust(10 ** 12)\n", id="a wide column"),
        pytest.param("s = 9 ** 9 ** 9\n", id="a huge number"),
        pytest.param("s = str(1 << 10 ** 12)\n", id="a huge shift"),
        pytest.param("s = " + " + ".join(["x"] * 3_000) + "\n", id="3,000 terms"),
        pytest.param("s = x" + ".a" * 3_000 + "\n", id="3,000 attributes"),
        pytest.param("s = x" + ".a()" * 1_500 + "\n", id="1,500 calls in a chain"),
        pytest.param("s = " + "[" * 90 + "]" * 90 + "\n", id="nested lists"),
        pytest.param("if x:\n    s = 1\n" + "elif x:\n    s = 2\n" * 900, id="900 branches"),
        pytest.param("s = ''\n" + "if x: s += 'a'\n" * 2_000, id="2,000 conditional pieces"),
        pytest.param("s = ''\n" + "s += x\n" * 5_000, id="5,000 pieces"),
        pytest.param(f"{calls('f{0}() + f{0}()', 60)}s = f0()\n", id="a call tree"),
        pytest.param(f"{calls('f{0}()', 600)}s = f0()\n", id="600 calls deep"),
        pytest.param("from bad import *\nfrom bad import s\n", id="an import of itself"),
        pytest.param("s = (lambda f: f(f))(lambda f: f(f))\n", id="the omega combinator"),
    ],
)
def test_code_without_end_or_measure_comes_to_an_end(check: Any, folder: Path, code: str) -> None:
    (folder / "bad.py").write_text(ASK + code + SEND)
    outcome = check()
    assert outcome.report["errors"] == []
    assert_rest_is_analysed(outcome)


def test_a_loop_of_links(check: Any, folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    outcome = check()
    assert outcome.report["files"] <= 2
    assert_rest_is_analysed(outcome)


def test_an_unreadable_file(check: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "locked.py").write_text(GOOD)
    real = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("locked.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    outcome = check()
    assert outcome.of("locked.py") == ["permission denied"]
    assert_rest_is_analysed(outcome)
    alone = check("locked.py")
    assert alone.status == 2


def test_a_file_that_is_deleted_during_the_run(check: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "doomed.py").write_text(GOOD)
    real = project.discover

    def discover(*arguments: Any) -> Any:
        found = real(*arguments)
        (folder / "doomed.py").unlink()
        return found

    monkeypatch.setattr(tree, "discover", discover)
    outcome = check()
    assert outcome.of("doomed.py") == ["no longer exists"]
    assert_rest_is_analysed(outcome)


def test_two_modules_that_import_each_other(check: Any, folder: Path) -> None:
    (folder / "one.py").write_text("from two import b\na = b\n")
    (folder / "two.py").write_text("from one import a\nb = a\n" + ASK + "s = a\n" + SEND)
    assert_rest_is_analysed(check())


def test_a_fault_of_promptlint_costs_one_function(check: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bad.py").write_text(f"{ASK}s = ''\n{SEND}")
    real = chains.of

    def fail(ev: Any, sink: Any) -> Any:
        if sink.function.module.path == "bad.py":
            raise KeyError("x")
        return real(ev, sink)

    monkeypatch.setattr(chains, "of", fail)
    outcome = check()
    [said] = outcome.of("bad.py")
    assert "<module>() could not be analysed: internal error: KeyError in test_bad_input.py" in said
    assert_rest_is_analysed(outcome)
