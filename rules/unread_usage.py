r"""A cache is asked for, but the counts that tell whether it works are never looked at.

## What it does
Reports code that asks for a cache and reads how many tokens a request had, but not how many came from the cache; and
sums that count cached tokens twice.

## Why is this bad?
A cache that is never hit looks like one that works: the request succeeds, and only these counts differ. Where the
count of input tokens leaves the cached ones out, a cost that is computed from it is too low as well.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
turns, spent = [], 0
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=900,
        system=RULES,
        messages=turns,
        cache_control={"type": "ephemeral"},
    )
    spent += reply.usage.input_tokens
    turns.append({"role": "assistant", "content": reply.content})
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
turns, spent = [], 0
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=900,
        system=RULES,
        messages=turns,
        cache_control={"type": "ephemeral"},
    )
    usage = reply.usage
    print(usage.cache_read_input_tokens, "read,", usage.cache_creation_input_tokens, "written")
    spent += usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    turns.append({"role": "assistant", "content": reply.content})
```

## Fix safety
No automatic fix: what to do with the counts is for the program to say.

## Limits
Silent where the program mentions the counts of cached tokens anywhere, or hands the whole usage on.
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Finding, Region, Request, Scope, Severity, Span, certainty, rule


@rule("PL603", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    usage, facts = request.usage, request.facts
    if usage is None or not facts.caches or facts.input_includes_cached is None:
        return
    names = ", ".join(dict.fromkeys(path.rpartition(".")[2] for path in facts.usage_read))
    sure = certainty(request) if usage.near else Confidence.LOW
    if usage.read and not usage.cached and names:
        yield _finding(
            request,
            usage.read[0],
            "a cache is asked for, but whether it is hit is never looked at",
            f"read {names} as well, and log them: a request whose cache is missed succeeds all the same",
            "only this count is read",
            sure,
        )
    for place in usage.added if facts.input_includes_cached else ():
        yield _finding(
            request,
            place,
            "this counts cached tokens twice: the count of input tokens holds them already",
            "use the count of input tokens as it is; what was not cached is that count without the cached tokens",
            "counted twice",
            sure,
        )


def _finding(request: Request, place: Span, message: str, advice: str, label: str, sure: Confidence) -> Finding:
    return Finding(
        message=message,
        primary=place,
        severity=Severity.INFO,
        confidence=sure,
        scope=Scope.TURN,
        region=Region.PARAMETERS,
        site=request.site,
        label=label,
        advice=advice,
        related=((request.site.span, "asks for a cache here"),),
    )
