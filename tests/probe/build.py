"""Small programs as the requests that they send, and what the probe makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.probe import plan, samples
from promptlint.probe.claims import Claim, claims
from promptlint.probe.execute import Result, run
from promptlint.probe.plan import Plan
from promptlint.probe.samples import Sample, Unusable
from promptlint.probe.send import Sender
from promptlint.probe.verdict import Verdict
from promptlint.span import Span
from promptlint.trace.format import Exchange, Frame

Body = dict[str, Any]

CLAUDE, GPT, OLD = "claude-sonnet-5", "gpt-5.6-sol", "gpt-4.1"
MANUAL = "Answer as the handbook says, and be brief about it. " * 200
FILE, LINE = "app/chat.py", 12
ENDPOINTS = {
    "messages": "https://api.anthropic.com/v1/messages",
    "chat": "https://api.openai.com/v1/chat/completions",
    "responses": "https://api.openai.com/v1/responses",
}


def finding(rule: str = "volatile-time", **changes: Any) -> Finding:
    """A finding at the line that sends."""
    span = Span(FILE, LINE, 5, LINE, 40)
    made = Finding(
        "a clock in the system text changes on every call",
        span,
        Severity.ERROR,
        Confidence.HIGH,
        Scope.TURN,
        Region.SYSTEM,
        Site(span, "anthropic", CLAUDE),
        rule=rule,
        fingerprint=f"print-of-{rule}",
    )
    return replace(made, **changes)


def exchange(body: Body, api: str = "messages", at: float = 0.0, **changes: Any) -> Exchange:
    """One request as the recorder writes it down."""
    frame = Frame(FILE, LINE, "turn")
    url = changes.get("endpoint") or ENDPOINTS[api]
    made = Exchange(f"x{at:g}", at, url, api, json.dumps(body), status=200, stack=(frame,), pid=1)
    return replace(made, **changes)


def recorded(bodies: Iterable[Body], api: str = "messages", **changes: Any) -> list[Exchange]:
    """Requests a minute apart."""
    return [exchange(body, api, 60.0 * number, **changes) for number, body in enumerate(bodies)]


def read(exchanges: Iterable[Exchange], **options: Any) -> list[Sample | Unusable]:
    return list(samples.read(exchanges, **options))


@dataclass
class Probed:
    """Everything about one run of the probe."""

    claims: list[Claim]
    plan: Plan
    result: Result
    slept: list[float] = field(default_factory=list)

    @property
    def only(self) -> Verdict:
        [verdict] = self.result.verdicts
        return verdict

    @property
    def short(self) -> tuple[str, str]:
        return self.only.ruling.value, self.only.reason


def probed(
    exchanges: Sequence[Exchange], url: str, findings: Sequence[Finding] = (), timeout: float = 20.0, **limits: Any
) -> Probed:
    """What the probe says of these requests at that server."""
    made = claims(findings, read(exchanges, base_url=url))
    planned = plan.make(made, base_url=url, **limits)
    slept: list[float] = []
    sender = Sender(limits.get("max_requests"), timeout, slept.append)
    return Probed(made, planned, run(planned, sender, lambda *_: None), slept)


# --- bodies -----------------------------------------------------------------------------------------------------------

MARK = {"type": "ephemeral"}


def claude(text: str = "Hello", *, head: str = "", tail: str = "", marked: bool = True, **more: Any) -> Body:
    """A request to Claude: a long system text, marked, with something ahead of it or behind it."""
    mark = {"cache_control": MARK} if marked else {}
    system = [{"type": "text", "text": f"{head}{MANUAL}{tail}", **mark}]
    messages = [{"role": "user", "content": text}]
    return {"model": CLAUDE, "max_tokens": 500, "system": system, "messages": messages, **more}


def turn(body: Body, answer: str, text: str) -> Body:
    """The next turn of the same conversation."""
    key = "input" if "input" in body else "messages"
    more = [{"role": "assistant", "content": answer}, {"role": "user", "content": text}]
    return {**body, key: [*body[key], *more]}


def chat(text: str = "Hello", *, head: str = "", model: str = OLD, **more: Any) -> Body:
    messages = [{"role": "system", "content": f"{head}{MANUAL}"}, {"role": "user", "content": text}]
    return {"model": model, "messages": messages, **more}


def response(question: str = "Hello", *, head: str = "", model: str = GPT, **more: Any) -> Body:
    lead = {"type": "input_text", "text": f"{head}{MANUAL}", "prompt_cache_breakpoint": {"mode": "explicit"}}
    given = [{"role": "developer", "content": [lead]}, {"role": "user", "content": question}]
    return {"model": model, "input": given, **more}


CLOCKS = ("It is 10:31:07. ", "It is 10:32:08. ")


def clocks(make: Callable[..., Body], api: str = "messages") -> list[Exchange]:
    """Two turns of a conversation, with the time in front of everything."""
    one, two = (make(head=head) for head in CLOCKS)
    return recorded([one, turn(two, "Hi.", "And now?")], api)


def sound(make: Callable[..., Body], api: str = "messages") -> list[Exchange]:
    """Two turns of a conversation that keep what came before."""
    return recorded([make(), turn(make(), "Hi.", "And now?")], api)
