"""``promptlint check``: findings as a report, as fixes, or as comments in the code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.commands import shown
from promptlint.commands.shared import (
    CLEAN,
    FOUND,
    STDIN,
    caching,
    fail,
    paths_argument,
    require,
    validated,
    written_settings,
)
from promptlint.commands.shared import run as execute
from promptlint.commands.shown import Filter
from promptlint.output import FORMATS, WITH_FIXES

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.finding import Finding
    from promptlint.report import Report


SEVERITIES = ("info", "warning", "error")
CONFIDENCES = ("low", "medium", "high")


def _names(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Without this, the path behind a bare --add-ignore would be taken for its reason.
        return super().parse_args(ctx, ["--add-ignore=" if arg == "--add-ignore" else arg for arg in args])


@click.command(cls=_Check)
@paths_argument
@click.option(
    "--select",
    multiple=True,
    metavar="RULE",
    callback=_names,
    help="Only these rules (names or code prefixes, separated by commas), whatever the configuration says.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULE",
    callback=_names,
    help="Not these rules, besides those of the configuration.",
)
@click.option(
    "--min-severity", type=click.Choice(SEVERITIES), help="Show findings of this severity and above [default: warning]."
)
@click.option(
    "--min-confidence",
    type=click.Choice(CONFIDENCES),
    help="Show findings of this confidence and above [default: medium].",
)
@click.option(
    "--output-format", type=click.Choice(FORMATS), default="full", show_default=True, help="How to print the report."
)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--statistics", is_flag=True, help="Add a count of findings for each rule (formats full and concise).")
@click.option(
    "--stdin-filename",
    metavar="FILE",
    help="What to call the code that is read from standard input (PATH -). Among further PATHS it stands in for that "
    "file: check . - is about the whole project as it would be.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show only findings that this earlier report (sarif, json, jsonl) does not know; moved lines do not matter.",
)
@click.option(
    "--changed-since",
    metavar="REV",
    help="Show only findings whose way from origin to request touches lines changed since this git revision. The whole"
    " project is analysed all the same.",
)
@click.option(
    "--add-ignore",
    metavar="[=REASON]",
    help="Instead of a report, write a comment into the code for each finding, so that it is shown no more.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Change the code where that ends a finding and changes nothing of the prompt but its order; report the rest.",
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="With --fix or --diff: also fixes that change what the model reads, or what requests cost.",
)
@click.option("--diff", is_flag=True, help="Instead of a report, print what --fix would change, and change nothing.")
@click.option(
    "--include-tests", is_flag=True, default=None, help="Also report on tests, and count their calls as evidence."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that work on a tree of several large programs [default: as many as there are processors].",
)
@caching
def check(
    paths: tuple[Path, ...],
    output_format: str,
    output_file: Path | None,
    exit_zero: bool,
    statistics: bool,
    stdin_filename: str | None,
    baseline: Path | None,
    changed_since: str | None,
    add_ignore: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    no_cache: bool,
    jobs: int | None,
    **overrides: Any,
) -> int:
    """Report what makes requests miss the cache.

    PATHS are files and folders, or - for standard input; the current folder when there are none.
    """
    require(paths)
    stdin = _stdin(paths, stdin_filename)
    settings = written_settings([Path(stdin[0])] if stdin else paths, overrides)
    reason = _reason(add_ignore, stdin)
    if (fix or diff) and (stdin is not None or reason is not None):
        other = "standard input" if stdin is not None else "--add-ignore"
        raise click.UsageError(f"--{'diff' if diff else 'fix'} is about files: it cannot be used with {other}")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes goes with --fix, or with --diff to see what it would change")
    from promptlint.answers import verdicts

    filters = shown.filters(baseline, changed_since, paths[0] if paths and stdin is None else Path("."))
    again = _Again(paths, settings) if stdin is None and (fix or diff or output_format in WITH_FIXES) else None
    finish = None
    if again is not None and output_format in WITH_FIXES and not (fix or diff or filters):
        finish = (
            f"with fixes from {settings.min_severity} and {settings.min_confidence} confidence",
            partial(_with_fixes, again=again, filters=()),
        )
    report = execute(
        [path for path in paths if path != STDIN],
        settings,
        stdin,
        cached=not no_cache,
        memory=again.memory if again is not None else None,
        finish=finish,
        jobs=jobs,
    )
    if again is not None and (fix or diff):
        report, changes = _fixed(report, again, filters, write=not diff, unsafe=unsafe_fixes)
        if diff:
            from promptlint import terminal

            terminal.write(changes, output_file)
            return FOUND if changes and not exit_zero else CLEAN
    if again is not None and output_format in WITH_FIXES and finish is None:
        report = _with_fixes(report, again, filters)
    report = verdicts.beside(shown.narrowed(report, filters, settings), settings.root)
    listed = [finding for finding in report.findings if shown.below(finding, settings) is None]
    if reason is not None:
        return _add_ignores(listed, reason)

    from promptlint import output, terminal

    rules = validated(settings).rules if output_format == "sarif" else ()
    text = output.render(
        report,
        output_format,
        listed,
        color=output_file is None and terminal.wants_color(sys.stdout),
        width=terminal.width(),
        rules=rules,
        statistics=statistics,
    )
    terminal.write(text, output_file)
    if report.problems and not report.files:
        return fail("none of the given files could be read")
    found = any(finding.suppressed is None for finding in listed)
    return FOUND if found and not exit_zero else CLEAN


def _stdin(paths: Sequence[Path], name: str | None) -> tuple[str, str] | None:
    """Name and text of the code or notebook on standard input, if that is one of the paths."""
    if STDIN not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename names what is read from standard input: give - as a path")
        return None
    from promptlint.files import source

    name = name or "<stdin>"
    data = sys.stdin.buffer.read()
    read = source.from_bytes(name, Path(name), data)
    if isinstance(read, source.Unreadable):
        raise click.UsageError(f"{name}: {read.message}")
    return name, data.decode("utf-8-sig") if read.cells else read.text


class _Again:
    """Analyses the same project once more, with texts that stand in for files."""

    def __init__(self, paths: Sequence[Path], settings: Settings) -> None:
        from promptlint.codebase.memory import Memory

        self.settings = settings
        self.memory = Memory()
        self._paths = paths or [Path(".")]

    def __call__(self, texts: Mapping[Path, str], only: Set[str] | None) -> Report:
        from promptlint import engine

        return engine.check(self._paths, self.settings, overlay=texts, memory=self.memory, only=only)


def _fixed(
    report: Report, again: _Again, filters: Sequence[Filter], *, write: bool, unsafe: bool
) -> tuple[Report, str]:
    """The report on the code with its fixes, which are written to the files if so asked, and the fixes as a diff."""
    from promptlint.fix import plan
    from promptlint.fix import write as files
    from promptlint.output.words import count

    made = plan.make(report, shown.listed(again.settings, filters), again, unsafe=unsafe)
    if write:
        files.write(made.rewrites)
    if made.changes or not write:
        where = f" in {count(len(made.rewrites), 'file')}" if made.rewrites else ""
        click.echo(f"promptlint: {count(made.changes, 'change')} {'made' if write else 'to make'}{where}", err=True)
    return made.report, files.diff(made.rewrites)


def _with_fixes(report: Report, again: _Again, filters: Sequence[Filter]) -> Report:
    """The report with the fixes of the findings that are shown; without, when the code has changed meanwhile."""
    from promptlint.fix import FIXABLE

    listed = shown.listed(again.settings, filters)
    if not any(finding.rule in FIXABLE for finding in listed(report)):
        return report
    from promptlint.finding import Applicability
    from promptlint.fix import plan
    from promptlint.fix.write import FixError

    try:
        return plan.with_fixes(report, listed, again, {}, tried={Applicability.SAFE})
    except FixError:
        return report


def _reason(given: str | None, stdin: tuple[str, str] | None) -> str | None:
    """The reason to write into comments, "" without one; ``None`` when none are to be written."""
    if given is None:
        return None
    if stdin is not None:
        raise click.UsageError("--add-ignore writes into files: it cannot be used with standard input")
    reason = given.strip()
    if "#" in reason or "\n" in reason or not reason.isprintable():
        raise click.UsageError("--add-ignore: the reason is one line without #, which would start another comment")
    return reason


def _add_ignores(listed: Sequence[Finding], reason: str) -> int:
    from promptlint import terminal
    from promptlint.answers import ignores
    from promptlint.output.words import active, count, place

    result = ignores.add(active(listed), reason)
    lines = [f"{place(f.primary.path)}:{f.primary.line}: no comment can answer this {f.rule}" for f in result.left]
    where = f" in {count(len(result.written), 'file')}" if result.written else ""
    lines.append(f"{count(result.answered, 'finding')} answered by a comment{where}.")
    terminal.write("".join(f"{line}\n" for line in lines))
    return FOUND if result.left else CLEAN
