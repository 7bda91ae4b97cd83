"""Findings of an earlier run stand in for a new one exactly as long as a new one would give the same."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import cli, config, engine
from promptlint.cache.entries import Entry, _Held
from promptlint.cache.folder import _OWN, NAME, OLDEST, SUFFIX, prune
from promptlint.cache.records import Damaged, unpickled
from promptlint.files import disk
from promptlint.finding import Finding, Severity
from promptlint.output import WITH_FIXES
from promptlint.report import Report

SENDER = """
from anthropic import Anthropic
from prompts import SYSTEM
import clock

client = Anthropic()


def chat(history):
    while True:
        history.append({"role": "user", "content": input()})
        system = SYSTEM + clock.now()
        reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=system, messages=history)
        history.append({"role": "assistant", "content": reply.content})
"""
FILES = {
    "app.py": SENDER,
    "prompts.py": "from pathlib import Path\nSYSTEM = Path('long.md').read_text()\n",
    "long.md": "Answer with care. " * 400,
    "clock.py": "import datetime\n\n\ndef now():\n    return str(datetime.datetime.now())\n",
    "other.py": "x = 1\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(FILES)
    return tmp_path


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def shown(*options: str, how: str = "concise") -> str:
    assert cli.run(["check", "--output-format", how, "--output-file", "../shown", *options]) in (0, 1)
    return Path("../shown").read_text()


class Ran(Exception):
    """The analysis was started."""


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, an analysis is a failure."""

    def check(*_: object, **__: object) -> Report:
        raise Ran

    return lambda: monkeypatch.setattr(engine, "analyse", check)


def answered() -> bool:
    """Whether a run is answered from the cache."""
    return Entry.of([Path(".")], config.load([Path(".")])).find() is not None


@pytest.mark.parametrize("how", ["full", "concise", "json", "sarif", "html"])
def test_a_second_run_shows_the_same_without_an_analysis(how: str, never: Callable[[], None]) -> None:
    first = shown("--no-cache", how=how)
    assert not Path(NAME).exists()
    assert shown(how=how) == first
    never()
    assert shown(how=how) == first
    if how not in WITH_FIXES:  # else fixes are tried for the findings that are shown
        assert shown("--min-severity", "error", how=how)


def test_requests_and_what_was_held_back_are_kept_as_well(never: Callable[[], None]) -> None:
    made = engine.check([Path(".")], config.load([Path(".")]))
    shown()
    never()
    known = Entry.of([Path(".")], config.load([Path(".")])).find()
    assert known is not None
    assert (len(known.requests), tuple(known.requests)) == (1, made.requests)
    assert (tuple(known.withheld), known.findings, known.sources) == (made.withheld, made.findings, made.sources)


@pytest.mark.parametrize(
    "change",
    [
        lambda: write({"clock.py": "def now():\n    return ''\n"}),
        lambda: write({"long.md": "Short."}),
        lambda: Path("long.md").unlink(),
        lambda: Path("clock.py").unlink(),
        lambda: Path("clock.py").rename("watch.py"),
        lambda: write({"clock/__init__.py": "def now():\n    return ''\n"}),
        lambda: write({"more/agent.py": SENDER}),
        lambda: write({".gitignore": "app.py\n"}),
        lambda: write({"pyproject.toml": '[tool.promptlint]\nignore = ["PL1"]\n'}),
        lambda: write({"other.py": "import app\napp.chat([])\n"}),
    ],
)
def test_whatever_a_run_depends_on_makes_it_run_again(change: Callable[[], None]) -> None:
    shown()
    assert answered()
    change()
    assert not answered()
    assert shown() == shown("--no-cache")


def test_a_prompt_that_was_not_there_is_looked_for() -> None:
    Path("long.md").unlink()
    without = shown()
    write({"long.md": FILES["long.md"]})
    assert shown() == shown("--no-cache") != without


