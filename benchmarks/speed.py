"""Time and memory of ``promptlint check`` beside ruff, and other tools, on trees of 100,000 lines and more.

usage: python benchmarks/speed.py [TREE] [--runs 5] [--peers] [--large] [--write]

Without TREE, two trees are made in benchmarks/.cache of published packages (pip, wheels only, nothing of them is run):
"a web application" (Django with the chat service of examples/ in it: a request here and there, as in most code bases)
and "LLM applications" (which send requests nearly everywhere, the hard case). ``--large`` takes a third one instead,
"site-packages" (nearly five million lines, a dozen LLM frameworks among them), once and without the other tools.
The commands run in turns, so that what else the machine does strikes all of them; the table gives the median. "Warm"
is a run without changes since the one before. Processor time is user plus system time of the process and its children,
memory the largest size of all processes together, what they share counted once (elsewhere than on Linux: of the largest
process). ``--peers`` installs the tools of PEERS into an environment of their own in benchmarks/.cache and runs each
once. ``--write`` puts the table into docs/benchmarks.md between its markers.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
PAGE = HERE.parent / "docs" / "benchmarks.md"
MARKERS = "<!-- {}: start -->", "<!-- {}: end -->"

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
LARGE = {
    "site-packages": (
        "Django==5.1",
        "SQLAlchemy==2.1.9",
        "anthropic==2.14.0",
        "crewai==1.15.30",
        "dspy==3.4.1",
        "haystack-ai==3.4.1",
        "langchain==1.5.2",
        "langchain-community==0.4.2",
        "langchain-core==1.8.4",
        "llama-index-core==0.14.25",
        "openai==3.57.0",
        "pandas==3.1.1",
        "pydantic-ai-slim==2.68.0",
        "scikit-learn==1.9.1",
        "semantic-kernel==1.45.0",
        "smolagents==1.26.0",
        "sympy==1.14.0",
        "transformers==5.24.0",
    ),
}
"""What an environment holds: mostly code that has nothing to do with requests, and the frameworks that send them."""
WITH_EXAMPLE = "a web application"
EXAMPLE = HERE.parent / "examples" / "chat_service"


@dataclass(frozen=True)
class Peer:
    """Another tool: what it is called in the table, what pip installs, and its command without the tree."""

    name: str
    package: str
    command: tuple[str, ...]


PEERS = (
    Peer(
        "semgrep, one taint rule",
        "semgrep==1.185.0",
        (
            "semgrep",
            "scan",
            "--metrics=off",
            "--disable-version-check",
            "--quiet",
            "--no-git-ignore",
            "--config",
            str(HERE / "peers/semgrep.yml"),
        ),
    ),
    Peer(
        "pylint, one checker", "pylint==4.1.4", ("pylint", "--disable=all", "--enable=unused-import", "--recursive=y")
    ),
    Peer("Fixit, one rule", "fixit==2.1.0", ("fixit", "--rules", "fixit.rules:NoInheritFromObject", "lint")),
    Peer("pcdlint", "pcdlint==0.3.0", ("pcdlint",)),
    Peer("spendlint", "spendlint==0.1.4", ("spendlint",)),
)
"""Tools for the same or a similar question, and two that parse all code as promptlint might."""


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds of wall clock, seconds of processor, and megabytes of all processes together."""

    wall: float
    cpu: float
    memory: float


def build_tree(name: str) -> Path:
    """Downloads and unpacks the packages of one of TREES or LARGE, once."""
    tree = CACHE / name.replace(" ", "-")
    for package in (TREES | LARGE)[name]:
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


