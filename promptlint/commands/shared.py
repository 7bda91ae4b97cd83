"""What commands have in common: exit codes, checks of paths, settings, one run of the engine, and how to fail.

Everything heavy is imported where it is used, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.registry import Registry
    from promptlint.report import Report

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
STDIN = Path("-")


def require(paths: Sequence[Path]) -> None:
    """Raises ``click.UsageError`` for a path that does not exist."""
    for path in paths:
        if path != STDIN and not os.path.lexists(path):
            raise click.UsageError(f"no such file or folder: {path}")


def settings(paths: Sequence[Path], overrides: dict[str, Any]) -> tuple[Settings, Registry]:
    """The settings for a run over these paths, and the rules. Raises ``ConfigError`` and ``RuleError``."""
    from promptlint import registry
    from promptlint.config import load, validate
    from promptlint.finding import Confidence, Severity

    for key, choices in (("min_severity", Severity), ("min_confidence", Confidence)):
        if overrides.get(key):
            overrides[key] = choices[overrides[key].upper()]
    found = load(paths, overrides)
    rules = registry.load(found.rule_paths)
    validate(found, rules)
    return found, rules


def run(paths: Sequence[Path], chosen: Settings, stdin: tuple[str, str] | None) -> Report:
    """The report on these paths, the working directory without any, with a progress bar."""
    from promptlint import engine, terminal

    if not paths and stdin is None:
        paths = [Path(".")]
    with terminal.ProgressBar() as progress:
        return engine.check(paths, chosen, stdin=stdin, progress=progress)


def fail(message: str) -> int:
    """Says on standard error, in one line, why the run failed."""
    line = " ".join(f"promptlint: error: {message}".split("\n"))
    click.echo(line.encode("utf-8", "backslashreplace").decode(), err=True)
    return FAILED
