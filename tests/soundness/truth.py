"""What programs really send: each is run twice, in processes that differ in clock, hash seed, host and directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
STARTS = (1_782_900_300.0, 1_783_180_177.0)  # 2026-07-01 10:05:00 and 2026-07-04 15:49:37, UTC
SEEDS = (11, 7_919)
REGIONS = ("tools", "system", "messages")

Body = dict[str, Any]
"""One request as it was recorded: ``api``, ``conversation`` and ``body``."""

_TAG = re.compile(r"<s(\d)>.*?</s\1>", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One tool, system block or message, in wire order."""

    region: str
    text: str
    role: str = ""

    def tags(self) -> dict[str, str]:
        """The text between the tags of each source that is rendered here."""
        return {f"s{found[1]}": found[0] for found in _TAG.finditer(self.text)}

    def frame(self) -> str:
        """The text without what is between tags."""
        return _TAG.sub(r"<s\1>", self.text)

    def tag_at(self, offset: int) -> str | None:
        """The source whose text stands at an offset."""
        return next((f"s{m[1]}" for m in _TAG.finditer(self.text) if m.start() <= offset < m.end()), None)


@dataclass(frozen=True)
class Sent:
    """One request: its blocks in wire order, without cache markers, and how many markers it had."""

    conversation: int
    blocks: tuple[Block, ...]
    markers: int


@dataclass(frozen=True)
class Divergence:
    """Where a request stops repeating an earlier one. ``tag`` is the source there, ``None`` for a change of structure.

    ``last`` says that it is in the last message of the earlier request, ``behind`` how many characters of the tools and
    system blocks follow it.
    """

    block: Block
    tag: str | None
    last: bool
    behind: int


@dataclass(frozen=True)
class Run:
    """All requests of one process, in order."""

    requests: tuple[Sent, ...]

    def conversations(self) -> list[list[Sent]]:
        """The requests of each conversation."""
        numbers = dict.fromkeys(r.conversation for r in self.requests)
        return [[r for r in self.requests if r.conversation == number] for number in numbers]


def execute(folders: Sequence[Path], work: Path) -> list[tuple[Run, Run]]:
    """What the programs send in two fresh processes."""
    return [
        (Run(tuple(map(_sent, first))), Run(tuple(map(_sent, second)))) for first, second in recorded(folders, work)
    ]


def recorded(folders: Sequence[Path], work: Path) -> list[tuple[list[Body], list[Body]]]:
    """The requests of each program as they are sent in two fresh processes; one that fails raises."""
    programs = work / "programs.json"
    programs.write_text(json.dumps([str(f) for f in folders]), "utf-8")
    both: list[list[list[Body]]] = []
    for number, (start, seed) in enumerate(zip(STARTS, SEEDS, strict=True)):
        home, out = work / f"home{number}", work / f"out{number}.json"
        home.mkdir(exist_ok=True)
        env = {**os.environ, "PYTHONPATH": str(DATA), "PYTHONHASHSEED": str(seed), "DESK": f"desk {number}"}
        command = [sys.executable, str(DATA / "driver.py"), str(programs), str(out), str(start), f"host{number}"]
        subprocess.run(command, cwd=home, env=env, check=True)
        results = json.loads(out.read_text("utf-8"))
        for folder, result in zip(folders, results, strict=True):
            if result["problem"]:
                raise AssertionError(f"{folder} does not run:\n{result['problem']}")
        both.append([result["requests"] for result in results])
    return list(zip(*both, strict=True))


def divergence(earlier: Sent, later: Sent) -> Divergence | None:
    """Where ``later`` stops repeating ``earlier``; ``None`` when it only goes on."""
    for number, block in enumerate(earlier.blocks):
        other = later.blocks[number] if number < len(later.blocks) else Block("messages", "")
        if (block.region, block.role, block.text) == (other.region, other.role, other.text):
            continue
        pairs = zip(block.text, other.text, strict=False)
        offset = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(block.text), len(other.text)))
        same_frame = block.region == other.region and block.frame() == other.frame()
        tag = (block.tag_at(offset) or other.tag_at(offset)) if same_frame else None
        rest = [b.text for b in earlier.blocks[number + 1 :] if b.region != "messages"]
        behind = sum(map(len, rest)) + (len(block.text) - offset if block.region != "messages" else 0)
        return Divergence(block, tag, number == len(earlier.blocks) - 1, behind)
    return None


def frames(request: Sent) -> Sent:
    """The request without what is between tags."""
    blocks = tuple(Block(block.region, block.frame(), block.role) for block in request.blocks)
    return Sent(request.conversation, blocks, request.markers)


def _sent(recorded: Body) -> Sent:
    body = recorded["body"]
    blocks = tuple(_blocks(recorded["api"], body))
    return Sent(recorded["conversation"], blocks, json.dumps(body, default=str).count('"cache_control"'))


def _blocks(api: str, body: dict[str, Any]) -> Iterator[Block]:
    for tool in body.get("tools") or ():
        yield Block("tools", json.dumps(_unmarked(tool), ensure_ascii=False))
    system = body.get("system") if api == "anthropic" else body.get("instructions")
    for block in [system] if isinstance(system, str) else system or ():
        yield Block("system", block if isinstance(block, str) else block["text"])
    for message in body["input" if api == "responses" else "messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
        yield Block("system" if message["role"] == "system" else "messages", text, message["role"])


def _unmarked(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != "cache_control"}
