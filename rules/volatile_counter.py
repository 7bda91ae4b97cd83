r"""A counter stands ahead of text that could be cached.

## What it does
Reports step numbers, remaining budgets, message counts and elapsed times that become prompt text ahead of the kept
history or of constant text.

## Why is this bad?
A counter changes with each request by its nature, so nothing behind it is ever read from the cache.

## Example
```python
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    system = {"role": "system", "content": f"Messages so far: {len(history)}\n{RULES}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": RULES}]
while True:
    history.append({"role": "user", "content": f"(message {len(history)}) {input()}"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix. A counter moved into the newest message must be stored with it.

## Limits
Counters that only steer the program, or that are logged, are no prompt text and not reported.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, text_breaks

OPTIONS = (
    ("put it into the newest message and store it there", "sent but not stored, it would change old turns"),
    ("say it rarely, at thresholds, in a message of its own", "in between the model does not know it"),
    ("leave it out", "the model no longer sees it"),
)


@rule("PL106", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "counter"):
        advice = "put it into the newest message and store it with that message, or leave it out"
        kind = "volatile-time" if broken.cause.grain is not None else ""
        yield report(request, broken, advice, kind=kind, options=OPTIONS)
