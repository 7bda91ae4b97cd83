"""An analysis that remembers an earlier one finds what one that starts anew finds, whatever has changed in between."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint import engine
from promptlint.code import index, summarise
from promptlint.code.expression import Summary
from promptlint.code.index import Function
from promptlint.codebase.memory import Memory
from promptlint.config import Settings
from promptlint.files import source, tree
from promptlint.report import Report
from promptlint.server import analysis

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples" / "chat_service", tmp_path / "chat_service")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(folder: Path, memory: Memory | None = None, overlay: dict[Path, str] | None = None) -> Report:
    return engine.check([folder], Settings(root=folder), overlay=overlay, memory=memory)


def test_edits_of_any_file_are_noticed(project: Path) -> None:
    memory = Memory()
    assert found(project, memory) == found(project)
    files = sorted(project.rglob("*.py"))
    for file in files:
        text = file.read_text("utf-8")
        for changed in (f"# moved\n{text}", text.replace("return", "pass\n    return", 1), "", text):
            file.write_text(changed, "utf-8")
            assert found(project, memory) == found(project), file.name
        overlay = {file: f"\n\n{text}"}
        assert found(project, memory, overlay) == found(project, None, overlay), file.name
    assert {Path(path).name for path in memory.modules} <= {file.name for file in files}


def test_only_what_changed_is_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, read, summed = Memory(), list[str](), list[tuple[str, str]]()
    real, summary = index.Module, summarise.summarise

    class Counted(real):  # type: ignore[valid-type, misc]
        def __init__(self, source, *args):  # type: ignore[no-untyped-def]
            read.append(Path(source.path).name)
            super().__init__(source, *args)

    monkeypatch.setattr("promptlint.codebase.program.Module", Counted)

    def counted(function: Function, package: str) -> Summary:
        summed.append((Path(function.module.path).name, function.name))
        return summary(function, package)

    monkeypatch.setattr("promptlint.codebase.program.summarise", counted)
    found(project, memory)
    assert len(read) > 3
    read.clear()
    summed.clear()
    file = project / "chat_service" / "history.py"
    file.write_text(f"{file.read_text('utf-8')}\n# more\n", "utf-8")
    found(project, memory)
    assert read == ["history.py"]
    assert {name for name, function in summed if function != "<default>"} == {"history.py"}


def test_what_a_file_was_is_forgotten(project: Path) -> None:
    memory = Memory()
    file = project / "chat_service" / "history.py"
    for number in range(5):
        file.write_text(f"{file.read_text('utf-8')}\n# {number}\n", "utf-8")
        found(project, memory)
        if number == 1:
            size = len(memory.summaries)
    assert len(memory.summaries) == size
    held = {function.module for function in memory.summaries}
    assert held <= {module for _, _, module in memory.modules.values()}


def test_only_what_changed_is_looked_at_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, read = Memory(), list[str]()
    file = project / "chat_service" / "history.py"
    (project / "other.py").write_text("def other():\n    return 1\n", "utf-8")
    real = source.read_bytes

    def counted(file: Path, shown: str) -> object:
        read.append(file.name)
        return real(file, shown)

    monkeypatch.setattr("promptlint.files.project.read_bytes", counted)
    found(project, memory)
    assert "other.py" in read
    read.clear()
    found(project, memory, {file: f"{file.read_text('utf-8')}\n# more\n"})
    assert "other.py" not in read
    with monkeypatch.context() as during:
        during.setattr(tree, "discover", None)
        file.write_text(f"{file.read_text('utf-8')}\nimport uuid\n", "utf-8")
        now = found(project, memory)
        os.utime(project / "other.py")
        assert found(project, memory) == now
    assert now == found(project)


def test_where_much_has_changed_all_is_found_anew(project: Path) -> None:
    memory = Memory()
    names = [f"module{number}.py" for number in range(tree.MOST_CHANGED + 1)]
    for text in ("x = 1\n", "import anthropic\nanthropic.Anthropic().messages.create(messages=[])\n"):
        for name in names:
            (project / name).write_text(text, "utf-8")
        assert found(project, memory) == found(project)


SENDER = """from {library} import Client
import words

def ask{number}(history, name=words.NAME):
    history.append({{"role": "user", "content": name}})
    return Client().{call}(model="m", messages=[{{"role": "system", "content": words.RULES}}, *history])
"""
TEXTS = [
    SENDER.format(library="openai", number=1, call="chat.completions.create"),
    SENDER.format(library="anthropic", number=2, call="messages.create"),
    "import datetime\nNAME = 'x'\nRULES = f'{datetime.datetime.now()} ' + 'Be brief. ' * 900\n",
    "NAME = 'y'\nRULES = 'Be kind. ' * 900\n",
    "from one import ask1\n\nwhile True:\n    ask1([input()])\n",
    "from two import *\nturns = []\nwhile True:\n    ask2(turns)\n    turns = turns[-9:]\n",
    "def unused():\n    return 1\n",
    "def broken(:\n",
    "",
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["one.py", "two.py", "words.py", "main.py", "inner/__init__.py", "inner/words.py"]),
        st.sampled_from(["write", "write", "write", "type", "type", "close", "delete", "touch"]),
        st.sampled_from(TEXTS),
    ),
    min_size=1,
    max_size=5,
)


def asked(snapshot: analysis.Snapshot) -> dict[tuple[str, str], bytes] | None:
    """What an analysis asked of the file system, and was told."""
    standing = snapshot.standing
    return {question: digest for question, (_, digest) in standing.seen.items()} if standing is not None else None


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_is_written_and_typed_what_is_remembered_finds_what_a_new_analysis_does(
    tmp_path: Path, steps: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path / "chat"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "inner").mkdir(parents=True)
    for name, text in zip(("one.py", "two.py", "words.py", "main.py"), TEXTS[:3] + TEXTS[4:5], strict=True):
        (folder / name).write_text(text, "utf-8")
    memory, buffers, last = Memory(), dict[str, str](), None
    for name, how, text in [("one.py", "touch", ""), *steps]:
        file = folder / name
        if how == "type":
            buffers[str(file)] = text
        elif how == "close":
            buffers.pop(str(file), None)
        elif how == "write":
            file.write_text(text, "utf-8")
        elif file.exists() and how == "delete":
            file.unlink()
        elif file.exists():
            os.utime(file)
        stands = analysis.again(folder, {}, buffers, last) if last is not None else None
        remembered = analysis.run(folder, {}, dict(buffers), lambda *_: None, memory)
        new = analysis.run(folder, {}, dict(buffers), lambda *_: None, Memory())
        assert remembered.report == new.report
        assert asked(remembered) == asked(new)
        if stands is not None:
            assert stands.report.findings == new.report.findings
            assert tuple(stands.report.requests) == new.report.requests
        last = remembered


def test_the_steps_above_change_what_is_found(tmp_path: Path) -> None:
    reports = []
    for texts in (TEXTS[:3] + TEXTS[4:5], TEXTS[:2] + TEXTS[3:5]):
        for name, text in zip(("one.py", "two.py", "words.py", "main.py"), texts, strict=True):
            ast.parse(text)
            (tmp_path / name).write_text(text, "utf-8")
        reports.append([finding.rule for finding in found(tmp_path).findings])
    assert "volatile-time" in reports[0] and "volatile-time" not in reports[1]
