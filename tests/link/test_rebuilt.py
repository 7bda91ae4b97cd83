"""Functions that rebuild what they are given: which are known, and shapes that are none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from promptlint.code.index import Module
from promptlint.files.source import Source
from promptlint.link.turns import rebuilt

HEAD = "def clean(data):\n    if isinstance(data, dict):\n        "
REBUILT = (
    "return {k: clean(v) for k, v in data.items()}",
    "return {str(k): clean(v) for k, v in data.items() if v is not None}",
    "made = {}\n        for k, v in data.items():\n            made[k] = clean(v)\n        return made",
)
OTHERS = (
    "return {k: clean(v) for k, v in data.items() if k != 'tools'}",
    "return {k: v for k, v in data.items()}",
    "return {k: clean(v) for k, v, w in data.items()}",
    "return {k: clean(k) for k, *v in data.items()}",
    "return {k: clean(k) for k, in data.items()}",
    "for k, v, w in data.items():\n            data[k] = clean(v)\n        return data",
    "return {k: clean(v) for k in data for v in data[k]}",
)


def argument(body: str) -> int | None:
    code = f"{HEAD}{body}\n    return data\n"
    module = Module(Source("a.py", Path("a.py"), code.encode(), code), "a", False, ast.parse(code))
    return rebuilt.argument(module.functions[0])


@pytest.mark.parametrize("body", REBUILT)
def test_data_is_rebuilt(body: str) -> None:
    assert argument(body) == 0


@pytest.mark.parametrize("body", OTHERS)
def test_something_else_is_made(body: str) -> None:
    assert argument(body) is None
