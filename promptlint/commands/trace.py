"""``promptlint trace``: what really happened to the prompts of a recorded trace."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from promptlint.commands import shared
from promptlint.output import TRACE_FORMATS


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
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
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when tokens were lost.")
def trace(
    files: tuple[Path, ...], project: Path | None, output_format: str, output_file: Path | None, exit_zero: bool
) -> int:
    """Show what became of the cache in recorded requests, and why.

    FILES are traces of promptlint record, plain or gzip; several count as one. OpenTelemetry spans (OTLP JSON), logs of
    LiteLLM, exports of Langfuse and JSON Lines of requests with their responses are read, too.
    """
    from promptlint import output, terminal
    from promptlint.trace.analysis import analyse

    shared.require(files)
    with terminal.ProgressBar() as progress:
        try:
            analysis = analyse(files, progress)
        except OSError as error:
            return shared.fail(f"cannot read {error.filename}: {error.strerror or error}")
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
