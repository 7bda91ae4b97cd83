"""Requests of which no text is known to be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import config, engine

MARKED = """\
import anthropic

client = anthropic.Anthropic()


def probe(system="", messages=()):
    params = {"model": "claude-sonnet-4-5", "max_tokens": 1, "messages": list(messages)}
    params["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    return client.messages.create(**params)


while True:
    probe()
"""


def test_a_marker_on_nothing_is_no_fault_of_the_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(MARKED)
    monkeypatch.chdir(tmp_path)
    report = engine.check([Path()], config.load([Path()]))
    assert [request.site.provider for request in report.requests] == ["anthropic"]
    assert all(marker.segment < len(r.segments) for r in report.requests for marker in r.breakpoints)
    assert report.problems == ()
