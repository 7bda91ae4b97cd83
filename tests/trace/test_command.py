"""``promptlint trace``: reports that say what happened, bad input that is named, and nothing that must stay secret."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptlint.cli import run
from promptlint.trace.format import Exchange, Frame, Writer, encode
from tests.trace.traces import RULES, Trace, claude, dialogue

D = dialogue(5)


def clocked(site: tuple[Frame, ...] = (Frame("chat.py", 15, "ask"),)) -> list[Exchange]:
    trace = Trace()
    for turn in range(1, 5):
        trace.send(claude(f"It is 2025-11-30 10:0{turn}:11. {RULES}", D[: 2 * turn - 1]), site=site)
    return trace.exchanges


def written(path: Path, exchanges: list[Exchange]) -> Path:
    writer = Writer(path)
    for exchange in exchanges:
        writer.write(exchange)
    writer.close()
    return path


def traced(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = run(["trace", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out if "--output-format" in args else " ".join(out.split()), err


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_clock_is_named_with_place_and_cost(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = traced(capsys, written(tmp_path / name, clocked()))
    assert code == 1
    assert "clock-like in the system text: 3 requests" in out
    assert "chat.py:15 ask" in out and "system[0].text, character 21" in out
    assert "before It is 2025-11-30 10:03:11." in out and "now It is 2025-11-30 10:04:11." in out


def test_json_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = traced(capsys, written(tmp_path / "t.jsonl", clocked()), "--output-format", "json")
    report: dict[str, Any] = json.loads(out)
    assert (code, report["version"], report["conversations"]) == (1, 1, 1)
    assert report["totals"]["requests"] == len(report["requests"]) == 4
    (loss,) = report["losses"]
    assert (loss["cause"], loss["region"], loss["path"]) == ("clock-like", "system", "system[*].text")
    assert loss["lost_tokens"] == report["totals"]["lost_tokens"] == sum(r["lost_tokens"] for r in report["requests"])
    for part in ("by_cause", "by_model", "by_site", "by_conversation"):
        for field in ("requests", "input_tokens", "read_tokens", "lost_tokens"):
            assert sum(row[field] for row in report[part]) == report["totals"][field]
    buckets = report["timeline"]["buckets"]
    assert sum(b["read"] + b["written"] + b["uncached"] for b in buckets) == report["totals"]["input_tokens"]


def test_a_trace_without_a_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace()
    for turn in range(1, 4):
        trace.send(claude(RULES, D[: 2 * turn - 1]))
    code, out, _ = traced(capsys, written(tmp_path / "t.jsonl", trace.exchanges))
    assert code == 0
    assert "Nothing was lost" in out and "3 of 3 requests came out as expected" in out


def test_a_trace_that_was_cut_is_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "t.jsonl", clocked())
    path.write_bytes(path.read_bytes()[:-500])
    code, out, _ = traced(capsys, path)
    assert code == 1
    assert "3 requests in 1 conversation" in out and "the last record is cut off" in out


def test_several_files_are_one_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exchanges = clocked()
    files = [written(tmp_path / f"{n}.jsonl", exchanges[n::2]) for n in (0, 1)]
    _, out, _ = traced(capsys, *files)
    assert "4 requests in 1 conversation" in out and "clock-like in the system text: 3 requests" in out


def test_records_that_are_no_requests_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = clocked(), clocked()[0]
    path = tmp_path / "t.jsonl"
    lines = [encode(one) for one in good[:2]]
    path.write_text("\n".join([*lines, "{broken", encode(replace(bad, id="odd", api=None, body='{"a": 1}')), ""]))
    code, out, _ = traced(capsys, path)
    assert code == 1
    assert "t.jsonl:3: not JSON" in out and "odd" in out


@pytest.mark.parametrize("text", ["", "\n\n", '{"v": 99}\n', "no trace\n"])
def test_no_trace_is_an_error(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    code, _, err = traced(capsys, path)
    assert code == 2
    assert "no request could be read" in err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = traced(capsys, tmp_path / "none.jsonl")
    assert code == 2 and "no such file" in err
    code, _, err = traced(capsys, tmp_path)
    assert code == 2 and "cannot read" in err


def test_the_page_stands_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace()
    for turn in range(1, 4):
        trace.send(claude(f"{turn}</script><b>& {RULES}", D[: 2 * turn - 1]))
    page = tmp_path / "t.html"
    traced(capsys, written(tmp_path / "t.jsonl", trace.exchanges), "--output-format", "html", "--output-file", page)
    text = page.read_text("utf-8")
    assert not re.search(r"(?:src|href)=.(?!data:)", text)
    assert text.count("</script>") == 2 and "{{" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])  # type: ignore[index]
    assert data["losses"][0]["cause"] == "number" and data["titles"]


def test_keys_in_prompts_are_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace()
    secret = "sk-ant-REDACTED"
    for turn in range(1, 4):
        trace.send(claude(f"Step {turn}: {secret} {RULES}", D[: 2 * turn - 1]))
    path = written(tmp_path / "t.jsonl", trace.exchanges)
    for form in ("full", "json", "html"):
        _, out, _ = traced(capsys, path, "--output-format", form)
        assert "Step" in out and "Abc123Def456" not in out


CHAT = '''import datetime

from anthropic import Anthropic

client = Anthropic()
GUIDE = """{guide}"""
history = []


while True:
    history.append({{"role": "user", "content": input()}})
    now = datetime.datetime.now()
    system = [{{"type": "text", "text": f"It is {{now}}. {{GUIDE}}", "cache_control": {{"type": "ephemeral"}}}}]
    reply = client.messages.create(model="claude-sonnet-5", max_tokens=9, system=system, messages=history)
    history.append({{"role": "assistant", "content": reply.content[0].text}})
'''


def test_findings_are_confirmed_by_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chat.py").write_text(CHAT.format(guide=RULES))
    line = next(n for n, text in enumerate((tmp_path / "chat.py").read_text().splitlines(), 1) if ".create(" in text)
    path = written(tmp_path / "t.jsonl", clocked((Frame("chat.py", line, "<module>"),)))
    _, out, _ = traced(capsys, path, "--project", tmp_path)
    assert "check predicts it: volatile-time at" in out
    _, out, _ = traced(capsys, path, "--project", tmp_path, "--output-format", "json")
    report = json.loads(out)
    assert report["losses"][0]["predicted"] is True
    verdicts = {item["rule"]: item["verdict"] for item in report["findings"]}
    assert verdicts["volatile-time"] == "confirmed"


def test_what_check_did_not_predict_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chat.py").write_text(CHAT.format(guide=RULES).replace("It is {now}. ", ""))
    line = next(n for n, text in enumerate((tmp_path / "chat.py").read_text().splitlines(), 1) if ".create(" in text)
    path = written(tmp_path / "t.jsonl", clocked((Frame("chat.py", line, "<module>"),)))
    _, out, _ = traced(capsys, path, "--project", tmp_path)
    assert "check does not predict it" in out and "0 of 1 kind of loss predicted" in out
