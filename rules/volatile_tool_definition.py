r"""The text of a tool definition changes.

## What it does
Reports clocks, random values, paths and other values that vary inside the name, the description or the parameters of a
tool.

## Why is this bad?
Most providers render the tools ahead of everything else. One changed byte in a description loses the tools behind it,
the system text and the whole history.

## Example
```python
from datetime import datetime
from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    news = {"name": "news", "description": f"News up to {datetime.now():%H:%M}.", "parameters": {"type": "object"}}
    reply = client.chat.completions.create(
        model="gpt-4.1", tools=[{"type": "function", "function": news}], messages=history
    )
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
NEWS = {"name": "news", "description": "News up to the current minute.", "parameters": {"type": "object"}}
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(
        model="gpt-4.1", tools=[{"type": "function", "function": NEWS}], messages=history
    )
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: the wording of a description is the author's.

## Limits
A date that changes once a day is reported as information only.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, tool_breaks

_KINDS = {
    "time": "volatile-time",
    "random": "volatile-random",
    "environment": "volatile-env",
    "user": "volatile-user",
    "state": "volatile-user",
    "json": "unsorted-json",
    "unordered": "unordered",
}


@rule("PL203", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken, reason in tool_breaks(request):
        if reason == "definition":
            name = request.segments[broken.segment].name
            yield report(
                request,
                broken,
                "describe the tool with constant words and give the value in its result, or in the newest message",
                subject=f"{broken.cause.what} in the definition of {f'tool {name}' if name else 'a tool'}",
                kind=_KINDS.get(broken.cause.kind, ""),
            )
