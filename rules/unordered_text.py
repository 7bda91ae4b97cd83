r"""Prompt text is built in an order that is not fixed.

## What it does
Reports text built from a set, a directory listing or another collection without a fixed order, when it stands ahead of
text that could be cached.

## Why is this bad?
The order of a set of strings differs between processes, that of a directory listing between machines. Workers and
restarts then send the same words in another order, and share nothing behind them.

## Example
```python
from openai import OpenAI

client = OpenAI()
SKILLS = {"search", "summarise", "translate"}
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": f"Skills: {', '.join(SKILLS)}\n{RULES}"}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
SKILLS = {"search", "summarise", "translate"}
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": f"Skills: {', '.join(sorted(SKILLS))}\n{RULES}"}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix` writes `sorted(...)` where the elements are known to be strings or paths, all of them are used, and the order is
then fixed. Other elements need a key.

## Limits
Dictionaries keep insertion order and are not reported. Inside one process the order of a set does not change.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, text_breaks


@rule("PL107", kind="unordered", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "unordered"):
        yield report(request, broken, "wrap the collection in sorted(...) where the text is built")
