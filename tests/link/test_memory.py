"""An analysis that remembers an earlier one finds what one that starts anew finds, whatever has changed in between."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from promptlint import engine
from promptlint.code import index, summarise
from promptlint.code.expression import Summary
from promptlint.code.index import Function
from promptlint.codebase.memory import Memory
from promptlint.config import Settings
from promptlint.report import Report

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
