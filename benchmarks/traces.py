"""A synthetic trace of any length, and what ``promptlint trace`` takes for it in time and memory.

usage: python benchmarks/traces.py [--requests 100000] [--keep] [--output-format json]

Conversations of 4 to 16 turns run side by side, 200 at a time; about a third of them have one of the faults below, each
in its own call site. Bodies have about 10 kB on average. The trace stands in benchmarks/.cache and is removed
afterwards, unless ``--keep``. Prints the size of the trace, the wall clock time, and the largest resident size of the
process, and whether each fault was named at its call site and nothing at the sound ones.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
AT_ONCE = 200
WORDS = (
    *(
        "order",
        "customer",
        "paid",
        "shipped",
        "returned",
        "address",
        "invoice",
        "warehouse",
        "delay",
        "refund",
        "parcel",
    ),
    *("number", "email", "phone", "agent", "review", "policy", "credit", "account", "total", "price", "stock", "color"),
    *("size", "model", "answer", "question", "reason", "detail", "message", "update", "request"),
)
SYSTEM = "".join(
    f"Rule {n}: handle the case number {n} of the handbook with care, and say what you did.\n" for n in range(70)
)
TOOLS = [
    {
        "name": name,
        "description": f"{name} an order of the shop. " * 6,
        "input_schema": {"type": "object", "properties": {}},
    }
    for name in ("find", "change", "cancel")
]

Body = dict[str, Any]
FAULTS: dict[str, tuple[str, Callable[[Body, int, random.Random], Body]]] = {
    "clock": (
        "clock-like",
        lambda body, at, rng: (
            body | {"system": marked(f"It is {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))}. {SYSTEM}")}
        ),
    ),
    "uuid": (
        "uuid-like",
        lambda body, at, rng: body | {"system": marked(f"Session {rng.getrandbits(128):032x}. {SYSTEM}")},
    ),
    "tools": ("tools reordered", lambda body, at, rng: body | {"tools": rng.sample(TOOLS, 3)}),
    "window": ("front deleted", lambda body, at, rng: body | {"messages": body["messages"][-5:]}),
    "choice": ("parameter only", lambda body, at, rng: body | {"tool_choice": {"type": rng.choice(["auto", "any"])}}),
}
"""What goes wrong: the cause that has to be named, and how the body of a request gets it."""
SOUND = "sound"


def marked(text: str) -> list[Body]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


@dataclass
class Talk:
    """One conversation on its way."""

    number: int
    kind: str
    turns: int
    rng: random.Random
    messages: list[Body] = field(default_factory=list)
    turn: int = 0

    def text(self, words: int) -> str:
        return f"{self.number}.{self.turn}: " + " ".join(self.rng.choices(WORDS, k=words)) + "."

    def body(self, at: int) -> Body:
        """The next request."""
        if self.messages:
            self.messages.append({"role": "assistant", "content": [{"type": "text", "text": self.text(60)}]})
        self.messages.append({"role": "user", "content": [{"type": "text", "text": self.text(50)}]})
        self.turn += 1
        last = self.messages[-1]["content"][0]
        ended = [*self.messages[:-1], {"role": "user", "content": [last | {"cache_control": {"type": "ephemeral"}}]}]
        body: Body = {
            "model": "claude-sonnet-5",
            "max_tokens": 500,
            "system": marked(SYSTEM),
            "messages": ended,
            "tools": TOOLS,
        }
        return FAULTS[self.kind][1](body, at, self.rng) if self.kind in FAULTS else body


def records(requests: int, seed: int = 1) -> Iterator[str]:
    """The lines of the trace."""
    rng = random.Random(seed)
    talks: list[Talk] = []
    started = 0
    for number in range(requests):
        while len(talks) < AT_ONCE:
            started += 1
            kind = rng.choice([*FAULTS, *[SOUND] * 2 * len(FAULTS)])
            talks.append(Talk(started, kind, rng.randint(4, 16), random.Random(started)))
        talk = talks[rng.randrange(len(talks))]
        at = 1_764_460_000 + number // 4
        yield json.dumps(
            {
                "v": 1,
                "id": f"r{number}",
                "at": at + number % 4 / 4,
                "began": 0.4,
                "lasted": 2.0,
                "endpoint": "https://api.anthropic.com/v1/messages",
                "provider": None,
                "api": "messages",
                "headers": {},
                "body": json.dumps(talk.body(at)),
                "status": 200,
                "usage": None,
                "stack": [{"file": f"app/{talk.kind}.py", "line": 12, "function": "turn"}],
            }
        )
        if talk.turn == talk.turns:
            talks.remove(talk)


def written(path: Path, requests: int) -> int:
    """Writes the trace; its size in bytes."""
    with path.open("w", encoding="utf-8") as file:
        for line in records(requests):
            file.write(line + "\n")
    return path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    path = CACHE / f"trace-{given.requests}.jsonl"
    size = path.stat().st_size if path.exists() else written(path, given.requests)
    started = time.monotonic()
    command = [sys.executable, "-m", "promptlint", "trace", str(path), "--output-format", "json", "--exit-zero"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report = json.loads(done.stdout)
    if not given.keep:
        path.unlink()
    print(f"{given.requests:,} requests, {size / 1e9:.2f} GB: {took:,.0f} s, {peak:,.0f} MB at most")
    print(f"{report['conversations']:,} conversations, {report['closed']:,} closed early")
    found: dict[str, set[str]] = {}
    for loss in report["losses"]:
        found.setdefault(loss["site"][0]["file"][4:-3], set()).add(f"{loss['cause']} ({loss['requests']:,})")
    for kind in (*FAULTS, SOUND):
        print(
            f"{kind:8} {FAULTS[kind][0] if kind in FAULTS else 'nothing':16} {', '.join(sorted(found.get(kind, ())))}"
        )


if __name__ == "__main__":
    main()
