"""Work for several processes: copies of this one, which see all that it has made so far and send back their results."""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_CHUNK = 1 << 20


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Whether copies of this process are safe: not on Windows or macOS, nor where other threads may hold locks."""
    return hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1


@dataclass(slots=True)
class _Worker:
    number: int
    process: int
    read: int
    received: bytearray = field(default_factory=bytearray)


def each(
    order: Sequence[int], work: Callable[[int], bytes], most: int, done: Callable[[int], None]
) -> dict[int, bytes]:
    """What ``work`` makes of each number, in processes of their own, at most ``most`` at a time.

    They start in the order given; ``done`` is called as each ends, and may raise to stop all of them. A number is left
    out whose process could not be started, was killed or failed: the caller has to do without, or do it himself.
    """
    waiting, found = list(reversed(order)), dict[int, bytes]()
    running: dict[int, _Worker] = {}
    gc.collect()
    gc.freeze()  # a collection in a copy would touch, and so double, all that is shared
    try:
        with selectors.DefaultSelector() as selector:
            while waiting or running:
                while waiting and len(running) < most:
                    worker = _started(waiting.pop(), work, [w.read for w in running.values()])
                    if worker is not None:
                        running[worker.read] = worker
                        selector.register(worker.read, selectors.EVENT_READ)
                for key, _ in selector.select() if running else ():
                    worker = running[key.fd]
                    data = os.read(worker.read, _CHUNK)
                    if data:
                        worker.received += data
                        continue
                    selector.unregister(worker.read)
                    del running[worker.read]
                    if _ended(worker):
                        found[worker.number] = bytes(worker.received)
                    done(worker.number)
    finally:
        for worker in running.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.process, signal.SIGKILL)
            _ended(worker)
        gc.unfreeze()
    return found


def _started(number: int, work: Callable[[int], bytes], others: Sequence[int]) -> _Worker | None:
    try:
        read, write = os.pipe()
    except OSError:
        return None
    try:
        process = os.fork()
    except OSError:  # no more processes, or no memory for one
        os.close(read)
        os.close(write)
        return None
    if process:
        os.close(write)
        return _Worker(number, process, read)
    code = 1
    try:
        for other in (read, *others):
            os.close(other)
        with open(write, "wb") as stream:
            stream.write(work(number))
        code = 0
    finally:
        os._exit(code)  # nothing of what the copied process would do at its end


def _ended(worker: _Worker) -> bool:
    """Whether a process came to its end by itself."""
    os.close(worker.read)
    _, status = os.waitpid(worker.process, 0)
    return status == 0
