"""What one edit costs: on the command line, in a pre-commit hook, and in the language server.

usage: python benchmarks/edits.py TREE [--edits 40] [--runs 3] [--hook]

A copy of TREE is edited at random places, one edit at a time, each taken back. The kinds: a comment, a blank line, a
docstring, a statement more in some function, a word of one, a new body for one. The table says how many edits leave all
that was found as it is (the rest is linked again), and what the language server takes for each, from the text in its
buffer to the findings. Then commands run in turns, as processes, medians of ``--runs``: without a cache, without a
change, after an edit that changes nothing of interest, and after one that does. ``--hook`` does the same with
``pre-commit run`` in a repository made of the copy.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.speed import Run, measure
from promptlint.codebase.memory import Memory
from promptlint.server import analysis
from promptlint.server.analysis import Snapshot

Lines = list[str]
HOOK = """repos:
- repo: local
  hooks:
  - {{id: promptlint, name: promptlint, language: system, pass_filenames: false, types: [python], entry: {entry}}}
"""


def indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def functions(lines: Lines) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions whose body stands below their head."""
    found = (n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node for node in found if node.body[0].lineno > node.lineno]


def comment(lines: Lines, chance: random.Random) -> None:
    at = chance.randrange(len(lines))
    lines.insert(at, f"{indent(lines[at])}# a remark")


def blank(lines: Lines, chance: random.Random) -> None:
    lines.insert(chance.randrange(len(lines)), "")


def docstring(lines: Lines, chance: random.Random) -> None:
    node = chance.choice([f for f in functions(lines) if ast.get_docstring(f)])
    lines[node.body[0].lineno - 1] = f'{indent(lines[node.body[0].lineno - 1])}"""Now'
    lines[node.body[0].lineno : node.body[0].end_lineno] = ['it says something else."""']


def statement(lines: Lines, chance: random.Random) -> None:
    node = chance.choice(functions(lines))
    at = chance.choice(node.body).lineno - 1
    more = chance.choice(["print('here')", "checked = True", "logger.info('at %s', 1)", "assert True"])
    lines.insert(at, indent(lines[at]) + more)


def word(lines: Lines, chance: random.Random) -> None:
    at = chance.choice([n for n, line in enumerate(lines) if re.search("[a-z]{4}", line)])
    old = chance.choice(re.findall("[a-z]{4,}", lines[at]))
    lines[at] = lines[at].replace(old, f"{old}s", 1)


def body(lines: Lines, chance: random.Random) -> None:
    node = chance.choice(functions(lines))
    first = node.body[0].lineno - 1
    lines[first : node.end_lineno] = [f"{' ' * node.body[0].col_offset}raise NotImplementedError"]


KINDS: tuple[Callable[[Lines, random.Random], None], ...] = (comment, blank, docstring, statement, word, body)


def edited(file: Path, kind: Callable[[Lines, random.Random], None], chance: random.Random) -> str | None:
    """The text of a file after an edit, ``None`` where there is no place for one."""
    lines = file.read_text(encoding="utf-8").split("\n")
    try:
        kind(lines, chance)
        ast.parse("\n".join(lines))
    except (IndexError, SyntaxError):
        return None
    return "\n".join(lines)


def edits(tree: Path, many: int, chance: random.Random) -> list[tuple[str, Path, str]]:
    """Edits by kind, file and new text; a file is the likelier the longer it is."""
    files = [file for file in tree.rglob("*.py") if 0 < file.stat().st_size < 1_000_000]
    sizes = [file.stat().st_size for file in files]
    made: list[tuple[str, Path, str]] = []
    while len(made) < many:
        kind, [file] = KINDS[len(made) % len(KINDS)], chance.choices(files, sizes)
        text = edited(file, kind, chance)
        if text is not None:
            made.append((kind.__name__, file, text))
    return made


def in_server(tree: Path, made: list[tuple[str, Path, str]]) -> tuple[list[bool], list[float], list[float]]:
    """Which edits leave what was found as it is, and the seconds of those that do and of some that do not."""
    memory = Memory()
    snapshot: Snapshot = analysis.run(tree, {}, {}, lambda *_: None, memory)
    stand: list[bool] = []
    quick: list[float] = []
    slow: list[float] = []
    for _, file, text in made:
        start = time.perf_counter()
        found = analysis.again(tree, {}, {str(file): text}, snapshot)
        stand.append(found is not None)
        if found is not None:
            quick.append(time.perf_counter() - start)
        elif len(slow) < 5:
            analysis.run(tree, {}, {str(file): text}, lambda *_: None, memory)
            slow.append(time.perf_counter() - start)
    return stand, quick, slow


def told(found: list[Run]) -> str:
    """The medians of wall clock and processor time."""
    return (
        f"{statistics.median(r.wall for r in found):.2f} s, processor {statistics.median(r.cpu for r in found):.2f} s"
    )


def in_turns(command: list[str], texts: Mapping[str, tuple[Path, str] | None], runs: int) -> dict[str, str]:
    """What a command takes after each of some edits, each made after a run on the files as they were."""
    measured: dict[str, list[Run]] = {}
    for _ in range(runs):
        for name, edit in texts.items():
            measure(command)
            if edit is None:
                measured.setdefault(name, []).append(measure(command))
                continue
            file, text = edit
            before = file.read_text(encoding="utf-8")
            file.write_text(text, encoding="utf-8")
            measured.setdefault(name, []).append(measure(command))
            file.write_text(before, encoding="utf-8")
    return {name: told(found) for name, found in measured.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hook", action="store_true", help="also measure pre-commit run, which has to be installed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / arguments.tree.resolve().name
        shutil.copytree(arguments.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".promptlint_cache"))
        made = edits(tree, arguments.edits, random.Random(arguments.seed))
        os.chdir(tree)
        stand, quick, slow = in_server(tree, made)
        print(f"{tree.name}: {sum(stand)} of {len(made)} edits change nothing of interest")
        for kind in dict.fromkeys(kind for kind, _, _ in made):
            outcomes = [is_so for is_so, (name, _, _) in zip(stand, made, strict=True) if name == kind]
            print(f"  {kind}: {sum(outcomes)} of {len(outcomes)}")
        for name, found in (
            ("in the server, nothing of interest", sorted(quick)),
            ("in the server, linked again", slow),
        ):
            if found:
                print(f"  {name}: {statistics.median(found) * 1000:.0f} ms, at most {max(found) * 1000:.0f} ms")
        by_outcome = {is_so: edit[1:] for edit, is_so in zip(made, stand, strict=True)}
        named = {"no change": None, "nothing of interest": by_outcome.get(True), "linked again": by_outcome.get(False)}
        texts = {name: edit for name, edit in named.items() if edit is not None or name == "no change"}
        ours = [sys.executable, "-m", "promptlint", "check", "--exit-zero"]
        cold = [measure([*ours, "--no-cache"]) for _ in range(arguments.runs)]
        print(f"  check --no-cache: {told(cold)}")
        for name, taken in in_turns(ours, texts, arguments.runs).items():
            print(f"  check, {name}: {taken}")
        if arguments.hook:
            Path(".pre-commit-config.yaml").write_text(HOOK.format(entry=" ".join(ours)), encoding="utf-8")
            for command in (["init", "-q"], ["add", "-f", "."]):
                subprocess.run(["git", *command], check=True)
            hook = [shutil.which("pre-commit") or sys.exit("pre-commit is not installed"), "run", "--all-files"]
            for name, taken in in_turns(hook, texts, arguments.runs).items():
                print(f"  pre-commit run, {name}: {taken}")


if __name__ == "__main__":
    main()