def measure(command: list[str], anyhow: bool = False) -> Run:
    """Runs a command once; unless ``anyhow``, its exit code may say that there are findings, but not that it failed."""
    installed = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"DO_NOT_TRACK": "1"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=installed)
    assert process.stderr is not None
    together = [0]
    watch = threading.Thread(target=watched, args=(process.pid, together), daemon=True)
    watch.start()
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    watch.join()
    if os.waitstatus_to_exitcode(status) not in (0, 1) and not anyhow:
        sys.exit(f"{' '.join(command)} failed:\n{said.decode(errors='replace')}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall, usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss * unit, together[0]) / 1e6)


def watched(process: int, together: list[int]) -> None:
    """Keeps the largest number of bytes that a process and its children take together, as long as it runs (Linux)."""
    while (now := proportional(process)) is not None:
        together[0] = max(together[0], now)
        time.sleep(1)


def proportional(process: int) -> int | None:
    """The bytes of a process and its children, what is shared counted in parts; ``None`` when it has ended."""
    try:
        rows = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
        below = Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()
    except OSError:
        return None
    own = next((int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:")), None)
    return None if own is None else own + sum(proportional(int(child)) or 0 for child in below)


def version(command: list[str]) -> str:
    """What a tool says its version is."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return next(word for word in said if word[0].isdigit())


def size(tree: Path) -> tuple[int, int]:
    """Python files and their lines."""
    files = [file for file in tree.rglob("*.py") if file.is_file()]
    return len(files), sum(file.read_bytes().count(b"\n") for file in files)


def peers() -> Path:
    """The folder with the commands of PEERS, installed once."""
    place = CACHE / "peers"
    if not (place / "ready").is_file():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", *(p.package for p in PEERS)], check=True)
        (place / "ready").touch()
    return place / "bin"


def commands(tree: Path, kept: Path) -> dict[str, list[str]]:
    """The commands that run in turns, promptlint's cold run first and ruff's second."""
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff is None:
        sys.exit("ruff is not installed: pip install ruff")
    ours = [sys.executable, "-m", "promptlint", "check", "--output-format", "concise", str(tree)]
    theirs = [ruff, "check", "--isolated", "--quiet", str(tree)]
    return {
        "promptlint check --no-cache": [*ours, "--no-cache"],
        "ruff check --no-cache": [*theirs, "--no-cache"],
        "promptlint check, warm": [*ours, "--cache-dir", str(kept / "promptlint")],
        "ruff check, warm": [*theirs, "--cache-dir", str(kept / "ruff")],
    }


def table(tree: Path, what: str, runs: int, with_peers: bool) -> str:
    """The measurement of one tree as Markdown; ``what`` says what is in it."""
    measured: dict[str, list[Run]] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as kept:
        todo = commands(tree, Path(kept))
        for turn in range(runs + 1):
            for name, command in todo.items():
                run = measure(command)
                print(f"{turn}: {name}: {run.wall:.2f} s, {run.cpu:.2f} s CPU, {run.memory:.0f} MB", file=sys.stderr)
                if turn:  # the first turn warms the caches up
                    measured.setdefault(name, []).append(run)
        for name, command in todo.items():
            versions[name] = version(command[: 3 if "promptlint" in command else 1])
        for peer in PEERS if with_peers else ():
            command = [str(peers() / peer.command[0]), *peer.command[1:], str(tree)]
            measured[peer.name] = [measure(command, anyhow=True)]
            versions[peer.name] = peer.package.partition("==")[2]
            print(f"{peer.name}: {measured[peer.name][0]}", file=sys.stderr)
    files, lines = size(tree)
    often = f"median of {runs} alternating runs" if runs > 1 else "one run"
    rows = [
        f"{what}: {lines:,} lines in {files:,} Python files;",
        f"{often}{' (other tools: one run)' * with_peers}; {os.cpu_count()} processors,"
        f" Python {platform.python_version()}.",
        "",
        "| command | version | wall | processor | peak memory | wall, ruff = 1 |",
        "|---|---|---|---|---|---|",
    ]
    unit = statistics.median(run.wall for run in measured["ruff check --no-cache"])
    for name, done in measured.items():
        wall, cpu, memory = (
            statistics.median(getattr(run, field) for run in done) for field in ("wall", "cpu", "memory")
        )
        rows.append(
            f"| `{name}` | {versions[name]} | {wall:.2f} s | {cpu:.2f} s | {memory:.0f} MB | {wall / unit:.1f} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path, help="a folder; default: TREES, downloaded")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", action="store_true", help="also install and run other tools, once each")
    parser.add_argument("--large", action="store_true", help="a tree of five million lines instead, once")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    if arguments.tree is not None:
        text = table(arguments.tree.resolve(), arguments.tree.name, arguments.runs, arguments.peers)
    else:
        trees, runs = (LARGE, 1) if arguments.large else (TREES, arguments.runs)
        contents = {
            n: f"**{n}** ({', '.join(p)}{' and the example service' * (n == WITH_EXAMPLE)})" for n, p in trees.items()
        }
        text = "\n\n".join(table(build_tree(n), what, runs, arguments.peers) for n, what in contents.items())
    print(text)
    if arguments.write:
        start, end = (marker.format("speed, large" if arguments.large else "speed") for marker in MARKERS)
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(start)[0], page.split(end)[1]
        PAGE.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
