r"""A side call sends the kept turns without what stands ahead of them elsewhere.

## What it does
Reports a request that sends the same history as another one, to the same model, but without its tools or without any
system text.

## Why is this bad?
Tools and system text come first in the prompt. A request without them shares nothing with those that have them: it pays
for the whole history once more, and what it adds to the history was never cached for the others either.

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

from promptlint.api import Finding, Region, Scope, Severity, Siblings, Step, evidence, forks, rule

ADVICE = {
    Region.TOOLS: "send the same tools here as well and tell the model not to call one",
    Region.SYSTEM: "send the same system text here as well, and put what this call needs into its newest message",
}


@rule("PL504", kind="tools-unstable", since="0.1.0")
def check(siblings: Siblings) -> Iterator[Finding]:
    for fork in forks(siblings):
        lacks = "tools" if fork.region is Region.TOOLS else "system text"
        yield Finding(
            message=f"this sends the history without the {lacks} that other requests send ahead of it: nothing of it "
            "can be reused here, and what is added here was not cached for the other requests",
            primary=fork.place,
            severity=Severity.WARNING,
            confidence=fork.confidence,
            scope=Scope.TURN,
            region=fork.region,
            site=fork.side.site,
            label=f"no {lacks} here",
            advice=ADVICE[fork.region],
            flow=(*fork.side.path, Step(fork.side.site.span, f"sent without the {lacks}")),
            related=((fork.main.site.span, f"sent with {lacks} here"), *evidence(fork.side)),
            kind="" if fork.region is Region.TOOLS else "history-rewritten",
        )
