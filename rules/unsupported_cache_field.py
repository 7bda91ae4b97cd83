r"""A cache field is sent to a model or a platform that does not take it.

## What it does
Reports cache markers, lifetimes and cache options that the named model, platform or endpoint is known to refuse or to
ignore.

## Why is this bad?
Some are answered with an error, so the request never runs. Others do nothing, and the cache that they ask for is never
filled.

## Example
```python
import boto3

client = boto3.client("bedrock-runtime")
RULES = "Answer briefly. " * 600
turns = []
while True:
    turns.append({"role": "user", "content": [{"text": input()}]})
    reply = client.converse(
        modelId="anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=[{"text": RULES, "cache_control": {"type": "ephemeral"}}],
        messages=turns,
    )
    turns.append(reply["output"]["message"])
```

## Use instead
```python
import boto3

client = boto3.client("bedrock-runtime")
RULES = "Answer briefly. " * 600
turns = []
while True:
    turns.append({"role": "user", "content": [{"text": input()}]})
    reply = client.converse(
        modelId="anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=[{"text": RULES}, {"cachePoint": {"type": "default"}}],
        messages=turns,
    )
    turns.append(reply["output"]["message"])
```

## Fix safety
No automatic fix: leaving the field out changes what is cached, and another spelling belongs in another place.

## Limits
Only what is known of the model that the code names, as of the date in `promptlint providers`; a gateway in between may
drop or translate the field.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Region, Request, Scope, rule, unsupported


@rule("PL407", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for found in unsupported(request):
        outcome = "the API refuses the request" if found.refused else "it has no effect"
        yield Finding(
            message=f"{found.field} is not accepted here, {found.why}: {outcome}",
            primary=found.span,
            severity=found.severity,
            confidence=found.confidence,
            scope=Scope.REQUEST,
            region=Region.PARAMETERS,
            site=request.site,
            label="refused" if found.refused else "without effect",
            advice="leave it out for this model, or write it the way this model or platform takes it",
            flow=request.path,
        )
