"""A trace loses at most the record that was being written, whoever writes and however it ends."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import threading
from dataclasses import replace
from multiprocessing.context import ForkContext, SpawnContext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.trace.format import VERSION, Exchange, Frame, Problem, TraceError, Writer, decode, encode, read

PLAIN = Exchange("a1", 1764460000.125, "https://api.anthropic.com/v1/messages", "messages", '{"model":"m"}')
FULL = Exchange(
    "b2",
    1764460001.5,
    "https://api.openai.com/v1/chat/completions",
    "chat",
    '{"messages":[{"role":"user","content":"Grüße \\ud83d\\ude00"}]}',
    provider="openai",
    headers={"openai-organization": "x"},
    began=0.25,
    lasted=3,
    status=200,
    error=None,
    usage={"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 0}},
    response_id="chatcmpl-1",
    retry_of="a1",
    answer="Hello.",
    stack=(Frame("app/chat.py", 12, "Chat.turn"), Frame("app/__main__.py", 3, "<module>")),
    pid=17,
    thread="MainThread",
)

texts = st.text(st.characters(), max_size=40)  # lone surrogates too: a body need not be UTF-8
exchanges = st.builds(
    Exchange,
    id=texts,
    at=st.floats(0, 4e9),
    endpoint=texts,
    api=st.none() | texts,
    body=texts,
    provider=st.none() | texts,
    headers=st.dictionaries(texts, texts, max_size=3),
    began=st.none() | st.floats(0, 1e6),
    lasted=st.none() | st.floats(0, 1e6) | st.integers(0, 9),
    status=st.none() | st.integers(100, 599),
    usage=st.none() | st.dictionaries(texts, st.none() | st.integers() | texts, max_size=3),
    answer=st.none() | texts,
    stack=st.lists(st.builds(Frame, texts, st.integers(1, 9999), texts), max_size=3).map(tuple),
)


@pytest.fixture(params=["trace.jsonl", "trace.jsonl.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def write(path: Path, *records: Exchange, max_bytes: int | None = None) -> list[bool]:
    writer = Writer(path, max_bytes=max_bytes)
    written = [writer.write(record) for record in records]
    writer.close()
    return written


def load(path: Path) -> tuple[list[Exchange], list[Problem]]:
    problems: list[Problem] = []
    return list(read(path, problems.append)), problems


@given(exchanges)
def test_a_record_comes_back_as_it_was(exchange: Exchange) -> None:
    line = encode(exchange).encode("utf-8", "backslashreplace")
    assert b"\n" not in line
    assert decode(line) == exchange


def test_the_record_is_the_documented_one() -> None:
    assert json.loads(encode(FULL)) == {
        "v": 1,
        "id": "b2",
        "at": 1764460001.5,
        "endpoint": "https://api.openai.com/v1/chat/completions",
        "api": "chat",
        "body": FULL.body,
        "provider": "openai",
        "headers": {"openai-organization": "x"},
        "began": 0.25,
        "lasted": 3,
        "status": 200,
        "error": None,
        "usage": {"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 0}},
        "response_id": "chatcmpl-1",
        "retry_of": "a1",
        "answer": "Hello.",
        "stack": [
            {"file": "app/chat.py", "line": 12, "function": "Chat.turn"},
            {"file": "app/__main__.py", "line": 3, "function": "<module>"},
        ],
        "pid": 17,
        "thread": "MainThread",
        "redacted": None,
    }


def test_records_are_appended(path: Path) -> None:
    write(path, PLAIN)
    write(path, FULL, PLAIN)
    assert load(path) == ([PLAIN, FULL, PLAIN], [])


def test_nobody_else_may_read_a_new_trace(path: Path) -> None:
    write(path, PLAIN)
    assert path.stat().st_mode & 0o077 == 0


def test_however_long_a_file_is_cut_only_the_last_record_is_lost(path: Path) -> None:
    write(path, PLAIN, FULL)
    whole = path.read_bytes()
    write(path, PLAIN)
    data = path.read_bytes()
    for end in range(len(whole), len(data)):
        path.write_bytes(data[:end])
        found, problems = load(path)
        assert found[:2] == [PLAIN, FULL]
        assert all(not problem.lost for problem in problems)
        assert len(found) + len(problems) in (2, 3)
    path.write_bytes(data[: (len(whole) + len(data)) // 2])
    assert [str(problem) for problem in load(path)[1]] == [f"{path}:3: the last record is cut off: it is left out"]


def test_who_appends_behind_a_cut_record_loses_nothing(path: Path) -> None:
    write(path, PLAIN)
    first = path.stat().st_size
    write(path, replace(FULL, body=os.urandom(3000).hex()))
    data = path.read_bytes()
    for end in range(first + 40, len(data) - 12, 97):
        path.write_bytes(data[:end])
        write(path, FULL, PLAIN)
        found, problems = load(path)
        assert found == [PLAIN, FULL, PLAIN]
        assert [problem.line for problem in problems] == [2] or path.suffix == ".gz"


def test_a_trace_packed_by_hand_is_read(tmp_path: Path) -> None:
    write(tmp_path / "trace.jsonl", PLAIN, FULL)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((tmp_path / "trace.jsonl").read_bytes()))
    assert load(packed) == ([PLAIN, FULL], [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops", "not JSON: "),
        ("[" * 100_000, "not JSON: "),
        ("[1]", "not a JSON object"),
        ('{"id": "x"}', 'not a record of a trace: it has no version ("v")'),
        (f'{{"v": {VERSION + 1}}}', f"a record of version {VERSION + 1}: a newer promptlint wrote it"),
        ('{"v": 1, "id": "x", "at": 1, "endpoint": "", "api": null}', 'the record has no "body"'),
        ('{"v": 1, "id": 4, "at": 1, "endpoint": "", "api": null, "body": ""}', '"id" cannot be 4'),
        ('{"v": 1, "id": "", "at": true, "endpoint": "", "api": null, "body": ""}', '"at" cannot be true'),
        ('{"v": 1, "id": "", "at": 1, "endpoint": "", "api": null, "body": "", "stack": [{}]}', '"stack" must list'),
    ],
)
def test_a_bad_line_is_named_and_reading_goes_on(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{encode(PLAIN)}\n{line}\n\n{encode(FULL)}\n", encoding="utf-8")
    found, [problem] = load(path)
    assert found == [PLAIN, FULL]
    assert (problem.line, problem.lost) == (2, True)
    assert problem.message.startswith(message)


def test_fields_of_later_versions_are_left_out() -> None:
    assert decode(encode(PLAIN)[:-1] + ',"colour":"red"}') == PLAIN
    with pytest.raises(TraceError):
        decode(encode(PLAIN).replace('"v":1', '"v":"1"'))


def test_a_trace_keeps_to_its_limit_and_says_so_once(path: Path) -> None:
    noisy = [replace(FULL, id=str(number), body=os.urandom(400).hex()) for number in range(40)]
    written = write(path, *noisy, max_bytes=8000)
    written += write(path, *noisy, max_bytes=8000)
    assert 4 < sum(written) < 40
    assert not any(written[sum(written) :])
    assert path.stat().st_size <= 8000
    found, [problem] = load(path)
    assert found == noisy[: len(found)] and len(found) == sum(written)
    assert "8,000 bytes" in problem.message and not problem.lost


def test_a_record_that_cannot_be_written_leaves_the_others_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(path)
    writer.write(PLAIN)
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:50]))
    with pytest.raises(OSError, match="no room"):
        writer.write(FULL)
    monkeypatch.setattr(os, "write", real)
    writer.write(FULL)
    assert load(path) == ([PLAIN, FULL], [])


def _write_many(path: str, name: str) -> None:
    writer = Writer(path)

    def work(thread: int) -> None:
        for number in range(15):
            writer.write(replace(FULL, id=f"{name}.{thread}.{number}", body="x" * 9000))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


FORK = multiprocessing.get_context("fork")


@pytest.mark.parametrize("context", [FORK, multiprocessing.get_context("spawn")], ids=["fork", "spawn"])
def test_processes_and_threads_write_into_one_file(path: Path, context: ForkContext | SpawnContext) -> None:
    processes = [context.Process(target=_write_many, args=(str(path), str(number))) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found, problems = load(path)
    assert problems == []
    assert sorted(e.id for e in found) == sorted(f"{p}.{t}.{n}" for p in range(3) for t in range(3) for n in range(15))


def test_a_forked_child_goes_on_with_its_parents_writer(path: Path) -> None:
    writer = Writer(path)
    writer.write(PLAIN)
    child = FORK.Process(target=writer.write, args=(replace(PLAIN, id="child"),))
    child.start()
    child.join()
    writer.write(FULL)
    assert [exchange.id for exchange in load(path)[0]] == ["a1", "child", "b2"]
