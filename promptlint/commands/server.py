"""``promptlint server``: the language server for editors."""

from __future__ import annotations

import click

from promptlint.commands.shared import (
    CLEAN,
)


@click.command()
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


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(f'--tcp takes a port, such as 2087 or 127.0.0.1:2087, not "{text}"')
    return host or "127.0.0.1", int(port)
