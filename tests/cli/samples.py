"""Small findings, requests and rules for tests of what surrounds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.provider import Facts
from promptlint.registry import Registry, RuleInfo
from promptlint.request import Request
from promptlint.span import Span


def finding(rule: str = "volatile-time", path: str = "app.py", line: int = 1, **changes: Any) -> Finding:
    span = Span(path, line, 1, line, 5)
    made = Finding(
        message="the prompt changes",
        primary=span,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        scope=Scope.TURN,
        region=Region.SYSTEM,
        site=Site(Span(path, 50, 1, 50, 9), "anthropic"),
        rule=rule,
        code="PL101",
    )
    return replace(made, **changes)


def request(path: str = "app.py", line: int = 50) -> Request:
    facts = Facts("anthropic", None, "explicit", 1024, False)
    return Request(Site(Span(path, line, 1, line, 9), "anthropic"), "anthropic.messages.create", facts, ())


def info(code: str, name: str) -> RuleInfo:
    return RuleInfo(code, name, "other", "0.1.0", "A rule.", "A rule.", None, None, lambda: (), Path(f"{name}.py"))


RULES = Registry(
    (
        info("PL101", "volatile-time"),
        info("PL102", "volatile-random"),
        info("PL201", "unordered-tools"),
        info("PL901", "unused-ignore"),
    )
)
