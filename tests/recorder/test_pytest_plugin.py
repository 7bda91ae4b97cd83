"""The plugin in a project of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import httpx2
import pytest

@pytest.fixture
def client():
    def answer(request):
        return httpx2.Response(200, json={"id": "msg_1", "content": [{"type": "text", "text": "Hello"}], "usage": {}})
    return httpx2.Client(transport=httpx2.MockTransport(answer), base_url="https://api.anthropic.com")

def ask(client, system, *texts):
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts)]
    client.post("/v1/messages", json={"model": "claude-sonnet-4-5", "system": system, "messages": messages})

def test_sound(client, prompt_cache):
    ask(client, "Be kind.", "Hi")
    ask(client, "Be kind.", "Hi", "Hello", "Bye")
    prompt_cache.prefix_stable()
    prompt_cache.no_errors()
    assert [request.answer for request in prompt_cache.requests] == ["Hello", "Hello"]

def test_broken(client, prompt_cache):
    ask(client, "Be kind at 12:01:05 and later, too.", "Hi")
    ask(client, "Be kind at 12:02:31 and later, too.", "Hi", "Hello", "Bye")
    prompt_cache.prefix_stable()

def test_each_test_for_itself(client, prompt_cache):
    prompt_cache.no_errors()
"""


def test_the_fixture_in_a_project(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\n")
    result = pytester.runpytest("-p", "promptlint.pytest_plugin", "-p", "no:asyncio")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*request 2 (*ask) does not begin as request 1 did: clock-like in the system",
            "*Be kind at 12:02:31*",
            "*no request to a language model was seen in this test",
        ]
    )
    shown = result.stdout.str()
    assert "testing.py" not in shown.partition("short test summary")[0]


def test_the_plugin_imports_next_to_nothing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, promptlint.pytest_plugin; print([n for n in sys.modules if n.startswith('promptlint.')])"
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    result = pytester.run(sys.executable, "-c", code)
    assert result.outlines == ["['promptlint.pytest_plugin']"]
