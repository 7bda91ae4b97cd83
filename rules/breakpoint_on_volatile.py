r"""A cache breakpoint stands on a block that changes.

## What it does
Reports a breakpoint whose own block ends in a value that differs between requests, while constant text ahead of it has
none of its own; on the system text also where kept turns stand behind it and the value is reported besides.

## Why is this bad?
An entry is written where the breakpoint stands, and covers the changing text: each request pays for writing an entry
(more than for plain input) that no later request can read.

## Example
```python
from datetime import datetime
from anthropic import Anthropic

client = Anthropic()
MANUAL = "Turn the screw to the left. " * 600
for question in ("How long?", "How often?", "Which tool?"):
    text = MANUAL + f"\nAsked at {datetime.now():%H:%M:%S}."
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": question}],
    )
```

## Use instead
```python
from datetime import datetime
from anthropic import Anthropic

client = Anthropic()
MANUAL = "Turn the screw to the left. " * 600
for question in ("How long?", "How often?", "Which tool?"):
    stamp = {"type": "text", "text": f"Asked at {datetime.now():%H:%M:%S}."}
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral"}}, stamp],
        messages=[{"role": "user", "content": question}],
    )
```

## Fix safety
No automatic fix. With a kept history the value must leave the system text altogether: it still precedes the messages.

## Limits
A value with constant text behind it is reported by the rule for its kind instead. Ahead of kept turns only values
that change on every turn count; what differs between conversations is read by the later turns of its own.
"""

from collections.abc import Iterator
from dataclasses import replace

from promptlint.api import (
    Break,
    Breakpoint,
    Finding,
    Region,
    Request,
    Scope,
    Severity,
    Span,
    in_words,
    report,
    rule,
    spoiled_marker,
    unread_marker,
)

ADVICE = "set the breakpoint on the last constant block and leave the changing text behind it"


@rule("PL402", kind="breakpoint-on-volatile", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    seen: set[Span] = set()
    for broken in request.breaks:
        spoiled = spoiled_marker(request, broken)
        marker = spoiled or unread_marker(request, broken)
        if marker is None or marker.span in seen:
            continue
        seen.add(marker.span)
        once = broken.scope is Scope.CONVERSATION and request.reuse.turns  # its own later turns read it
        finding = _spoiled(request, broken, once) if spoiled is not None else _unread(request, broken, marker)
        changing = (finding.primary, f"this {finding.label}")
        label = "read in one conversation only" if once else "never read"
        yield replace(finding, primary=marker.span, label=label, related=(changing, *finding.related))


def _spoiled(request: Request, broken: Break, once: bool) -> Finding:
    place = "the newest message" if request.segments[broken.segment].region is Region.LAST_MESSAGE else "a block"
    subject = f"the breakpoint covers {place} with {broken.cause.what}, which"
    lost = "for one conversation alone" if once else "and never read"
    return report(request, broken, ADVICE, subject, f"are written to the cache {lost}")


def _unread(request: Request, broken: Break, marker: Breakpoint) -> Finding:
    """The finding for the breakpoint alone: what the value does to the turns behind it is told by another rule."""
    finding, entry = report(request, broken, ADVICE), request.before(marker.segment + 1)
    message = (
        f"the breakpoint closes a block with {broken.cause.what}, which {finding.label}: "
        f"{in_words(entry)} up to here are written to the cache and never read"
    )
    return replace(finding, message=message, severity=Severity.WARNING, tokens_lost=entry)
