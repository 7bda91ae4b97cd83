"""The user's function run in fresh processes that differ in what should not matter: what differs then, matters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from promptlint.probe.child import Setup
from promptlint.trace.format import Exchange, read
from promptlint.trace.texts import Change

HINT = 'running a function with its clock shifted needs time-machine: install "promptlint-cache[probe]"'
SECONDS = 120.0
"""How long one run may take."""
_LARGEST = 500_000_000
"""Bytes of a working directory that are copied for a run."""
_LEFT_OUT = (".git", ".hg", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".ruff_cache", ".tox")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY", "GROQ_API_KEY")
_AWS = {"AWS_ACCESS_KEY_ID": "probe", "AWS_SECRET_ACCESS_KEY": "probe", "AWS_DEFAULT_REGION": "us-east-1"}
_ROOT = Path(__file__).resolve().parents[2]


class TwiceError(Exception):
    """A function that cannot be run; the message says why."""


@dataclass(frozen=True, slots=True)
class World:
    """What a run takes place in. ``late`` are seconds by which its clock is ahead."""

    late: float = 0.0
    hashing: int = 0
    folder: int = 0
    seed: int = 0


BASE = World()
MINUTE = World(61.0, 1, 1, 1)
DAY = World(90_000.0, 2, 2, 2)
"""25 hours: another date, and another hour."""
MORE = (World(61.0, 3, 1, 3), World(61.0, 4, 1, 4))
"""Further orders of sets, for those that two others leave as they are."""


def axes(world: World, change: Change) -> list[tuple[str, World]]:
    """Worlds that differ from the first in one of the things in which this one does, and the name of that thing.

    The one that such a change mostly comes from is the first.
    """
    hours = world.late / 3600
    late = f"{hours:g} h" if hours >= 1 else f"{world.late:g} s"
    clock = (f"the clock ({late} later)", replace(BASE, late=world.late))
    order = ("PYTHONHASHSEED (the order of sets)", replace(BASE, hashing=world.hashing))
    chance = ("the random seed (random, uuid, os.urandom)", replace(BASE, seed=world.seed))
    place = ("the working directory", replace(BASE, folder=world.folder))
    match change:
        case Change.PERMUTATION | Change.TOOL_REORDERED | Change.KEYS:
            return [order, chance, clock, place]
        case Change.ID | Change.IDS:
            return [chance, clock, order, place]
        case Change.TEXT:
            return [place, order, chance, clock]
    return [clock, chance, order, place]


@dataclass(frozen=True, slots=True)
class Run:
    """The requests of one run, and what ended it early, if anything did."""

    exchanges: tuple[Exchange, ...]
    error: str = ""


class Stage:
    """Runs one function again and again, each time in a folder of its own."""

    def __init__(self, target: str, home: Path, seconds: float = SECONDS) -> None:
        """Raises ``TwiceError`` without the extra that shifts clocks."""
        if find_spec("time_machine") is None:
            raise TwiceError(HINT)
        self.target, self.home, self.seconds = target, home, seconds
        self._now = time.time()
        self._folder = tempfile.TemporaryDirectory(prefix="promptlint-")
        self._runs = 0
        self.notes: list[str] = []
        """What the user should know about the runs."""
        self._copied = _size(home) <= _LARGEST
        if not self._copied:
            self.notes.append(f"{home} is too large to be copied: all runs take place in it")

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, world: World) -> Run:
        """One run. Raises ``TwiceError`` when the function cannot even be called."""
        self._runs += 1
        place = Path(self._folder.name) / f"{self._runs}"
        place.mkdir()
        trace, outcome = place / "trace.jsonl", place / "outcome.json"
        setup = Setup(self.target, str(trace), str(outcome), self._now + world.late, world.seed)
        command = [sys.executable, "-m", "promptlint.probe.child", json.dumps(asdict(setup))]
        trouble = ""
        try:
            done = subprocess.run(
                command,
                cwd=self._copy(world.folder),
                env=_environment(world),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
            )
            if not outcome.exists():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()
                trouble = f"the process ended with status {done.returncode}: {said[-1] if said else 'nothing said'}"
        except subprocess.TimeoutExpired:
            trouble = f"it had not ended after {self.seconds:g} s"
        if not trouble:
            trouble = str(json.loads(outcome.read_text(encoding="utf-8"))["error"])
        exchanges = tuple(read(trace)) if trace.exists() else ()
        if not exchanges and trouble:
            raise TwiceError(f"{self.target} made no request: {trouble}")
        return Run(tuple(_in_turn(exchanges)), trouble)

    def _copy(self, number: int) -> Path:
        """The folder of a run: the same one for the same number, and as it was at the beginning."""
        if not self._copied:
            return self.home
        place = Path(self._folder.name) / f"copy-{'abcdefgh'[number]}" / self.home.name
        shutil.rmtree(place, ignore_errors=True)
        try:
            shutil.copytree(self.home, place, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        except shutil.Error as error:  # it has copied the rest
            lost = f"{error.args[0][0][0]} and {len(error.args[0]) - 1} more"
            note = f"files were left out of the copies that the runs take place in: {lost}"
            self.notes += [note] if note not in self.notes else []
        return place


def _in_turn(exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """The requests in the order of sending, a minute apart, whatever the clock of the program said."""
    for number, exchange in enumerate(sorted(exchanges, key=lambda e: e.at)):
        yield replace(exchange, at=exchange.at + number / 1000)


def _size(folder: Path) -> int:
    """Bytes of what a copy would hold; no more than one too many are counted."""
    total = 0
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
        if total > _LARGEST:
            break
    return total


def _environment(world: World) -> dict[str, str]:
    """The user's own without proxies; keys are replaced, and made up where there are none: clients insist on one."""
    kept = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
    path = os.pathsep.join(part for part in (kept.get("PYTHONPATH", ""), str(_ROOT)) if part)
    keys = dict.fromkeys({*_KEYS, *(name for name in kept if name.endswith("_API_KEY"))}, "sk-no-key-of-anybody")
    return {**_AWS, **kept, **keys, "PYTHONHASHSEED": str(world.hashing), "PYTHONPATH": path}
