r"""A cache salt keeps requests apart that could share a prefix.

## What it does
Reports a `cache_salt` that is made anew for each request, and, as advice, one for each user or conversation in front
of a long prefix that all of them share.

## Why is this bad?
The engine puts the salt ahead of the first block of the prompt: requests with different salts share nothing, whatever
they have in common.

## Example
```python
import uuid

from openai import OpenAI

client = OpenAI(base_url="http://vllm:8000/v1")
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    salt = uuid.uuid4().hex
    reply = client.chat.completions.create(model="qwen", messages=turns, extra_body={"cache_salt": salt})
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI(base_url="http://vllm:8000/v1")
turns = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="qwen", messages=turns, extra_body={"cache_salt": "desk"})
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: a salt hides from one tenant, by the time of the answer, what another has sent. Keep it as narrow as
that asks for, and no narrower.

## Limits
A salt for each user is reported as info only: isolation is often wanted.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Region, Request, Scope, evidence, in_words, keyed, rule, shared_prefix


@rule("PL507", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for found in keyed(request, "cache_salt"):
        if found.given is None or found.cause is None:
            continue
        per_call = found.problem == "call"
        shared = in_words(shared_prefix(request))
        lost = "nothing is ever reused" if per_call else f"what all requests share ({shared}) is computed anew for each"
        yield Finding(
            message=f"cache_salt is made of {found.cause.what}: {lost}",
            primary=found.given.span,
            severity=found.severity,
            confidence=found.confidence,
            scope=Scope.TURN if per_call else Scope.CONVERSATION,
            region=Region.PARAMETERS,
            site=request.site,
            label="differs on every call" if per_call else "keeps the prefix apart",
            advice="use one salt for all requests that may share a prefix: one for each tenant, or none",
            origin=found.cause.origin,
            flow=found.cause.flow,
            related=evidence(request),
        )
