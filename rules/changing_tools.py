r"""The set of tools depends on the turn.

## What it does
Reports tools that are added, removed or selected between two requests of one conversation.

## Why is this bad?
Most providers render the tools ahead of everything else, so one tool more or less loses the system text and the whole
history. Leaving tools out to save tokens usually raises the bill.

## Example
```python
from openai import OpenAI

client = OpenAI()
SEARCH = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
EDIT = {"type": "function", "function": {"name": "edit", "parameters": {"type": "object"}}}
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    question = input()
    history.append({"role": "user", "content": question})
    tools = [SEARCH]
    if "change" in question:
        tools.append(EDIT)
    reply = client.chat.completions.create(model="gpt-4.1", tools=tools, messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
SEARCH = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
EDIT = {"type": "function", "function": {"name": "edit", "parameters": {"type": "object"}}}
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", tools=[SEARCH, EDIT], messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix. A fixed list also lets the model call tools that used to be hidden: refuse them when they are called.

## Limits
A set that is chosen before the first request of a conversation, or by configuration, does not change.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, tool_breaks

OPTIONS = (
    ("send all tools every time and restrict the choice by tool_choice or allowed tools", "more definitions to read"),
    ("append tools at the end of the list and keep them", "the list only grows"),
)


@rule("PL202", kind="tools-unstable", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken, reason in tool_breaks(request):
        if reason == "set":
            tool = request.segments[broken.segment]
            is_set = broken.cause.within or tool.optional or tool.repeats
            yield report(
                request,
                broken,
                "send the same tools in every request and restrict the choice with tool_choice or allowed tools, or "
                "append tools at the end of the list and keep them",
                subject=f"the {'set' if is_set else 'order'} of tools depends on {broken.cause.what} and",
                options=OPTIONS,
            )
