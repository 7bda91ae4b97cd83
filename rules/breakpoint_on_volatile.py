r"""A cache breakpoint stands on a block that changes.

## What it does
Reports a breakpoint whose own block ends in a value that differs between requests, while constant text ahead of that
value has no breakpoint of its own.

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
A value with constant text or history behind it is reported by the rule for its kind instead.
"""

from collections.abc import Iterator
from dataclasses import replace

from promptlint.api import Finding, Region, Request, Span, report, rule, spoiled_marker


@rule("PL402", kind="breakpoint-on-volatile", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    seen: set[Span] = set()
    for broken in request.breaks:
        marker = spoiled_marker(request, broken)
        if marker is None or marker.span in seen:
            continue
        seen.add(marker.span)
        newest = request.segments[broken.segment].region is Region.LAST_MESSAGE
        place = "the newest message" if newest else "a block"
        finding = report(
            request,
            broken,
            "set the breakpoint on the last constant block and leave the changing text behind it",
            subject=f"the breakpoint covers {place} with {broken.cause.what}, which",
            loss="are written to the cache and never read",
        )
        changing = (finding.primary, f"this {finding.label}")
        yield replace(finding, primary=marker.span, label="never read", related=(changing, *finding.related))
