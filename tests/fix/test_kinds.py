"""Fixes of breakpoints, clocks, histories and cache objects: what the fixed programs send, and nothing else changed."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli
from promptlint.commands import shared
from tests.fix import kinds
from tests.fix.test_fix import Outcome, saved
from tests.soundness import truth

SAFE = {**kinds.MARKERS, **kinds.OBJECTS}
UNSAFE = {**kinds.SHARED, **kinds.MOVED, **kinds.FROZEN, **kinds.UNMARKED}
_TIME = re.compile(r"[, ]*(?:T| )\d\d:\d\d(:\d\d(\.\d+)?)?(?=[.' ]|Answer)|, \d\d:\d\d:\d\d")


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Outcome:
        status = cli.run(["check", *args])
        return Outcome(status, *capsys.readouterr())

    return call


def bodies(programs: Mapping[str, str], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What each program sends; both of its processes must send alike but for the clock."""
    for name, text in programs.items():
        saved(folder, text, f"{name}/main.py")
    sent = truth.recorded([folder / name for name in programs], folder)
    return {name: [r["body"] for r in first] for name, (first, _) in zip(programs, sent, strict=True)}


def plain(value: Any) -> Any:
    """A body as the model reads it: without breakpoints and times, one block of text as its text."""
    if isinstance(value, str):
        return _TIME.sub("", value)
    if isinstance(value, list):
        return plain(value[0]["text"]) if list(map(_bare, value)) == [{"type", "text"}] else [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items() if key != "cache_control"}
    return value


def _bare(block: Any) -> set[str]:
    return block.keys() - {"cache_control"} if isinstance(block, dict) else set()


