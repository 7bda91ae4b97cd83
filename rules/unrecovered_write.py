r"""A prefix is written to the cache and no request reads it.

## What it does
Reports a request that is sent once and writes a prefix to a cache for which the provider charges: one with a
breakpoint, or any to a model that writes by itself.

## Why is this bad?
A written token costs more than an uncached one, 1.25 times as much for five minutes, twice for an hour. It pays from
the first or second read on, and here there is none.

## Example
```python
from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
print(
    Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        messages=[{"role": "user", "content": "How long?"}],
    )
)
```

## Use instead
```python
from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
print(
    Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=MANUAL,
        messages=[{"role": "user", "content": "How long?"}],
    )
)
```

## Fix safety
Leaving the breakpoint out changes no text; a program that is started again within the lifetime loses its hit.

## Limits
What is started from outside again and again (a script in a shell loop) looks like a request that is sent once.
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Finding, Region, Request, Scope, Severity, certainty, in_words, rule


@rule("PL601", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    facts, marks = request.facts, [mark for mark in request.breakpoints if mark.problem is None]
    by_itself = facts.policy == "window" and not any(p.startswith("prompt_cache") for p in request.parameters)
    if request.reuse.turns or request.reuse.repeats or request.company or request.open or not facts.caches:
        return
    if not marks and not by_itself:
        return
    last = max(marks, key=lambda mark: (mark.automatic, mark.segment)) if marks else None
    prefix = request.size if last is None or last.automatic else request.before(last.segment + 1)
    price = facts.write_price(last.ttl if last else None)
    if price <= 1 or prefix.low < facts.minimum:
        return
    yield Finding(
        message=f"{in_words(prefix)} are written to the cache at {price:g} times the input price, and nothing reads "
        "them: the request is sent once",
        primary=last.span if last else request.site.span,
        severity=Severity.INFO,
        confidence=min(Confidence.MEDIUM, certainty(request)),
        scope=Scope.CONVERSATION,
        region=request.segments[last.segment].region if last else Region.PARAMETERS,
        site=request.site,
        label="written, never read",
        advice="leave the breakpoint out"
        if last
        else 'pass prompt_cache_options={"mode": "explicit"}: without a breakpoint nothing is written',
        flow=request.path,
    )
