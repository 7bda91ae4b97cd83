"""Runs without a network in worlds that differ, and what they say about a program."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from promptlint import cli
from promptlint.probe import program
from promptlint.probe.canned import TEXT
from promptlint.probe.claims import Claim
from promptlint.probe.twice import BASE, MINUTE, Stage, TwiceError
from tests.emulator import Vendor
from tests.probe.conftest import KEYS

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server on this machine, which is out of reach, too."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_every_library_is_answered_and_nothing_else_gets_out(
    folder: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DATA / "clients.py", folder)
    monkeypatch.setenv("SAID", str(folder / "said.json"))
    monkeypatch.setenv("OPEN_PORT", str(port))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with Stage("clients:everything", folder) as stage:
        run = stage.run(BASE)
    assert run.error == ""
    said = json.loads((folder / "said.json").read_text())
    assert said.pop("key") not in KEYS.values(), "the program does not even have a key to lose"
    denied = {name: said.pop(name) for name in list(said) if name.startswith("denied")}
    assert denied == {
        "denied embeddings": "APIConnectionError",
        "denied connect": "ConnectionRefusedError",
        "denied look up": "gaierror",
        "denied loopback": "ConnectionRefusedError",
        "denied datagram": "ConnectionRefusedError",
        "denied get": "URLError",
    }
    assert (said.pop("openai json"), said.pop("httpx stream")) == ("{}", "data: [DONE]")
    assert said == dict.fromkeys(said, TEXT)
    assert len(said) == 8
    sites = {(e.stack[0].function, e.endpoint.partition("//")[2].partition("/")[0]) for e in run.exchanges}
    assert sites == {
        *((f"through_{name}", "api.openai.com") for name in ("urllib", "requests", "httpx", "httpx2", "aiohttp")),
        ("through_sdks", "api.anthropic.com"),
        ("through_sdks", "api.openai.com"),
    }
    assert len(run.exchanges) == 10
    assert all(e.status == 200 and e.stack[0].file == "clients.py" for e in run.exchanges)


REACHES = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5)"


def test_what_the_program_starts_gets_out_neither(folder: Path, port: int) -> None:
    """Where the kernel can see to it."""
    leaves = [sys.executable, "-c", "from promptlint.probe import network; raise SystemExit(not network.leave())"]
    possible = subprocess.run(leaves, cwd=ROOT).returncode == 0
    child = [sys.executable, "-c", REACHES, str(port)]
    assert subprocess.run(child).returncode == 0
    starts = f"said = subprocess.run({child!r}).returncode\n    urlopen(prompt(f'Reached: {{said == 0}} '))"
    write(folder, f"import subprocess\ndef main():\n    {starts}")
    with Stage("app:main", folder) as stage:
        [sent] = stage.run(BASE).exchanges
    assert f"Reached: {not possible}" in sent.body


HEAD = """
import json, os, random, time, uuid
from datetime import date, datetime
from urllib.request import Request, urlopen

MANUAL = "Answer as the handbook says, and be brief about it. " * 30

def prompt(text, *more):
    messages = [{"role": "system", "content": text + MANUAL}, {"role": "user", "content": "Hello"}, *more]
    body = json.dumps({"model": "gpt-4.1", "messages": messages}).encode()
    return Request("https://api.openai.com/v1/chat/completions", body, {"Content-Type": "application/json"})