def breakpoints(value: Any, block: Any = None) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each breakpoint with the block that it is on, in the order of the system text and the messages."""
    if isinstance(value, dict):
        if "cache_control" in value:
            yield value["cache_control"], value
        for key in sorted(value, key=["system", "messages"].__contains__):
            yield from breakpoints(value[key], value)
    elif isinstance(value, list):
        for item in value:
            yield from breakpoints(item, block)


def accepted(body: dict[str, Any]) -> bool:
    """Whether the API takes the breakpoints of a request."""
    found = list(breakpoints(body))
    hours = ["ttl" in marker and marker["ttl"] == "1h" for marker, _ in found]
    on_text = all("role" not in block and block.get("text") for _, block in found)
    return len(found) <= 4 and hours == sorted(hours, reverse=True) and on_text


def begins_alike(earlier: dict[str, Any], later: dict[str, Any]) -> bool:
    return bool(later["messages"][: len(earlier["messages"])] == earlier["messages"])


def fixed(programs: Mapping[str, str], check: Any, folder: Path, *options: str) -> dict[str, str]:
    """The programs with their fixes; no finding is left but in ``kinds.LESS``, and a second run does nothing."""
    results = {}
    for name, text in programs.items():
        file = saved(folder, text)
        assert check("main.py").status == shared.FOUND, f"{name}: nothing is found"
        left = check("--fix", *options, "main.py")
        assert left[:2] == check("main.py")[:2], name
        assert left.status == shared.CLEAN or name in kinds.LESS, name
        results[name] = file.read_text()
        ast.parse(results[name])
        assert check("--diff", *options, "main.py")[:2] == (shared.CLEAN, ""), name
    return results


@pytest.mark.parametrize("name", [*SAFE, *UNSAFE])
def test_fix_is_what_a_maintainer_would_write(name: str, tmp_path: Path, check: Any) -> None:
    text, wanted = (SAFE | UNSAFE)[name]
    options = () if name in SAFE else ("--unsafe-fixes",)
    result = fixed({name: text}, check, tmp_path, *options)[name]
    for part in wanted:
        assert part in result
    assert result.count("#") == text.count("#")


@pytest.mark.parametrize("name", UNSAFE)
def test_what_changes_more_than_the_order_is_not_done_unasked(name: str, tmp_path: Path, check: Any) -> None:
    file = saved(tmp_path, UNSAFE[name][0])
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == UNSAFE[name][0]


def test_one_block_that_is_appended_again_and_again_keeps_its_marker(tmp_path: Path, check: Any) -> None:
    text, _ = kinds.MARKERS["named blocks are appended in a loop"]
    line = next(line for line in text.splitlines(keepends=True) if "block = {" in line)
    text = (
        text.replace(line, "")
        .replace("    blocks = []\n", f"    blocks = []\n{line[4:]}")
        .replace('f"{title}: {sheet}"', "RULES")
    )
    file = saved(tmp_path, text)
    check("--fix", "main.py")
    assert file.read_text() == text


def test_refused_requests_are_accepted_and_say_the_same(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.MARKERS.items()}
    after = fixed(programs, check, tmp_path)
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in programs:
        assert sent[name] and not all(map(accepted, sent[name])), f"{name}: nothing is wrong with it"
        assert all(map(accepted, resent[name])), name
        assert any(True for body in resent[name] for _ in breakpoints(body)), name
        assert plain(resent[name]) == plain(sent[name]), name


def test_each_request_begins_with_the_one_before(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.SHARED.items()}
    after = fixed(programs, check, tmp_path, "--unsafe-fixes")
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in programs:
        pairs = list(pairwise(resent[name]))
        assert pairs and all(begins_alike(*pair) for pair in pairs), name
        assert not all(begins_alike(*pair) for pair in pairwise(sent[name])), name
        for old, new in zip(sent[name], resent[name], strict=True):
            before, behind = ({json.dumps(plain(m)) for m in body["messages"]} for body in (old, new))
            assert before <= behind, f"{name}: something is no longer sent"


def said(body: dict[str, Any]) -> Counter[str]:
    """The words of the system text and the newest message, without times and ids, in whatever order."""
    first, *_, newest = (message["content"] for message in body["messages"])
    return Counter(re.findall(r"[A-Za-z]+", re.sub(r"\d\d(:\d\d)+|[0-9a-f-]{36}", "", f"{first} {newest}")))


def test_what_moves_into_the_newest_message_is_all_that_changes(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.MOVED.items()}
    after = fixed(programs, check, tmp_path, "--unsafe-fixes")
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in after:
        assert all(begins_alike(*pair) for pair in pairwise(resent[name])), name
        assert not any(begins_alike(*pair) for pair in pairwise(sent[name])), name
        for old, new in zip(sent[name], resent[name], strict=True):
            assert said(new) == said(old), name
            assert {**new, "messages": len(new["messages"])} == {**old, "messages": len(old["messages"])}, name
            assert plain(new["messages"][2::2]) == plain(old["messages"][2::2]), name


def test_what_is_read_once_is_all_that_changes(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.FROZEN.items()}
    after = fixed(programs, check, tmp_path, "--unsafe-fixes")
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in programs:
        assert all(begins_alike(*pair) for pair in pairwise(resent[name])), name
        assert not any(begins_alike(*pair) for pair in pairwise(sent[name])), name
        for old, new in zip(sent[name], resent[name], strict=True):
            assert new["messages"][1:] == old["messages"][1:], name
            ends = [body["messages"][0]["content"].partition("\nAnswer") for body in (old, new)]
            assert ends[0][1:] == ends[1][1:] and ends[0][0].split()[0] == ends[1][0].split()[0], name


@pytest.mark.parametrize("name", kinds.UNMOVED | kinds.UNFROZEN)
def test_what_is_not_all_in_sight_is_left_alone(name: str, tmp_path: Path, check: Any) -> None:
    text = (kinds.UNMOVED | kinds.UNFROZEN)[name]
    file = saved(tmp_path, text)
    assert check("main.py").status == shared.FOUND, "the example shows nothing"
    check("--fix", "--unsafe-fixes", "main.py")
    assert file.read_text() == text


def test_window_moves_in_steps(tmp_path: Path, check: Any) -> None:
    after = fixed({"steps": kinds.RARER}, check, tmp_path, "--unsafe-fixes")
    assert "*history[max(0, len(history) - 4) // 4 * 4 :]" in after["steps"]
    sent = bodies({"before": kinds.RARER, "after": after["steps"]}, tmp_path / "run")
    alike = {name: sum(begins_alike(*pair) for pair in pairwise(requests)) for name, requests in sent.items()}
    full = len(sent["before"]) - 2
    assert alike["before"] < 3 < full // 2 - 1 <= alike["after"]
    for old, new in zip(sent["before"], sent["after"], strict=True):
        assert new["messages"][-len(old["messages"]) + 1 :] == old["messages"][1:]


@pytest.mark.parametrize(
    "change", ["history = history[:1] + history[-4:]", "kept = history[-4:]\n    history = [*history[:1], *kept]"]
)
def test_history_that_is_summarised_is_left_alone(change: str, tmp_path: Path, check: Any) -> None:
    text = kinds.RARER.replace("*history[-4:]]", "*history]").replace("    reply =", f"    {change}\n    reply =")
    file = saved(tmp_path, text)
    check("--fix", "--unsafe-fixes", "main.py")
    assert file.read_text() == text


def test_breakpoints_are_all_that_is_added(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.UNMARKED.items()}
    after = fixed(programs, check, tmp_path, "--unsafe-fixes")
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in programs:
        assert plain(resent[name]) == plain(sent[name]), name
        assert all(len(list(breakpoints(body))) == 1 for body in resent[name]), name


def test_cache_object_and_request_say_the_same_together(tmp_path: Path, check: Any) -> None:
    programs = {name: text for name, (text, _) in kinds.OBJECTS.items()}
    after = fixed(programs, check, tmp_path)
    sent, resent = bodies(programs, tmp_path / "before"), bodies(after, tmp_path / "after")
    for name in programs:
        (made, *old), (remade, *new) = sent[name], resent[name]
        assert all("system_instruction" in body["config"] for body in old)
        assert remade["config"] == {**made["config"], "system_instruction": "Answer briefly."}
        assert [b["config"] | {"system_instruction": "Answer briefly."} for b in new] == [b["config"] for b in old]
        assert all("system_instruction" not in body["config"] for body in new)


def test_instruction_that_no_object_holds_is_not_dropped_unasked(tmp_path: Path, check: Any) -> None:
    text, _ = kinds.OBJECTS["moved into the object"]
    text = re.sub(r"cache = client.*?\n\)\n", "import setup\ncache = setup.cache\n", text, flags=re.DOTALL)
    file = saved(tmp_path, text)
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == text
    assert "system_instruction" not in (check("--fix", "--unsafe-fixes", "main.py"), file.read_text())[1]


@pytest.mark.parametrize(
    ("block", "left"),
    [
        ('[{"text": "Answer briefly."}, {"cachePoint": {"type": "default"}}]', '[{"text": "Answer briefly."}]'),
        (
            '[\n        {"text": "Answer briefly."},\n        {"cachePoint": {"type": "default"}},  # cached\n    ]',
            '[\n        {"text": "Answer briefly."},\n    ]',
        ),
    ],
)
def test_a_block_that_is_nothing_but_a_marker_goes_as_a_whole(
    block: str, left: str, tmp_path: Path, check: Any
) -> None:
    text = f"""import boto3

