"""Data files of a project (JSON, YAML, TOML) as the values that loading them gives."""

from __future__ import annotations

import json
import tomllib
from itertools import count

import yaml

from promptlint.link.values import Const, Entry, Hole, Map, One, Seq, Text, Value, text
from promptlint.span import Span

MAX_NODES = 5_000
"""Values of a file that are told apart; aliases in YAML may make more of a small file than fits anywhere."""
MAX_NESTING = 24

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(source: str, format: str, span: Span) -> Value | None:
    """What a loader for ``format`` ("json", "yaml" or "toml") makes of a text; ``None`` when it would fail."""
    try:
        match format:
            case "json":
                found: object = json.loads(source)
            case "toml":
                found = tomllib.loads(source)
            case _:
                found = yaml.load(source, _LOADER)
    except (ValueError, RecursionError, yaml.YAMLError):
        return None
    return _value(found, span, count(), 0)


def _value(found: object, span: Span, nodes: count[int], depth: int) -> Value:
    if next(nodes) > MAX_NODES or depth > MAX_NESTING:
        return Hole("…", span, persistent=True, features=frozenset({"bound"}))
    if isinstance(found, str):
        return text(found, span) if found else Text(())
    if isinstance(found, dict):
        return Map({str(k): Entry(_value(v, span, nodes, depth + 1), span) for k, v in found.items()}, span)
    if isinstance(found, list):
        return Seq("list", tuple(One(_value(v, span, nodes, depth + 1), span) for v in found), span)
    if found is None or isinstance(found, (bool, int, float)):
        return Const(found, span)
    return Hole(type(found).__name__, span, persistent=True)
