"""What promptlint knows about libraries: sinks, clients, sources, entries, memoisers and windows, read from TOML rows.

One row is one fact, and nothing in the rows is code. Rows that a user writes under ``[tool.promptlint]`` pass through
the same loader and the same checks. The header of each file says where its facts come from and as of when.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from promptlint.knowledge.reading import Rows
from promptlint.knowledge.rows import ClientRow, Knowledge, SinkRow

_NO_ROWS = frozenset(("providers.toml",))  # facts about providers, read by promptlint.provider

PROVIDER = "provider"
"""The section of a user's rows that ``promptlint.provider`` reads."""


def load(extra: Mapping[str, Sequence[Mapping[str, object]]] | None = None) -> Knowledge:
    """The built-in rows, and those of the user by section ("sink", "client", "source", "entry", "memoiser", "window",
    "template", "pipe").

    A row of the user comes before, or replaces, a built-in row of the same name. Raises ``KnowledgeError``.
    """
    rows = {section: tables for section, tables in (extra or {}).items() if section != PROVIDER}
    if not rows:
        return _builtin()
    own = Rows()
    own.read(dict(rows), "[tool.promptlint]", {"sink": "wrapper"})
    own.sinks = [replace(sink, own=True) for sink in own.sinks]
    return replace(
        _index(own, _builtin_rows()),
        own_sinks={f"{t}.{row.call}" if t else row.call: row for row in own.sinks for t in row.types or ("",)},
        own_sources={row.name: row for row in own.sources},
    )


@cache
def _builtin_rows() -> Rows:
    rows = Rows()
    folder = files(__name__)
    for name in sorted(f.name for f in folder.iterdir() if f.name.endswith(".toml") and f.name not in _NO_ROWS):
        rows.read(tomllib.loads((folder / name).read_text("utf-8")), f"knowledge/{name}")
    return rows


@cache
def _builtin() -> Knowledge:
    return _index(_builtin_rows())


def _index(*layers: Rows) -> Knowledge:
    """One knowledge of several layers; the first layer that has a row of a name wins."""
    sinks = tuple(sink for rows in layers for sink in rows.sinks)
    clients: dict[str, list[ClientRow]] = {}
    for rows in layers:
        for client in rows.clients:
            clients.setdefault(client.maker, []).append(client)
    by_suffix: dict[str, list[SinkRow]] = {}
    for sink in sinks:
        by_suffix.setdefault(sink.suffix, []).append(sink)
    for found in by_suffix.values():
        found.sort(key=lambda s: -s.call.count("."))
    return Knowledge(
        sinks=sinks,
        clients={maker: tuple(found) for maker, found in clients.items()},
        sources={row.name: row for rows in reversed(layers) for row in rows.sources},
        entries=tuple(entry for rows in layers for entry in rows.entries),
        memoisers={row.name: row for rows in reversed(layers) for row in rows.memoisers},
        windows={row.name: row for rows in reversed(layers) for row in rows.windows},
        templates={row.maker: row for rows in reversed(layers) for row in rows.templates},
        pipes={row.maker: row for rows in reversed(layers) for row in rows.pipes},
        sinks_by_suffix={suffix: tuple(found) for suffix, found in by_suffix.items()},
        sink_suffixes=frozenset(by_suffix),
    )
