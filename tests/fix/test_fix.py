"""``--fix`` and ``--diff``: what they change, what they leave alone, and what the fixed programs send."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptlint import cli
from promptlint.commands import shared
from promptlint.fix import edits
from tests.fix.programs import FIXABLE, NAMES, UNCERTAIN, program
from tests.soundness import truth

ALL = ("--min-severity", "info", "--min-confidence", "low")
ORDER = ("--select", "PL107,PL109,PL201")


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Outcome:
        status = cli.run(["check", "--no-cache", *ALL, *args])
        return Outcome(status, *capsys.readouterr())

    return call


def saved(folder: Path, text: str, name: str = "main.py") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def words(body: Any) -> Any:
    """A request without the order of its tools and of the words in its texts."""
    if isinstance(body, str):
        return Counter(re.findall(r"\w+|[^\w\s]", body))
    if isinstance(body, list):
        return [words(value) for value in body]
    if not isinstance(body, dict):
        return body
    tools = sorted(body.get("tools", ()), key=json.dumps)
    return {key: words(tools if key == "tools" else value) for key, value in body.items()}


def test_fixed_programs_send_the_same_in_every_process_and_nothing_else(tmp_path: Path, check: Any) -> None:
    folders: list[Path] = []
    for number, (text, _) in enumerate(FIXABLE.values()):
        for state in ("before", "after"):
            folder = tmp_path / f"{state}{number}"
            saved(folder, text)
            (folder / "notes").mkdir()
            for note in ("heating", "keys", "waste", "parking", "pets"):
                (folder / "notes" / note).touch()
            folders.append(folder)
        assert check("--fix", f"after{number}").status == shared.CLEAN
    truth.execute(folders, tmp_path)
    first, second = (json.loads((tmp_path / f"out{number}.json").read_text()) for number in (0, 1))
    for number, name in enumerate(FIXABLE):
        before, after = 2 * number, 2 * number + 1
        sent = [[request["body"] for request in run["requests"]] for run in (first[before], second[before])]
        fixed = [[request["body"] for request in run["requests"]] for run in (first[after], second[after])]
        assert sent[0] and sent[0] != sent[1], f"{name}: the order does not differ, so this shows nothing"
        assert fixed[0] == fixed[1], name
        assert list(map(words, fixed[0])) == list(map(words, sent[0])), name


@pytest.mark.parametrize("name", FIXABLE)
def test_fix_is_small_and_the_second_run_finds_nothing(name: str, tmp_path: Path, check: Any) -> None:
    text, wanted = FIXABLE[name]
    file = saved(tmp_path, text)
    assert check(*ORDER, "main.py").status == shared.FOUND
    shown = check("--diff", "main.py")
    assert shown.status == shared.FOUND
    assert file.read_text() == text
    assert check("--fix", "main.py").status == shared.CLEAN
    fixed = file.read_text()
    ast.parse(fixed)
    assert wanted in fixed
    assert len(fixed.splitlines()) == len(text.splitlines())
    assert check("--diff", "main.py")[:2] == (shared.CLEAN, "")
    file.write_text(text)
    subprocess.run(["git", "apply", "-p0", "-"], input=shown.out, text=True, check=True, cwd=tmp_path)
    assert file.read_text() == fixed


@pytest.mark.parametrize("name", UNCERTAIN)
def test_no_fix_where_it_is_not_certain(name: str, tmp_path: Path, check: Any) -> None:
    file = saved(tmp_path, UNCERTAIN[name])
    assert check(*ORDER, "main.py").status == shared.FOUND, "the example shows nothing"
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == UNCERTAIN[name]


def test_set_from_another_file_is_sorted_where_it_is_listed(tmp_path: Path, check: Any) -> None:
    names = saved(tmp_path, NAMES, "names.py")
    file = saved(tmp_path, program("{', '.join(n.title() for n in NAMES)}", "from names import NAMES"))
    assert check("--fix", ".").status == shared.CLEAN
    assert "for n in sorted(NAMES)" in file.read_text()
    assert names.read_text() == NAMES


def test_letters_line_ends_and_permissions_are_kept(tmp_path: Path, check: Any) -> None:
    text = program("日本 😀 {', '.join(NAMES)}", NAMES + "# é\t\n").replace("\n", "\r\n")
    file = saved(tmp_path, "\ufeff" + text)
    file.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(file)
    assert check("--fix", "link.py").status == shared.CLEAN
    assert file.read_bytes().decode() == "\ufeff" + text.replace("join(NAMES)", "join(sorted(NAMES))")
    assert file.stat().st_mode & 0o777 == 0o750
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link.py", "main.py"]


def test_only_what_is_shown_is_fixed(tmp_path: Path, check: Any) -> None:
    text = program("{', '.join(NAMES)}", NAMES).replace(
        "    history = [{", "    # promptlint: ignore[unordered-text] rarely\n    history = [{"
    )
    file = saved(tmp_path, text)
    for options in ((), ("--ignore", "PL107"), ("--min-severity", "error")):
        check("--fix", *options, "main.py")
        assert file.read_text() == text


def test_read_only_file_is_left_alone(tmp_path: Path, check: Any) -> None:
    text = program("{', '.join(NAMES)}", NAMES)
    file = saved(tmp_path, text)
    file.chmod(0o444)
    outcome = check("--fix", "main.py")
    assert outcome.status == shared.FAILED
    assert outcome.err.endswith("cannot fix main.py: it is read-only; nothing was changed\n")
    assert file.read_text() == text


def test_file_that_changes_meanwhile_is_left_alone(tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from promptlint import engine

    file = saved(tmp_path, program("{', '.join(NAMES)}", NAMES))
    real = engine.check

    def slow(*args: Any, **options: Any) -> Any:
        report = real(*args, **options)
        file.write_text("# the user was here\n")
        return report

    monkeypatch.setattr(engine, "check", slow)
    outcome = check("--fix", "main.py")
    assert outcome.status == shared.FAILED
    assert "main.py was changed while it was analysed" in outcome.err
    assert file.read_text() == "# the user was here\n"


def test_file_that_takes_too_long_to_read_is_left_alone(
    tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = program("{', '.join(NAMES)}", NAMES)
    file = saved(tmp_path, text)
    monkeypatch.setattr("promptlint.fix.files.LARGEST", len(text) - 1)
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == text


def test_failed_write_loses_nothing(tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = program("{', '.join(NAMES)}", NAMES)
    file = saved(tmp_path, text)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    outcome = check("--fix", "main.py")
    assert outcome.status == shared.FAILED
    assert "cannot write main.py: no space left on device; nothing was changed" in outcome.err
    assert file.read_text() == text
    assert os.listdir(tmp_path) == ["main.py"]


def test_broken_file_is_reported_and_the_others_are_fixed(tmp_path: Path, check: Any) -> None:
    file = saved(tmp_path, program("{', '.join(NAMES)}", NAMES))
    broken = saved(tmp_path, "def (:\n", "broken.py")
    outcome = check("--fix", "main.py", "broken.py")
    assert outcome.status == shared.FOUND
    assert "cannot be parsed" in outcome.out
    assert "join(sorted(NAMES))" in file.read_text()
    assert broken.read_text() == "def (:\n"


@pytest.mark.parametrize("option", ["--fix", "--diff"])
@pytest.mark.parametrize("other", ["-", "--add-ignore"])
def test_options_that_exclude_each_other(option: str, other: str, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": open(os.devnull, "rb")}))  # noqa: SIM115
    outcome = check(option, other)
    assert outcome.status == shared.FAILED
    assert f"{option} is about files: it cannot be used with" in outcome.err


def test_libcst_is_loaded_for_fixes_only(tmp_path: Path) -> None:
    saved(tmp_path, program("{', '.join(NAMES)}", NAMES))
    code = "import sys; from promptlint import cli; cli.run(sys.argv[1:]); sys.exit('libcst' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    for options, loaded in (([], 0), (["--diff"], 1)):
        command = [sys.executable, "-c", code, "check", *options, "main.py"]
        assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True).returncode == loaded


@pytest.mark.parametrize("changed", ["{}# no help\n", "", "def (:\n"], ids=["cause stays", "request gone", "no Python"])
def test_change_that_does_not_end_the_cause_is_not_made(
    changed: str, tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = program("{', '.join(NAMES)}", NAMES)
    file = saved(tmp_path, text)
    monkeypatch.setattr("promptlint.fix.files.applied", lambda text, _: changed.replace("{}", text))
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == text


def test_one_that_fails_does_not_keep_another_from_its_fix(
    tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = program("{'/'.join(NAMES)} {'+'.join(OTHERS)}", NAMES + 'OTHERS = {"cat", "dog", "bird"}')
    file = saved(tmp_path, text)
    real = edits.applied

    def wrong(text: str, chosen: Any) -> str:
        return real(text, chosen).replace("sorted(NAMES)", "tuple(NAMES)")

    monkeypatch.setattr("promptlint.fix.files.applied", wrong)
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == text.replace("join(OTHERS)", "join(sorted(OTHERS))")
