r"""A random value stands ahead of text that could be cached.

## What it does
Reports uuids, random numbers, nonces, default object representations and temporary paths that become prompt text ahead
of the kept history or of constant text.

## Why is this bad?
A value that never repeats makes every prefix unique: the cache is written each time and never read.

## Example
```python
import uuid
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    system = {"role": "system", "content": f"Request {uuid.uuid4()}\n{RULES}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
import uuid
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": RULES}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(
        model="gpt-4.1", messages=history, metadata={"request": str(uuid.uuid4())}
    )
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
Whether the model needs the value, only the author knows. `--fix --unsafe-fixes` moves the line with it into the newest
user message, where that is made and stored in one place in sight; else it makes the value once, ahead of the loop.

## Limits
An id that is made once and stored with its message is stable and not reported.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, report, rule, text_breaks

OPTIONS = (
    ("move it to metadata, a header or a log record", "the model no longer sees it"),
    ("put it into the newest message and store it there", "old turns keep theirs; each turn carries its own"),
    ("make it once for the conversation, and keep it with the history", "new conversations still differ"),
)


@rule("PL102", kind="volatile-random", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "random"):
        yield report(
            request,
            broken,
            "move the value to metadata, a header or a log record; if the model must see it, put it into the newest "
            "message and store it there",
            options=OPTIONS if broken.scope is Scope.TURN else (),
        )
