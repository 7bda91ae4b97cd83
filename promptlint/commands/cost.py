"""``promptlint cost``: what a layout costs, from numbers or from a request of a project."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    from promptlint.span import Span


def _seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    from promptlint.cost import seconds

    try:
        return None if value is None else seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option("--prefix", type=click.IntRange(1, 10**8), help="Tokens of the text that all turns share.")
@click.option("--new", type=click.IntRange(0, 10**8), default=500, show_default=True, help="New tokens with each turn.")
@click.option("--turns", type=click.IntRange(1, 1000), default=10, show_default=True, help="Number of turns.")
@click.option("--gap", callback=_seconds, metavar="TIME", help="Time between two turns: 90, 5m, 2h [default: 60 s].")
@click.option("--model", help="The model, such as claude-sonnet-4-5.")
@click.option("--provider", help="Who serves it, where the model does not tell.")
@click.option(
    "--ttl",
    help="The lifetime that the request asks for, such as 1h; 1h,5m for a prefix and what grows behind it; "
    "with Gemini how long a cache object is kept.",
)
@click.option("--output-tokens", type=click.IntRange(0, 10**7), default=0, help="Tokens of each answer.")
@click.option("--grow/--no-grow", default=None, help="Carry each turn on to the next: a conversation.")
@click.option(
    "--from", "origin", metavar="PATH[:LINE]", help="Take prefix, model, kind and gap from a request in this code."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cost(
    prefix: int | None,
    new: int,
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
    source, written = "", None
    if origin:
        from promptlint.output.describe import as_layout

        request = _request_at(origin)
        if not prefix:
            prefix, written, source = as_layout(request)
        if gap is None and request.pace:
            gap = request.pace.seconds
        model = model or request.site.model
        if not provider and request.site.provider in set(providers.providers()) - {providers.UNKNOWN}:
            provider = request.site.provider
        grow = request.reuse.turns if grow is None else grow
    if not prefix and not source:
        raise click.UsageError("how long is the text that all turns share? Give --prefix TOKENS, or --from PATH[:LINE]")
    model = model or settings.default_model
    provider = provider or settings.provider or providers.identify(api=None, base_url=None, model=model)
    if not model and provider == providers.UNKNOWN:
        raise click.UsageError("which model? Give --model NAME, for instance --model claude-sonnet-4-5")
    served_by = providers.meant(provider, model)
    if served_by is None:
        from promptlint.registry import did_you_mean

        raise click.UsageError(f'no provider is called "{provider}"{did_you_mean(provider, providers.providers())}')
    apart = settings.gap if gap is None else gap
    layout = Layout(max(1, prefix or 0), new, turns, apart, bool(grow), output_tokens, written)
    known = providers.facts(served_by, model)
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
    """The longest request in a file or folder; where a line is given of those that are sent there or by way of it."""
    from promptlint.files import source

    name, _, line = place.rpartition(":")
    path, number = (Path(name), int(line)) if name and line.isdecimal() else (Path(place), None)
    require([path])
    settings, _ = configure([path], {})
    requests = execute([path], settings).requests
    if number is not None:
        here = source.display(path)
        requests = _at(requests, here, number) or _at(execute([Path(".")], settings).requests, here, number)
    if not requests:
        raise click.UsageError(f"no request is known at {place}; promptlint map lists those that are")
    return max(requests, key=lambda request: request.size.low)


def _at(requests: Sequence[Request], path: str, line: int) -> tuple[Request, ...]:
    """The requests that are sent at a line, or by way of a call that stands there."""

    def here(span: Span) -> bool:
        return span.path == path and span.line <= line <= max(span.line, span.end_line)

    return tuple(r for r in requests if here(r.site.span) or any(here(step.span) for step in r.path))
