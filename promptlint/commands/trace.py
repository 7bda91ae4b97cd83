"""``promptlint trace``: what really happened to the prompts of a recorded trace."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlint.commands import shared
from promptlint.output import TRACE_FORMATS

if TYPE_CHECKING:
    from promptlint.trace.analysis import Analysis


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True),
    help="The code that sent the requests: what check finds in it is compared with what was seen.",
)
@click.option(
    "--output-format",
    type=click.Choice(TRACE_FORMATS),
    default="full",
    show_default=True,
    help="How to print the report.",
)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option(
    "--outcomes", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write what became of each request to FILE, a row each: JSON Lines, or Parquet by its name.",
)  # fmt: skip
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when tokens were lost.")
def trace(
    files: tuple[str, ...],
    project: Path | None,
    output_format: str,
    output_file: Path | None,
    outcomes: Path | None,
    exit_zero: bool,
) -> int:
    """Show what became of the cache in recorded requests, and why.

    FILES are traces of promptlint record, plain or gzip; several count as one. OpenTelemetry spans (OTLP JSON), logs of
    LiteLLM, exports of Langfuse and JSON Lines of requests with their responses are read, too, and each of them from
    Parquet files. A name may be a pattern: "traces/**/*.jsonl".

    Files that --outcomes wrote are added up instead, in seconds, however many there are. That, and Parquet, need the
    extra "duckdb".
    """
    from promptlint import output, terminal
    from promptlint.trace import duck

    named = _expanded(files)
    try:
        analysis = _analysis(named, outcomes)
    except duck.MissingError as error:
        return shared.fail(str(error))
    except OSError as error:
        task = "read" if error.filename in map(str, named) else "write" if outcomes else "use"
        return shared.fail(f"cannot {task} {error.filename}: {error.strerror or error}")
    comparison = None
    if project is not None:
        from promptlint.trace.matching import compared

        settings, _ = shared.settings([project], {})
        comparison = compared(analysis.tally, shared.run([project], settings, None).findings)
    text = output.render_trace(
        analysis,
        comparison,
        output_format,
        color=output_file is None and terminal.wants_color(sys.stdout),
        width=terminal.width(),
    )
    terminal.write(text, output_file)
    if not analysis.tally.totals.requests:
        return shared.fail("no request could be read")
    return shared.FOUND if analysis.tally.totals.lost and not exit_zero else shared.CLEAN


def _expanded(files: Sequence[str]) -> list[Path]:
    """The files that the names stand for. Raises ``click.UsageError`` for one that stands for none."""
    found: list[Path] = []
    for name in files:
        if not os.path.lexists(name) and glob.has_magic(name):
            matching = sorted(path for path in map(Path, glob.glob(name, recursive=True)) if not path.is_dir())
            if not matching:
                raise click.UsageError(f"no file matches {name}")
            found += matching
        else:
            found.append(Path(name))
    shared.require(found)
    return found


def _analysis(files: Sequence[Path], outcomes: Path | None) -> Analysis:
    """The report on traces, or on outcomes of traces. Raises ``OSError`` and ``duck.MissingError``."""
    from promptlint import terminal
    from promptlint.trace.analysis import analyse
    from promptlint.trace.outcomes import recognises, writing

    judged = [file for file in files if recognises(file)]
    if judged and len(judged) < len(files):
        other = next(file for file in files if file not in judged)
        raise click.UsageError(f"{judged[0]} holds outcomes and {other} does not: name files of one kind")
    if judged:
        if outcomes is not None:
            raise click.UsageError(f"{judged[0]} holds outcomes already: --outcomes writes those of traces")
        from promptlint.trace.sums import summed

        return summed(files)
    with terminal.ProgressBar() as progress:
        if outcomes is None:
            return analyse(files, progress)
        with writing(outcomes) as rows:
            return analyse(files, progress, each=rows.add)
