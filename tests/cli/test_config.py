"""The nearest pyproject.toml with our table counts, the command line wins, and mistakes name file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import config, knowledge, provider
from promptlint.config import ConfigError
from promptlint.finding import Confidence, Severity
from tests.cli.samples import RULES


def write(text: str, file: str = "pyproject.toml") -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text)


def test_defaults_without_a_file() -> None:
    settings = config.load()
    assert (settings.min_severity, settings.min_confidence, settings.gap) == (Severity.WARNING, Confidence.MEDIUM, 60)
    assert settings.file is None and settings.origins == {}


def test_every_key_is_read(folder: Path) -> None:
    write(
        """
        [tool.promptlint]
        select = ["PL1"]
        ignore = ["volatile-random"]
        exclude = ["build/"]
        include-tests = true
        min-severity = "info"
        min-confidence = "high"
        rule-paths = ["lint/prompts"]
        provider = "anthropic"
        default-model = "claude-sonnet-5"
        gap = 600
        traffic = 12.5
        [tool.promptlint.per-file-ignores]
        "scripts/*" = ["PL1"]
        [[tool.promptlint.wrapper]]
        call = "app.llm.ask"
        parts = { system = "system", history = "messages" }
        [[tool.promptlint.clock]]
        call = "app.clock.stamp"
        grain = "day"
        [[tool.promptlint.source]]
        call = "app.users.profile"
        kind = "user"
        [[tool.promptlint.entry]]
        decorator = "app.bot.on_message"
        """
    )
    settings = config.load()
    config.validate(settings, RULES)
    assert settings.select == ("PL1",) and settings.ignore == ("volatile-random",)
    assert settings.exclude == ("build/",) and settings.include_tests is True
    assert (settings.min_severity, settings.min_confidence) == (Severity.INFO, Confidence.HIGH)
    assert settings.rule_paths == (folder / "lint/prompts",)
    assert (settings.provider, settings.default_model) == ("anthropic", "claude-sonnet-5")
    assert (settings.gap, settings.traffic) == (600, 12.5)
    assert settings.per_file_ignores == {"scripts/*": ("PL1",)}
    known = knowledge.load(settings.rows)
    assert [row.call for row in known.sinks_by_suffix["ask"]] == ["app.llm.ask"]
    assert (known.sources["app.clock.stamp"].kind, known.sources["app.clock.stamp"].grain) == ("time", 86400.0)
    assert known.sources["app.users.profile"].kind == "user"
    assert "app.bot.on_message" in {row.pattern for row in known.entries}


def test_the_nearest_file_with_a_table_counts() -> None:
    write("[tool.promptlint]\ngap = 5\n")
    write("[tool.other]\nname = 'promptlint'\n", "services/pyproject.toml")
    write("[tool.promptlint]\ngap = 7\n", "services/chat/pyproject.toml")
    write("", "services/chat/src/app.py")
    write("", "services/mail/app.py")
    assert config.load([Path("services/chat/src/app.py")]).gap == 7
    assert config.load([Path("services/mail"), Path("services/chat")]).gap == 5


def test_a_broken_file_of_another_tool_is_skipped() -> None:
    write("[tool.promptlint]\ngap = 5\n")
    write("name = {{ template }}\n", "service/pyproject.toml")
    assert config.load([Path("service")]).gap == 5


def test_the_command_line_wins() -> None:
    write('[tool.promptlint]\nselect = ["PL1"]\nignore = ["PL101"]\nmin-severity = "error"\n')
    plain = config.load([], {"select": (), "ignore": (), "min_severity": None, "include_tests": None})
    assert (plain.select, plain.ignore, plain.min_severity) == (("PL1",), ("PL101",), Severity.ERROR)
    assert plain.origins["select"] == "pyproject.toml"
    more = config.load([], {"ignore": ("PL102",), "min_severity": Severity.INFO, "include_tests": True})
    assert (more.select, more.ignore) == (("PL1",), ("PL101", "PL102"))
    assert more.min_severity is Severity.INFO and more.include_tests is True
    assert more.origins["min_severity"] == "command line"
    other = config.load([], {"select": ("PL101",)})
    assert (other.select, other.ignore) == (("PL101",), ())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("selct = []", 'pyproject.toml: unknown key "selct" in [tool.promptlint]; did you mean "select"?'),
        ('select = "PL1"', 'pyproject.toml: select must be a list of strings, not the string "PL1"'),
        ("ignore = [1]", "pyproject.toml: ignore must be a list of strings, not the number 1"),
        ("include-tests = 1", "pyproject.toml: include-tests must be true or false, not the number 1"),
        ("gap = 0", "pyproject.toml: gap must be a number above 0, not the number 0"),
        ("gap = true", "pyproject.toml: gap must be a number above 0, not true"),
        ("provider = []", "pyproject.toml: provider must be a string, not a list"),
        (
            'min-severity = "high"',
            'pyproject.toml: min-severity must be one of "info", "warning", "error", not the string "high"',
        ),
        ("per-file-ignores = []", "pyproject.toml: per-file-ignores must be a table of globs and rules"),
        ('per-file-ignores = {"a*" = "x"}', 'pyproject.toml: per-file-ignores."a*" must be a list of strings'),
        ('wrapper = {call = "x"}', "wrapper must be a list of tables, written [[tool.promptlint.wrapper]]"),
        ("clock = [{}]", 'pyproject.toml: clock needs "call"'),
        ("entry = [{}]", 'pyproject.toml: entry needs "decorator" or "function"'),
        ("gap = ", "pyproject.toml: not valid TOML: "),
        ('select = ["volatile-tme"]', 'select: unknown rule "volatile-tme"; did you mean "volatile-time"?'),
        ('per-file-ignores = {"a*" = ["PL9999"]}', 'per-file-ignores."a*": unknown rule "PL9999"'),
        ('clock = [{call = "a.b", grain = "hours"}]', '"hours" is none of'),
        ('source = [{call = "a.b", kind = "tme"}]', 'did you mean "time"?'),
        ('wrapper = [{call = "a.b", parts = {s = "sistem"}}]', 'wrapper 1 ("a.b"), field "parts.s": "sistem" is none'),
        ('provider = "antropic"', 'provider: nothing is known of a provider "antropic"; did you mean "anthropic"?'),
        (
            'wrapper = [{call = "a.b", provider = "opnai", parts = {s = "system"}}]',
            'provider of "a.b": nothing is known of a provider "opnai"; did you mean "openai"?',
        ),
    ],
)
def test_a_mistake_is_named(line: str, message: str) -> None:
    write(f"[tool.promptlint]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        config.validate(config.load(), RULES)
    assert message in str(caught.value)
    assert str(caught.value).startswith("pyproject.toml: ")


@pytest.mark.parametrize("name", ["anthropic", "azure", "vertex", "bedrock", "cohere", "house"])
def test_a_provider_or_platform_that_is_known(name: str) -> None:
    house = '{name = "house", trigger = "automatic", assumed_min_tokens = 9}'
    write(f'[tool.promptlint]\nprovider = "{name}"\nprovider-facts = [{house}]\n')
    config.validate(config.load(), RULES)
    provider.extend(())


def test_an_unknown_rule_on_the_command_line_names_the_option() -> None:
    with pytest.raises(ConfigError, match=r"^--ignore: unknown rule"):
        config.validate(config.load([], {"ignore": ("nothing",)}), RULES)


def test_a_table_that_is_none() -> None:
    write("[tool]\npromptlint = 1\n")
    with pytest.raises(ConfigError, match=r"tool\.promptlint must be a table, not the number 1"):
        config.load()
