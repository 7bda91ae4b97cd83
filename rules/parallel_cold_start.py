r"""Requests that share a prefix are started together, before the first could have cached it.

## What it does
Reports many requests with one long prefix that are started at once, by `asyncio.gather`, a group of tasks or a pool,
where no request is sent ahead of them.

## Why is this bad?
An entry can be read once the first response begins. Requests that are sent before that all pay for the prefix in full,
and where writing costs extra, each of them pays for writing it.

## Example
```python
import asyncio

from anthropic import AsyncAnthropic

client = AsyncAnthropic()
RULES = [{"type": "text", "text": "Name the parts. " * 600, "cache_control": {"type": "ephemeral"}}]

async def ask(letter):
    return await client.messages.create(
        model="claude-sonnet-4-5", max_tokens=900, system=RULES, messages=[{"role": "user", "content": letter}]
    )

async def main(letters):
    return await asyncio.gather(*[ask(letter) for letter in letters])

asyncio.run(main(open("letters.txt").readlines()))
```

## Use instead
```python
import asyncio

from anthropic import AsyncAnthropic

client = AsyncAnthropic()
RULES = [{"type": "text", "text": "Name the parts. " * 600, "cache_control": {"type": "ephemeral"}}]

async def ask(letter):
    return await client.messages.create(
        model="claude-sonnet-4-5", max_tokens=900, system=RULES, messages=[{"role": "user", "content": letter}]
    )

async def main(letters):
    first = await ask(letters[0])
    return [first, *await asyncio.gather(*[ask(letter) for letter in letters[1:]])]

asyncio.run(main(open("letters.txt").readlines()))
```

## Fix safety
No automatic fix: waiting for the first answer costs time.

## Limits
An opinion, so never more than info: how many requests run at once, and how long the first takes, is not known. Where
nothing asks for a cache the confidence is low.
"""

from collections.abc import Iterator

from promptlint.api import (
    Confidence,
    Finding,
    Region,
    Request,
    Scope,
    Severity,
    certainty,
    in_words,
    reaches_minimum,
    rule,
    shared_prefix,
    unmarked,
)


@rule("PL506", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    prefix = shared_prefix(request)
    if request.parallel is None or unmarked(request) or reaches_minimum(prefix, request.facts) != "yes":
        return
    yield Finding(
        message=f"these requests start together: each pays in full for what they share, {in_words(prefix)}",
        primary=request.parallel,
        severity=Severity.INFO,
        confidence=certainty(request) if request.breakpoints else Confidence.LOW,
        scope=Scope.CONVERSATION,
        region=Region.SYSTEM,
        site=request.site,
        label="started before one is answered",
        advice="send one request first, and the others once its answer begins",
        flow=request.path,
        tokens_lost=prefix,
    )
