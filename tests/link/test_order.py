"""Findings depend on the code alone: not on where objects lie in memory, nor on the order in which a set gives them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlint.link import evaluate
from tests.spec.test_spec import read

PAGES = Path(__file__).parents[1] / "spec"
OF_MANY_WAYS = ("dispatch", "switches")
"""Pages whose programs join what several functions, nodes or ways bring in."""
LINK = Path(evaluate.__file__).parent
SCRIPT = """
import sys
from pathlib import Path
from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Severity
from promptlint.output import jsonformat

everything = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)
apart = [bytearray(size % 509) for size in range(int(sys.argv[1]))]
del apart[::3]
for program in sorted(Path().iterdir()):
    report = engine.check([program], everything)
    print(program, jsonformat.render(report, report.findings))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs of some pages, a folder each."""
    folder = tmp_path_factory.mktemp("programs")
    for page in OF_MANY_WAYS:
        for number, spec in enumerate(read(PAGES / f"{page}.md")):
            for name, text in spec.files:
                file = folder / f"{page}-{number}" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
    return folder


def test_runs_with_other_addresses_and_hashes_find_the_same(programs: Path) -> None:
    runs = [("0", "pymalloc", 0), ("1", "malloc", 60_001)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(apart)],
            cwd=programs,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONMALLOC": malloc, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, malloc, apart in runs
    ]
    found = [process.communicate()[0] for process in processes]
    assert found[0].count('"severity"') > 20
    assert found[0].splitlines() == found[1].splitlines()


def gone_through(tree: ast.AST) -> Iterator[ast.expr]:
    """What loops, comprehensions and unpackings go through, and what a list, a tuple or a walk is made of."""
    for node in ast.walk(tree):
        match node:
            case ast.For(iter=of) | ast.comprehension(iter=of) | ast.Starred(value=of) | ast.YieldFrom(value=of):
                yield of
            case ast.Call(func=ast.Name(id="list" | "tuple" | "iter" | "map" | "filter" | "enumerate"), args=args):
                yield from args[-1:]


def is_set(node: ast.expr) -> bool:
    """Whether an expression is a set by the way it is written."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(attr="union" | "intersection" | "difference" | "symmetric_difference")):
            return True
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return is_set(left) or is_set(right) or any(map(is_view, (left, right)))
    return False


def is_view(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")


@pytest.mark.parametrize("file", sorted(LINK.glob("*.py")), ids=lambda file: file.stem)
def test_no_set_is_gone_through(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    assert [ast.unparse(node) for node in gone_through(tree) if is_set(node)] == []
