"""Time and memory of ``promptlint check`` beside ``ruff check --no-cache`` on one tree of about 100,000 lines.

usage: python benchmarks/speed.py [TREE] [--runs 5] [--write]

Without TREE, the published applications of PACKAGES are downloaded (pip, wheels only, nothing of them is run) into
benchmarks/.cache and unpacked there. The two commands run in turns, so that what else the machine does strikes both;
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

PACKAGES = ("aider-chat==0.86.2", "gpt-researcher==0.16.1", "mem0ai==2.2.1", "paper-qa==2026.8.12", "ra-aid==0.30.2")
"""Applications that send requests in many places: hard for promptlint, nothing special to ruff."""


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds of wall clock, seconds of processor, and megabytes."""

    wall: float
    cpu: float
    memory: float


def build_tree() -> Path:
    """Downloads and unpacks PACKAGES, once."""
    tree = CACHE / "tree"
    for package in PACKAGES:
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
    return tree


def measure(command: list[str]) -> Run:
    """Runs a command once; its exit code may say that there are findings, but not that it failed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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


def table(tree: Path, runs: int) -> str:
    """The measurement as Markdown."""
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff is None:
        sys.exit("ruff is not installed: pip install ruff")
    commands = {
        "promptlint check": [sys.executable, "-m", "promptlint", "check", "--output-format", "json", str(tree)],
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
    what = ", ".join(PACKAGES) if tree.is_relative_to(CACHE) else tree.name
    rows = [
        f"{lines:,} lines in {files:,} Python files ({what});",
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
    parser.add_argument("tree", nargs="?", type=Path, help="a folder; default: PACKAGES, downloaded")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    text = table((arguments.tree or build_tree()).resolve(), arguments.runs)
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
