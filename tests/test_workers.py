"""Work in several processes: every result comes back, and those that die take nothing else with them."""

from __future__ import annotations

import os
import signal
import time

import pytest

from promptlint import workers

pytestmark = pytest.mark.skipif(not workers.can_fork(), reason="nothing is forked here")


def nothing(number: int) -> None:
    pass


def test_each_result_comes_back_whatever_its_size() -> None:
    sizes = [0, 1, 70_000, 3_000_000]
    ended: list[int] = []
    found = workers.each([3, 0, 2, 1], lambda n: b"x" * sizes[n], 2, ended.append)
    assert {number: len(data) for number, data in found.items()} == dict(enumerate(sizes))
    assert sorted(ended) == [0, 1, 2, 3]


def test_they_run_in_other_processes_and_see_what_this_one_has_made() -> None:
    made = {"kept": b"as it was"}

    def work(number: int) -> bytes:
        made["kept"] += b", changed"
        return made["kept"] + str(os.getpid()).encode()

    found = workers.each([0, 1], work, 1, nothing)
    assert all(data.startswith(b"as it was, changed") for data in found.values())
    assert len({*found.values(), made["kept"] + str(os.getpid()).encode()}) == 3
    assert made == {"kept": b"as it was"}


def test_who_is_killed_or_fails_is_left_out() -> None:
    def work(number: int) -> bytes:
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 2:
            raise MemoryError
        return b"done"

    assert workers.each([0, 1, 2, 3], work, 2, nothing) == {0: b"done", 3: b"done"}


def test_where_no_process_can_be_started_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert workers.each([0, 1], lambda n: b"", 2, nothing) == {}
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_who_stops_the_run_stops_the_others(tmp_path: os.PathLike[str]) -> None:
    class Stop(Exception):
        pass

    def work(number: int) -> bytes:
        with open(os.path.join(tmp_path, str(number)), "w") as file:
            file.write(str(os.getpid()))
        if number:
            time.sleep(600)
        return b""

    def stop(number: int) -> None:
        while not os.path.exists(os.path.join(tmp_path, "1")):
            time.sleep(0.01)
        raise Stop

    with pytest.raises(Stop):
        workers.each([1, 0], work, 2, stop)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
