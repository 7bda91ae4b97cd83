"""Imports inside the package go downwards, and a rule sees nothing but ``promptlint.api``."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

LAYERS = (
    {"__init__", "frames", "frozen", "span", "tokens", "workers"},
    {"files", "knowledge"},
    {"code"},
    {"provider", "simulator", "finding", "request", "report", "gates", "prices", "cost"},
    {"trace"},
    {"recorder"},
    {"codebase"},
    {"link"},
    {"assembly"},
    {"registry", "config", "answers", "cache"},
    {"api", "engine"},
    {"output", "terminal", "fix"},
    {"probe", "server"},
    {"testing"},
    {"commands", "pytest_plugin"},
    {"cli"},
    {"__main__"},
)
"""Modules and subpackages of promptlint, lowest layer first; one may import its own layer and those below."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted((ROOT / "promptlint").rglob("*.py"))


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands; ``from a import b`` gives ``a.b``."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def layer(dotted: str) -> int:
    """The level of ``promptlint.x.y``; names of the package itself (the version) are at the bottom."""
    return LEVEL.get([*dotted.split("."), "__init__"][1], 0)


def test_every_module_has_a_layer() -> None:
    names = {file.relative_to(ROOT / "promptlint").parts[0].removesuffix(".py") for file in FILES}
    assert names <= LEVEL.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_downwards(file: Path) -> None:
    if file == ROOT / "promptlint" / "__init__.py":
        return  # what it offers to programs comes from everywhere, and only when they ask for it
    own = LEVEL.get(file.relative_to(ROOT / "promptlint").parts[0].removesuffix(".py"), len(LAYERS))
    upward = [
        f"line {line}: {name}"
        for line, name in imported(file)
        if name.split(".")[0] == "promptlint" and layer(name) > own
    ]
    assert upward == []


def test_any_module_of_linking_can_be_imported_first() -> None:
    """Modules that evaluate call each other; no order of imports may matter, or a change of one breaks another."""
    files = sorted((ROOT / "promptlint" / "link").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    script = (
        "import importlib, sys\n"
        f"for name in {names}:\n"
        "    for known in [k for k in sys.modules if k.startswith('promptlint.link')]:\n"
        "        del sys.modules[known]\n"
        "    try:\n"
        "        importlib.import_module(name.removesuffix('.__init__'))\n"
        "    except ImportError as error:\n"
        "        print(name, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert (run.stdout, run.returncode) == ("", 0), run.stderr


def test_rules_import_the_api_only() -> None:
    allowed = sys.stdlib_module_names | {"__future__"}
    strange = [
        f"{file.name}:{line}: {name}"
        for file in sorted((ROOT / "rules").glob("*.py"))
        for line, name in imported(file)
        if not name.startswith("promptlint.api.") and name.split(".")[0] not in allowed
    ]
    assert strange == []
