r"""The output schema differs between the requests of one conversation.

## What it does
Reports an output schema that depends on the turn, and calls that send the same turns with another schema.

## Why is this bad?
The provider puts the schema ahead of the system text, or renders instructions for it there: another schema is another
prefix, and nothing of the system text and the history can be reused.

## Example
```python
from openai import OpenAI
from pydantic import BaseModel

class Answer(BaseModel):
    text: str

class Plan(BaseModel):
    steps: list[str]

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    question = input()
    turns.append({"role": "user", "content": question})
    shape = Plan if "plan" in question else Answer
    reply = client.chat.completions.parse(model="gpt-4.1", messages=turns, response_format=shape)
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI
from pydantic import BaseModel

class Answer(BaseModel):
    text: str
    steps: list[str]

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.chat.completions.parse(model="gpt-4.1", messages=turns, response_format=Answer)
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: one schema for all turns needs optional fields, or a tool whose call carries the special shape.

## Limits
Silent for providers that are not known to render the schema into the prompt, and between calls that share no turns.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Siblings, differences, loss, report_difference, report_toggle, rule, toggles

_ADVICE = (
    "send one schema with optional fields in all requests of the conversation, or ask for the special shape by a tool"
)


@rule("PL505", kind="param-toggle", since="0.1.0")
def check(siblings: Siblings) -> Iterator[Finding]:
    for request in siblings.requests:
        for toggle in toggles(request, "format"):
            how = "is chosen by" if toggle.parameter.alternatives else "is made of"
            what = toggle.cause.what.rstrip(",")
            yield report_toggle(
                request,
                toggle,
                f"the output schema {how} {what}: each change drops the cache of the {loss(toggle.row)}",
                _ADVICE,
            )
    for found in differences(siblings, "format"):
        yield report_difference(found, "output schema", _ADVICE)
