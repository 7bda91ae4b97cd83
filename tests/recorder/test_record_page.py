"""docs/record.md says what the recorder does: its commands and examples run, its tables are those of the code."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from promptlint.trace.endpoints import HEADERS
from promptlint.trace.format import VERSION, Exchange, read
from tests.emulator import emulator

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "record.md").read_text(encoding="utf-8")

ASK = """
import json, sys, urllib.request

class Chat:
    def __init__(self):
        self.messages = []

    def ask(self, question):
        self.messages.append({"role": "user", "content": question})
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": SYSTEM, "messages": self.messages}
        headers = {"content-type": "application/json", "x-api-key": "test"}
        request = urllib.request.Request(URL + "/v1/messages", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            self.messages.append({"role": "assistant", "content": json.load(response)["content"]})

SYSTEM = [{"type": "text", "text": "You tell of paintings. " * 900, "cache_control": {"type": "ephemeral"}}]
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_fields_are_those_of_a_record() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == ["v", *(item.name for item in fields(Exchange))]
    optional = {name for name, kind in rows if kind.endswith("or null")}
    assert optional == {item.name for item in fields(Exchange) if "None" in str(item.type)}
    required = re.search(r"^(.*) are required", PAGE, re.MULTILINE)
    assert required is not None
    needed = [item.name for item in fields(Exchange) if item.default is MISSING and item.default_factory is MISSING]
    assert re.findall(r"`(\w+)`", required[1]) == ["v", *needed]
    assert f"version {VERSION}\n" in PAGE


def test_the_headers_are_those_that_are_kept() -> None:
    listed = PAGE.partition("Of the headers only:")[2].partition(". Of an address")[0]
    assert tuple(re.findall(r"`([\w-]+)`", listed)) == HEADERS


@pytest.mark.parametrize("line", re.findall(r"^promptlint record .*", "".join(blocks("sh")), re.MULTILINE))
def test_commands_record(line: str, tmp_path: Path) -> None:
    """The program of each command is put in place by one that asks a question."""
    options = shlex.split(line, comments=True)[2:]
    options = options[: options.index("--")]
    with emulator() as vendor:
        (tmp_path / "app.py").write_text(f"URL = {vendor.url!r}\n{ASK}\nChat().ask('Who painted this?')\n")
        command = [sys.executable, "-m", "promptlint", "record", *options, "--", sys.executable, "app.py"]
        subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True)
    [trace] = tmp_path.glob("*.jsonl*")
    [exchange] = read(trace)
    assert exchange.status == 200 and exchange.usage is not None
    assert ("paint" in exchange.body) is ("--redact-content" not in options)


def test_the_block_in_python_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = blocks("python")
    with emulator() as vendor:
        setting = f"URL = {vendor.url!r}\n{ASK}\ndef answer_questions():\n    Chat().ask('Who painted this?')\n"
        exec(compile(setting + code, "app.py", "exec"), {"__name__": "app"})
    assert [exchange.status for exchange in read(tmp_path / "trace.jsonl")] == [200]


def test_the_test_of_the_page_passes(pytester: pytest.Pytester) -> None:
    with emulator() as vendor:
        pytester.makepyfile(f"URL = {vendor.url!r}\n{ASK}\n{blocks('python')[1]}")
        pytester.makeini("[pytest]\n")
        pytester.runpytest("-p", "promptlint.pytest_plugin", "-p", "no:asyncio").assert_outcomes(passed=1)


pytest_plugins = ["pytester"]
