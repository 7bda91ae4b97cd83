"""``promptlint cost``: what a layout costs, from numbers or from a request of a project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlint.commands.shared import (
    CLEAN,
    require,
)
from promptlint.commands.shared import run as execute
from promptlint.commands.shared import settings as configure

if TYPE_CHECKING:
    from promptlint.request import Request


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


@click.command()
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
