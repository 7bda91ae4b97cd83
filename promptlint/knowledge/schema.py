"""Validation of the rows in a TOML document: what a field may hold, and errors that name the row and the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any

from promptlint.knowledge.rows import KnowledgeError

Check = tuple[str, Callable[[Any], bool]]
"""What a field must be, in words, and whether a value is that."""


def one_of(*words: str) -> Check:
    return f"one of {', '.join(words)}", lambda value: value in words


def subset(*words: str) -> Check:
    return f"a list of {', '.join(words)}", lambda value: isinstance(value, list) and all(v in words for v in value)


def factors(*keys: str) -> Check:
    return (
        f"a table of {', '.join(keys)} and numbers",
        lambda value: isinstance(value, Mapping) and all(k in keys and _factor(v) for k, v in value.items()),
    )


def _factor(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


TEXT: Check = ("text", lambda value: isinstance(value, str))
TEXTS: Check = (
    "a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
)
COUNT: Check = ("a whole number, 0 or more", lambda value: type(value) is int and value >= 0)
FLAG: Check = ("true or false", lambda value: isinstance(value, bool))
FACTOR: Check = ("a number, 0 or more", _factor)
DATE: Check = ("a date", lambda value: type(value) is date)


def checked(
    row: Mapping[str, Any], where: str, schema: Mapping[str, Check], needed: tuple[str, ...], tags: frozenset[str]
) -> dict[str, Any]:
    """The row, its lists and tables as tuples, when every field is known and of its kind, and the tags of its sources
    are explained. Raises ``KnowledgeError``.
    """
    for field in needed:
        if field not in row:
            raise KnowledgeError(f'{where}, field "{field}": missing')
    for field, value in row.items():
        if field not in schema:
            close = get_close_matches(field, schema, 1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise KnowledgeError(f'{where}, field "{field}": no such field{hint}')
        kind, holds = schema[field]
        if not holds(value):
            raise KnowledgeError(f'{where}, field "{field}": must be {kind}, is {value!r}')
    for tag in row.get("sources", ()):
        if tag not in tags:
            raise KnowledgeError(f'{where}, field "sources": "{tag}" is not explained under [sources]')
    return {field: _frozen(value) for field, value in row.items()}


def _frozen(value: Any) -> Any:
    """Lists and tables as tuples."""
    if isinstance(value, Mapping):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


def mapping(document: Mapping[str, Any], field: str, where: str) -> Mapping[str, Any]:
    """A table in a document. Raises ``KnowledgeError``."""
    value = document.get(field)
    if not isinstance(value, Mapping):
        raise KnowledgeError(f'{where}, field "{field}": must be a table, is {value!r}')
    return value


def rows(table: Mapping[str, Any], field: str, where: str) -> list[Mapping[str, Any]]:
    """A list of tables, which may be missing. Raises ``KnowledgeError``."""
    value = table.get(field, [])
    if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
        raise KnowledgeError(f'{where}, field "{field}": must be a list of tables, is {value!r}')
    return value


def regex(pattern: str, where: str) -> re.Pattern[str]:
    """A regular expression. Raises ``KnowledgeError``."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise KnowledgeError(f"{where}: {pattern!r} is no regular expression: {error}") from None
