r"""A side call sends the kept turns without what stands ahead of them elsewhere.

## What it does
Reports a request that sends the same history as another one, to the same model, but without its tools.

## Why is this bad?
The tools come first in the prompt. A request without them shares nothing with those that have them, so it pays for the
whole history once more, and what it adds to the history was never cached for the others either.

## Example
```python
from openai import OpenAI

client = OpenAI()
TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", tools=TOOLS, messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
    history.append({"role": "user", "content": "Name a next question."})
    hint = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": hint.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", tools=TOOLS, messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
    history.append({"role": "user", "content": "Name a next question, without a tool."})
    hint = client.chat.completions.create(model="gpt-4.1", tools=TOOLS, messages=history)
    history.append({"role": "assistant", "content": hint.choices[0].message.content})
```

## Fix safety
No automatic fix: with the tools in the request, the model may call one. Some providers let `tool_choice` forbid it and
keep the prefix; with others that parameter is part of the prefix.

## Limits
A side call that begins a prompt of its own, or goes to another model, shares nothing in any case and is not reported.
"""

from collections.abc import Iterator

from promptlint.api import (
    Finding,
    Region,
    Scope,
    Severity,
    Siblings,
    certainty,
    evidence,
    odd_place,
    one_step_down,
    rule,
    whole_history,
)


@rule("PL504", kind="tools-unstable", since="0.1.0")
def check(siblings: Siblings) -> Iterator[Finding]:
    main = next((r for r in siblings.requests if any(r.of(Region.TOOLS))), None)
    if main is None or not main.facts.caches:
        return
    for side in siblings.requests:
        shares = whole_history(side) and not side.open and not any(side.of(Region.TOOLS))
        apart = (main.site.span, main.path) != (side.site.span, side.path)
        place = odd_place(main, side) if shares and apart else None
        if place is None or (main.site.provider, main.site.model) != (side.site.provider, side.site.model):
            continue
        yield Finding(
            message="this sends the history without the tools that stand ahead of it elsewhere: nothing of it can be "
            "reused here, and what is added here was not cached for the other requests",
            primary=place,
            severity=Severity.WARNING,
            confidence=one_step_down(certainty(side)),
            scope=Scope.TURN,
            region=Region.TOOLS,
            site=side.site,
            label="no tools here",
            advice="send the same tools here as well and tell the model not to call one",
            flow=side.path,
            related=((main.site.span, "sent with tools here"), *evidence(side)),
        )
