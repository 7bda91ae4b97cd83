r"""The lifetime of a cache entry does not fit the time between two requests.

## What it does
Compares the lifetime that the breakpoints ask for with the time between two requests, where the code shows it: a sleep
in the loop that sends, or the interval of a scheduled job.

## Why is this bad?
An entry that expires before the next request is written anew each time, at 1.25 or 2 times the input price, and never
read. One that is kept for an hour costs 2 where 1.25 is enough, since each read renews it.

## Example
```python
import time

from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
client = Anthropic()
while True:
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": input()}],
    )
    time.sleep(600)
```

## Use instead
```python
import time

from anthropic import Anthropic

MANUAL = "Look it up in the manual first. " * 900
client = Anthropic()
while True:
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        messages=[{"role": "user", "content": input()}],
    )
    time.sleep(600)
```

## Fix safety
Another lifetime changes no text; `promptlint cost --gap` says what it costs.

## Limits
Only intervals that have one value wherever the code leads are read, of the innermost loop around the request; not those
of the environment or of a configuration file.
"""

from collections.abc import Iterator

from promptlint.api import Breakpoint, Finding, Request, Scope, Severity, certainty, evidence, in_words, rule


@rule("PL602", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    pace, facts = request.pace, request.facts
    marks = [mark for mark in request.breakpoints if mark.problem is None and mark.ttl is not None]
    if pace is None or not marks or not facts.caches or not facts.write:
        return
    mark = max(marks, key=lambda mark: facts.lifetime(mark.ttl) or 0)
    lifetime = facts.lifetime(mark.ttl) or 0
    longer = next((ttl for ttl in facts.ttls if (facts.lifetime(ttl) or 0) > pace.seconds), None)
    usual = facts.lifetime(facts.default_ttl) or 0
    if pace.seconds >= lifetime > 0:
        said = f"{pace.why} {_time(pace.seconds)}, and the entry lives {mark.ttl}: each request writes it anew"
        advice = f'ask for "ttl": "{longer}"' if longer else "leave the breakpoint out: no lifetime is long enough"
    elif lifetime > usual > 1.5 * pace.seconds:
        cheap, dear = facts.write_price(), facts.write_price(mark.ttl)
        said = f"{pace.why} {_time(pace.seconds)}: {facts.default_ttl}, renewed by each read, would do"
        advice = f"leave the ttl out: a write costs {cheap:g} times the input price instead of {dear:g}"
    else:
        return
    yield _finding(request, mark, said, advice)


def _finding(request: Request, mark: Breakpoint, said: str, advice: str) -> Finding:
    prefix = request.size if mark.automatic else request.before(mark.segment + 1)
    assert request.pace is not None
    return Finding(
        message=f"{said} ({in_words(prefix)})",
        primary=mark.span,
        severity=Severity.INFO,
        confidence=certainty(request),
        scope=Scope.CONVERSATION,
        region=request.segments[mark.segment].region,
        site=request.site,
        label=f"lives {mark.ttl}",
        advice=advice,
        related=((request.pace.span, request.pace.why), *evidence(request)),
        tokens_lost=prefix,
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:g} min" if seconds < 7200 else f"{seconds / 3600:g} h"
