r"""The system text is switched inside a conversation.

## What it does
Reports system text, or text ahead of the kept history, that is present or worded differently depending on a mode, a
flag or the text of the turn.

## Why is this bad?
Each switch changes the prefix ahead of the first message, so the whole history is paid for in full again.

## Example
```python
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    question = input()
    history.append({"role": "user", "content": question})
    text = RULES
    if "poem" in question:
        text += "Answer in verse."
    system = {"role": "system", "content": text}
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
    question = input()
    if "poem" in question:
        question += "\n(Answer in verse.)"
    history.append({"role": "user", "content": question})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: instructions weigh differently in a message than in the system text.

## Limits
A flag that is fixed at the start of the program, or of the conversation, does not switch and is not reported.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, text_breaks

OPTIONS = (
    ("keep the system text constant and say what changes in a new message that is stored", "it weighs less there"),
    ("say both in the system text, with when each holds", "longer, and read at the price of a hit"),
)


@rule("PL108", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "conditional"):
        yield report(
            request,
            broken,
            "keep the system text constant and say what changes in a new message that is stored",
            subject=f"the prompt text here depends on {broken.cause.what} and",
            options=OPTIONS,
        )
