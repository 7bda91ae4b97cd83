"""``promptlint clean``: forgets the findings of earlier runs."""

from __future__ import annotations

from pathlib import Path

import click

from promptlint.commands.shared import (
    CLEAN,
    fail,
    paths_argument,
    require,
    written_settings,
)


@click.command()
@click.option(
    "--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="The folder that --cache-dir named in runs."
)
@paths_argument
def clean(paths: tuple[Path, ...], cache_dir: Path | None) -> int:
    """Delete the findings that earlier runs have kept.

    These are the findings that a check of PATHS would look for.
    """
    from promptlint import terminal
    from promptlint.cache import folder
    from promptlint.output.words import count

    require(paths)
    place = folder.folder(written_settings(paths, {"cache_dir": cache_dir}))
    try:
        number = folder.clean(place)
    except OSError as error:
        return fail(f"cannot delete {place}: {error.strerror or error}")
    terminal.write(f"{count(number, 'run')} forgotten ({place}).\n" if number else f"Nothing is kept in {place}.\n")
    return CLEAN
