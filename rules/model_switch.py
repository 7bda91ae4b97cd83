r"""The model changes inside a conversation.

## What it does
Reports a model that is chosen anew on each turn of a conversation, and calls that send the same turns to another model.

## Why is this bad?
A cache belongs to one model. The other one reads the tools, the system text and the whole history at the full price,
and so does the first one when its entry has expired by the time the conversation comes back to it: routing a turn to a
cheaper model can cost more than it saves.

## Example
```python
from openai import OpenAI

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    question = input()
    turns.append({"role": "user", "content": question})
    model = "gpt-4.1-mini" if len(question) < 80 else "gpt-4.1"
    reply = client.chat.completions.create(model=model, messages=turns)
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1-mini", messages=turns)
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: choosing the model is a decision about quality and price. Choose it once for a conversation, or move
up and stay there; hand a cheaper model only the part of the history that it needs.

## Limits
A model that configuration, a command or the caller chooses, and a fallback after an error, are mostly meant: info, or
silent. So is a side call to another model.
"""

from collections.abc import Iterator
from dataclasses import replace

from promptlint.api import (
    Finding,
    Severity,
    Siblings,
    as_intended,
    differences,
    report_difference,
    report_toggle,
    rule,
    toggles,
)

_ADVICE = "choose the model once for a conversation, or weigh the price of reading the whole prompt anew"


@rule("PL503", kind="model-switch", since="0.1.0")
def check(siblings: Siblings) -> Iterator[Finding]:
    for request in siblings.requests:
        for toggle in toggles(request, "model"):
            names = " or ".join(toggle.parameter.alternatives)
            what = f"the model ({names}) is chosen" if names else "the model is chosen"
            yield report_toggle(
                request,
                as_intended(toggle),
                f"{what} by {toggle.cause.what.rstrip(',')}: after each switch the whole prompt is paid for in full",
                _ADVICE,
            )
    for found in differences(siblings, "model"):
        yield report_difference(replace(found, severity=Severity.INFO), "model", _ADVICE)
