"""Programs that others wrote, each run with and without ``promptlint record`` against a real engine (llama.cpp).

    python -m benchmarks.applications [--write]

Two environments are made in benchmarks/.cache: one with today's libraries (httpx2), one with the SDKs of 2024 on httpx.
For each program: output and exit code have to be the same with a recorder as without, the bodies that reach the server,
too, every one of them has to be in the trace, and the call site has to be a line of the program. ``--write`` puts the
table into docs/record.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.engines.llama import server
from promptlint.trace.format import read

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "benchmarks" / ".cache"
PAGE = ROOT / "docs" / "record.md"
START, END = "<!-- applications: start -->", "<!-- applications: end -->"

NEW = (
    "llm==0.36",
    "langchain-openai==1.7.4",
    "pydantic-ai-slim[openai]==2.38.0",
    "smolagents==1.26.0",
    "instructor==1.17.0",
    "openai==3.3.0",
)
OLD = ("anthropic==0.40.0", "openai==1.55.3", "httpx==0.27.2")

LANGCHAIN = """
import asyncio
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="tiny", temperature=0, max_tokens=8)


async def tasks():
    return [answer.content for answer in await asyncio.gather(*[model.ainvoke(f"Task {n}") for n in range(4)])]


print("".join(chunk.content for chunk in model.stream("Hello")))
print([answer.content for answer in model.batch([f"Thread {n}" for n in range(4)])])
print(asyncio.run(tasks()))
"""

PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

agent = Agent(OpenAIChatModel("tiny"), instructions="Be brief.", model_settings={"temperature": 0, "max_tokens": 8})
first = agent.run_sync("Hello")
print(first.output)
print(agent.run_sync("And now?", message_history=first.all_messages()).output)
"""

SMOLAGENTS = """
import os
from smolagents import OpenAIModel

model = OpenAIModel("tiny", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", temperature=0, max_tokens=8)
for text in ("Hello", "And now?"):
    print(model([{"role": "user", "content": [{"type": "text", "text": text}]}]).content)
"""

INSTRUCTOR = """
import instructor
from openai import OpenAI

client = instructor.from_openai(OpenAI())
ask = [{"role": "user", "content": "Hello"}]
answer = client.chat.completions.create(model="tiny", messages=ask, response_model=None, temperature=0, max_tokens=8)
print(answer.choices[0].message.content)
raise SystemExit(3)
"""

SDKS = """
import asyncio, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

import anthropic, openai

small = {"model": "tiny", "temperature": 0, "max_tokens": 8}


def ask(text):
    answer = openai.OpenAI().chat.completions.create(messages=[{"role": "user", "content": text}], **small)
    return answer.choices[0].message.content


def stream(text):
    chunks = openai.OpenAI().chat.completions.create(messages=[{"role": "user", "content": text}], stream=True, **small)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def claude(text):
    with anthropic.Anthropic().messages.stream(messages=[{"role": "user", "content": text}], **small) as events:
        return events.get_final_text()


async def tasks():
    client = anthropic.AsyncAnthropic()
    asked = [[{"role": "user", "content": f"Task {n}"}] for n in range(3)]
    found = await asyncio.gather(*[client.messages.create(messages=messages, **small) for messages in asked])
    return [message.content[0].text for message in found]


if sys.argv[1:]:
    print(ask("A child"))
else:
    print(ask("Hello"), stream("A stream"), claude("Events"), asyncio.run(tasks()))
    with ThreadPoolExecutor(3) as pool:
        print(list(pool.map(ask, ["Thread 1", "Thread 2", "Thread 3"])))
    print(subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True).stdout)
"""


@dataclass(frozen=True)
class Program:
    """``code`` is a script, or "" for a command of the environment's. ``told`` says what it does."""

    name: str
    folder: str
    told: str
    code: str = ""
    command: tuple[str, ...] = ()


