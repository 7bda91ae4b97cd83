"""``promptlint providers``: what is known about the caches of providers."""

from __future__ import annotations

import sys

import click

from promptlint.commands.shared import (
    CLEAN,
)
from promptlint.commands.shared import settings as configure


@click.command()
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
    served_by = provider.meant(name, model)
    if served_by is None:
        found = provider.identify(api=None, base_url=None, model=name)
        if found == provider.UNKNOWN:
            from promptlint.registry import did_you_mean

            hint = did_you_mean(name, provider.providers())
            raise click.UsageError(f'no provider or model of a known provider is called "{name}"{hint}')
        served_by, model = found, model or name
    terminal.write(view.details(provider.facts(served_by, model), color=color, width=terminal.width()))
    return CLEAN
