r"""The tools are sent in an order that is not fixed.

## What it does
Reports a list of tools that is built by iterating a set, a directory listing or another collection without a fixed
order.

## Why is this bad?
Most providers render the tools ahead of everything else. A set of names has another order in each process, so every
worker and every restart starts from an empty cache, system text and history included.

## Example
```python
from openai import OpenAI

client = OpenAI()
NAMES = {"search", "fetch", "edit"}
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in NAMES]
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", tools=tools, messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
NAMES = {"search", "fetch", "edit"}
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in sorted(NAMES)]
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", tools=tools, messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix` writes `sorted(...)` around the names that the list is made of, where they are known to be strings, and with a
`key` around what else becomes the tools, where it shows what is their name.
Sorting a list that grows during the conversation puts late tools in the middle of it: sort each group, and append what
was discovered later.

## Limits
Dictionaries keep insertion order and are not reported. Inside one process the order of a set does not change.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, tool_breaks


@rule("PL201", kind="unordered", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken, reason in tool_breaks(request):
        if reason == "order":
            yield report(
                request,
                broken,
                "sort the tools by name where the list is built; keep tools that are discovered later behind the fixed "
                "ones, so that the list only grows at its end",
                subject=f"the order of the tools ({broken.cause.what})",
            )
