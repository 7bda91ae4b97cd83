"""``promptlint probe`` as a user runs it: a folder with code, a trace, and a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli
from promptlint.trace.format import Exchange, Frame, Writer
from tests.emulator import Fault, Vendor
from tests.probe.build import chat, claude, clocks, sound
from tests.probe.conftest import KEYS

CODE = """\
from datetime import datetime

import anthropic

client = anthropic.Anthropic()
MANUAL = "Answer as the handbook says, and be brief about it. " * 200


def main() -> None:
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        system = [
            {"type": "text", "text": f"It is {datetime.now()}. {MANUAL}", "cache_control": {"type": "ephemeral"}}
        ]
        answer = client.messages.create(model="claude-sonnet-5", max_tokens=500, system=system, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})


main()
"""
SENT_AT = 16


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(CODE)
    return tmp_path


def trace(folder: Path, exchanges: Sequence[Exchange], file: str = "app.py", line: int = SENT_AT) -> str:
    writer = Writer(folder / "trace.jsonl")
    for number, exchange in enumerate(exchanges):
        writer.write(replace(exchange, id=f"{file}{number}", stack=(Frame(file, line, "main"),)))
    writer.close()
    return "trace.jsonl"


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = cli.run(args)
    out, err = capsys.readouterr()
    return status, out, err


Captured = pytest.CaptureFixture[str]


def test_a_finding_is_confirmed_and_remembered(project: Path, vendor: Vendor, capsys: Captured) -> None:
    file = trace(project, clocks(claude))
    status, out, err = run(capsys, "probe", file, "--base-url", vendor.url, "--yes", "--save")
    assert (status, len(vendor.received)) == (1, 3)
    plan, _, verdicts = re.sub(r"(?<=is)\s(?=sent)", " ", out).partition("Nothing else is sent.")
    assert plan.startswith("Plan: 3 requests, at most ")
    assert f"app.py:{SENT_AT}  claude-sonnet-5 at {vendor.url}" in plan
    assert f"app.py:{SENT_AT}  confirmed  volatile-time: " in verdicts
    assert "the provider says: system changed, " in verdicts
    assert re.search(r"fills the cache  +0 of ([\d,]+), ([\d,]+) written  +0 of \1, \2 written\n", verdicts)
    assert "1 confirmed; 3 requests sent.\n" in verdicts
    assert "verdicts written to " in err
    status, out, _ = run(capsys, "check")
    assert status == 1
    assert "= probe: confirmed on " in out
    document = json.loads(run(capsys, "check", "--output-format", "json")[1])
    assert document["findings"][0]["measured"]["verdict"] == "confirmed"


def test_nothing_is_sent_without_consent(project: Path, vendor: Vendor, capsys: Captured) -> None:
    status, out, err = run(capsys, "probe", trace(project, clocks(claude)), "--base-url", vendor.url)
    assert (status, vendor.received) == (1, [])
    assert f"app.py:{SENT_AT}  offline: misses  volatile-time" in out
    assert "“It is 10:31:07. Answer" in out
    assert err == "promptlint: nothing was sent: there is no terminal to ask on, and no --yes\n"


def test_a_sound_program(project: Path, vendor: Vendor, capsys: Captured) -> None:
    (project / "app.py").write_text("")
    file = trace(project, sound(chat, "chat"), "app.py", 3)
    assert run(capsys, "probe", file, "--base-url", vendor.url)[0] == 0
    status, out, _ = run(capsys, "probe", file, "--base-url", vendor.url, "--yes")
    assert status == 0
    assert "app.py:3  no miss  no finding" in out


def test_json(project: Path, vendor: Vendor, capsys: Captured) -> None:
    file = trace(project, clocks(claude))
    status, out, err = run(capsys, "probe", file, "--base-url", vendor.url, "--yes", "--json")
    document = json.loads(out)
    assert (status, document["version"], document["sent"], document["stopped"]) == (1, 1, 3, None)
    assert err.startswith("Plan: 3 requests")
    [claim] = document["claims"]
    assert (claim["site"], claim["rule"], claim["verdict"]) == (f"app.py:{SENT_AT}", "volatile-time", "confirmed")
    assert claim["offline"]["difference"]["path"] == "system[0].text"
    assert [r["predicted"] for r in claim["requests"]] == [r["reported"] for r in claim["requests"]]
    assert claim["requests"][0]["predicted"]["written"] > 1000
    assert claim["requests"][2]["reported"]["read"] == 0
    offline = json.loads(run(capsys, "probe", file, "--json")[1])
    assert (offline["sent"], offline["claims"][0]["verdict"]) == (0, None)
    assert offline["claims"][0]["offline"]["misses"] is True


def test_a_run_that_fails(project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    status, out, err = run(capsys, "probe", trace(project, clocks(claude)), "--yes")
    assert status == 2
    assert "1 inconclusive; nothing was sent.\n" in out
    assert err.endswith("error: there is no key for https://api.anthropic.com: set ANTHROPIC_API_KEY\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.jsonl"], '"nowhere.jsonl" is neither a trace nor module:function, such as app.chat:main'),
        (["app.py"], "app.py is no trace: app.py:1: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (["trace.jsonl", "nowhere"], "no such file or folder: nowhere"),
        (["trace.jsonl", "--provider", "anthropc"], 'no provider is called "anthropc"; did you mean "anthropic"?'),
    ],
)
def test_usage(project: Path, capsys: Captured, args: list[str], words: str) -> None:
    trace(project, clocks(claude))
    status, out, err = run(capsys, "probe", *args)
    assert (status, out, err) == (2, "", f"promptlint: error: {words}\n")


def test_a_file_of_verdicts_that_is_none(project: Path, capsys: Captured) -> None:
    (project / "promptlint-verdicts.json").write_text("[]")
    status, _, err = run(capsys, "check")
    assert status == 2
    assert "promptlint-verdicts.json is no file of verdicts" in err


def test_verdicts_outlive_an_inconclusive_run_but_not_their_finding(
    project: Path, vendor: Vendor, capsys: Captured
) -> None:
    args: list[Any] = ["--base-url", vendor.url, "--yes", "--save"]
    file = trace(project, clocks(claude))
    run(capsys, "probe", file, *args)
    kept = json.loads((project / "promptlint-verdicts.json").read_text())
    run(capsys, "probe", file, *args)  # everything is in the cache by now
    assert json.loads((project / "promptlint-verdicts.json").read_text()) == kept
    (project / "app.py").write_text("")
    run(capsys, "probe", file, *args)
    assert json.loads((project / "promptlint-verdicts.json").read_text())["verdicts"] == {}


def test_no_key_reaches_the_output(project: Path, vendor: Vendor, capsys: Captured) -> None:
    _, out, err = run(capsys, "probe", trace(project, clocks(claude)), "--base-url", vendor.url, "--yes", "--save")
    written = (project / "promptlint-verdicts.json").read_text()
    assert [key for key in KEYS.values() if key in out + err + written] == []


def test_a_program_with_faults_from_end_to_end(project: Path, vendor: Vendor, capsys: Captured) -> None:
    """What check finds in a program is confirmed with what the program sends; its sound conversation is let alone."""
    (project / "app.py").unlink()
    shutil.copy(Path(__file__).parent / "data" / "agent.py", project)
    status, out, _ = run(capsys, "probe", "agent:main", "--base-url", vendor.url, "--yes", "--json")
    claims = json.loads(out)["claims"]
    assert status == 1
    assert {(claim["rule"], claim["verdict"]) for claim in claims} == {
        ("unordered-tools", "confirmed"),
        ("sliding-window", "confirmed"),
        ("volatile-time", "confirmed"),
        ("breakpoint-on-volatile", "confirmed"),
        (None, "refuted"),
    }
    assert len(vendor.received) == 12
    for claim in claims:
        for request in claim["requests"]:
            assert request["predicted"] == request["reported"], claim["site"]


def test_a_trace_of_failed_requests(project: Path, vendor: Vendor, capsys: Captured) -> None:
    failed = [replace(exchange, status=529) for exchange in clocks(claude)]
    _, out, _ = run(capsys, "probe", trace(project, failed), "--json")
    assert [claim["reason"] for claim in json.loads(out)["claims"]] == ["no request was answered from there"]


def test_ctrl_c_leaves_a_report(project: Path, vendor: Vendor) -> None:
    """The signal comes while the second request waits for its answer; the first one is in the report."""
    file = trace(project, clocks(claude))
    vendor.then(Fault(), Fault(delay=30.0))
    command = [sys.executable, "-m", "promptlint", "probe", file, "--base-url", vendor.url, "--yes", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while len(vendor.received) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    document = json.loads(out)
    assert process.returncode == 130, err
    assert (document["sent"], document["stopped"]) == (2, "interrupted")
    [claim] = document["claims"]
    assert (claim["verdict"], claim["reason"]) == ("inconclusive", "not decided: interrupted")
    assert [request["purpose"] for request in claim["requests"]] == ["fills the cache"]
