"""``promptlint map``: requests as promptlint sees them, and why a line is none or not shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.commands.shared import (
    CLEAN,
    caching,
    paths_argument,
    require,
    written_settings,
)
from promptlint.commands.shared import run as execute
from promptlint.commands.shown import below
from promptlint.output import MAP_FORMATS

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.report import Report
    from promptlint.request import Request


@click.command("map")
@paths_argument
@click.option(
    "--output-format",
    type=click.Choice(MAP_FORMATS),
    default="full",
    show_default=True,
    help="How to print the requests.",
)
@click.option(
    "--why-not",
    metavar="FILE:LINE",
    help="Say why a call is not seen as a request, or why a finding there is not shown.",
)
@caching
def map_command(
    paths: tuple[Path, ...], output_format: str, why_not: str | None, no_cache: bool, cache_dir: Path | None
) -> int:
    """Show requests as promptlint sees them.

    Each request in PATHS with its segments, their sizes, what varies in them, and the breakpoints.
    """
    require(paths)
    place = _place(why_not) if why_not is not None else None
    settings = written_settings(paths, {"cache_dir": cache_dir})
    report = execute(paths, settings, cached=not no_cache)

    from promptlint import output, terminal

    if place is None:
        color = terminal.wants_color(sys.stdout)
        terminal.write(output.render_map(report, output_format, color=color, width=terminal.width()))
    else:
        terminal.write("".join(f"{line}\n" for line in _why_not(report, settings, paths, *place)))
    return CLEAN


def _place(text: str) -> tuple[str, int, str]:
    """The file and the line of its code that a place names, and how to call it."""
    from promptlint.files import notebook, source

    name, _, number = text.rpartition(":")
    if not name or not number.isdecimal() or int(number) < 1:
        raise click.UsageError(f'--why-not takes FILE:LINE, such as app/agent.py:52, not "{text}"')
    line, cell = int(number), ""
    if not os.path.isfile(name):
        name, _, cell = name.rpartition(":")
    if not os.path.isfile(name):
        raise click.UsageError(f"--why-not: no such file: {text.rpartition(':')[0]}")
    path = source.display(name)
    if not cell and not name.endswith(notebook.SUFFIX):
        return path, line, f"{path}:{line}"
    read = source.read(Path(name))
    if isinstance(read, source.Unreadable):
        raise click.UsageError(f"--why-not: {path}: {read.message}")
    here = next((c for c in read.cells if str(c.number) == cell.removeprefix("cell").strip()), None)
    if here is None or line > here.last - here.first + 1:
        example = read.cells[-1].number if read.cells else 3
        raise click.UsageError(
            f'--why-not takes a code cell and a line in it of a notebook, such as "{path}:cell {example}:1"'
        )
    return path, here.first + line - 1, f"{path}:cell {here.number}:{line}"


def _why_not(report: Report, settings: Settings, paths: Sequence[Path], path: str, line: int, shown: str) -> list[str]:
    """What is known about one line: the requests and findings there, and what was held back."""

    def here(span: Any) -> bool:
        return span is not None and span.path == path and span.line <= line <= max(span.line, span.end_line)

    requests = [request for request in report.requests if here(request.site.span)]
    said = [sentence for request in requests for sentence in _gates(request, settings)]
    said += [withheld.reason for withheld in report.withheld if here(withheld.span)]
    for finding in report.findings:
        if any(map(here, (finding.primary, finding.origin, finding.site.span))):
            fate = below(finding, settings)
            if finding.suppressed is not None:
                fate = f"suppressed by a comment ({finding.suppressed or 'no reason given'})"
            said.append(f"{finding.rule}: {finding.message}: {fate or 'shown by promptlint check'}")
    if not said:
        from promptlint import engine

        said = [
            f"no request is known here: {why}"
            for why in engine.why_no_request(paths or [Path(".")], settings, path, line)
        ]
        known = sorted({request.site.span for request in report.requests if request.site.span.path == path})
        if known:
            said.append(f"requests in this file start on line {', '.join(dict.fromkeys(span.at for span in known))}")
    return [f"{shown}: {sentence}" for sentence in dict.fromkeys(said)]


def _gates(request: Request, settings: Settings) -> Iterator[str]:
    """What a request is, and for each value in it that varies without being a finding the gate that held it back."""
    from promptlint.gates import levels

    facts, reuse = request.facts, request.reuse
    yield f"a request to {request.site.provider} ({request.api}); sent again: {reuse.why or 'no evidence of it'}"
    if request.fallback:
        yield "it is sent in place of a request that failed: what can be said about it is said there"
        return
    if not facts.caches:
        yield f"{facts.model or facts.provider} does not cache prompts: nothing in this request can be lost"
        return
    if not (reuse.turns or reuse.repeats):
        yield "it is sent once (no loop, entry or kept history leads here): there is nothing to share a prefix with"
        return
    if not request.has_history:
        yield "no history is kept: only what stands in front of each new question can be shared"
    if levels.reaches_minimum(request.size, facts) == "no":
        yield f"it is too short to be cached: {levels.in_words(request.size)}, and caching starts at {facts.minimum:,}"
    reported = {found.cause.origin for found in request.breaks}
    for index, segment in enumerate(request.segments):
        for cause in segment.causes:
            if cause.origin not in reported:
                why = levels.why_silent(request, index, cause, settings.gap)
                yield f"{cause.what} ({cause.origin}) is no finding: {why}"
