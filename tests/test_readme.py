"""What README.md and CONTRIBUTING.md show is what promptlint prints, and what they tell to write is valid."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from promptlint import cli, config, registry
from promptlint.config import Settings
from promptlint.files import comments

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_CONSOLE = re.compile(r"```console\n\$ promptlint ([^\n]*)\n(.*?)```\n", re.DOTALL)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository as working directory, and a screen of 100 columns without colour."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setitem(sys.modules, "genai_prices", None)  # no dollars: an extra that most readers do not have


def test_shown_output_is_what_is_printed(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> None:
    shown = README.read_text(encoding="utf-8")

    def printed(block: re.Match[str]) -> str:
        cli.run(shlex.split(block[1]))
        return f"```console\n$ promptlint {block[1]}\n{capsys.readouterr().out}```\n"

    true = _CONSOLE.sub(printed, shown)
    if request.config.getoption("--accept"):
        README.write_text(true, encoding="utf-8")
    else:
        assert shown == true, "README.md shows old output; run pytest tests/test_readme.py --accept"


def test_every_setting_is_described_with_its_default() -> None:
    shown = README.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| `?(.*?)`?(?: \(all\))? \|", shown, re.MULTILINE))
    internal = {"rows", "root", "file", "origins"}
    assert list(rows) == [item.name.replace("_", "-") for item in fields(Settings) if item.name not in internal]
    for name, default in rows.items():
        value = getattr(Settings(), name.replace("-", "_"))
        if default == "not set":
            assert value is None
        else:
            known = tomllib.loads(f"x = {default}")["x"]
            same = list(value) if isinstance(value, tuple) else str(value) if isinstance(known, str) else value
            assert known == same, name


def test_the_configuration_example_is_accepted(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(example)
    settings = config.load([tmp_path])
    config.validate(settings, registry.load())
    assert set(settings.rows) == set(config.SECTIONS.values())


def test_commands_in_shell_blocks_exist() -> None:
    text = README.read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```(?:sh|yaml)\n(.*?)```", text, re.DOTALL))
    named = set(re.findall(r"^(?:- run: )?promptlint ([a-z]+)", blocks, re.MULTILINE))
    assert named and named <= set(cli.cli.commands)
    options = {option for command in cli.cli.commands.values() for item in command.params for option in item.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z-]+(?=[`\s])", README.read_text(encoding="utf-8"))) <= options
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z]+)", blocks, re.MULTILINE)) <= targets


def test_the_suppressions_shown_are_understood() -> None:
    verbs = re.findall(r"# promptlint: ([\w-]+)", README.read_text(encoding="utf-8"))
    assert verbs and set(verbs) <= set(comments.VERBS)


def test_links_lead_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_rule_of_the_guide_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [name] = re.findall(r"Write `rules/(\w+\.py)`", guide)
    [text] = re.findall(r"````python\n(.*?)````", guide, re.DOTALL)
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / name).write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.promptlint]\nrule-paths = ["lint"]\nexclude = ["lint/"]\n')
    info = next(info for info in registry.load((tmp_path / "lint",)) if info.path.name == name)
    assert info.examples is not None
    for example, status in zip(info.examples, (1, 0), strict=True):
        (tmp_path / "app.py").write_text(example)
        assert cli.run(["check", "--output-format", "concise", str(tmp_path)]) == status
        assert (info.name in capsys.readouterr().out) == bool(status)
