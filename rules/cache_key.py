r"""The key that routes requests to a cache is missing, too long, or differs where the prefix does not.

## What it does
Looks at `prompt_cache_key`: a key made anew for each request, a key longer than the API takes, and, as advice, a key
for each conversation ahead of a long shared prefix, or none at all.

## Why is this bad?
The provider combines the key with the start of the prompt and sends equal ones to the same machine. A key that is
different each time sends each request elsewhere, so nothing that was cached is found.

## Example
```python
import uuid

from openai import OpenAI

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=turns, prompt_cache_key=str(uuid.uuid4()))
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=turns, prompt_cache_key="desk-1")
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: one key should stay under about 15 requests a minute, so how many requests share it is a matter of
traffic.

## Limits
A missing key is a hint of low confidence, for services whose model is known to profit from one, and a warning when
`traffic` in the configuration is above 900 requests an hour.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Region, Request, Scope, evidence, in_words, keyed, rule, shared_prefix

_FIX = {
    "long": "shorten the key to 64 characters, for instance to a hash of what it is made of",
    "call": "use one key for all requests that share a prefix, such as the name of the agent or the conversation",
    "conversation": "take a key that conversations share, as long as it gets less than about 15 requests a minute",
    "missing": "pass a prompt_cache_key that all requests of a conversation share",
}


@rule("PL501", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for found in keyed(request, "prompt_cache_key"):
        what = found.cause.what if found.cause is not None else ""
        message = {
            "long": "prompt_cache_key is longer than 64 characters: the API refuses the request",
            "call": f"prompt_cache_key is made of {what}, anew for each request: none is sent to where its prefix is",
            "conversation": f"prompt_cache_key is made of {what}: what is the same in all conversations "
            f"({in_words(shared_prefix(request))}) is not shared between them",
            "missing": "no prompt_cache_key: under load, turns of a conversation reach machines without its prefix",
        }[found.problem]
        yield Finding(
            message=message,
            primary=found.given.span if found.given is not None else request.site.span,
            severity=found.severity,
            confidence=found.confidence,
            scope=Scope.REQUEST if found.problem == "long" else Scope.TURN,
            region=Region.PARAMETERS,
            site=request.site,
            label={"long": "too long", "missing": "no key here"}.get(found.problem, "differs too often"),
            advice=_FIX[found.problem],
            origin=found.cause.origin if found.cause is not None else None,
            flow=found.cause.flow if found.cause is not None else (),
            related=evidence(request),
        )
