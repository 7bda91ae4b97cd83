r"""A cache that must be asked for is not asked for.

## What it does
Reports repeated requests with a growing history or a large constant prefix, to a provider that caches only at
breakpoints, when the request has none. Where all of them stand ahead of the history, that is a remark.

## Why is this bad?
Without a breakpoint the provider caches nothing, where a cache read costs about a tenth of what is paid in full.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=RULES, messages=history)
    history.append({"role": "assistant", "content": reply.content})
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=500, system=RULES, messages=history, cache_control={"type": "ephemeral"}
    )
    history.append({"role": "assistant", "content": reply.content})
```

## Fix safety
`--fix --unsafe-fixes` adds it for `anthropic` and for Converse: writing costs more than input until something reads.

## Limits
Silent where `**kwargs` or middleware may add one, and above a large limit. A remark where a program asks only itself.
"""

from collections.abc import Iterator
from math import inf

from promptlint.api import (
    Finding,
    Interval,
    Region,
    Request,
    Scope,
    Severity,
    assumed,
    certainty,
    evidence,
    in_words,
    leaves_out_history,
    reaches_minimum,
    rule,
    shared_prefix,
    takes_no_marker,
    takes_one_marker,
    unmarked,
    worth_a_word,
)


@rule("PL403", kind="missing-breakpoint", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    turns, partly = request.reuse.turns, leaves_out_history(request)
    prefix = Interval(0, 0) if partly else shared_prefix(request)
    enough = reaches_minimum(prefix, request.facts)
    lacking = (unmarked(request) or partly) and request.facts.caches and not takes_no_marker(request)
    little = request.reuse.repeats is None or enough == "no" or not worth_a_word(prefix)
    if not lacking or request.open or request.seldom or (little and not turns):
        return
    known = f" and {in_words(Interval(prefix.low, prefix.low))} ahead of it" if prefix.low >= 100 else ""
    what = f"the growing history{known} {'are' if known else 'is'}" if turns else f"the same {in_words(prefix)} are"
    if "converse" in request.api:
        advice = 'add {"cachePoint": {"type": "default"}} behind the last block that later requests repeat'
    elif request.api.startswith("strands.") and request.site.provider.startswith("bedrock"):
        advice = 'give BedrockModel cache_config=CacheConfig(strategy="auto"): it sets the cache points'
    elif takes_one_marker(request):
        advice = 'pass cache_control={"type": "ephemeral"} with the request: it marks the newest block of each turn'
    else:
        last = "last block of the newest message of each turn" if turns else "last constant block"
        advice = f'set "cache_control": {{"type": "ephemeral"}} on the {last}'
    guess = assumed(request) and (not turns or "assumed-entry" in request.reuse.features)  # kept turns: asked again
    weak = guess or (enough != "yes" and (not turns or request.reuse.scripted or not request.reuse.repeats))
    yield Finding(
        message=f"no cache breakpoint{' from the first turn on' * partly}: {what} paid for in full with every request",
        primary=request.site.span,
        severity=Severity.INFO if weak or partly or request.aside else Severity.WARNING,
        confidence=certainty(request),
        scope=Scope.TURN if turns else Scope.CONVERSATION,
        region=next((s.region for s in request.segments), Region.SYSTEM),
        site=request.site,
        label="only what stands ahead of the history is cached" if partly else "nothing is cached here",
        advice=advice,
        flow=request.path,
        related=(*evidence(request), *request.lost_markers),
        tokens_lost=Interval(prefix.low, inf) if turns else prefix,
    )
