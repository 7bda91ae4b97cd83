"""One analysis of one folder, with the unsaved buffers in it, and what it found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from promptlint import config, engine, registry
from promptlint.codebase.memory import Memory
from promptlint.config import Settings
from promptlint.files import disk, source
from promptlint.files.source import Broken, Source
from promptlint.finding import Finding, Fix
from promptlint.fix import FIXABLE
from promptlint.registry import RuleInfo
from promptlint.report import Report
from promptlint.server.standing import Standing

FAILURES = (config.ConfigError, registry.RuleError, registry.UnknownRule)
"""What is wrong with the project's settings or own rules, in words for the user."""

_MARKERS = (".git", ".hg", "pyproject.toml", "setup.py")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Snapshot:
    """What was found in a folder (or one file).

    ``texts`` are the buffers that stood in for files, by absolute path; a buffer that is no valid Python is left to
    the last text of it that was (``Buffer``), so what is found there goes on being shown.
    """

    report: Report
    findings: tuple[Finding, ...]
    """Those that the thresholds let through and no comment suppresses."""
    rules: Mapping[str, RuleInfo]
    texts: Mapping[str, str] = field(repr=False)
    settings: Settings = field(repr=False)
    standing: Standing | None = field(repr=False, default=None)
    """What the next edit may leave as it is."""

    def lines(self, path: str) -> list[str]:
        """The lines of a file as they were analysed; none when it cannot be read."""
        file = os.path.abspath(path)
        if file not in self._lines:
            text = self.texts.get(file, self.report.sources.get(path))
            if text is None:
                text = saved(file) or ""
            self._lines[file] = source.LINE_BREAK.split(text)
        return self._lines[file]

    def may_fix(self, file: str) -> bool:
        """Whether a finding in a file, given by its absolute path, is of a rule that knows fixes."""
        return any(f.rule in FIXABLE and os.path.abspath(f.primary.path) == file for f in self.findings)

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {}


@dataclass(slots=True)
class Buffer:
    """An open document: its text now, and the last text of it that is valid Python."""

    uri: str
    text: str
    version: int | None
    valid: str | None = None

    def settle(self, file: str) -> str:
        """The text to analyse: the present one if it can be parsed, else the last that could, else the one on disk."""
        if self.valid != self.text:
            if _parses(self.text):
                self.valid = self.text
            elif self.valid is None:
                before = saved(file)
                self.valid = before if before is not None and _parses(before) else None
        return self.text if self.valid is None else self.valid


def _parses(text: str) -> bool:
    return not isinstance(Source("", Path(), text.encode("utf-8", "replace")).tree, Broken)


def run(
    root: Path, overrides: Mapping[str, object], texts: Mapping[str, str], progress: Progress, memory: Memory
) -> Snapshot:
    """Analyses what is under ``root`` with the settings of its pyproject.toml and those of the editor.

    ``memory`` is that of earlier analyses of this folder. A folder without Python gives an empty result. Raises one of
    FAILURES, and whatever ``progress`` raises.
    """
    settings = config.load([root], dict(overrides))
    rules = registry.load(settings.rule_paths)
    config.validate(settings, rules)
    standing = None
    try:
        with disk.noting() as notes:
            analysis = engine.analyse([root], settings, overlay=_overlay(texts), progress=progress, memory=memory)
        report, standing = analysis.report, Standing.of(settings, texts, analysis.left(), notes)
    except engine.NoInput:
        report = Report(files=0, findings=(), requests=())
    rules_by_name = {info.name: info for info in rules}
    return Snapshot(report, _shown(report, settings), rules_by_name, texts, settings, standing)


def again(root: Path, overrides: Mapping[str, object], texts: Mapping[str, str], last: Snapshot) -> Snapshot | None:
    """What ``run`` would give, when the last analysis tells that; it takes milliseconds. Raises as ``run``."""
    if last.standing is None:
        return None
    settings = config.load([root], dict(overrides))
    report = last.standing.report(settings, texts)
    return replace(last, report=report, findings=_shown(report, settings), texts=texts) if report is not None else None


def fixes(root: Path, snapshot: Snapshot, progress: Progress, memory: Memory) -> Mapping[str, tuple[Fix, ...]]:
    """What ends the findings of a snapshot, by fingerprint, best first, each tried. Raises what ``progress`` raises."""
    from promptlint.fix import plan
    from promptlint.fix.write import FixError

    def again(texts: Mapping[Path, str], only: Set[str] | None) -> Report:
        overlay = {**_overlay(snapshot.texts), **{Path(os.path.abspath(file)): text for file, text in texts.items()}}
        return engine.check([root], snapshot.settings, overlay=overlay, progress=progress, memory=memory, only=only)

    def listed(report: Report) -> Sequence[Finding]:
        return _shown(report, snapshot.settings)

    try:
        found = plan.ways(snapshot.report, listed, again, snapshot.texts)
    except FixError:  # the files have changed: another analysis is under way
        return {}
    return {finding.fingerprint: fixes for finding, fixes in found.items()}


def _overlay(texts: Mapping[str, str]) -> dict[Path, str]:
    return {Path(file): text for file, text in texts.items()}


def _shown(report: Report, settings: Settings) -> tuple[Finding, ...]:
    return tuple(
        finding
        for finding in report.findings
        if finding.severity >= settings.min_severity
        and finding.confidence >= settings.min_confidence
        and finding.suppressed is None
    )


def saved(file: str) -> str | None:
    """The text of a file on the disk, ``None`` when it cannot be read."""
    read = source.read(Path(file))
    return read.text if isinstance(read, Source) else None


def project_of(file: Path) -> Path:
    """The folder to analyse for a file that belongs to none of the editor's: its project, or the file alone."""
    for folder in file.parents:
        if any((folder / marker).exists() for marker in _MARKERS):
            return folder
    return file
