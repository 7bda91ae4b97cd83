"""The command line: the commands of ``promptlint.commands`` under one name, and what becomes of their errors.

Everything heavy is imported where it is used, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from promptlint import __version__
from promptlint.commands.check import check
from promptlint.commands.clean import clean
from promptlint.commands.config import config
from promptlint.commands.cost import cost
from promptlint.commands.map import map_command
from promptlint.commands.probe import probe
from promptlint.commands.providers import providers
from promptlint.commands.record import record
from promptlint.commands.rule import rule
from promptlint.commands.server import server
from promptlint.commands.shared import (
    CLEAN,
    FAILED,
    INTERRUPTED,
    fail,
)
from promptlint.commands.trace import trace


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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="promptlint", message="%(prog)s %(version)s")
def cli() -> None:
    """Finds what keeps an LLM provider's prompt cache from being hit.

    Exit codes: 0 nothing to show, 1 findings, 2 the run itself failed.
    """


for _command in (check, map_command, rule, providers, cost, record, trace, probe, config, clean, server):
    cli.add_command(_command)


def _expected() -> tuple[type[Exception], ...]:
    """The errors whose message is meant for the user; none when the installation is too broken to say."""
    try:
        from promptlint import config, engine, registry, server, terminal
        from promptlint.answers import baseline, changes, ignores, verdicts
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
