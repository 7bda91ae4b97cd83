r"""The request carries more cache breakpoints than the API accepts.

## What it does
Counts the breakpoints that one request can carry (literal ones, those written in loops, the automatic one) and reports
the first one too many.

## Why is this bad?
The API refuses the request (HTTP 400). Nor does a breakpoint on every block help: each one covers everything ahead of
it, so the last is enough.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
CHAPTERS = ["Chapter one. " * 600, "Chapter two. " * 600, "Chapter three. " * 600, "Four. " * 600, "Five. " * 600]
system = []
for chapter in CHAPTERS:
    system.append({"type": "text", "text": chapter, "cache_control": {"type": "ephemeral"}})
while True:
    question = {"role": "user", "content": input()}
    client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=system, messages=[question])
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
CHAPTERS = ["Chapter one. " * 600, "Chapter two. " * 600, "Chapter three. " * 600, "Four. " * 600, "Five. " * 600]
system = [{"type": "text", "text": chapter} for chapter in CHAPTERS]
system[-1]["cache_control"] = {"type": "ephemeral"}
while True:
    question = {"role": "user", "content": input()}
    client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=system, messages=[question])
```

## Fix safety
`--fix` sets the breakpoint of a loop once, on the last element: that covers the same text. Which of several single
breakpoints to leave out is the author's choice.

## Limits
Breakpoints that are set under a condition are counted only where they are certain.
"""

from collections import Counter
from collections.abc import Iterator
from math import inf

from promptlint.api import Breakpoint, Confidence, Finding, Request, Scope, Severity, certainty, rule


@rule("PL401", kind="too-many-breakpoints", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    most = request.breakpoint_limit
    if most is None:
        return
    certain = [marker for marker in request.breakpoints if not marker.optional]
    sure = sum(marker.count.low for marker in certain)
    if sure > most:
        # The place in the code that writes several of them, or else the one that is too many.
        written = Counter(marker.span for marker in certain)
        span, times = written.most_common(1)[0]
        extra = certain[min(most, len(certain) - 1)]
        culprit = next(marker for marker in certain if marker.span == span) if times > 1 else extra
        yield _finding(
            request,
            culprit,
            f"{sure} cache breakpoints in one request: the API accepts {most} and refuses it",
            Severity.ERROR,
            certainty(request),
        )
        return
    for marker in request.breakpoints:
        if marker.count.high == inf:
            message = f"one cache breakpoint per element of the loop: the API refuses a request with more than {most}"
            confidence = min(Confidence.MEDIUM, certainty(request))
            yield _finding(request, marker, message, Severity.WARNING, confidence)
            return


def _finding(request: Request, marker: Breakpoint, message: str, severity: Severity, confidence: Confidence) -> Finding:
    return Finding(
        message=message,
        primary=marker.span,
        severity=severity,
        confidence=confidence,
        scope=Scope.REQUEST,
        region=request.segments[marker.segment].region,
        site=request.site,
        label="written for each element" if marker.loop else "one too many",
        advice="keep the breakpoint of the last element only: it covers everything ahead of it",
        related=((marker.loop, "this loop writes the breakpoints"),) if marker.loop else (),
    )
