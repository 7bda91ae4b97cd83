"""``promptlint record``: the program runs as it would without, and its requests are in the trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlint import cli
from promptlint.commands.shared import FAILED
from promptlint.trace.format import Exchange, Problem, read
from tests.emulator import Vendor, emulator

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-ant-api03-" + "x7" * 30

ASK = f"""
import json, sys, urllib.request

def ask(text):
    body = {{"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{{"role": "user", "content": text}}]}}
    request = urllib.request.Request(sys.argv[1] + "/v1/messages", json.dumps(body).encode(), {{
        "x-api-key": "{KEY}", "content-type": "application/json"}})
    with urllib.request.urlopen(request) as response:
        return json.load(response)["content"][0]["text"]
"""


@pytest.fixture(scope="module")
def vendor() -> Iterator[Vendor]:
    with emulator() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with a module that asks, and a trace of its own."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "ask.py").write_text(ASK)
    return tmp_path


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": KEY, "PYTHONDONTWRITEBYTECODE": "1"}


def command(*options: str, python: str = sys.executable) -> list[str]:
    return [sys.executable, "-m", "promptlint", "record", *options, "--", python]


def run(project: Path, code: str, *arguments: str, record: bool = True, **more: object) -> tuple[int, str, str]:
    """Exit code and output of the program ``app.py``."""
    (project / "app.py").write_text(code)
    (project / "trace.jsonl").unlink(missing_ok=True)
    start = command() if record else [sys.executable]
    done = subprocess.run(
        [*start, "app.py", *arguments], cwd=project, env=environment(), capture_output=True, text=True, input="Grüße\n"
    )
    return done.returncode, done.stdout, done.stderr


def trace(project: Path) -> list[Exchange]:
    problems: list[Problem] = []
    found = list(read(project / "trace.jsonl", problems.append))
    assert problems == []
    return found


PLAIN = """
import sys
from ask import ask

class Desk:
    def turn(self, text):
        return ask(text)

print(Desk().turn(sys.stdin.readline()), sys.argv[1:], __file__, __name__)
print("to stderr", file=sys.stderr)
sys.exit(7)
"""


def test_output_and_exit_code_are_those_of_the_program(project: Path, vendor: Vendor) -> None:
    without = run(project, PLAIN, vendor.url, "-x", "--help", record=False)
    assert run(project, PLAIN, vendor.url, "-x", "--help") == without
    assert without[0] == 7 and "to stderr" in without[2]
    [exchange] = trace(project)
    assert json.loads(exchange.body)["messages"] == [{"role": "user", "content": "Grüße\n"}]
    assert [(f.file, f.line, f.function) for f in exchange.stack] == [
        ("ask.py", 8, "ask"),
        ("app.py", 7, "Desk.turn"),
        ("app.py", 9, "<module>"),
    ]
    assert KEY not in (project / "trace.jsonl").read_text()


def test_an_uncaught_exception_ends_the_program_as_ever(project: Path, vendor: Vendor) -> None:
    code = "from ask import ask\nask('x')\nraise SystemError('no more')"
    without = run(project, code, vendor.url, record=False)
    assert run(project, code, vendor.url) == without
    assert without[0] == 1 and "SystemError: no more" in without[2]


SURROUNDINGS = """
import os, signal, sys
before = set(sys.modules)
import ask
print([path for path in sys.path], [name for name in sys.modules if "promptlint" in name])
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE), sys.flags, sys.warnoptions)
print(ask.ask("hi"), ask.__spec__.loader.__class__, vars(ask.urllib.request.__spec__.loader).keys())
print(type(sys.modules.get("sitecustomize")), "usercustomize" in sys.modules)
"""


def test_the_program_finds_its_surroundings_as_ever(project: Path, vendor: Vendor) -> None:
    without = run(project, SURROUNDINGS, vendor.url, record=False)
    recorded = run(project, SURROUNDINGS, vendor.url)
    assert recorded[1].splitlines()[:3] == without[1].splitlines()[:3]
    assert len(trace(project)) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("handled", [False, True])
def test_signals_reach_the_program(project: Path, vendor: Vendor, number: signal.Signals, handled: bool) -> None:
    code = "import signal, sys, time\nfrom ask import ask\nask('x')\n"
    if handled:
        code += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(40))\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    (project / "app.py").write_text(code + "print('ready', flush=True)\ntime.sleep(3 if sys.argv[2:] else 0.5)\n")
    start = [*command(), "app.py", vendor.url, *(["long"] if number != signal.SIGINT or not handled else [])]
    with subprocess.Popen(start, cwd=project, env=environment(), stdout=-1, stderr=-1, text=True) as program:
        assert program.stdout and program.stdout.readline() == "ready\n"
        program.send_signal(number)
        code_of_exit = program.wait()
    expected = {signal.SIGTERM: 40, signal.SIGINT: 0}.get(number, -number) if handled else -number
    assert code_of_exit == expected
    assert len(trace(project)) == 1


FAMILY = """
import multiprocessing, subprocess, sys
from ask import ask

