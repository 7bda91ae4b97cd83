"""A project's own facts: about a gateway of its own, or about a model that the table does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlint import cli, config, registry
from promptlint.config import ConfigError
from promptlint.provider import extend, facts, identify


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    yield
    extend(())


HOUSE = {
    "name": "our-gateway",
    "inherits": "anthropic",
    "hosts": [r"llm\.example\.com"],
    "models": [{"pattern": "house-large", "min_tokens": 2048, "read": 0.2}],
}


def test_a_new_provider() -> None:
    extend([HOUSE])
    assert identify(api="openai.chat", base_url="https://llm.example.com/v1", model="house-large") == "our-gateway"
    known = facts("our-gateway", "house-large")
    assert (known.minimum, known.minimum_known, known.read, known.marker) == (2048, True, 0.2, "cache_control")
    assert facts("our-gateway", "claude-opus-4-5").minimum == 4096
    assert known.sources == ("user",)


def test_a_known_provider_keeps_what_is_not_said() -> None:
    before = facts("groq", "llama-4")
    extend([{"name": "groq", "ttl_seconds": 60, "models": [{"pattern": "llama-4", "min_tokens": 512}]}])
    after = facts("groq", "llama-4")
    assert (after.minimum, after.ttl_seconds, after.read) == (512, 60, before.read)
    assert facts("groq", "openai/gpt-oss-120b").minimum == 1024
    extend(())
    assert facts("groq", "llama-4") == before


def test_rows_of_the_run_before_are_gone() -> None:
    extend([HOUSE])
    extend([{"name": "other", "trigger": "automatic", "min_tokens": 9}])
    assert facts("our-gateway", None).minimum == facts("unknown", None).minimum
    assert facts("other", None).minimum == 9


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('inherits = "anthropic"', 'provider-facts]] 1, field "name": missing'),
        ('name = "x"', 'provider "x", field "trigger": missing'),
        ("name = 3", 'provider-facts]] 1, field "name": must be a name, is 3'),
        (
            'name = "x"\ninherits = "antropic"',
            'provider-facts]], provider "x", field "inherits": no provider "antropic"',
        ),
        ('name = "anthropic"\nwrite = { "7m" = 1 }', 'field "write": must be a table of 5m, 30m, 1h, 12h, 24h'),
        ('name = "groq"\nstorage = "much"', 'field "storage": must be a number, 0 or more'),
        ('name = "groq"\nmodels = [3]', 'field "models": must be a list of tables'),
        ('name = "groq"\nlookbak = 3', 'no such field; did you mean "lookback"?'),
        ('name = "groq"\nmodels = [{ pattern = "(" }]', "is no regular expression"),
        ('name = "groq"\nhosts = "groq.example"', 'field "hosts": must be a list of texts'),
        ('name = "x"\ntrigger = "automatic"', 'field "assumed_min_tokens": missing'),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[[tool.promptlint.provider-facts]]\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        config.validate(config.load([tmp_path]), registry.load())
    assert problem in str(caught.value) and "pyproject.toml" in str(caught.value)


def test_they_reach_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.promptlint.provider-facts]]\nname = "our-gateway"\ninherits = "anthropic"\n'
        'models = [{ pattern = "house-large", min_tokens = 2048 }]\n'
    )
    monkeypatch.chdir(tmp_path)
    assert cli.run(["providers", "our-gateway"]) == 0
    assert "house-large: min_tokens 2048" in capsys.readouterr().out
    assert cli.run(["cost", "--prefix", "2047", "--model", "house-large", "--provider", "our-gateway"]) == 0
    assert "caching starts at 2,048 tokens" in capsys.readouterr().out
