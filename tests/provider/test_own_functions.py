"""What the user says of functions, wherever these are defined: wrappers, clocks, sources and entries of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import config, engine
from promptlint.finding import Severity

FILES = {
    "app/__init__.py": "",
    "app/rules.py": 'RULES = "Name the part, its maker and its price. " * 300\n',
    "app/clock.py": "import native\n\n\ndef stamp():\n    return native.read(7)\n",
    "app/users.py": "import native\n\n\ndef profile(user):\n    return native.read(user)\n",
    "app/hooks.py": "import native\n\nbot = native.Bot()\n",
    "app/llm.py": """\
import native


def ask(system, turns, *, tools=None):
    return native.send(system, turns, tools)


class Base:
    def talk(self, system, turns):
        raise NotImplementedError


class Client(Base):
    def talk(self, system, turns):
        return native.send(system, turns)
""",
}
ROWS = """\
[[tool.promptlint.wrapper]]
call = "{wrapper}"
parts = {{ system = "system", turns = "messages", tools = "tools" }}
provider = "anthropic"
{positional}
[[tool.promptlint.clock]]
call = "{clock}"
[[tool.promptlint.source]]
call = "app.users.profile"
kind = "user"
[[tool.promptlint.entry]]
{entry}
"""
BOT = """\
from {imported}
from app.clock import stamp as now
from app.hooks import bot
from app.rules import RULES
from app.users import profile


class Desk:
    def __init__(self):
        self.turns = []
        {made}

    @bot.served
    def handle(self, text):
        self.turns.append({{"role": "user", "content": text}})
        answer = {call}(f"{{now()}} {{RULES}}", {turns}self.turns)
        self.turns.append({{"role": "assistant", "content": answer}})


@bot.served
def greet(user, text):
    {made_here}
    return {call_here}(f"{{profile(user)}} {{RULES}}", {turns}[{{"role": "user", "content": text}}])
"""


def found(folder: Path, monkeypatch: pytest.MonkeyPatch, bot: str, rows: str) -> list[tuple[str, str, str]]:
    for name, text in (FILES | {"app/bot.py": bot, "pyproject.toml": rows}).items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    monkeypatch.chdir(folder)
    settings = config.load([Path()], {"min_severity": Severity.INFO})
    return sorted(
        (f.rule, f.message.split(" in the ")[0], f.severity.name) for f in engine.check([Path()], settings).findings
    )


def bot(imported: str, call: str, made: str = "pass", method: str = "", turns: str = "") -> str:
    name = made.partition(" = ")[2]
    return BOT.format(
        imported=imported,
        call=f"self.client.{method}" if method else call,
        call_here=f"{name}.{method}" if method else call,
        made=made,
        made_here="pass",
        turns=turns,
    )


BOTH = [("volatile-time", "now()", "ERROR"), ("volatile-user", "profile(user)", "INFO")]


@pytest.mark.parametrize(
    ("code", "wrapper", "positional"),
    [
        (bot("app import llm", "llm.ask"), "app.llm.ask", ""),
        (bot("app.llm import ask", "ask"), "app.llm.ask", ""),
        (bot("app.llm import ask", "ask", turns="turns="), "app.llm.ask", ""),
        (bot(".llm import ask", "ask"), "app.llm.ask", ""),
        (bot("app.llm import Client", "", "self.client = Client()", "talk"), "app.llm.Client.talk", ""),
        (bot("app.llm import Client", "", "self.client = Client()", "talk"), "app.llm.Base.talk", ""),
        (bot("app.llm import Client", "", "self.client = Client()", "talk"), "*.talk", ""),
        (bot("house import ask", "ask"), "house.ask", 'positional = ["system", "turns"]'),
        (bot("house import ask", "ask", turns="turns="), "house.ask", 'positional = ["system"]'),
        (bot("house import C", "", "self.client = C()", "go"), "house.C.go", 'positional = ["system", "turns"]'),
        (bot("house import C", "", "self.client = C()", "go"), "*.go", 'positional = ["system", "turns"]'),
    ],
)
@pytest.mark.parametrize("entry", ['decorator = "app.hooks.bot.served"', 'function = "app.bot.greet"'])
def test_rows_about_functions(
    code: str, wrapper: str, positional: str, entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ROWS.format(wrapper=wrapper, positional=positional, clock="app.clock.stamp", entry=entry)
    assert found(tmp_path, monkeypatch, code, rows) == BOTH


def test_other_functions_of_those_names_are_not_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = bot("app.llm import ask", "ask")
    rows = {"wrapper": "app.llm.ask", "positional": "", "clock": "app.users.stamp"}
    assert found(tmp_path, monkeypatch, code, ROWS.format(**rows, entry='function = "app.bot.greet"')) == BOTH[1:]
    rows |= {"wrapper": "app.tts.ask", "clock": "app.clock.stamp"}
    assert found(tmp_path, monkeypatch, code, ROWS.format(**rows, entry='function = "app.bot.greet"')) == []


@pytest.mark.parametrize(
    ("entry", "severity"),
    [
        ('decorator = "app.hooks.bot.served"', "WARNING"),
        ('decorator = "bot.served"', "WARNING"),
        ('function = "greet"', "WARNING"),
        ('function = "app.bot.greet"', "WARNING"),
        ('function = "app.mail.greet"', "INFO"),
        ('function = "meet"', "INFO"),
        ('decorator = "bot.on_edit"', "INFO"),
    ],
)
def test_an_entry_is_called_again(entry: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = bot("app.llm import ask", "ask").replace("profile(user)", "now()").replace("{now()} {RULES}", "{RULES}", 1)
    rows = ROWS.format(wrapper="app.llm.ask", positional="", clock="app.clock.stamp", entry=entry)
    assert found(tmp_path, monkeypatch, code, rows) == [("volatile-time", "now()", severity)]


def test_what_a_wrapper_adds_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of a breakpoint that is missing: the wrapper may set it."""
    code = bot("app.llm import ask", "ask").replace("{now()}", "").replace("{profile(user)}", "")
    rows = ROWS.format(wrapper="app.llm.ask", positional="", clock="*.stamp", entry='function = "greet"')
    assert found(tmp_path, monkeypatch, code, rows) == []
