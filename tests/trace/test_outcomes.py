"""Outcomes of traces, and what DuckDB makes of them: the same report as the traces give, from whatever files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptlint.cli import run
from promptlint.trace.format import Exchange, Frame, encode
from promptlint.trace.outcomes import COLUMNS
from tests.trace.traces import RULES, Trace, claude, dialogue, gpt

Report = dict[str, Any]
Traced = Callable[..., Report]


@pytest.fixture
def traced(capsys: pytest.CaptureFixture[str]) -> Traced:
    def run_it(*args: object) -> Report:
        code = run(["trace", *map(str, args), "--exit-zero", "--output-format", "json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        found: Report = json.loads(out)
        return found

    return run_it


def refused(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert run(["trace", *map(str, args)]) == 2
    return capsys.readouterr().err


def day(number: int) -> list[Exchange]:
    """Two providers, two conversations, losses of three kinds, and a request that failed."""
    at = 1_764_460_000.0 + 86_400 * number
    one, two = Trace(at=at), Trace("openai", at=at + 5)
    texts = dialogue(6)
    others = [text.upper() for text in texts]
    for turn in range(1, 6):
        one.send(claude(f"It is 10:0{turn}:11. {RULES}", texts[: 2 * turn - 1]), site=(Frame("clock.py", 7, "ask"),))
        window = gpt(RULES, others[max(0, 2 * turn - 6) : 2 * turn - 1])
        two.send(window, "chat", site=(Frame("window.py", 9, "ask"),))
    one.send(claude(RULES, texts[:1], tool_choice={"type": "any"}), site=(Frame("choice.py", 3, "ask"),))
    one.send(claude(RULES, texts[:1], tool_choice={"type": "auto"}), site=(Frame("choice.py", 3, "ask"),))
    failed = replace(one.exchanges[-1], id="f1", at=at + 90, status=429, usage=None, error="too many", stack=())
    return [*one.exchanges, *two.exchanges, failed]


def lines(path: Path, exchanges: list[Exchange]) -> Path:
    path.write_text("".join(f"{encode(e)}\n" for e in sorted(exchanges, key=lambda e: e.at)))
    return path


def alike(one: Report, other: Report) -> None:
    for field in ("totals", "conversations", "losses", "timeline", "requests", "by_cause", "by_model", "by_site"):
        assert one[field] == other[field], field
    assert len(one["by_conversation"]) == len(other["by_conversation"])


@pytest.mark.parametrize("name", ["o.jsonl", "o.parquet"])
def test_outcomes_give_the_report_of_their_trace(name: str, tmp_path: Path, traced: Traced) -> None:
    trace, outcomes = lines(tmp_path / "t.jsonl", day(0)), tmp_path / name
    direct = traced(trace, "--outcomes", outcomes)
    assert {loss["cause"] for loss in direct["losses"]} >= {"clock-like", "front deleted", "parameter only"}
    alike(traced(outcomes), direct)
    assert traced(outcomes)["by_conversation"] == direct["by_conversation"]


def test_many_files_of_both_kinds_add_up(tmp_path: Path, traced: Traced) -> None:
    reports = []
    for number in range(4):
        kind = ("jsonl", "parquet")[number % 2]
        trace = lines(tmp_path / f"t{number}.jsonl", day(number))
        (tmp_path / "all").mkdir(exist_ok=True)
        reports.append(traced(trace, "--outcomes", tmp_path / "all" / f"o{number}.{kind}"))
    whole = traced(tmp_path / "all" / "*")
    assert len(whole["files"]) == 4
    assert whole["conversations"] == sum(report["conversations"] for report in reports)
    for field in ("requests", "failed", "input_tokens", "read_tokens", "lost_tokens", "predicted_written_tokens"):
        assert whole["totals"][field] == sum(report["totals"][field] for report in reports)
        for part in ("by_cause", "by_model", "by_site", "by_conversation"):
            assert sum(row[field] for row in whole[part]) == whole["totals"][field], (part, field)
    clocks = [next(loss for loss in r["losses"] if loss["cause"] == "clock-like") for r in (whole, *reports)]
    assert clocks[0]["requests"] == sum(clock["requests"] for clock in clocks[1:]) == 16
    assert sum(bucket["requests"] for bucket in whole["timeline"]["buckets"]) == whole["totals"]["requests"]


def test_the_rows_are_the_documented_ones(tmp_path: Path, traced: Traced) -> None:
    traced(lines(tmp_path / "t.jsonl", day(0)), "--outcomes", tmp_path / "o.parquet")
    assert duckdb.read_parquet(f"{tmp_path}/o.parquet").columns == list(COLUMNS)
    text = (Path(__file__).parents[2] / "docs" / "trace.md").read_text()
    section = text.partition("## Many traces")[2].partition("\n## ")[0]
    assert [name for name in COLUMNS if f"`{name}`" not in section] == []


def test_a_trace_in_a_parquet_file(tmp_path: Path, traced: Traced) -> None:
    trace, packed = lines(tmp_path / "t.jsonl", day(0)), tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_json('{trace}', format='newline_delimited')) TO '{packed}'")
    alike(traced(packed), traced(trace))
    alike(traced(tmp_path / "*.parquet"), traced(trace))


def test_other_formats_in_a_parquet_file(tmp_path: Path, traced: Traced) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"request": json.loads(e.body), "response": {"usage": e.usage}, "time": e.at} for e in day(0)[:3]]
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    duckdb.sql(f"COPY (SELECT * FROM read_json('{log}', format='newline_delimited')) TO '{tmp_path}/log.parquet'")
    report = traced(tmp_path / "log.parquet")
    assert report["totals"]["requests"] == 3
    assert report["losses"][0]["cause"] == "clock-like"


def test_what_cannot_be_added_up_is_said(tmp_path: Path, traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    trace, outcomes = lines(tmp_path / "t.jsonl", day(0)), tmp_path / "o.jsonl"
    traced(trace, "--outcomes", outcomes)
    assert "holds outcomes and" in refused(capsys, trace, outcomes)
    assert "holds outcomes already" in refused(capsys, outcomes, "--outcomes", tmp_path / "p.jsonl")
    assert "no file matches" in refused(capsys, tmp_path / "none-*.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    assert "bad.parquet" in refused(capsys, tmp_path / "bad.parquet")
    outcomes.write_text(outcomes.read_text().replace('{"outcome":1,', '{"outcome":2,'))
    assert "a newer promptlint wrote them" in refused(capsys, outcomes)
    outcomes.write_text('{"outcome":1,"cause":7')
    assert str(outcomes) in refused(capsys, outcomes)
    for name in ("o.jsonl", "o.parquet"):
        assert f"cannot write {tmp_path}" in refused(capsys, trace, "--outcomes", tmp_path / "no" / name)


def test_without_duckdb(
    tmp_path: Path, traced: Traced, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = lines(tmp_path / "t.jsonl", day(0))
    traced(trace, "--outcomes", tmp_path / "o.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    traced(trace, "--outcomes", tmp_path / "o.jsonl")
    for args in ([tmp_path / "o.parquet"], [tmp_path / "o.jsonl"], [trace, "--outcomes", tmp_path / "p.parquet"]):
        assert 'install "promptlint-cache[duckdb]"' in refused(capsys, *args)


def test_keys_do_not_get_into_outcomes(tmp_path: Path, traced: Traced) -> None:
    key = "sk-ant-api03-abcdefghij0123456789"
    trace = Trace()
    for turn in range(3):
        trace.send(claude(f"Key {turn} is {key}{turn}. {RULES}", dialogue(1)))
    traced(lines(tmp_path / "t.jsonl", trace.exchanges), "--outcomes", tmp_path / "o.jsonl")
    text = (tmp_path / "o.jsonl").read_text()
    assert key not in text
    assert "[masked key " in text
