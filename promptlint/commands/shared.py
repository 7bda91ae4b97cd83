"""What commands have in common: exit codes, checks of paths, settings, one run of the engine, and how to fail.

Everything heavy is imported where it is used, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from promptlint.codebase.memory import Memory
    from promptlint.config import Settings
    from promptlint.registry import Registry
    from promptlint.report import Report

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
STDIN = Path("-")
MANY_OBJECTS = 2_000_000
"""Objects that an analysis leaves above which they are not looked at once more: that takes half a second and more."""

paths_argument = click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
"""Decorates a command with the files and folders that it is about."""


def require(paths: Sequence[Path]) -> None:
    """Raises ``click.UsageError`` for a path that does not exist."""
    for path in paths:
        if path != STDIN and not os.path.lexists(path):
            raise click.UsageError(f"no such file or folder: {path}")


def caching(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a command with the options of those that answer from findings of an earlier run."""
    function = click.option(
        "--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Keep findings for the next run here."
    )(function)
    return click.option("--no-cache", is_flag=True, help="Neither use nor keep findings of earlier runs.")(function)


def settings(paths: Sequence[Path], overrides: dict[str, Any]) -> tuple[Settings, Registry]:
    """The settings for a run over these paths, and the rules. Raises ``ConfigError`` and ``RuleError``."""
    found = written_settings(paths, overrides)
    return found, validated(found)


def written_settings(paths: Sequence[Path], overrides: dict[str, Any]) -> Settings:
    """The settings as they are written: a run that answers from the cache has validated them before."""
    from promptlint.config import load
    from promptlint.finding import Confidence, Severity

    for key, choices in (("min_severity", Severity), ("min_confidence", Confidence)):
        if overrides.get(key):
            overrides[key] = choices[overrides[key].upper()]
    if overrides.get("cache_dir"):
        overrides["cache_dir"] = overrides["cache_dir"].absolute()
    return load(paths, overrides)


def validated(chosen: Settings) -> Registry:
    """The rules, once the settings are known to make sense. Raises ``ConfigError`` and ``RuleError``."""
    from promptlint import registry
    from promptlint.config import validate

    rules = registry.load(chosen.rule_paths)
    validate(chosen, rules)
    return rules


@contextmanager
def _without_collections() -> Iterator[None]:
    """Leaves memory alone but where the analysis itself gives it up: nearly all that it makes lives to its end."""
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY_OBJECTS:
            gc.freeze()
        gc.enable()


def run(
    paths: Sequence[Path],
    chosen: Settings,
    stdin: tuple[str, str] | None = None,
    *,
    cached: bool = True,
    memory: Memory | None = None,
    finish: tuple[str, Callable[[Report], Report]] | None = None,
    jobs: int | None = None,
) -> Report:
    """The report on these paths, the working directory without any, with a progress bar.

    Where the report of an earlier run still holds, and ``cached`` allows it, it is that one. ``memory`` is for further
    runs on the same project. ``finish`` is what to make of the report, with a name for that: both are kept together.
    ``jobs`` is how many processes may work, as many as there are processors by default.
    """
    from promptlint import terminal
    from promptlint.cache import entries
    from promptlint.files import disk

    if not paths and stdin is None:
        paths = [Path(".")]
    how = finish[0] if finish is not None else ""
    entry = entries.Entry.of(paths, chosen, how) if cached and stdin is None else None
    known = entry.find(finish[1] if finish is not None else None) if entry is not None else None
    if known is not None:
        return known
    validated(chosen)

    from promptlint import engine, workers

    jobs = workers.processors() if jobs is None else jobs
    with terminal.ProgressBar() as progress, disk.noting() as notes, _without_collections():
        analysis = engine.analyse(paths, chosen, stdin=stdin, progress=progress, memory=memory, jobs=jobs)
        report = analysis.report if finish is None else finish[1](analysis.report)
    if entry is not None:
        entry.keep(report, analysis.left, notes)
    return report


def fail(message: str) -> int:
    """Says on standard error, in one line, why the run failed."""
    line = " ".join(f"promptlint: error: {message}".split("\n"))
    click.echo(line.encode("utf-8", "backslashreplace").decode(), err=True)
    return FAILED
