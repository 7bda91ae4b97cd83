"""One hand-built report that every format renders, and golden files to compare with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.provider import Facts
from promptlint.registry import RuleInfo
from promptlint.report import Problem, Report
from promptlint.request import Axis, Breakpoint, Cause, Kind, Moment, Mutator, Request, Reuse, Segment
from promptlint.span import Span, Step
from promptlint.tokens import UNKNOWN, Interval

DATA = Path(__file__).parent / "data"
AGENT, PROMPTS, TOOLS = "app/agent.py", "app/prompts.py", "app/tools.py"
SOURCES = {path: (DATA / path).read_text(encoding="utf-8") for path in (AGENT, PROMPTS, TOOLS)}


@pytest.fixture(autouse=True)
def no_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra: prices are data of another package and change with it."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a golden file, or writes the file under ``--accept``."""

    def compare(name: str, text: str) -> None:
        path = DATA / name
        if request.config.getoption("--accept", default=False):
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8"), f"{name} differs; run pytest tests/output --accept to accept"

    return compare


def find(path: str, needle: str) -> Span:
    """The span of the only occurrence of a text in a file of the project."""
    text = SOURCES[path]
    assert text.count(needle) == 1, needle
    start = text.index(needle)
    end = start + len(needle)

    def point(offset: int) -> tuple[int, int]:
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)

    return Span(path, *point(start), *point(end))


SITE = Site(
    find(
        AGENT,
        SOURCES[AGENT][SOURCES[AGENT].index("client.messages") : SOURCES[AGENT].index("        return reply")].rstrip(),
    ),
    "anthropic",
    "claude-sonnet-5",
)
OTHER = Site(Span("app/cli.py", 80, 5, 84, 6), "openai")
CLOCK = Cause(
    kind="time",
    what="datetime.now(), second granularity",
    origin=find(PROMPTS, "datetime.now()"),
    moment=Moment.CALL,
    axes=frozenset({Axis.CALL}),
    grain=1,
)

TIME = Finding(
    message="the time of day, read for every request, stands ahead of the rules",
    primary=find(PROMPTS, "{stamp()}"),
    severity=Severity.ERROR,
    confidence=Confidence.HIGH,
    scope=Scope.TURN,
    region=Region.SYSTEM,
    site=SITE,
    label="changes every second",
    advice="Put the time into the newest user message, behind everything that stays the same.",
    origin=CLOCK.origin,
    flow=(
        Step(CLOCK.origin, "clock, second granularity", "knowledge/sources.toml: datetime.now"),
        Step(find(PROMPTS, "{stamp()}"), "formatted into the prompt text"),
        Step(
            find(AGENT, "system_prompt(self.user)"),
            "becomes the system prompt",
            "knowledge/anthropic.toml: messages.create",
        ),
    ),
    related=((find(AGENT, "system_prompt(self.user)"), "the system prompt is built here"),),
    tokens_lost=Interval(2400, 2400),
    also=(OTHER,),
    fingerprint="3f1c",
).stamped("volatile-time", "PL101", "volatile-time")

TICKET = replace(
    TIME,
    message="a new ticket number in every request",
    primary=find(PROMPTS, "{new_ticket()}"),
    label="",
    advice="",
    origin=None,
    flow=(),
    related=(),
    also=(),
    suppressed="tickets are cheap",
    rule="volatile-random",
    code="PL102",
    kind="volatile-random",
    fingerprint="77aa",
)

USER = replace(
    TICKET,
    message="the user's name stands ahead of 1,900 tokens that all users share",
    primary=find(PROMPTS, "{user}"),
    severity=Severity.INFO,
    scope=Scope.CONVERSATION,
    tokens_lost=Interval(0, 1900),
    suppressed=None,
    rule="volatile-user",
    code="PL104",
    kind="volatile-user",
    fingerprint="90bd",
)

RULES_READ = replace(
    USER,
    message="the rules are read from a file that other deployments may not share",
    primary=find(PROMPTS, "{RULES}"),
    severity=Severity.WARNING,
    confidence=Confidence.MEDIUM,
    scope=Scope.CONVERSATION,
    label="far to the right of a long line",
    tokens_lost=UNKNOWN,
    rule="volatile-environment",
    code="PL103",
    kind="volatile-env",
    fingerprint="c0de",
)

ORDER = Finding(
    message="tools come in the order of a set, which differs from process to process",
    primary=find(TOOLS, '{"😀 é": SEARCH, "日本": REFUND}.values() | set()'),
    severity=Severity.WARNING,
    confidence=Confidence.MEDIUM,
    scope=Scope.PROCESS,
    region=Region.TOOLS,
    site=SITE,
    label="a set of strings",
    advice="Sort them:\n    TOOLS = sorted(..., key=lambda tool: tool['name'])",
    related=((find(TOOLS, "REFUND}"), "one of them"), (find(AGENT, "tools=TOOLS"), "sent here")),
    tokens_lost=Interval(3000, inf),
    fingerprint="51aa",
).stamped("unordered-tools", "PL201", "unordered")

