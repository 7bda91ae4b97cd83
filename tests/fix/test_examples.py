"""The example of each rule with fixes, run before and after: the prefix is shared that was not, and no more changed."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli, registry
from promptlint.fix import FIXABLE
from promptlint.fix.proposals import ORDER
from tests.fix.test_fix import saved
from tests.fix.test_kinds import accepted, begins_alike, breakpoints, plain
from tests.soundness import truth

MARKS = ("too-many-breakpoints", "invalid-breakpoint", "ttl-order", "missing-breakpoint", "prefix-below-minimum")
REFUSED = ("too-many-breakpoints", "invalid-breakpoint", "ttl-order", "cached-content-conflict")
UNFIXED = {"volatile-environment", "unused-ignore"}
"""Rules with fixes whose example is none for them: a folder that may stay, and a comment that nobody sends."""


def words(body: Any) -> Counter[str]:
    """The words that a request says, wherever, without times and ids."""
    text = json.dumps(plain(body)).replace("\\n", " ")
    return Counter(re.findall(r"[A-Za-z]+", re.sub(r"\\d\\d(:\\d\\d)+|[0-9a-f-]{36}", "", text)))


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    """What the examples send before and after their fixes, in two processes each, by rule."""
    work = tmp_path_factory.mktemp("examples")
    folders: dict[str, tuple[Path, Path]] = {}
    for info in registry.load():
        if info.examples is None or info.name not in FIXABLE - UNFIXED:
            continue
        before, after = (saved(work / state / info.name, info.examples[0], "main.py") for state in ("before", "after"))
        options = ("--fix", "--unsafe-fixes", "--no-cache", "--min-severity", "info", "--output-format", "json")
        cli.run(["check", *options, "--select", info.name, str(after), "--output-file", str(work / "report.json")])
        assert after.read_text() != before.read_text(), f"{info.name}: nothing is fixed"
        assert not json.loads((work / "report.json").read_text())["findings"], info.name
        folders[info.name] = before.parent, after.parent
    runs = truth.recorded([folder for pair in folders.values() for folder in pair], work)
    bodies = [tuple([request["body"] for request in run] for run in both) for both in runs]
    return {name: (bodies[2 * number], bodies[2 * number + 1]) for number, name in enumerate(folders)}


def test_every_rule_with_fixes_has_an_example_that_is_fixed(sent: dict[str, Any]) -> None:
    assert sent.keys() == FIXABLE - UNFIXED


@pytest.mark.parametrize("name", sorted(FIXABLE - UNFIXED))
def test_example_is_put_right_and_says_the_same(name: str, sent: dict[str, Any]) -> None:
    before, after = sent[name]
    old, new = before[0], after[0]
    assert len(old) == len(new) > 0
    if name in ORDER:
        assert before[0] != before[1] and after[0] == after[1]
    elif name in REFUSED:
        assert name == "cached-content-conflict" or (not any(map(accepted, old)) and all(map(accepted, new)))
    elif name not in MARKS:
        alike = [sum(begins_alike(*pair) for pair in pairwise(requests)) for requests in (old, new)]
        assert alike[0] < alike[1] and (name == "sliding-window" or alike[1] == len(new) - 1)
    if name == "sliding-window":
        assert all(b["messages"][-10:] == a["messages"][-10:] for a, b in zip(old, new, strict=True))
    elif name in MARKS:
        assert plain(new) == plain(old)
        assert any(map(list, map(breakpoints, new))) == (name != "prefix-below-minimum")
    elif name.startswith("volatile"):
        # Each turn keeps what was said with it: the newest has what the system text had.
        ends = [[words([b["messages"][0], b["messages"][-1]]) for b in requests] for requests in (old, new)]
        assert ends[0] == ends[1]
    else:
        assert sum(map(words, new), Counter()) == sum(map(words, old), Counter())
