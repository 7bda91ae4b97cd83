"""``promptlint record``: turns into the program that is to be recorded."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click

from promptlint.commands.shared import fail

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}


def _size(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """A size as people write it: 5000000, 500k, 100MB, 2g."""
    if value is None:
        return None
    text = value.strip().lower().removesuffix("b")
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    try:
        size = int(float(number) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise click.BadParameter(f"{value!r} is no size; write bytes, or 500k, 100MB, 2GB")
    return size


@click.command(
    options_metavar="[OPTIONS] --",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "-o", "output", type=click.Path(path_type=Path), default=Path("trace.jsonl"), show_default=True,
    metavar="FILE", help="Write the trace to this file; compressed when its name ends in .gz.",
)  # fmt: skip
@click.option("--append", is_flag=True, help="Add to a trace that exists.")
@click.option(
    "--max-bytes", callback=_size, metavar="SIZE", help="Stop recording at this size of the file: 100MB, 2GB."
)
@click.option("--redact-content", is_flag=True, help="Write hashes and lengths in place of all texts.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(output: Path, append: bool, max_bytes: int | None, redact_content: bool, command: tuple[str, ...]) -> int:
    """Run a program and record the requests that it makes to language models.

    COMMAND is run as it would be without promptlint, and so are Python programs that it starts. Each request is added
    to the trace when its answer has ended: promptlint trace FILE says what the trace shows. Keys and tokens are
    never written.
    """
    from promptlint.recorder import launch
    from promptlint.recorder.callsite import project_folder
    from promptlint.trace.format import Writer

    if not append and output.exists() and (not output.is_file() or output.stat().st_size):
        return fail(f"{output} exists already: --append adds to it, -o FILE names another one")
    try:
        Writer(output).close()  # now, while an error can still be told
    except OSError as error:
        return fail(f"cannot write the trace {output}: {error.strerror or error}")
    settings = launch.Settings(
        trace=os.path.abspath(output),
        root=project_folder(os.getcwd()),
        key=os.urandom(16).hex(),
        max_bytes=max_bytes,
        redact=redact_content,
    )
    if sys.stderr.isatty():
        click.echo(f"promptlint: recording to {output}; then: promptlint trace {output}", err=True)
    return _become(command, launch.environment(settings, os.environ))


def _become(command: tuple[str, ...], environment: dict[str, str]) -> int:
    """Runs the program in place of this one, so that signals, exit code, terminal and process id are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    ignored = {}
    try:
        if os.name == "nt":  # there, exec would leave the program behind in the background
            import subprocess

            return subprocess.call(command, env=environment)
        for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and a program would inherit that
            number = getattr(signal, name)
            ignored[number] = signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        hint = f" (did you mean: python {command[0]})" if command[0].endswith(".py") else ""
        return fail(f"cannot run {command[0]}: {error.strerror or error}{hint}")