WINDOW = Finding(
    message="once 20 messages are kept, every turn drops the oldest and the rest moves up",
    primary=find(AGENT, "trim(\n            self.history,\n            keep=20,\n        )"),
    severity=Severity.WARNING,
    confidence=Confidence.HIGH,
    scope=Scope.TURN,
    region=Region.MID_HISTORY,
    site=SITE,
    label="drops the oldest messages",
    tokens_lost=Interval(900, 16000),
    also=tuple(replace(OTHER, span=Span(f"app/view{number}.py", number)) for number in range(1, 8)),
    fingerprint="ab12",
).stamped("sliding-window", "PL301", "history-truncated")

MARKER = Finding(
    message="5 cache breakpoints, and the API takes 4: it answers 400",
    primary=find(AGENT, '"cache_control"'),
    severity=Severity.ERROR,
    confidence=Confidence.HIGH,
    scope=Scope.REQUEST,
    region=Region.SYSTEM,
    site=SITE,
    fingerprint="ee01",
).stamped("too-many-breakpoints", "PL401", "too-many-breakpoints")

UNUSED = Finding(
    message="no finding of volatile-time here: the comment suppresses nothing",
    primary=Span("app/gone.py", 3, 1, 3, 20),
    severity=Severity.WARNING,
    confidence=Confidence.HIGH,
    scope=Scope.REQUEST,
    region=Region.PARAMETERS,
    site=Site(Span("app/gone.py", 3, 1, 3, 20), "unknown"),
    fingerprint="ff09",
).stamped("unused-ignore", "PL901", "")

CONVERSATION = Request(
    site=SITE,
    api="anthropic.messages.create",
    facts=Facts("anthropic", "claude-sonnet-5", "explicit", 1024, minimum_known=True, max_breakpoints=4),
    segments=(
        Segment(Region.TOOLS, Kind.TOOL, find(TOOLS, "SEARCH ="), Interval(1100, 1100), name="search"),
        Segment(Region.TOOLS, Kind.TOOL, find(TOOLS, "REFUND ="), Interval(90, 120), name="refund", optional=True),
        Segment(Region.SYSTEM, Kind.TEXT, find(PROMPTS, "現在時刻は "), Interval(5, 5), text="現在時刻は "),
        Segment(
            Region.SYSTEM, Kind.TEXT, find(PROMPTS, "{stamp()}"), Interval(12, 12), name="stamp()", causes=(CLOCK,)
        ),
        Segment(
            Region.SYSTEM,
            Kind.TEXT,
            find(PROMPTS, " with orders"),
            Interval(30, 30),
            text=" with orders, refunds and returns, and you never promise a date.\nBe brief, and cite the rule.",
        ),
        Segment(Region.SYSTEM, Kind.TEXT, find(PROMPTS, "{RULES}"), UNKNOWN, name="RULES", persistent=True),
        Segment(Region.MID_HISTORY, Kind.HISTORY, find(AGENT, "messages=self.history"), UNKNOWN, name="self.history"),
    ),
    breakpoints=(
        Breakpoint(find(AGENT, '"cache_control"'), 0, ttl="1h"),
        Breakpoint(find(AGENT, '"cache_control"'), 5, count=Interval(1, inf)),
    ),
    mutators=(Mutator("window", WINDOW.primary, "trim() keeps the last 20 messages", keeps=20, position=6),),
    reuse=Reuse(True, "entry", "self.history is kept and sent again on the next call of ask()", find(AGENT, "def ask")),
    path=(Step(Span("app/web.py", 12), "called"), Step(find(AGENT, "def ask"), "called")),
)
ONCE = Request(
    site=OTHER,
    api="structural",
    facts=Facts("openai", None, "automatic", 1024, minimum_known=False),
    segments=(
        Segment(Region.SYSTEM, Kind.TEXT, Span("app/cli.py", 70), Interval(9, 9), text="Name this chat."),
        Segment(Region.LAST_MESSAGE, Kind.TEXT, Span("app/cli.py", 71), UNKNOWN, name="chat", repeats=True),
    ),
    open=("**options",),
    confidence=Confidence.MEDIUM,
)


def rule_info(code: str, name: str, kind: str) -> RuleInfo:
    doc = (
        f"Says what {name} says.\n\n## What it does\nReports what {name} reports,\nin two lines.\n\n## Limits\nNone.\n"
    )
    return RuleInfo(
        code=code,
        name=name,
        kind=kind,
        since="0.1.0",
        summary=doc.split("\n", 1)[0],
        doc=doc,
        examples=None,
        subject=Request,
        check=lambda request: (),
        path=Path(f"rules/{name}.py"),
    )


@pytest.fixture
def report() -> Report:
    return Report(
        files=12,
        findings=(WINDOW, MARKER, UNUSED, TIME, TICKET, USER, RULES_READ, ORDER),
        requests=(CONVERSATION, ONCE),
        problems=(Problem("locked.py", "permission denied"), Problem("app/odd.py", "no UTF-8\nat byte 9", 4)),
        sources=SOURCES,
        unparsed=1,
    )


@pytest.fixture
def shown(report: Report) -> list[Finding]:
    """What the thresholds let through: everything but the remark about the user."""
    return [finding for finding in report.findings if finding is not USER]


@pytest.fixture
def rules() -> list[RuleInfo]:
    fired = [rule_info(f.code, f.rule, f.kind) for f in (TIME, TICKET, RULES_READ, USER, ORDER, WINDOW, MARKER)]
    return [*fired, rule_info("PL502", "toggled-parameter", "param-toggle"), rule_info("PL901", "unused-ignore", "-")]
