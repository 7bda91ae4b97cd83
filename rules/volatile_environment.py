r"""A fact about the machine or the working tree stands ahead of text that could be cached.

## What it does
Reports the working directory, git status, file listings, host names and environment variables that become prompt text
ahead of the kept history or of constant text.

## Why is this bad?
What is read anew for each request (git status, a file tree) ends the prefix at the first edit. What is fixed on one
machine still keeps other machines and directories from sharing the text behind it.

## Example
```python
import os
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": f"You work in {os.getcwd()}.\n{RULES}"}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
import os
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": f"{RULES}\nYou work in {os.getcwd()}."}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix --unsafe-fixes` reads the value once: ahead of the loop over the turns, or with `functools.cache` on a function
without parameters that returns a text. It can become stale: announce changes in a new message.

## Limits
How often a working tree changes is not known; a value that is read per request counts as changing.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, report, rule, text_breaks

TURN = (
    ("read it once per conversation", "changes go unnoticed unless a new message announces them"),
    ("put it into the newest message and store it there", "each turn carries its own copy"),
)


@rule("PL103", kind="volatile-env", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "environment"):
        if broken.scope is Scope.TURN:
            advice = "read it once per conversation and announce changes in a new message that is stored"
        else:
            advice = "put it behind the constant text, or into the first user message"
        yield report(request, broken, advice, options=TURN if broken.scope is Scope.TURN else ())
