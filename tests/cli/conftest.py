"""A folder to work in, findings to report, and an engine that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptlint import cli, engine
from promptlint.cache.kept import Kept
from promptlint.config import Settings
from promptlint.engine import Analysis
from promptlint.report import Report


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory; no colour, no terminal."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR", "PROMPTLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs one command line in this process."""

    def call(*args: str) -> Outcome:
        status = cli.run(args)
        return Outcome(status, *capsys.readouterr())

    return call


class Engine:
    """Stands in for ``engine.analyse``: returns ``report`` (or raises ``error``) and remembers what it was asked."""

    def __init__(self) -> None:
        self.report = Report(files=1, findings=(), requests=())
        self.error: BaseException | None = None
        self.paths: Sequence[Path] = ()
        self.settings = Settings()
        self.stdin: tuple[str, str] | None = None

    def analyse(self, paths: Sequence[Path], settings: Settings, *, stdin: Any = None, **_: Any) -> Analysis:
        self.paths, self.settings, self.stdin = paths, settings, stdin
        if self.error is not None:
            raise self.error
        return Analysis(self.report, lambda: Kept(b"", b"", b"", b""))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Engine:
    stand_in = Engine()
    monkeypatch.setattr(engine, "analyse", stand_in.analyse)
    return stand_in
