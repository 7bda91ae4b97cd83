r"""A parameter that is part of the cached prefix changes inside a conversation.

## What it does
Reports thinking, effort, verbosity, tool choice, speed and other parameters that the provider keeps with the prefix,
when their value depends on the turn, or when two calls send the same turns with different values.

## Why is this bad?
The provider renders these parameters into the prompt, or keys the cache by them: each change loses the cached history,
and with some parameters the system text and the tools as well.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
RULES = [{"type": "text", "text": "Answer briefly. " * 600, "cache_control": {"type": "ephemeral"}}]
turns = []
while True:
    question = input()
    turns.append({"role": "user", "content": question})
    budget = 8000 if "prove" in question else 2000
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9000,
        system=RULES,
        thinking={"type": "enabled", "budget_tokens": budget},
        cache_control={"type": "ephemeral"},
        messages=turns,
    )
    turns.append({"role": "assistant", "content": reply.content})
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
RULES = [{"type": "text", "text": "Answer briefly. " * 600, "cache_control": {"type": "ephemeral"}}]
turns = []
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9000,
        system=RULES,
        thinking={"type": "enabled", "budget_tokens": 8000},
        cache_control={"type": "ephemeral"},
        messages=turns,
    )
    turns.append({"role": "assistant", "content": reply.content})
```

## Fix safety
No automatic fix: which of the values fits the whole conversation is a matter of quality and price.

## Limits
Silent for providers whose prefix is not known to hold the parameter. What the user asks for, or a caller chooses, is
reported as info.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Siblings, differences, loss, report_difference, report_toggle, rule, toggles

_ADVICE = "keep {0} the same in all requests of a conversation, and ask for what this turn needs in its message"


@rule("PL502", kind="param-toggle", since="0.1.0")
def check(siblings: Siblings) -> Iterator[Finding]:
    for request in siblings.requests:
        for toggle in toggles(request, "toggle"):
            name = toggle.parameter.name
            verb = "is chosen by" if toggle.parameter.alternatives else "is made of"
            yield report_toggle(
                request,
                toggle,
                f"{name} {verb} {toggle.cause.what.rstrip(',')}: each change drops the cache of the {loss(toggle.row)}",
                _ADVICE.format(name),
            )
    for found in differences(siblings, "toggle"):
        yield report_difference(found, found.name, _ADVICE.format(found.name))
