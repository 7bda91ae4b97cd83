"""``promptlint config``: the settings in force, and where each was set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from promptlint.commands.shared import (
    CLEAN,
    paths_argument,
    require,
)
from promptlint.commands.shared import settings as configure


@click.command()
@paths_argument
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


def _toml(value: object) -> str:
    import json
    from enum import IntEnum

    match value:
        case bool() | int() | float() if not isinstance(value, IntEnum):
            return json.dumps(value)
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(str(value), ensure_ascii=False)
