r"""A prefix is written to the cache and no request reads it.

## What it does
Reports a request that is sent once and writes a prefix to a cache for which the provider charges: one with a
breakpoint, or any to a model that writes by itself. In a loop that sends, it reports a breakpoint behind text that is
another one in each iteration, where the text ahead has a breakpoint of its own.

## Why is this bad?
A written token costs more than an uncached one, 1.25 times as much for five minutes, twice for an hour. It pays from
the first or second read on, and here there is none.

## Example
```python
from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
system = [{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
question = [{"role": "user", "content": "How long?"}]
print(Anthropic().messages.create(model="claude-sonnet-4-5", max_tokens=500, system=system, messages=question))
```

## Use instead
```python
from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
system = MANUAL
question = [{"role": "user", "content": "How long?"}]
print(Anthropic().messages.create(model="claude-sonnet-4-5", max_tokens=500, system=system, messages=question))
```

## Fix safety
Leaving the breakpoint out changes no text; a program that is started again within the lifetime loses its hit.

## Limits
What is started from outside again and again (a script in a shell loop) looks like a request that is sent once. Where a
loop gets the same text twice, a breakpoint behind it is read after all.
"""

from collections.abc import Iterator

from promptlint.api import (
    Breakpoint,
    Confidence,
    Finding,
    Region,
    Request,
    Scope,
    Severity,
    certainty,
    in_words,
    one_time_markers,
    rule,
)


@rule("PL601", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    facts, marks = request.facts, [mark for mark in request.breakpoints if mark.problem is None]
    by_itself = facts.policy == "window" and not any(p.startswith("prompt_cache") for p in request.parameters)
    if request.reuse.turns or request.company or request.open or not facts.caches or not facts.write:
        return
    if request.reuse.repeats:
        yield from _short_lived(request)
        return
    if not marks and not by_itself:
        return
    last = max(marks, key=lambda mark: (mark.automatic, mark.segment)) if marks else None
    prefix = request.size if last is None or last.automatic else request.before(last.segment + 1)
    price = facts.write_price(last.ttl if last else None)
    if price <= 1 or prefix.low < facts.minimum:
        return
    message = f"{in_words(prefix)} are written to the cache at {price:g} times the input price, and nothing reads them"
    explicit = 'pass prompt_cache_options={"mode": "explicit"}: without a breakpoint nothing is written'
    advice = "leave the breakpoint out" if last else explicit
    yield _finding(request, last, f"{message}: the request is sent once", advice)


def _short_lived(request: Request) -> Iterator[Finding]:
    """Breakpoints that close a text of one iteration only, behind one that is written once for all."""
    for marker, cause, written in one_time_markers(request):
        price = request.facts.write_price(marker.ttl)
        message = (
            f"{cause.what} is another one in each iteration: {in_words(written)} are written to the cache at "
            f"{price:g} times the input price each time, and never read"
        )
        advice = "leave this breakpoint out: the one ahead of it covers what stays the same"
        yield _finding(request, marker, message, advice)


def _finding(request: Request, marker: Breakpoint | None, message: str, advice: str) -> Finding:
    return Finding(
        message=message,
        primary=marker.span if marker else request.site.span,
        severity=Severity.INFO,
        confidence=min(Confidence.MEDIUM, certainty(request)),
        scope=Scope.CONVERSATION,
        region=request.segments[marker.segment].region if marker else Region.PARAMETERS,
        site=request.site,
        label="written, never read",
        advice=advice,
        flow=request.path,
    )
