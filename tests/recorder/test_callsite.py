"""The call site is the user's code that asked, whatever the request runs in."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import pytest

from promptlint.recorder.callsite import Project, Stack, follow, forget, project_folder, stack
from promptlint.recorder.hooks import install
from promptlint.trace.format import read
from tests.emulator import emulator

HERE = "tests/recorder/test_callsite.py"


@pytest.fixture
def project() -> Iterator[Project]:
    install()
    made = Project(project_folder(str(Path(__file__).parent)))
    follow(made)
    yield made
    forget(made)


def functions(found: Stack) -> list[str]:
    """The functions of this file, without the test's own."""
    return [f.function.rpartition(".<locals>.")[2] for f in found if f.file == HERE and "<locals>" in f.function]


def waiting(project: Project) -> Callable[[], Stack]:
    """A job that takes a moment, as every request does."""

    def later() -> Stack:
        time.sleep(0.01)
        return stack(project)

    return later


def test_frames_of_the_project_only(project: Project) -> None:
    def inner() -> Stack:
        return json.loads("1", parse_int=lambda text: stack(project))  # type: ignore[no-any-return]

    found = inner()
    assert functions(found) == ["<lambda>", "inner"]
    assert {f.file for f in found} == {HERE}
    assert found[1].line == inner.__code__.co_firstlineno + 1


def test_a_library_task_is_traced_to_who_made_it(project: Project) -> None:
    later = waiting(project)

    async def foreign() -> Stack:
        await asyncio.sleep(0)
        return await asyncio.get_running_loop().run_in_executor(None, later)

    hidden = eval(compile("lambda f: (lambda: f())", "/usr/lib/python3/site-packages/sdk.py", "eval"))

    async def gathers() -> list[Stack]:
        return list(await asyncio.gather(*(hidden(foreign)() for _ in range(2))))

    async def groups() -> Stack:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(foreign())
        return task.result()

    async def threads() -> Stack:
        return await asyncio.to_thread(later)

    async def main() -> None:
        for found in await gathers():
            assert functions(found)[:3] == ["later", "foreign", "gathers"]
        assert functions(await groups())[:3] == ["later", "foreign", "groups"]
        assert functions(await threads())[:3] == ["later", "threads", "main"]

    asyncio.run(main())


def test_a_thread_or_job_is_traced_to_who_made_it(project: Project) -> None:
    results: list[Stack] = []

    def starts() -> None:
        thread = threading.Thread(target=lambda: results.append(stack(project)))
        thread.start()
        thread.join()

    submitted = threading.Event()

    def job() -> Stack:
        submitted.wait(5)
        return stack(project)

    def submits(pool: ThreadPoolExecutor) -> Stack:
        future = pool.submit(job)
        submitted.set()
        return future.result()

    def submits_again(pool: ThreadPoolExecutor) -> Stack:
        submitted.clear()
        futures = [pool.submit(job) for _ in range(2)]
        submitted.set()
        return futures[1].result()

    starts()
    assert functions(results[0])[:2] == ["<lambda>", "starts"]
    with ThreadPoolExecutor(1) as pool:
        assert functions(submits(pool))[:2] == ["job", "submits"]
        assert functions(submits_again(pool))[:2] == ["job", "submits_again"]


def test_only_the_own_tasks_context_is_used(project: Project) -> None:
    later = waiting(project)

    async def one() -> list[str]:
        return functions(await asyncio.ensure_future(asyncio.to_thread(later)))

    async def two() -> list[str]:
        return functions(await asyncio.ensure_future(asyncio.to_thread(later)))

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(one(), two()))

    first, second = asyncio.run(main())
    assert (first[:2], second[:2]) == (["later", "one"], ["later", "two"])
    assert "two" not in first and "one" not in second


def test_what_is_no_file_of_the_project_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "src" / "app").mkdir(parents=True)
    assert project_folder(str(tmp_path / "src" / "app")) == str(tmp_path)
    made = Project(str(tmp_path))
    assert made.name(str(tmp_path / "src/app/a.py"), main=False) == "src/app/a.py"
    assert made.name(str(tmp_path / ".venv/lib/python3.12/site-packages/x.py"), main=False) is None
    assert made.name(str(tmp_path.parent / "other.py"), main=False) is None
    assert made.name(str(tmp_path.parent / "script.py"), main=True) == str(tmp_path.parent / "script.py")
    assert made.name("<stdin>", main=True) == "<stdin>"
    assert made.name("<string>", main=False) is None
    assert made.name("<frozen runpy>", main=True) is None
    assert made.name(sys.executable, main=True) is None


PROGRAM = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
import anthropic

ASK = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
sync = anthropic.Anthropic(base_url=sys.argv[1], api_key="k")

def plain():
    sync.messages.create(**ASK)

def pooled():
    with ThreadPoolExecutor(2) as pool:
        [f.result() for f in [pool.submit(sync.messages.create, **ASK) for _ in range(2)]]

def threaded():
    thread = threading.Thread(target=sync.messages.create, kwargs=ASK)
    thread.start()
    thread.join()

def streamed():
    with sync.messages.stream(**ASK) as stream:
        stream.get_final_message()

async def gathered(client):
    await asyncio.gather(*[client.messages.create(**ASK) for _ in range(2)])

async def streamed_async(client):
    async with client.messages.stream(**ASK) as stream:
        async for _ in stream.text_stream:
            pass

async def in_a_thread():
    await asyncio.to_thread(sync.messages.create, **ASK)

async def main():
    async with anthropic.AsyncAnthropic(base_url=sys.argv[1], api_key="k") as client:
        await gathered(client)
        await streamed_async(client)
        await in_a_thread()

plain()
pooled()
threaded()
streamed()
asyncio.run(main())
"""


def test_call_sites_of_a_program_with_threads_and_tasks(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    with emulator() as vendor:
        command = [
            sys.executable,
            "-m",
            "promptlint",
            "record",
            "--",
            sys.executable,
            "-W",
            "ignore",
            "app.py",
            vendor.url,
        ]
        subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(Path(__file__).parents[2])}, check=True)
    found = list(read(tmp_path / "trace.jsonl"))
    sites = [(exchange.stack[0].file, exchange.stack[0].function) for exchange in found]
    functions = ["plain", "pooled", "pooled", "threaded", "streamed"]
    functions += ["gathered", "gathered", "streamed_async", "in_a_thread"]
    assert sites == [("app.py", name) for name in functions]
    assert all(exchange.usage and exchange.stack[-1].function == "<module>" for exchange in found)


def test_the_sdk_in_use_is_of_the_newer_generation() -> None:
    assert anthropic.Client.__mro__[1].__module__ == "anthropic._base_client"
