"""The command line: exit codes, thresholds, one clear line for every failure, and where the report goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptlint import engine
from promptlint.finding import Confidence, Severity
from promptlint.report import Problem, Report, Withheld
from promptlint.span import Span
from tests.cli.conftest import Engine, Run
from tests.cli.samples import finding, request


def report(*findings: Any, **changes: Any) -> Report:
    return Report(**{"files": 1, "findings": findings, "requests": (request(),), **changes})


def test_exit_codes(run: Run, fake: Engine) -> None:
    assert run("check").status == 0
    fake.report = report(finding())
    assert run("check").status == 1
    assert run("check", "--exit-zero").status == 0


@pytest.mark.parametrize(
    ("changes", "options", "status"),
    [
        ({"severity": Severity.INFO}, (), 0),
        ({"severity": Severity.INFO}, ("--min-severity", "info"), 1),
        ({"severity": Severity.WARNING}, ("--min-severity", "error"), 0),
        ({"confidence": Confidence.LOW}, (), 0),
        ({"confidence": Confidence.LOW}, ("--min-confidence", "low"), 1),
        ({"confidence": Confidence.MEDIUM}, (), 1),
        ({"suppressed": "known"}, (), 0),
        ({"suppressed": ""}, (), 0),
    ],
)
def test_thresholds_decide(run: Run, fake: Engine, changes: Any, options: tuple[str, ...], status: int) -> None:
    fake.report = report(finding(**changes))
    assert run("check", *options).status == status


def test_json_holds_what_the_thresholds_let_through(run: Run, fake: Engine) -> None:
    fake.report = report(finding(), finding(line=2, severity=Severity.INFO), finding(line=3, suppressed="known"))
    done = run("check", "--output-format", "json")
    assert (done.status, done.err) == (1, "")
    assert [(f["line"], f["suppressed"]) for f in json.loads(done.out)["findings"]] == [(1, False), (3, True)]


def test_the_current_folder_is_the_default(run: Run, fake: Engine) -> None:
    run("check")
    assert list(fake.paths) == [Path(".")]


def test_options_reach_the_engine(run: Run, fake: Engine, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.promptlint]\ngap = 5\n")
    run("check", "--include-tests", "--min-confidence", "high")
    assert (fake.settings.include_tests, fake.settings.min_confidence) == (True, Confidence.HIGH)
    assert fake.settings.gap == 5


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("chek",), 'unknown command "chek"; did you mean "check"?'),
        (("app.py",), 'unknown command "app.py"; did you mean "promptlint check app.py"?'),
        (("check", "nowhere"), "no such file or folder: nowhere"),
        (("check", "--selct", "x"), "--selct"),
        (("check", "--output-format", "xml"), "'xml' is not one of"),
        (("check", "--select", "volatile-tme"), '--select: unknown rule "volatile-tme"'),
        (("check", "--stdin-filename", "a.py"), "--stdin-filename names what is read from standard input"),
        (("check", "--output-file", "no/such/folder"), "cannot write the report to no/such/folder: No such file"),
        (("map", "--why-not", "app.py"), "--why-not takes FILE:LINE"),
        (("map", "--why-not", "nowhere.py:3"), "no such file: nowhere.py"),
        (("rule", "nothing-like-it"), 'unknown rule "nothing-like-it"'),
    ],
)
def test_a_failed_run_says_why_in_one_line(
    run: Run, fake: Engine, folder: Path, args: tuple[str, ...], message: str
) -> None:
    (folder / "app.py").touch()
    done = run(*args)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("promptlint: error: ") and done.err.count("\n") == 1
    assert message in done.err


def test_bad_configuration(run: Run, fake: Engine, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.promptlint]\nselct = []\n")
    for args in (["check"], ["map"], ["rule"], ["config"]):
        done = run(*args)
        assert (done.status, done.out) == (2, "")
        assert done.err == (
            'promptlint: error: pyproject.toml: unknown key "selct" in [tool.promptlint]; did you mean "select"?\n'
        )


def test_no_input(run: Run, fake: Engine) -> None:
    fake.error = engine.NoInput("no Python files in docs")
    assert run("check") == (2, "", "promptlint: error: no Python files in docs\n")


def test_nothing_that_could_be_read_fails_the_run(run: Run, fake: Engine) -> None:
    fake.report = report(files=0, problems=(Problem("locked.py", "permission denied"),))
    done = run("check")
    assert done.status == 2 and "locked.py" in done.out
    fake.report = report(files=1, problems=(Problem("locked.py", "permission denied"),))
    assert run("check").status == 0


def test_an_internal_error_shows_no_traceback(run: Run, fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.error = ZeroDivisionError("division\nby zero")
    done = run("check")
    assert (done.status, done.out) == (2, "")
    assert "internal error: ZeroDivisionError: division by zero" in done.err and done.err.count("\n") == 1
    assert "report it" in done.err and "PROMPTLINT_DEBUG=1" in done.err
    monkeypatch.setenv("PROMPTLINT_DEBUG", "1")
    assert "Traceback" in run("check").err


def test_a_broken_installation_is_one_line() -> None:
    code = (
        "import sys; sys.modules['promptlint.engine'] = None; from promptlint.cli import run; sys.exit(run(['check']))"
    )
    done = command(f'${{P% -m promptlint}} -c "{code}"')
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "internal error: " in done.stderr and "promptlint.engine" in done.stderr


def test_interrupted(run: Run, fake: Engine) -> None:
    fake.error = KeyboardInterrupt()
    done = run("check")
    assert done.status == 130 and "Traceback" not in done.err and "interrupted" in done.err


def test_output_file(run: Run, fake: Engine, folder: Path) -> None:
    fake.report = report(finding())
    done = run("check", "--output-format", "concise", "--output-file", "out.txt")
    assert (done.status, done.out, done.err) == (1, "", "")
    assert "volatile-time" in (folder / "out.txt").read_text()


def test_colour_is_as_the_environment_says(run: Run, fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.report = report(finding())
    assert "\x1b" not in run("check").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("check").out
    assert "\x1b[" in run("rule", "unused-ignore").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check").out


def command(script: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a shell line in which ``$P`` is promptlint, in the working directory."""
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "P": f"{sys.executable} -m promptlint", "PYTHONPATH": root}
    return subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, **options
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = command("$P rule | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_disk_that_takes_no_more_is_one_line() -> None:
    done = command("ulimit -f 0; $P rule > out.txt")
    assert done.returncode == 2
    assert done.stderr == "promptlint: error: cannot write the report to standard output: File too large\n"


def test_a_terminal_that_knows_no_unicode_still_gets_the_report() -> None:
    done = command("PYTHONIOENCODING=ascii $P rule")
    assert (done.returncode, done.stderr) == (0, "")


class Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = self
        self.data = data

    def read(self) -> bytes:
        return self.data


def test_standard_input(run: Run, fake: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "pyproject.toml").write_text("[tool.promptlint]\ngap = 5\n")
    monkeypatch.setattr(sys, "stdin", Input("x = 'é'\n".encode()))
    assert run("check", "-", "--stdin-filename", "src/app.py").status == 0
    assert (list(fake.paths), fake.stdin, fake.settings.gap) == ([], ("src/app.py", "x = 'é'\n"), 5)
    monkeypatch.setattr(sys, "stdin", Input(b"\xff\xfe\x00"))
    done = run("check", "-")
    assert done.status == 2 and done.err.startswith("promptlint: error: <stdin>: ") and done.err.count("\n") == 1


def test_standard_input_among_the_files_of_a_project(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = 'RULES = "Answer briefly. " * 600\n\n\ndef system():\n    return RULES\n'
    (folder / "prompts.py").write_text(saved)
    (folder / "app.py").write_text(
        "from openai import OpenAI\n\nfrom prompts import system\n\nclient = OpenAI()\nturns = []\nwhile True:\n"
        '    turns.append({"role": "user", "content": input()})\n'
        '    ask = [{"role": "system", "content": system()}, *turns]\n'
        '    reply = client.chat.completions.create(model="gpt-4.1", messages=ask)\n'
        "    turns.append(reply.choices[0].message)\n"
    )
    buffer = "import time\n\n" + saved.replace("return RULES", 'return f"{time.time()} {RULES}"')
    for name in ("prompts.py", "./prompts.py", str(folder / "prompts.py")):
        monkeypatch.setattr(sys, "stdin", Input(buffer.encode()))
        done = run("check", ".", "-", "--stdin-filename", name, "--output-format", "concise")
        assert (done.status, done.out[:25]) == (1, "prompts.py:7:15: PL101 vo")
    assert run("check", ".").status == 0


def test_map_says_why_not(run: Run, fake: Engine, folder: Path) -> None:
    (folder / "app.py").touch()
    fake.report = report(
        finding(line=3, confidence=Confidence.LOW),
        finding(line=4, suppressed="known"),
        withheld=(Withheld(Span("app.py", 7), "sent once: no reuse evidence"),),
    )
    at = {line: run("map", "--why-not", f"app.py:{line}").out for line in (3, 4, 7, 9, 50)}
    assert "app.py:3: volatile-time: the prompt changes: its confidence, low, is below medium" in at[3]
    assert "suppressed by a comment (known)" in at[4]
    assert at[7] == "app.py:7: sent once: no reuse evidence\n"
    assert "no request is known here" in at[9] and "requests in this file start on line 50" in at[9]
    assert "a request to anthropic" in at[50]


def test_config_says_where_each_setting_is_from(run: Run, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.promptlint]\nmin-severity = "info"\n')
    lines = run("config").out.splitlines()
    assert f"# configuration file: {folder / 'pyproject.toml'}" in lines
    assert 'min-severity = "info"  # pyproject.toml' in lines
    assert "gap = 60.0  # default" in lines


def test_rule_lists_and_explains(run: Run) -> None:
    listing = run("rule").out.splitlines()
    assert any(line.startswith("PL901  unused-ignore  ") for line in listing)
    by_name, by_code = run("rule", "unused-ignore").out, run("rule", "PL901").out
    assert by_name == by_code
    assert by_name.startswith("# unused-ignore (PL901)\n") and "## What it does" in by_name


def test_help_and_version(run: Run) -> None:
    assert run("--version").out.startswith("promptlint ")
    assert "--output-format" in run("check", "--help").out
    assert run().status == 2