def child(name):
    print(ask(name))

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=child, args=(method,))
        process.start()
        process.join()
    subprocess.run([sys.executable, "-c", "from ask import ask; ask('subprocess')", sys.argv[1]], check=True)
    subprocess.run(f"{sys.executable} -c \\"from ask import ask; ask('shell')\\" {sys.argv[1]}", shell=True, check=True)
    ask("parent")
"""


def test_child_processes_are_recorded_too(project: Path, vendor: Vendor) -> None:
    assert run(project, FAMILY, vendor.url)[0] == 0
    found = trace(project)
    said = [json.loads(exchange.body)["messages"][0]["content"] for exchange in found]
    assert said == ["fork", "spawn", "subprocess", "shell", "parent"]
    assert len({exchange.pid for exchange in found}) == 5
    assert [exchange.stack[1].function for exchange in found[:2]] == ["child", "child"]


OWN_CUSTOMISATION = Path(sysconfig.get_path("stdlib"), "sitecustomize.py")


@pytest.mark.skipif(OWN_CUSTOMISATION.exists(), reason="this Python's own sitecustomize precedes that of environments")
def test_another_environment_needs_nothing_and_sees_nothing_of_promptlint(project: Path, vendor: Vendor) -> None:
    venv.create(project / "other", with_pip=False)
    [packages] = (project / "other").glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text("print('customised', __name__)\nVALUE = 4\n")
    code = (
        "import sys, sitecustomize; from ask import ask; ask('hi')\n"
        "print(sitecustomize.VALUE, sitecustomize.__file__)\n"
        "try: import promptlint\nexcept ImportError as error: print(error)\n"
        "try: import click\nexcept ImportError as error: print(error)\n"
    )
    (project / "app.py").write_text(code)
    python = str(project / "other" / "bin" / "python")
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    started = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from promptlint.cli import main; main()",
    ]
    done = subprocess.run(
        [*started, "record", "--", python, "app.py", vendor.url], cwd=project, env=clean, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "customised sitecustomize",
        f"4 {packages / 'sitecustomize.py'}",
        "No module named 'promptlint'",
        "No module named 'click'",
    ]
    [exchange] = trace(project)
    assert exchange.stack[0].file == "ask.py"


def test_a_sitecustomize_that_fails_fails_as_ever(project: Path, vendor: Vendor) -> None:
    (project / "sitecustomize.py").write_text("import no_such_module\n")
    (project / "app.py").write_text("print('runs')")
    outputs = []
    for start in ([sys.executable], command()):
        settings = {**environment(), "PYTHONPATH": f"{project}{os.pathsep}{ROOT}"}
        done = subprocess.run([*start, "app.py"], cwd=project, env=settings, capture_output=True, text=True)
        outputs.append((done.returncode, done.stdout, done.stderr.splitlines()[-2:]))
    assert outputs[0] == outputs[1]
    assert "no_such_module" in outputs[0][2][1]


def test_other_programs_run_as_ever(project: Path) -> None:
    def sh(script: str) -> int:
        (project / "trace.jsonl").unlink(missing_ok=True)
        return subprocess.run([*command()[:-1], "sh", "-c", script], cwd=project, env=environment()).returncode

    assert sh("exit 5") == 5
    assert sh("kill -PIPE $$; exit 6") == -signal.SIGPIPE
    assert sh("kill -TERM $$") == -signal.SIGTERM


def test_texts_are_redacted_in_all_processes_under_one_key(project: Path, vendor: Vendor) -> None:
    (project / "app.py").write_text(
        "import subprocess, sys\nfrom ask import ask\nask('Marzipan potatoes')\n"
        "if len(sys.argv) == 2: subprocess.run([sys.executable, *sys.argv, 'again'])\n"
    )
    start = command("--redact-content", "-o", "trace.jsonl")
    subprocess.run([*start, "app.py", vendor.url], cwd=project, env=environment(), check=True)
    one, two = trace(project)
    assert one.body == two.body and one.redacted == two.redacted is not None
    text = (project / "trace.jsonl").read_text()
    assert not any(word in text for word in ("Marzipan", "potatoes", "Noted", KEY))
    assert '\\"role\\":\\"user\\"' in text and "claude-sonnet-5" in text


def test_a_full_trace_stops_growing_and_the_program_goes_on(project: Path, vendor: Vendor) -> None:
    (project / "app.py").write_text("from ask import ask\nfor n in range(9): print(ask(str(n) * 100))\n")
    start = command("--max-bytes", "3k")
    done = subprocess.run(
        [*start, "app.py", vendor.url], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 9)
    problems: list[Problem] = []
    assert 0 < len(list(read(project / "trace.jsonl", problems.append))) < 9
    assert "recording stopped here" in str(problems[0])
    assert (project / "trace.jsonl").stat().st_size <= 3000


BROKEN = {
    "no room": "import os\ndef full(file, data): raise OSError(28, 'No space left on device')\nos.write = full\n",
    "not writable": "import os\nos.remove('trace.jsonl'); os.mkdir('trace.jsonl')\n",
    "no memory of settings": "import os\nos.environ['PROMPTLINT_RECORD'] = '{'\n",
    "no random numbers": "import os\nos.urandom = None\n",
    "a clock that raises": "import time\ndef broken(): raise ValueError\ntime.perf_counter = broken\n",
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_recorder_that_fails_is_not_noticed(project: Path, vendor: Vendor, damage: str) -> None:
    code = f"{damage}\nfrom ask import ask\nprint(ask('hi'))\n"
    expected = run(project, "from ask import ask\nprint(ask('hi'))\n", vendor.url, record=False)
    assert expected[0] == 0
    assert run(project, code, vendor.url) == expected


def test_a_program_that_is_killed_while_it_sends_leaves_whole_records(project: Path, vendor: Vendor) -> None:
    (project / "app.py").write_text("from ask import ask\nprint(ask('x'), flush=True)\nwhile True: ask('x' * 200000)\n")
    with subprocess.Popen(
        [*command(), "app.py", vendor.url], cwd=project, env=environment(), stdout=subprocess.PIPE
    ) as program:
        assert program.stdout and program.stdout.readline()
        time.sleep(0.4)
        program.kill()
    problems: list[Problem] = []
    found = list(read(project / "trace.jsonl", problems.append))
    assert len(found) >= 1 and all(not problem.lost for problem in problems)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "no-such-program"], "cannot run no-such-program: No such file or directory"),
        (["--", "./app.py"], "cannot run ./app.py: Permission denied (did you mean: python ./app.py)"),
        (
            ["-o", "full.jsonl", "--", "true"],
            "full.jsonl exists already: --append adds to it, -o FILE names another one",
        ),
        (
            ["-o", "no/such/folder/t", "--", "true"],
            "cannot write the trace no/such/folder/t: No such file or directory",
        ),
        (["--max-bytes", "many", "--", "true"], "'many' is no size; write bytes, or 500k, 100MB, 2GB"),
        ([], "Missing argument 'COMMAND...'"),
    ],
)
def test_what_cannot_be_done_is_said(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(project)
    (project / "app.py").write_text("")
    (project / "full.jsonl").write_text("{}\n")
    before = signal.getsignal(signal.SIGPIPE)
    assert cli.run(["record", *arguments]) == FAILED
    assert message in capsys.readouterr().err
    assert signal.getsignal(signal.SIGPIPE) == before


def test_a_trace_is_appended_to_when_asked(project: Path, vendor: Vendor) -> None:
    (project / "app.py").write_text("from ask import ask\nask('hi')\n")
    for options in ((), ("--append",)):
        subprocess.run([*command(*options), "app.py", vendor.url], cwd=project, env=environment(), check=True)
    assert len(trace(project)) == 2
