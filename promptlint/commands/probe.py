"""``promptlint probe``: findings put to the test against the provider's own count of cached tokens."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlint.commands.shared import CLEAN, FAILED, FOUND, INTERRUPTED, fail, require
from promptlint.commands.shared import run as execute
from promptlint.commands.shared import settings as configure

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.finding import Finding
    from promptlint.probe.claims import Claim
    from promptlint.probe.execute import Result
    from promptlint.probe.plan import Plan
    from promptlint.probe.samples import Sample, Unusable

_SHOWN = 5
_FUNCTION = re.compile(r"[\w.]+:[\w.]+")


@click.command()
@click.argument("target")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", "-y", is_flag=True, help="Send what the plan shows without asking.")
@click.option("--max-usd", type=click.FloatRange(0), metavar="DOLLARS", help="Plan no more than may cost this.")
@click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Send no more than this, repeats included.")
@click.option("--base-url", metavar="URL", help="Send there: any server that speaks Anthropic's or OpenAI's API.")
@click.option("--provider", "served_by", metavar="NAME", help="Whose rules hold, where URL and model do not tell.")
@click.option("--save", is_flag=True, help="Write the verdicts down, so that check shows them beside its findings.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def probe(
    target: str,
    paths: tuple[Path, ...],
    yes: bool,
    max_usd: float | None,
    max_requests: int | None,
    base_url: str | None,
    served_by: str | None,
    save: bool,
    as_json: bool,
) -> int:
    """Put findings to the test against the provider.

    TARGET is a trace, or module:function that makes your program's calls: it is run twice with the network cut off.
    PATHS is the code whose findings are tested; the current folder without any. Nothing is sent before the plan is
    shown and agreed to; without a terminal and without --yes nothing is sent at all.
    """
    from promptlint import terminal
    from promptlint.probe import plan, render
    from promptlint.probe.claims import claims

    require(paths)
    _known(served_by)
    settings, _ = configure(paths, {"provider": served_by} if served_by else {})
    served_by = settings.provider
    if not os.path.isfile(target) and not _FUNCTION.fullmatch(target):
        raise click.UsageError(f'"{target}" is neither a trace nor module:function, such as app.chat:main')
    findings = _findings(paths, settings)
    if os.path.isfile(target):
        made = claims(findings, _samples(target, base_url, served_by))
    else:
        made = _ran(target, findings, base_url, served_by)
    planned = plan.make(made, base_url=base_url, max_usd=max_usd, max_requests=max_requests)
    color, width = terminal.wants_color(sys.stdout), terminal.width()
    result = None
    if planned.trials:
        text = render.plan(planned, color=color and not as_json, width=width)
        click.echo(text, err=as_json)
        if yes or _agreed():
            result = _sent(planned, max_requests)
    if as_json:
        terminal.write(render.as_json(planned, made, result))
    elif result is not None:
        terminal.write(render.verdicts(result, color=color, width=width))
    else:
        terminal.write(render.offline(made, color=color, width=width))
    if result is not None and save:
        _save(result, findings, settings)
    return _code(made, result)


def _known(name: str | None) -> None:
    from promptlint import provider
    from promptlint.registry import did_you_mean

    if name is not None and name not in provider.providers():
        raise click.UsageError(f'no provider is called "{name}"{did_you_mean(name, provider.providers())}')


def _samples(target: str, base_url: str | None, served_by: str | None) -> list[Sample | Unusable]:
    from promptlint.probe import samples
    from promptlint.trace import format

    problems: list[format.Problem] = []
    found = list(samples.read(format.read(target, problems.append), served_by=served_by, base_url=base_url))
    if not found and any(problem.lost for problem in problems):
        raise click.UsageError(f"{target} is no trace: {problems[0]}")
    for problem in problems[:_SHOWN]:
        click.echo(f"promptlint: {problem}", err=True)
    if len(problems) > _SHOWN:
        click.echo(f"promptlint: {len(problems) - _SHOWN:,} more lines of {target} could not be read", err=True)
    return found


def _ran(target: str, findings: Sequence[Finding], base_url: str | None, served_by: str | None) -> list[Claim]:
    from promptlint import terminal
    from promptlint.probe import program
    from promptlint.probe.twice import Stage

    with Stage(target, Path.cwd()) as stage, terminal.ProgressBar() as progress:
        read = program.reader(served_by, base_url)
        made, worlds = program.examine(stage, findings, read, progress)
        made = program.named(made, worlds, stage, read)
    for note in stage.notes:
        click.echo(f"promptlint: {note}", err=True)
    return made


def _findings(paths: Sequence[Path], settings: Settings) -> list[Finding]:
    """What check would show."""
    report = execute(paths, settings, None)
    return [
        finding
        for finding in report.findings
        if finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
    ]


def _agreed() -> bool:
    if not sys.stdin.isatty():
        click.echo("promptlint: nothing was sent: there is no terminal to ask on, and no --yes", err=True)
        return False
    return click.confirm("Send them?", err=True)


def _sent(planned: Plan, max_requests: int | None) -> Result:
    from promptlint import terminal
    from promptlint.probe import engine
    from promptlint.probe.execute import run, standing_in
    from promptlint.probe.send import RETRIES, Sender

    asked = engine.asked(planned)
    planned, counted = (asked.fitted(planned), asked.count) if asked else (planned, standing_in)
    with terminal.ProgressBar() as progress:
        return run(planned, Sender(max_requests or planned.requests * (RETRIES + 1)), progress, counted)


def _save(result: Result, findings: Sequence[Finding], settings: Settings) -> None:
    from datetime import date

    from promptlint.answers import verdicts
    from promptlint.finding import Measured

    measured = {
        verdict.claim.finding.fingerprint: Measured(verdict.ruling.value, date.today(), verdict.reason)
        for verdict in result.verdicts
        if verdict.claim.finding is not None
    }
    file = settings.root / verdicts.FILE
    verdicts.write(file, measured, [finding.fingerprint for finding in findings])
    click.echo(f"promptlint: verdicts written to {file}", err=True)


def _code(made: Sequence[Claim], result: Result | None) -> int:
    """As ``check``: 1 for a miss that was measured, or that is to be expected where nothing was sent."""
    from promptlint.probe.render import loses
    from promptlint.probe.verdict import Ruling

    if result is None:
        return FOUND if any(loses(claim) for claim in made) else CLEAN
    if result.interrupted:
        return INTERRUPTED
    if result.stopped:
        fail(result.stopped)
        return FAILED
    return FOUND if any(verdict.ruling is Ruling.CONFIRMED for verdict in result.verdicts) else CLEAN
