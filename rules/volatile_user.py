r"""Text about the user stands ahead of text that all users share.

## What it does
Reports names, profiles, locales, tenants and the current question where they become prompt text ahead of the kept
history or of constant text.

## Why is this bad?
Each user then has a prefix of their own, and the constant text behind it is cached once per user instead of once. The
text of the current question ahead of the history even changes with every turn.

## Example
```python
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    question = input()
    history.append({"role": "user", "content": question})
    system = {"role": "system", "content": f"The user asks: {question}\n{RULES}"}
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
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: the order of the parts can matter to the model.

## Limits
Text that stays the same for one user is reported as information only; many assistants have one user at a time.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, report, rule, text_breaks


@rule("PL104", kind="volatile-user", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "user"):
        if broken.scope is Scope.TURN:
            advice = "keep the text of this turn in the newest message, and store it there"
        else:
            advice = "put the text that all users share first (with its own breakpoint, if the provider needs one)"
        yield report(request, broken, advice)
