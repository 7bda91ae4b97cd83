"""The commands of the pages that run the reader's program, run; it asks an API that stands on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlint.commands import shared
from tests.docs.test_commands import HERE, PAGES, ROOT, commands
from tests.emulator import Vendor, emulator

MODULES = {
    "app/__init__.py": "",
    "app/__main__.py": "from app.chat import main\n\nmain()\n",
    "app/chat.py": """\
from datetime import datetime

import anthropic

client = anthropic.Anthropic(api_key="sk-none")
MANUAL = "Answer as the handbook says, and be brief about it. " * 200


def main() -> None:
    messages = []
    for question in ("How long?", "How often?"):
        messages.append({"role": "user", "content": question})
        system = [{"type": "text", "text": f"{datetime.now()} {MANUAL}", "cache_control": {"type": "ephemeral"}}]
        answer = client.messages.create(model="claude-sonnet-5", max_tokens=9, system=system, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
""",
    "app.py": "from app.chat import main\n\nmain()\n",
    "tests/live/test_chat.py": "from app.chat import main\n\n\ndef test_chat() -> None:\n    main()\n",
    "bin/gunicorn": f"#!{sys.executable}\nimport sys\n\nsys.path.insert(0, '.')\nfrom app.chat import main\n\nmain()\n",
    "conftest.py": "",
    "pyproject.toml": "",
}
"""A project with all that the pages name; ``gunicorn`` stands in for a server that runs the program."""


@pytest.fixture(scope="module")
def vendor() -> Iterator[Vendor]:
    with emulator() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in MODULES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tmp_path / "bin" / "gunicorn").chmod(0o755)
    (tmp_path / "outcomes").mkdir()
    return tmp_path


def typed(page: Path) -> list[list[str]]:
    """The commands of a page that ``test_commands`` does not run, in their order."""
    return [args for args in commands(page) if args[0] not in HERE]


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)], ids=lambda page: page.name)
def test_commands_run(page: Path, project: Path, vendor: Vendor) -> None:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(project / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "ANTHROPIC_BASE_URL": vendor.url,
    }
    if all(args[0] != "record" for args in typed(page)):
        raise AssertionError("the page tells how to read a trace and not how to make one")
    for args in typed(page):
        for given in args:
            if given.startswith("night.jsonl") and "record" not in args:
                (project / given).write_bytes((project / "trace.jsonl").read_bytes())
        before = len(vendor.received)
        done = subprocess.run(
            [sys.executable, "-m", "promptlint", *args],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (shared.CLEAN, shared.FOUND), (args, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, (args, done.stderr)
        assert (len(vendor.received) - before == 2) == (args[0] == "record"), (args, done.stdout, done.stderr)
