"""One run of the user's function: network cut, requests recorded, clock and chance in our hands.

Started by ``twice`` as a process of its own: ``python -m promptlint.probe.child SETTINGS``, with the settings as JSON.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_SAME = b"every run masks alike"
GAP = 61.0
"""Seconds by which the clock goes on with each request: a turn later, another minute."""


@dataclass(frozen=True, slots=True)
class Setup:
    """``target`` is module:function, ``trace`` the file for its requests, ``outcome`` the one for how it ended.

    ``now`` is the unix time at which the run begins, ``seed`` that of everything random.
    """

    target: str
    trace: str
    outcome: str
    now: float
    seed: int


def main(text: str) -> int:
    """Runs the function, and writes down how it ended."""
    setup = Setup(**json.loads(text))
    here = os.getcwd()
    sys.path[:0] = [folder for folder in (here, os.path.join(here, "src")) if os.path.isdir(folder)]
    error = ""
    try:
        _run(setup)
    except SystemExit as end:
        error = "" if end.code in (None, 0) else f"SystemExit: {end.code}"
    except BaseException as failure:
        traceback.print_exc()
        error = f"{type(failure).__name__}: {failure}"
    with open(setup.outcome, "w", encoding="utf-8", errors="replace") as file:
        json.dump({"error": error}, file)
    return 1 if error else 0


def _run(setup: Setup) -> None:
    import time_machine

    from promptlint.probe import network
    from promptlint.recorder import hooks
    from promptlint.recorder.callsite import project_folder
    from promptlint.recorder.flight import Recorder
    from promptlint.trace.format import Exchange, Writer

    _seed(setup.seed)
    network.cut()
    writer = Writer(setup.trace)
    with time_machine.travel(setup.now, tick=False) as clock:

        def written(exchange: Exchange) -> None:
            writer.write(exchange)
            clock.shift(GAP)

        hooks.install()
        recorder = Recorder(written, root=project_folder(os.getcwd()), key=_SAME)
        recorder.start()
        try:
            _call(setup.target)
        finally:
            recorder.stop()
            writer.close()


def _call(target: str) -> None:
    module, _, name = target.partition(":")
    function: Any = import_module(module)
    for step in name.split("."):
        function = getattr(function, step)
    result = function()
    if inspect.isawaitable(result):
        asyncio.run(_awaited(result))


async def _awaited(result: Any) -> None:
    await result


def _seed(seed: int) -> None:
    """Everything random in Python, the generator of the operating system, too, from one seed."""
    source = random.Random(f"promptlint {seed}")

    def urandom(size: int, /) -> bytes:
        return source.randbytes(size)

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]  # what SystemRandom and secrets call
    random.seed(seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