def test_the_same_content_with_another_time_is_the_same() -> None:
    shown()
    text = Path("clock.py").read_text()
    write({"clock.py": "x = 2"})
    write({"clock.py": text})
    Path("notes.txt").write_text("no Python")
    os.utime("app.py", (1, 1))
    assert answered()
    assert answered()


def test_options_that_change_findings_have_findings_of_their_own() -> None:
    shown()
    assert shown("--ignore", "PL1") == shown("--ignore", "PL1", "--no-cache")
    write({"tests/test_app.py": SENDER})
    assert shown("--include-tests") == shown("--include-tests", "--no-cache")
    assert shown("app.py") == shown("app.py", "--no-cache")


def test_another_installation_of_the_same_version_has_findings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Entry.of([Path(".")], config.Settings())
    monkeypatch.setattr("promptlint.cache.entries._HERE", Path("/elsewhere/promptlint"))
    assert Entry.of([Path(".")], config.Settings()).file != here.file


def test_a_rule_of_the_project_that_changes_is_run_again() -> None:
    write({"pyproject.toml": '[tool.promptlint]\nrule-paths = ["own"]\n'})
    rule = '''"""Says {0}."""
from promptlint.api import *

@rule("X1", kind="other", since="1")
def check(request: Request):
    return []
'''
    write({"own/one.py": rule.format(1)})
    shown()
    assert answered()
    write({"own/two.py": rule.format(2).replace("X1", "X2")})
    assert not answered()


def entries() -> list[Path]:
    return list(Path(NAME).glob(f"*{SUFFIX}"))


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:40], lambda d: b"", lambda d: d[:60] + b"?" + d[61:]]
)
def test_a_damaged_entry_is_ignored_and_replaced(damage: Callable[[bytes], bytes]) -> None:
    right = shown()
    [entry] = entries()
    entry.write_bytes(damage(entry.read_bytes()))
    assert not answered()
    assert shown() == right
    assert answered()


def test_an_entry_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    shown()
    [entry] = entries()
    held = _Held.read(entry.read_bytes())
    entry.write_bytes(replace(held, main=pickle.dumps(({"findings": Evil()}, 0, 0))).data())
    assert not answered()
    assert not (tmp_path / "harm").exists()


def test_a_file_that_changes_during_the_run_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    analyse = engine.analyse

    def meddled(*args: object, **options: object) -> engine.Analysis:
        report: engine.Analysis = analyse(*args, **options)  # type: ignore[arg-type]
        write({"clock.py": "def now():\n    return ''\n"})
        return report

    with monkeypatch.context() as during:
        during.setattr(engine, "analyse", meddled)
        shown()
    assert not answered()
    assert shown() == shown("--no-cache")


def test_a_folder_that_cannot_be_written_is_no_error() -> None:
    Path(NAME).write_text("a file")
    assert shown() == shown("--no-cache")
    assert Path(NAME).read_text() == "a file"


def test_the_folder_is_as_set() -> None:
    write({"pyproject.toml": '[tool.promptlint]\ncache-dir = "build/kept"\n'})
    shown()
    assert list(Path("build/kept").glob("*.run"))
    shown("--cache-dir", "elsewhere")
    assert list(Path("elsewhere").glob("*.run"))
    assert not Path(NAME).exists()


def test_clean_deletes_what_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["clean"]) == 0
    shown()
    assert cli.run(["clean"]) == 0
    assert not Path(NAME).exists()
    assert "1 run forgotten" in capsys.readouterr().out
    shown()
    Path(NAME, "mine.txt").write_text("")
    cli.run(["clean"])
    assert [file.name for file in Path(NAME).iterdir() if file.name not in _OWN] == ["mine.txt"]
    write({"plain/x.run": ""})
    cli.run(["clean", "--cache-dir", "plain"])
    assert Path("plain/x.run").exists()


