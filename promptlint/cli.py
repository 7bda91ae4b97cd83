"""The command line: reads options, runs the engine, and hands the report to a renderer.

Everything heavy is imported where it is used, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint import __version__
from promptlint.commands.probe import probe
from promptlint.commands.record import record
from promptlint.commands.shared import (
    CLEAN,
    FAILED,
    FOUND,
    INTERRUPTED,
    STDIN,
    caching,
    fail,
    require,
    validated,
    written_settings,
)
from promptlint.commands.shared import run as execute
from promptlint.commands.shared import settings as configure
from promptlint.commands.trace import trace
from promptlint.output import FORMATS, MAP_FORMATS, WITH_FIXES

if TYPE_CHECKING:
    from promptlint.config import Settings
    from promptlint.finding import Finding
    from promptlint.report import Report
    from promptlint.request import Request

SEVERITIES = ("info", "warning", "error")
CONFIDENCES = ("low", "medium", "high")

_Filter = tuple[str, Callable[["Finding"], bool]]


class _Commands(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            from promptlint.registry import did_you_mean

            hint = did_you_mean(name, self.commands)
            if os.path.exists(name):
                hint = f'; did you mean "promptlint check {name}"?'
            raise click.UsageError(f'unknown command "{name}"{hint}', ctx)
        return super().resolve_command(ctx, args)


def _names(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


_paths = click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="promptlint", message="%(prog)s %(version)s")
def cli() -> None:
    """Finds what keeps an LLM provider's prompt cache from being hit.

    Exit codes: 0 nothing to show, 1 findings, 2 the run itself failed.
    """


cli.add_command(probe)
cli.add_command(record)


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Without this, the path behind a bare --add-ignore would be taken for its reason.
        return super().parse_args(ctx, ["--add-ignore=" if arg == "--add-ignore" else arg for arg in args])


@cli.command(cls=_Check)
@_paths
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
    "--stdin-filename", metavar="FILE", help="What to call the code that is read from standard input (PATH -)."
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
    from promptlint import verdicts

    filters = _filters(baseline, changed_since, paths[0] if paths and stdin is None else Path("."))
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
    )
    if again is not None and (fix or diff):
        report, changes = _fixed(report, again, filters, write=not diff, unsafe=unsafe_fixes)
        if diff:
            from promptlint import terminal

            terminal.write(changes, output_file)
            return FOUND if changes and not exit_zero else CLEAN
    if again is not None and output_format in WITH_FIXES and finish is None:
        report = _with_fixes(report, again, filters)
    report = verdicts.beside(_narrowed(report, filters, settings), settings.root)
    listed = [finding for finding in report.findings if _below(finding, settings) is None]
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


@cli.command("map")
@_paths
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


@cli.command()
@click.argument("name", required=False)
def rule(name: str | None) -> int:
    """List the rules, or explain the one called NAME."""
    _, registry = configure((), {})

    from promptlint import terminal

    if name is None:
        broad = max((len(info.name) for info in registry), default=0)
        terminal.write("".join(f"{info.code}  {info.name:{broad}}  {info.summary}\n" for info in registry))
        return CLEAN
    for info in registry.matching(name):
        text = f"# {info.name} ({info.code})\n\nSince {info.since}.\n\n{info.doc}\n"
        terminal.write(_markdown(text) if terminal.wants_color(sys.stdout) else text)
    return CLEAN


@cli.command()
@click.argument("name", required=False)
@click.option("--model", help="Show what holds for this model.")
def providers(name: str | None, model: str | None) -> int:
    """Show what is known about providers' caches, with sources.

    Without NAME a line for each provider; NAME is a provider, or a model such as claude-sonnet-4-5.
    """
    from promptlint import provider, terminal
    from promptlint.output import providers as view

    configure((), {})  # the project's own rows
    color = terminal.wants_color(sys.stdout)
    if name is None:
        if model is None:
            terminal.write(view.listing(color=color))
            return CLEAN
        name = model
    if name not in provider.providers():
        found = provider.identify(api=None, base_url=None, model=name)
        if found == provider.UNKNOWN:
            from promptlint.registry import did_you_mean

            hint = did_you_mean(name, provider.providers())
            raise click.UsageError(f'no provider or model of a known provider is called "{name}"{hint}')
        name, model = found, model or name
    terminal.write(view.details(provider.facts(name, model), color=color, width=terminal.width()))
    return CLEAN


def _seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A time as people write it: 90, 90s, 5m, 2h."""
    if value is None:
        return None
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    number, unit = (value[:-1], units[value[-1]]) if value[-1:] in units else (value, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise click.BadParameter(f"{value!r} is no time; write seconds, or 5m, or 2h")
    return seconds


@cli.command()
@click.option("--prefix", type=click.IntRange(1, 10**8), help="Tokens of the text that all turns share.")
@click.option("--new", type=click.IntRange(0, 10**8), help="New tokens with each turn [default: 500].")
@click.option("--turns", type=click.IntRange(1, 1000), default=10, show_default=True, help="Number of turns.")
@click.option("--gap", callback=_seconds, metavar="TIME", help="Time between two turns: 90, 5m, 2h [default: 60 s].")
@click.option("--model", help="The model, such as claude-sonnet-4-5.")
@click.option("--provider", help="Who serves it, where the model does not tell.")
@click.option("--ttl", help="The lifetime that the request asks for, such as 1h.")
@click.option("--output-tokens", type=click.IntRange(0, 10**7), default=0, help="Tokens of each answer.")
@click.option("--grow/--no-grow", default=None, help="Carry each turn on to the next: a conversation.")
@click.option(
    "--from", "origin", metavar="PATH[:LINE]", help="Take prefix, model and kind from a request in this code."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cost(
    prefix: int | None,
    new: int | None,
    turns: int,
    gap: float | None,
    model: str | None,
    provider: str | None,
    ttl: str | None,
    output_tokens: int,
    grow: bool | None,
    origin: str | None,
    as_json: bool,
) -> int:
    """Show what a layout of prompts costs with and without the cache.

    TURNS requests share PREFIX tokens and bring NEW tokens each; the provider's cache is simulated turn by turn.
    """
    from promptlint import provider as providers
    from promptlint import terminal
    from promptlint.cost import Layout, estimate
    from promptlint.output import costs
    from promptlint.prices import input_price

    settings, _ = configure([Path(origin.partition(":")[0])] if origin else (), {})
    source = ""
    if origin:
        from promptlint.output.describe import as_layout

        request = _request_at(origin)
        shared, source = as_layout(request)
        prefix = prefix or shared
        model = model or request.site.model
        provider = provider or (request.site.provider if request.site.provider != providers.UNKNOWN else None)
        grow = request.reuse.turns if grow is None else grow
    if not prefix:
        raise click.UsageError("how long is the text that all turns share? Give --prefix TOKENS, or --from PATH[:LINE]")
    model = model or settings.default_model
    provider = provider or settings.provider or providers.identify(api=None, base_url=None, model=model)
    if not model and provider == providers.UNKNOWN:
        raise click.UsageError("which model? Give --model NAME, for instance --model claude-sonnet-4-5")
    if provider not in providers.providers():
        from promptlint.registry import did_you_mean

        raise click.UsageError(f'no provider is called "{provider}"{did_you_mean(provider, providers.providers())}')
    layout = Layout(
        prefix, 500 if new is None else new, turns, settings.gap if gap is None else gap, bool(grow), output_tokens
    )
    known = providers.facts(provider, model)
    try:
        result = estimate(layout, known, ttl, input_price(known))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        terminal.write(costs.render_json(result))
    else:
        color = terminal.wants_color(sys.stdout)
        terminal.write(costs.render(result, color=color, width=terminal.width(), source=source))
    return CLEAN


def _request_at(place: str) -> Request:
    """The request in a file or folder, at a line where one is given; the longest one otherwise."""
    name, _, line = place.rpartition(":")
    path, number = (Path(name), int(line)) if name and line.isdecimal() else (Path(place), None)
    require([path])
    settings, _ = configure([path], {})
    requests = execute([path], settings).requests
    if number is not None:
        spans = [(request, request.site.span) for request in requests]
        requests = tuple(r for r, span in spans if span.line <= number <= max(span.line, span.end_line))
    if not requests:
        raise click.UsageError(f"no request is known at {place}; promptlint map {path} lists those that are")
    return max(requests, key=lambda request: request.size.low)


@cli.command()
@_paths
def config(paths: tuple[Path, ...]) -> int:
    """Show the settings and where each was set.

    These are the settings that a check of PATHS would use.
    """
    require(paths)
    settings, registry = configure(paths, {})

    from promptlint import terminal
    from promptlint.config import described

    selected = len(registry.select(settings.select, settings.ignore).rules)
    lines = [
        f"# configuration file: {settings.file or 'none'}",
        f"# {selected} of {len(registry.rules)} rules selected",
    ]
    for key, value, origin in described(settings):
        lines.append(f"# {key} is not set" if value is None else f"{key} = {_toml(value)}  # {origin}")
    terminal.write("\n".join(lines) + "\n")
    return CLEAN


@cli.command()
@click.option(
    "--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="The folder that --cache-dir named in runs."
)
@_paths
def clean(paths: tuple[Path, ...], cache_dir: Path | None) -> int:
    """Delete the findings that earlier runs have kept.

    These are the findings that a check of PATHS would look for.
    """
    from promptlint import cache, terminal
    from promptlint.output.words import count

    require(paths)
    place = cache.folder(written_settings(paths, {"cache_dir": cache_dir}))
    try:
        number = cache.clean(place)
    except OSError as error:
        return fail(f"cannot delete {place}: {error.strerror or error}")
    terminal.write(f"{count(number, 'run')} forgotten ({place}).\n" if number else f"Nothing is kept in {place}.\n")
    return CLEAN


@cli.command()
@click.option("--stdio", is_flag=True, help="Speak on standard input and output, as most editors want it [default].")
@click.option("--tcp", metavar="[HOST:]PORT", help="Wait for one client on this port instead.")
def server(stdio: bool, tcp: str | None) -> int:
    """Serve an editor: findings as one types.

    A language server with diagnostics for the whole project, the map of a request on hover, and quick fixes.
    """
    from promptlint.server import start

    if stdio and tcp:
        raise click.UsageError("--stdio and --tcp exclude each other")
    start(_address(tcp) if tcp else None)
    return CLEAN


cli.add_command(trace)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(f'--tcp takes a port, such as 2087 or 127.0.0.1:2087, not "{text}"')
    return host or "127.0.0.1", int(port)


def _stdin(paths: Sequence[Path], name: str | None) -> tuple[str, str] | None:
    """Name and text of the code or notebook on standard input, if that is one of the paths."""
    if STDIN not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename names what is read from standard input: give - as a path")
        return None
    from promptlint import source

    name = name or "<stdin>"
    data = sys.stdin.buffer.read()
    read = source.from_bytes(name, Path(name), data)
    if isinstance(read, source.Unreadable):
        raise click.UsageError(f"{name}: {read.message}")
    return name, data.decode("utf-8-sig") if read.cells else read.text


class _Again:
    """Analyses the same project once more, with texts that stand in for files."""

    def __init__(self, paths: Sequence[Path], settings: Settings) -> None:
        from promptlint.link.memory import Memory

        self.settings = settings
        self.memory = Memory()
        self._paths = paths or [Path(".")]

    def __call__(self, texts: Mapping[Path, str], only: Set[str] | None) -> Report:
        from promptlint import engine

        return engine.check(self._paths, self.settings, overlay=texts, memory=self.memory, only=only)


def _fixed(
    report: Report, again: _Again, filters: Sequence[_Filter], *, write: bool, unsafe: bool
) -> tuple[Report, str]:
    """The report on the code with its fixes, which are written to the files if so asked, and the fixes as a diff."""
    from promptlint.fix import plan
    from promptlint.fix import write as files
    from promptlint.output.words import count

    made = plan.make(report, _listed(again.settings, filters), again, unsafe=unsafe)
    if write:
        files.write(made.rewrites)
    if made.changes or not write:
        where = f" in {count(len(made.rewrites), 'file')}" if made.rewrites else ""
        click.echo(f"promptlint: {count(made.changes, 'change')} {'made' if write else 'to make'}{where}", err=True)
    return made.report, files.diff(made.rewrites)


def _with_fixes(report: Report, again: _Again, filters: Sequence[_Filter]) -> Report:
    """The report with the fixes of the findings that are shown; without, when the code has changed meanwhile."""
    from promptlint.fix import FIXABLE

    listed = _listed(again.settings, filters)
    if not any(finding.rule in FIXABLE for finding in listed(report)):
        return report
    from promptlint.finding import Applicability
    from promptlint.fix import plan
    from promptlint.fix.write import FixError

    try:
        return plan.with_fixes(report, listed, again, {}, tried={Applicability.SAFE})
    except FixError:
        return report


def _listed(settings: Settings, filters: Sequence[_Filter]) -> Callable[[Report], list[Finding]]:
    """Picks the findings that are shown from a report."""
    from promptlint.output.words import active

    def listed(report: Report) -> list[Finding]:
        found = [f for f in active(report.findings) if _below(f, settings) is None]
        return [f for f in found if all(passes(f) for _, passes in filters)]

    return listed


def _filters(baseline: Path | None, changed_since: str | None, place: Path) -> list[_Filter]:
    """For each option that sets findings aside how to say so, and whether it lets a finding through."""
    filters: list[_Filter] = []
    if baseline is not None:
        from promptlint import baseline as earlier

        known = earlier.read(baseline)
        filters.append((f"of the baseline {baseline}", lambda finding: finding.fingerprint not in known))
    if changed_since is not None:
        from promptlint import changes

        filters.append((f"off the lines changed since {changed_since}", changes.since(changed_since, place).touch))
    return filters


def _narrowed(report: Report, filters: Sequence[_Filter], settings: Settings) -> Report:
    """The report without the findings that the user asked to set aside, with a remark for those else shown."""
    from dataclasses import replace

    from promptlint.output.words import active, count

    for words, passes in filters:
        kept = tuple(finding for finding in report.findings if passes(finding))
        passed = set(kept)
        dropped = [f for f in active(report.findings) if f not in passed and _below(f, settings) is None]
        remarks = (f"{count(len(dropped), 'finding')} {words}",) if dropped else ()
        report = replace(report, findings=kept, set_aside=(*report.set_aside, *remarks))
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
    from promptlint import ignores, terminal
    from promptlint.output.words import active, count, place

    result = ignores.add(active(listed), reason)
    lines = [f"{place(f.primary.path)}:{f.primary.line}: no comment can answer this {f.rule}" for f in result.left]
    where = f" in {count(len(result.written), 'file')}" if result.written else ""
    lines.append(f"{count(result.answered, 'finding')} answered by a comment{where}.")
    terminal.write("".join(f"{line}\n" for line in lines))
    return FOUND if result.left else CLEAN


def _below(finding: Finding, settings: Settings) -> str | None:
    """Which threshold holds a finding back, or ``None``."""
    if finding.severity < settings.min_severity:
        return f"its severity, {finding.severity}, is below {settings.min_severity} (--min-severity)"
    if finding.confidence < settings.min_confidence:
        return f"its confidence, {finding.confidence}, is below {settings.min_confidence} (--min-confidence)"
    return None


def _place(text: str) -> tuple[str, int, str]:
    """The file and the line of its code that a place names, and how to call it."""
    from promptlint import notebook, source

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
            fate = _below(finding, settings)
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
    from promptlint import levels

    facts, reuse = request.facts, request.reuse
    yield f"a request to {request.site.provider} ({request.api}); sent again: {reuse.why or 'no evidence of it'}"
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


def _markdown(text: str) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    from promptlint import terminal

    console = Console(force_terminal=True, width=min(terminal.width(), 100), color_system="standard")
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get()


def _toml(value: object) -> str:
    import json
    from collections.abc import Mapping
    from enum import IntEnum

    match value:
        case bool() | int() | float() if not isinstance(value, IntEnum):
            return json.dumps(value)
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(str(value), ensure_ascii=False)


def _expected() -> tuple[type[Exception], ...]:
    """The errors whose message is meant for the user; none when the installation is too broken to say."""
    try:
        from promptlint import baseline, changes, config, engine, ignores, registry, server, terminal, verdicts
        from promptlint.fix import write
        from promptlint.probe import twice
    except ImportError:
        return ()
    return (
        baseline.BaselineError,
        changes.ChangesError,
        config.ConfigError,
        engine.NoInput,
        ignores.IgnoreError,
        registry.RuleError,
        registry.UnknownRule,
        server.ServerError,
        terminal.WriteError,
        twice.TwiceError,
        verdicts.VerdictError,
        write.FixError,
    )


def _explain(error: Exception) -> int:
    if os.environ.get("PROMPTLINT_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    if isinstance(error, _expected()):
        return fail(str(error))
    return fail(
        f"internal error: {type(error).__name__}: {error}; this is a bug in promptlint {__version__}: please report it"
        " with the output of the same command under PROMPTLINT_DEBUG=1"
    )


def run(args: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code; nothing that happens on the way escapes as an exception."""
    try:
        return cli.main(args=args, prog_name="promptlint", standalone_mode=False) or CLEAN
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return FAILED
    except click.ClickException as error:
        return fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("promptlint: interrupted", err=True)
        return INTERRUPTED
    except Exception as error:
        return _explain(error)


def main() -> None:
    """The console script. It ends at once: taking the graphs of a large project apart would cost a tenth of the run."""
    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads on, or the stream is closed: what Python says of it at its end
        sys.exit(code)
    os._exit(code)
