"""Trees that were given up to save memory make no difference to what is found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from promptlint import config, engine
from promptlint.code.index import Module
from promptlint.codebase import program
from promptlint.files.source import Source

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.is_dir())

CODE = '''
import functools


def outer(x=lambda: 0):
    """Its docstring."""

    class Inner:
        kind = "inner"

        def method(self):
            return [f(x) for f in (lambda a: a, lambda a: -a)]

    @functools.cache
    async def nested(ü="ü"):
        text = """two
  lines"""
        return text, ü

    return Inner, nested


class Plain:
    """Another."""

    def declared(self): ...

    @property
    def done(self):
        return self


class Tabs:
	def method(self):
		return 1
'''


def test_a_function_is_brought_back_as_it_was() -> None:
    def made() -> Module:
        source = Source("a.py", Path("a.py"), CODE.encode())
        assert isinstance(source.tree, ast.Module)
        return Module(source, "a", False, source.tree)

    whole, stripped = made(), made()
    stripped.strip()
    assert "lines" not in "".join(ast.dump(f.node) for f in stripped.functions if f.name == "outer")
    for function in stripped.functions[::-1]:
        if function.stripped:
            stripped.restore(function)
    for before, after in zip(whole.functions, stripped.functions, strict=True):
        assert ast.dump(before.node, include_attributes=True) == ast.dump(after.node, include_attributes=True)
        assert before.declares == after.declares
        assert after.stripped is False
        assert stripped.definitions[after.node] is after
    assert ast.dump(stripped.tree) == ast.dump(whole.tree)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_findings_are_the_same_without_trees(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)
    settings = config.load([Path(".")])
    kept = engine.check([Path(".")], settings)
    monkeypatch.setattr(program, "MAX_WHOLE", 0)
    given_up = engine.check([Path(".")], settings)
    monkeypatch.setattr(program, "MAX_HELD", 0)
    forgotten = engine.check([Path(".")], settings)
    monkeypatch.setattr(program, "MAX_PARSED", 0)  # searches end at the folder, which is all there is here
    searched_little = engine.check([Path(".")], settings)
    for report in (given_up, forgotten, searched_little):
        assert report.findings == kept.findings
        assert report.requests == kept.requests
        assert report.problems == kept.problems == ()
