"""Time and memory of ``promptlint check`` beside ``ruff check --no-cache`` on trees of 100,000 lines and more.

usage: python benchmarks/speed.py [TREE] [--runs 5] [--write]

Without TREE, two trees are made in benchmarks/.cache of published packages (pip, wheels only, nothing of them is run):
"a web application" (Django with the chat service of examples/ in it: a request here and there, as in most code bases)
and "LLM applications" (which send requests nearly everywhere, the hard case).
The two commands run in turns, so that what else the machine does strikes both;
the table gives the median. Processor time is user plus system time of the process and its children, memory the
largest resident size. ``--write`` puts the table into docs/benchmarks.md between its markers.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
PAGE = HERE.parent / "docs" / "benchmarks.md"
START, END = "<!-- speed: start -->", "<!-- speed: end -->"

TREES = {
    "a web application": ("Django==5.1",),
    "LLM applications": (
        "aider-chat==0.86.2",
        "gpt-researcher==0.16.1",
        "mem0ai==2.2.1",
        "paper-qa==2026.8.12",
        "ra-aid==0.30.2",
    ),
}
"""Requests here and there, as in most code bases; and requests nearly everywhere, the hard case."""
WITH_EXAMPLE = "a web application"
EXAMPLE = HERE.parent / "examples" / "chat_service"


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds of wall clock, seconds of processor, and megabytes."""

    wall: float
    cpu: float
    memory: float


def build_tree(name: str) -> Path:
    """Downloads and unpacks the packages of one of TREES, once."""
    tree = CACHE / name.replace(" ", "-")
    for package in TREES[name]:
        folder = tree / package.replace("==", "-")
        if folder.is_dir():
            continue
        wheels = CACHE / "wheels" / folder.name
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        for version in ("3.12", "3.13"):
            if subprocess.run([*command, "--python-version", version, "-d", wheels, package]).returncode == 0:
                break
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            wheel.extractall(folder)
    if name == WITH_EXAMPLE:
        shutil.copytree(EXAMPLE, tree / EXAMPLE.name, dirs_exist_ok=True)
    return tree


def measure(command: list[str]) -> Run:
    """Runs a command once; its exit code may say that there are findings, but not that it failed."""
    installed = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=installed)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{said.decode(errors='replace')}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def version(command: list[str]) -> str:
    """What a tool says its version is."""
    return subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def size(tree: Path) -> tuple[int, int]:
    """Python files and their lines."""
    files = [file for file in tree.rglob("*.py") if file.is_file()]
    return len(files), sum(file.read_bytes().count(b"\n") for file in files)


def table(tree: Path, what: str, runs: int) -> str:
    """The measurement of one tree as Markdown; ``what`` says what is in it."""
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff is None:
        sys.exit("ruff is not installed: pip install ruff")
    commands = {
        "promptlint check": [
            sys.executable,
            "-m",
            "promptlint",
            "check",
            "--no-cache",
            "--output-format",
            "json",
            str(tree),
        ],
        "ruff check --no-cache": [ruff, "check", "--no-cache", "--isolated", "--quiet", str(tree)],
    }
    versions = {"promptlint check": version(commands["promptlint check"][:3]), "ruff check --no-cache": version([ruff])}
    measured: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            run = measure(command)
            print(f"{turn}: {name}: {run.wall:.2f} s, {run.cpu:.2f} s CPU, {run.memory:.0f} MB", file=sys.stderr)
            if turn:  # the first turn warms the file cache up
                measured[name].append(run)
    files, lines = size(tree)
    rows = [
        f"{what}: {lines:,} lines in {files:,} Python files;",
        f"median of {runs} alternating runs; {os.cpu_count()} processors, Python {platform.python_version()}.",
        "",
        "| command | version | wall | processor | peak memory |",
        "|---|---|---|---|---|",
    ]
    medians = {}
    for name, done in measured.items():
        middle = Run(*(statistics.median(getattr(run, field) for run in done) for field in ("wall", "cpu", "memory")))
        medians[name] = middle
        rows.append(
            f"| `{name}` | {versions[name]} | {middle.wall:.2f} s | {middle.cpu:.2f} s | {middle.memory:.0f} MB |"
        )
    ours, theirs = medians.values()
    rows.append(f"| ratio | | {ours.wall / theirs.wall:.1f} | {ours.cpu / theirs.cpu:.1f} | |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path, help="a folder; default: TREES, downloaded")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    if arguments.tree is not None:
        text = table(arguments.tree.resolve(), arguments.tree.name, arguments.runs)
    else:
        contents = {
            n: f"**{n}** ({', '.join(p)}{' and the example service' * (n == WITH_EXAMPLE)})" for n, p in TREES.items()
        }
        text = "\n\n".join(table(build_tree(n), what, arguments.runs) for n, what in contents.items())
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
