"""How the cost of ``promptlint check`` grows with the size of generated projects.

usage: python benchmarks/scaling.py [SHAPE ...] [--largest LINES] [--write]

Each shape grows one thing and leaves the rest as it is: lines that have nothing to do with requests, requests, the
depth of calls between entry and request, methods of a class, branches of a function, nesting. Where a size is twice
the one before, a cost that grows linearly at most doubles. Counted is processor time (user and system, the better of
two cold runs), and the largest resident size. ``--write`` puts the table into docs/benchmarks.md between its markers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from speed import PAGE, measure

START, END = "<!-- scaling: start -->", "<!-- scaling: end -->"

AGENT = """
import datetime
from anthropic import Anthropic

client = Anthropic()
SYSTEM = "Answer with care. " * 400


def ask{n}(history, note):
    system = SYSTEM + note + str(datetime.datetime.now())
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=99, system=system, messages=history)


def chat{n}():
    history = []
    while True:
        history.append({{"role": "user", "content": input()}})
        history.append({{"role": "assistant", "content": {call}.content}})
"""
"""A conversation with a clock in its system text."""

PLAIN = '''
class Order{n}:
    """One order of a customer."""

    def __init__(self, number, items):
        self.number = number
        self.items = list(items)

    def total(self, rate):
        result = 0
        for item in self.items:
            if item.price > rate:
                result += item.price * item.count
            else:
                result -= rate
        return result


def load{n}(rows):
    return [Order{n}(row["number"], row["items"]) for row in rows if row.get("open")]
'''
"""Code that sends nothing: 20 lines."""


def agent(n: int, call: str = "") -> str:
    return AGENT.format(n=n, call=call or f'ask{n}(history, "be brief")')


def lines(size: int) -> Iterator[tuple[str, str]]:
    """``size`` lines in files of 400, and one conversation."""
    yield "agent.py", agent(0)
    for number in range(size // 400):
        yield f"pkg{number // 100}/module{number}.py", "".join(PLAIN.format(n=n) for n in range(20))


def requests(size: int) -> Iterator[tuple[str, str]]:
    """``size`` files with a conversation each."""
    yield from ((f"app/agent{number}.py", agent(number)) for number in range(size))


def depth(size: int) -> Iterator[tuple[str, str]]:
    """``size`` functions between the loop and the request, each in a file of its own."""
    for number in range(size):
        inner = f"step{number + 1}" if number + 1 < size else "ask0"
        module = f"link{number + 1}" if number + 1 < size else "agent"
        yield (
            f"link{number}.py",
            f"from {module} import {inner}\n\n\ndef step{number}(history, note):\n    return {inner}(history, note)\n",
        )
    yield "agent.py", agent(0)
    yield "main.py", f"from link0 import step0\n{agent(1, 'step0(history, str(input()))')}"


def wide(size: int) -> Iterator[tuple[str, str]]:
    """A class of ``size`` methods that share attributes, one of which sends a request."""
    methods = "".join(
        f"    def set{n}(self, value):\n        self.value{n} = value\n        self.history.append(self.value{n})\n\n"
        for n in range(size)
    )
    send = (
        "    def send(self):\n        return client.messages.create(model='claude-sonnet-4-5', max_tokens=9, "
        "system=SYSTEM + str(datetime.datetime.now()), messages=self.history)\n"
    )
    yield (
        "agent.py",
        f"{agent(0)}\n\nclass Chat:\n    def __init__(self):\n        self.history = []\n\n{methods}{send}",
    )


def branches(size: int) -> Iterator[tuple[str, str]]:
    """A function whose system text is put together in ``size`` branches."""
    ways = "".join(f"    if mode == {n}:\n        text += 'way {n}'\n" for n in range(size))
    more = f"\n\ndef prompt(mode, text):\n{ways}    return text\n"
    yield "agent.py", agent(0, 'ask0(history, prompt(input(), "Answer"))') + more


def nesting(size: int) -> Iterator[tuple[str, str]]:
    """A prompt of ``size`` nested calls, and a function that calls itself."""
    nested = "str(" * (size - 1) + "str(1)" + ")" * (size - 1)
    more = f"\n\nNESTED = {nested}\n\n\ndef again(n, text):\n    return again(n - 1, text + NESTED) if n else text\n"
    yield "agent.py", agent(0, 'ask0(history, again(9, "x"))') + more


SHAPES: dict[str, tuple[Callable[[int], Iterator[tuple[str, str]]], tuple[int, ...]]] = {
    "lines": (lines, (10_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)),
    "requests": (requests, (10, 20, 40, 80, 160)),
    "depth": (depth, (8, 16, 32, 64)),
    "wide": (wide, (125, 250, 500, 1000)),
    "branches": (branches, (125, 250, 500, 1000)),
    "nesting": (nesting, (20, 40, 80)),
}
"""What grows, and its sizes."""


def table(shapes: list[str], largest: int) -> str:
    rows = ["| what grows | size | processor | growth | peak memory |", "|---|---|---|---|---|"]
    for name in shapes:
        make, sizes = SHAPES[name]
        before: float | None = None
        size_before = 0
        for size in sizes:
            if name == "lines" and size > largest:
                break
            with tempfile.TemporaryDirectory() as folder:
                for path, text in make(size):
                    file = Path(folder, path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                command = [
                    sys.executable,
                    "-m",
                    "promptlint",
                    "check",
                    "--no-cache",
                    "--output-format",
                    "concise",
                    folder,
                ]
                runs = [measure(command) for _ in range(2)]
            cpu, memory = min(run.cpu for run in runs), min(run.memory for run in runs)
            growth = f"x {cpu / before:.1f} for x {size // size_before}" if before else ""
            print(f"{name} {size}: {cpu:.2f} s, {memory:.0f} MB {growth}", file=sys.stderr)
            rows.append(f"| {make.__name__} | {size:,} | {cpu:.2f} s | {growth} | {memory:.0f} MB |")
            before, size_before = cpu, size
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}; default: all")
    parser.add_argument("--largest", type=int, default=3_200_000, help="lines of the largest project")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    text = table(arguments.shapes or list(SHAPES), arguments.largest)
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