PROGRAMS = (
    Program(
        "llm 0.36 (openai 3.3.0, httpx2)",
        "new",
        "stream",
        command=("llm", "-m", "tiny", "-o", "temperature", "0", "-o", "max_tokens", "8", "Hi"),
    ),
    Program("LangChain: langchain-openai 1.7.4", "new", "stream, threads, tasks", LANGCHAIN),
    Program("pydantic-ai 2.38.0", "new", "asyncio", PYDANTIC_AI),
    Program("smolagents 1.26.0", "new", "plain", SMOLAGENTS),
    Program("instructor 1.17.0", "new", "plain, ends with 3", INSTRUCTOR),
    Program("anthropic 0.40.0, openai 1.55.3 (httpx 0.27.2)", "old", "streams, threads, tasks, child process", SDKS),
)
PACKAGES = {"new": NEW, "old": OLD}


def environment(name: str) -> Path:
    """The folder with the programs of an environment, which is made if it is not there."""
    place = CACHE / f"apps-{name}"
    done = place / "done"
    if not done.exists() or done.read_text() != " ".join(PACKAGES[name]):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES[name]], check=True)
        done.write_text(" ".join(PACKAGES[name]))
    return place / "bin"


@contextmanager
def between(engine: str) -> Iterator[tuple[str, list[str]]]:
    """A server that passes requests on to the engine, and the bodies that have come."""
    bodies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            bodies.append(data.decode())
            request = urllib.request.Request(engine + self.path, data, {"Content-Type": "application/json"})
            try:
                answer = urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers["content-type"])
                self.end_headers()
                while piece := answer.read1(1 << 16):
                    self.wfile.write(piece)
                    self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}", bodies
    finally:
        running.shutdown()
        running.server_close()


def run(program: Program, url: str, folder: Path, record: bool) -> tuple[int, str, str]:
    """Exit code, output and errors of a program."""
    place = environment(program.folder)
    command = [str(place / program.command[0]), *program.command[1:]] if program.command else []
    if program.code:
        (folder / "app.py").write_text(program.code)
        command = [str(place / "python"), "app.py"]
    (folder / "extra-openai-models.yaml").write_text(f"- model_id: tiny\n  model_name: tiny\n  api_base: {url}/v1\n")
    own = {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "LLM_USER_PATH": str(folder)}
    keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    if record:
        command = [sys.executable, "-m", "promptlint", "record", "-o", "trace.jsonl", "--", *command]
        own["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(command, cwd=folder, env={**os.environ, **own, **keys}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def checked(program: Program, engine: str) -> tuple[str, list[str]]:
    """A row of the table, and what is not as it should be."""
    wrong: list[str] = []
    with between(engine) as (url, bodies), tempfile.TemporaryDirectory() as work:
        (Path(work) / "pyproject.toml").touch()  # the folder of a project
        plain = run(program, url, Path(work), record=False)
        expected = Counter(bodies)
        bodies.clear()
        if run(program, url, Path(work), record=True) != plain:
            wrong.append("output or exit code differ")
        arrived = Counter(bodies)
        trace = list(read(Path(work) / "trace.jsonl"))
    if arrived != expected or not arrived:
        wrong.append(f"{expected.total()} requests without a recorder, {arrived.total()} with one")
    if Counter(exchange.body for exchange in trace) != arrived:
        wrong.append(f"{len(trace)} records of {arrived.total()} requests")
    if program.code and {e.stack[0].file for e in trace if e.stack} != {"app.py"}:
        wrong.append(f"call sites: { {e.stack[:1] for e in trace} }")
    if program.code and not all(e.stack for e in trace):
        wrong.append("a record has no call site")
    if plain[0] not in (0, 3):
        wrong.append(f"the program itself failed: {plain[2].strip()[-300:]}")
    return f"| {program.name} | {program.told} | {arrived.total()} | {plain[0]} |", wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/record.md")
    options = parser.parse_args()
    rows, failed = [], False
    with server(1) as engine:
        for program in PROGRAMS:
            row, wrong = checked(program, engine.address)
            print(row, *wrong, sep="\n  ", flush=True)
            rows.append(row)
            failed = failed or bool(wrong)
    if options.write and not failed:
        head = "| program | what it does | requests, all recorded | exit code |\n|---|---|---:|---:|"
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        table = "\n".join([head, *rows])
        PAGE.write_text(f"{before}{START}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
