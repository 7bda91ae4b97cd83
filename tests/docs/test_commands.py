"""Every command that the documentation tells to type is typed, in a project that is there to be checked."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from promptlint import cli, config, registry
from promptlint.commands import shared
from promptlint.trace.format import Writer
from tests.trace.traces import CLAUDE, RULES, Trace

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HERE = ("check", "map", "rule", "cost", "providers", "config", "clean")
"""Commands that need nothing but code to check; the others run a program, read a trace or talk to an editor."""
_BLOCK = re.compile(r"^ *```(sh|console|yaml|toml|json)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *languages: str) -> Iterator[str]:
    return (found[2] for found in _BLOCK.finditer(page.read_text(encoding="utf-8")) if found[1] in languages)


def commands(page: Path) -> list[list[str]]:
    """What a page tells to type, without the prompt, comments and what the output is piped into."""
    found = []
    for line in "".join(blocks(page, "sh", "console", "yaml")).splitlines():
        typed = re.match(r"(?:\$ |\s*- (?:run: )?|\s*)(promptlint [^|]*)", line)
        if typed:
            found.append(shlex.split(typed[1], comments=True)[1:])
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a repository with the example service."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    shutil.copytree(ROOT / "examples", origin / "examples")
    git(origin, "init", "--quiet", "--initial-branch", "main")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "--message", "first")
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    monkeypatch.chdir(clone)
    return clone


def provide(args: list[str]) -> None:
    """Puts the example service where a command looks for code: a folder or file of the reader's."""
    values = [before for before in args if before in ("--select", "--ignore", "--changed-since", "--output-format")]
    given = {args[args.index(option) + 1] for option in values}
    for arg in args[1:] if args[0] in ("check", "map") else ():
        path = Path(re.sub(r":\d+$", "", arg))
        if arg in given or path.exists() or not re.fullmatch(r"[a-z][\w/]*(\.py)?", str(path)):
            continue
        if path.suffix:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "examples" / "chat_service" / "llm.py", path)
        else:
            shutil.copytree(ROOT / "examples" / "chat_service", path)


SENDS = """from anthropic import Anthropic

client = Anthropic()
while True:
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9,
        system="Be brief. " * 900,
        messages=[{"role": "user", "content": input()}],
    )
"""


SENDS_ONCE = """from anthropic import Anthropic

Anthropic(api_key="-").messages.create(
    model="claude-sonnet-4-5", max_tokens=9, system="Be brief. " * 900, messages=[{"role": "user", "content": "Hello"}]
)
"""


def provide_request(args: list[str]) -> None:
    """Puts a request on the line that ``--from`` names."""
    path, _, line = args[args.index("--from") + 1].partition(":")
    Path(path).write_text("\n" * (int(line or 5) - 5) + SENDS, encoding="utf-8")


def provide_program(args: list[str]) -> list[str]:
    """Puts a trace where a command reads one, and a program where one is run: in place of gunicorn and pytest, too."""
    for arg in args[1:2]:
        if re.fullmatch(r"\w+\.jsonl", arg):
            sent = Trace()
            for question in ("Where is my order?", "And the other one?"):
                messages = [{"role": "user", "content": question}]
                system = f"It is {sent.at}. {RULES}"
                sent.send({"model": CLAUDE, "max_tokens": 9, "system": system, "messages": messages})
            writer = Writer(Path(arg))
            for exchange in sent.exchanges:
                writer.write(exchange)
            writer.close()
        if ":" in arg:
            module, _, function = arg.partition(":")
            path = Path(*module.split(".")).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.parent.with_suffix(".py").unlink(missing_ok=True)
            path.write_text(f"def {function}():\n" + indent(SENDS_ONCE, "    "), encoding="utf-8")
    Path("outcomes").mkdir(exist_ok=True)
    if "--" in args:
        Path("app.py").write_text("print('Good day')\n", encoding="utf-8")
        own = args.index("--") + 1
        run = args[own + 1 :] if args[own] == "python" else ["app.py"]
        args = [*args[:own], sys.executable, *run]
    return args


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], cwd=folder, check=True)


def test_pages_are_found() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_do_what_they_say(page: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in commands(page):
        assert args[0] in cli.cli.commands, args
        args = [re.sub(r"^(PATH|NAME)$", lambda found: {"PATH": "app", "NAME": "anthropic"}[found[1]], a) for a in args]
        if args[0] not in HERE:
            typed = [sys.executable, "-m", "promptlint", *provide_program(args)]
            done = subprocess.run(typed, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            assert done.returncode in (shared.CLEAN, shared.FOUND), f"promptlint {shlex.join(args)}: {done.stderr}"
            assert "Traceback" not in done.stderr, done.stderr
            continue
        provide(args)
        if "--from" in args:
            provide_request(args)
        try:
            status = cli.run(args)
        finally:
            errors = capsys.readouterr().err
        assert status in (shared.CLEAN, shared.FOUND), f"promptlint {shlex.join(args)}: {errors}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_are_accepted(page: Path, tmp_path: Path) -> None:
    for text in blocks(page, "toml"):
        if "promptlint" not in tomllib.loads(text).get("tool", {}):
            continue
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        config.validate(config.load([tmp_path]), registry.load())


def test_settings_of_editors_can_be_read() -> None:
    page = ROOT / "docs" / "editors.md"
    assert all(map(json.loads, blocks(page, "json"))) and list(blocks(page, "json"))
    assert all(map(tomllib.loads, blocks(page, "toml"))) and list(blocks(page, "toml"))


def test_targets_of_make_that_are_named_exist_and_the_demo_runs(capfd: pytest.CaptureFixture[str]) -> None:
    written = (ROOT / "Makefile").read_text("utf-8")
    pages = (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "editors" / "vscode" / "README.md")
    named = {name for page in pages for name in re.findall(r"(?:^|`)make (\w+)", page.read_text("utf-8"), re.MULTILINE)}
    assert {"demo", "test", "docs", "vscode"} <= named <= set(re.findall(r"^(\w+):", written, re.MULTILINE))
    typed = re.findall(r"@\$\(BIN\)/promptlint (.*)", written)
    assert typed
    for command in typed:
        script = f"from promptlint import cli; raise SystemExit(cli.run({shlex.split(command)!r}))"
        assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == shared.CLEAN
    assert "volatile-time" in capfd.readouterr().out


def test_extras_that_are_named_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {
        extra
        for page in (*PAGES, ROOT / "mkdocs.yml")
        for group in re.findall(r"promptlint-cache\[([\w,]+)\]", page.read_text("utf-8"))
        for extra in group.split(",")
    }
    assert named and named <= extras.keys()


def test_wrapper_of_the_guide_makes_its_calls_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [settings, *_] = blocks(ROOT / "docs" / "wrappers.md", "toml")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "app.py").write_text(
        "import datetime\nfrom house import llm\n\nRULES = 'Answer briefly. ' * 900\nhistory = []\nwhile True:\n"
        "    history.append({'role': 'user', 'content': input()})\n"
        "    reply = llm.ask(system=f'{datetime.datetime.now()} {RULES}', history=history)\n"
        "    history.append({'role': 'assistant', 'content': reply})\n"
    )
    monkeypatch.chdir(tmp_path)
    script = "from promptlint import cli; raise SystemExit(cli.run(['check', '--select', 'volatile-time']))"
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == shared.FOUND, done.stdout + done.stderr
    assert "(anthropic)" in done.stdout