"""


def write(folder: Path, code: str) -> None:
    (folder / "app.py").write_text(HEAD + dedent(code))


def examined(folder: Path) -> tuple[dict[str, Claim], list[str]]:
    """The claims by the functions that send, and the notes."""
    read = program.reader("llama_cpp", None)
    with Stage("app:main", folder) as stage:
        made, worlds = program.examine(stage, [], read, lambda *_: None)
        made = program.named(made, worlds, stage, read)
        functions = {c.pair.first.exchange.stack[0].function if c.pair else c.missing: c for c in made}
        return functions, stage.notes


def test_what_makes_the_difference_is_named(folder: Path) -> None:
    write(
        folder,
        """
        def clock(): urlopen(prompt(f"{datetime.now():%H:%M} "))
        def day(): urlopen(prompt(f"{date.today()} "))
        def order(): urlopen(prompt(f"{set('abcdefgh')} "))
        def chance(): urlopen(prompt(f"{uuid.uuid4()} "))
        def place(): urlopen(prompt(f"{os.getcwd()} "))
        def process(): urlopen(prompt(f"{os.getpid()} "))
        def sound(): urlopen(prompt("Be brief. "))

        def main():
            for function in (clock, day, order, chance, place, process, sound):
                function()
        """,
    )
    made, notes = examined(folder)
    assert notes == []
    assert {name: claim.axis for name, claim in made.items()} == {
        "clock": "the clock (61 s later)",
        "day": "the clock (25 h later)",
        "order": "PYTHONHASHSEED (the order of sets)",
        "chance": "the random seed (random, uuid, os.urandom)",
        "place": "the working directory",
        "process": "nothing that the probe controls: two equal runs differ, too",
        "sound": "",
    }
    forecasts = {name: claim.forecast for name, claim in made.items()}
    assert [name for name, found in forecasts.items() if found and not found.breaks] == ["sound"]


def test_the_clock_goes_on_between_turns(folder: Path) -> None:
    """Two turns inside one second would acquit a clock that is read on every turn."""
    write(
        folder,
        """
        def main():
            more = []
            for _ in range(2):
                urlopen(prompt(f"{datetime.now():%H:%M} ", *more))
                more += [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "And now?"}]
        """,
    )
    made, _ = examined(folder)
    assert made["main"].forecast is not None
    assert made["main"].forecast.breaks


def test_the_folder_stays_as_it_was(folder: Path) -> None:
    write(
        folder,
        """
        def main():
            with open("log.txt", "a") as file:
                file.write("once more")
            urlopen(prompt(open("log.txt").read()))
        """,
    )
    made, _ = examined(folder)
    assert not (folder / "log.txt").exists()
    assert made["main"].forecast and not made["main"].forecast.breaks, "each run begins with the folder as it was"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", "app:main made no request: AttributeError: module 'app' has no attribute 'main'"),
        ("def main(): 1 / 0", "app:main made no request: ZeroDivisionError: division by zero"),
        ("def main(): os._exit(3)", "app:main made no request: the process ended with status 3: nothing said"),
        ("def main(): pass", "app:main made no request to a language model"),
        ("def main(): import nowhere_at_all", "No module named 'nowhere_at_all'"),
    ],
)
def test_programs_that_make_no_request(folder: Path, code: str, words: str) -> None:
    write(folder, code)
    with pytest.raises(TwiceError) as error:
        examined(folder)
    assert words in str(error.value)


def test_a_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before anything runs, and of the extra, not of the user's program."""
    monkeypatch.setitem(sys.modules, "time_machine", None)
    (folder / "app.py").write_text("def main(): raise SystemExit('it ran')\n", encoding="utf-8")
    with pytest.raises(TwiceError, match=r'time-machine: install "promptlint-cache\[probe\]"'):
        Stage("app:main", folder)


def test_a_program_that_ends_early_or_not_at_all(folder: Path) -> None:
    write(folder, "def main():\n    urlopen(prompt('')); 1 / 0")
    made, notes = examined(folder)
    assert made["main"].forecast
    assert notes[0] == "run 1 ended after 1 request: ZeroDivisionError: division by zero"
    write(folder, "def main(): time.sleep(99)")
    with Stage("app:main", folder, seconds=0.5) as stage, pytest.raises(TwiceError, match=r"not ended after 0\.5 s"):
        stage.run(MINUTE)


def test_the_command(folder: Path, vendor: Vendor, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "def main(): urlopen(prompt(f'{datetime.now():%H:%M} '))")
    args = ["probe", "app:main", "--json", "--provider"]
    assert cli.run([*args, "llama_cpp"]) == 1
    [claim] = json.loads(capsys.readouterr().out)["claims"]
    assert (claim["axis"], claim["verdict"]) == ("the clock (61 s later)", None)
    assert cli.run([*args, "openai", "--base-url", vendor.url, "--yes"]) == 0, "a prompt that is too short for a cache"
    [claim] = json.loads(capsys.readouterr().out)["claims"]
    assert claim["verdict"] == "inconclusive"
    assert "caching starts at 1,024" in claim["reason"]
    assert cli.run(["probe", "nowhere:main"]) == 2
    assert "nowhere:main made no request: ModuleNotFoundError" in capsys.readouterr().err
