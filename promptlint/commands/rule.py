"""``promptlint rule``: the list of rules, and the page of one."""

from __future__ import annotations

import sys

import click

from promptlint.commands.shared import (
    CLEAN,
)
from promptlint.commands.shared import settings as configure


@click.command()
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


def _markdown(text: str) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    from promptlint import terminal

    console = Console(force_terminal=True, width=min(terminal.width(), 100), color_system="standard")
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get()