def test_old_and_abandoned_entries_are_deleted() -> None:
    shown()
    [entry] = entries()
    for name, age in {
        "old.run": OLDEST + 1,
        "new.run": 60.0,
        "a.run.1.2.tmp": 7200.0,
        "b.run.1.2.tmp": 5.0,
    }.items():
        file = entry.with_name(name)
        file.write_bytes(b"")
        os.utime(file, (time.time() - age,) * 2)
    prune(entry.parent)
    left = {file.name for file in entry.parent.iterdir()}
    assert {"new.run", "b.run.1.2.tmp", entry.name} <= left
    assert not {"old.run", "a.run.1.2.tmp"} & left


def test_git_does_not_see_the_folder() -> None:
    shown()
    subprocess.run(["git", "init", "-q"], check=True)
    seen = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True).stdout
    assert NAME not in seen


def test_killed_and_concurrent_runs_leave_whole_entries(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "promptlint", "check", "--output-format", "json"]
    root = Path(cli.__file__).parents[1]
    right = json.loads(shown("--no-cache", how="json"))
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for delay in (0.1, 0.25, 0.4):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        time.sleep(delay)
        run.send_signal(signal.SIGKILL)
        run.wait()
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    for run in runs:
        out, _ = run.communicate()
        assert json.loads(out) == right
    assert json.loads(shown(how="json")) == right


# -- any order of edits ---------------------------------------------------------------------------------------------

TEXTS = (
    SENDER,
    FILES["prompts.py"],
    FILES["clock.py"],
    "SYSTEM = 'Answer with care. ' * 400\n",
    "def now():\n    return 'noon'\n",
    "from clock import now\nfrom app import chat\n\n\nfor line in open('x'):\n    chat([line])\n",
    "import app\n# promptlint: file-ignore[PL1] known\n",
    "broken(\n",
)
NAMES = ("app.py", "prompts.py", "clock.py", "long.md", "pkg/__init__.py", "pkg/clock.py", "b.py", "src/prompts.py")
EDITS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("touch"), st.sampled_from(NAMES), st.just("")),
)


def edit(what: str, name: str, other: str) -> None:
    file = Path(name)
    if what == "write":
        write({name: other})
    elif file.exists() and what == "delete":
        file.unlink()
    elif file.exists() and what == "touch":
        os.utime(file)
    elif file.exists() and what == "rename":
        Path(other).parent.mkdir(exist_ok=True)
        file.replace(other)


def outcome(*options: str) -> str:
    Path("../shown").unlink(missing_ok=True)
    status = cli.run(["check", "--output-format", "json", "--output-file", "../shown", *options])
    return Path("../shown").read_text() if status < 2 else "no input"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, max_size=6))
def test_findings_are_those_of_a_run_without_cache_after_any_edits(
    folder: Path, edits: list[tuple[str, str, str]]
) -> None:
    for path in list(folder.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    write(FILES)
    outcome()
    for step in edits:
        edit(*step)
        assert outcome() == outcome("--no-cache")
        assert outcome() == outcome("--no-cache")


def test_a_change_that_a_clock_cannot_tell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_stamp", lambda info: (time.time_ns() // 10**9 * 10**9, 1, info.st_size, 1))
    shown()
    text = Path("clock.py").read_text()
    write({"clock.py": text.replace("datetime.datetime.now()", "datetime.datetime.min  ")})
    assert shown() == shown("--no-cache")


@dataclass
class _Fetched:
    """Pickled as the attribute of something, which is what Python 3.11.0 to 3.11.3 make of a member of an Enum."""

    holder: object
    name: str

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (self.holder, self.name)


def test_members_of_enumerations_are_read_as_every_python_writes_them() -> None:
    assert unpickled(pickle.dumps(_Fetched(Severity, "WARNING"))) is Severity.WARNING


@pytest.mark.parametrize("name", ["__class__", "__init__", "sites"])
def test_no_other_attribute_is_read(name: str) -> None:
    with pytest.raises(Damaged):
        unpickled(pickle.dumps(_Fetched(Finding, name)))