client = boto3.client("bedrock-runtime")
for question in ("How long?", "How often?", "Which tool?"):
    client.converse(
        modelId="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        messages=[{{"role": "user", "content": [{{"text": question}}]}}],
        system={block},
    )
"""
    file = saved(tmp_path, text)
    assert check("--fix", "--unsafe-fixes", "main.py").status == shared.CLEAN
    assert file.read_text() == text.replace(block, left)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # promptlint: ignore[volatile-time] not any more\n", "x = 1\n"),
        ("x = 1\n# promptlint: ignore[volatile-time]\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1  # promptlint: ignore[volatile-time, PL3] both\n", "x = 1\n"),
        ("x = 1  # promptlint: ignore[volatile-time]  # noqa\n", "x = 1  # noqa\n"),
        ("# promptlint: file-ignore[PL2, PL3] tests\nx = 1\n", "x = 1\n"),
    ],
)
def test_comments_in_vain_are_removed(before: str, after: str, tmp_path: Path, check: Any) -> None:
    file = saved(tmp_path, before)
    assert check("main.py").status == shared.FOUND
    check("--fix", "main.py")
    assert file.read_text() == after


def test_a_comment_keeps_the_rule_that_it_is_for(tmp_path: Path, check: Any) -> None:
    text, _ = kinds.SHARED["format"]
    text = text.replace('%M:%S")', '%M:%S")  # promptlint: ignore[PL3, volatile-time] on purpose')
    file = saved(tmp_path, text)
    assert check("--fix", "--unsafe-fixes", "main.py").status == shared.CLEAN
    assert file.read_text() == text.replace("[PL3, volatile-time]", "[volatile-time]")


def test_instruction_that_is_not_known_yet_is_not_moved_up(tmp_path: Path, check: Any) -> None:
    text, _ = kinds.OBJECTS["moved into the object"]
    rules = 'RULES = "Answer briefly."\n'
    text = text.replace(rules, "").replace("while True", f"{rules}while True")
    file = saved(tmp_path, text)
    assert check("--fix", "main.py").status == shared.FOUND
    assert file.read_text() == text


def test_unsafe_fixes_alone_are_a_mistake(check: Any) -> None:
    outcome = check("--unsafe-fixes", ".")
    assert outcome.status == shared.FAILED
    assert "--unsafe-fixes goes with --fix" in outcome.err
