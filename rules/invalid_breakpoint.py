r"""A cache breakpoint stands where the API does not accept one.

## What it does
Reports breakpoints on empty text, on thinking blocks, on the message object instead of one of its blocks, and beside
content that is a plain string.

## Why is this bad?
The API refuses the request (HTTP 400).

## Example
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
while True:
    question = {"role": "user", "content": input(), "cache_control": {"type": "ephemeral"}}
    client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=RULES, messages=[question])
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
RULES = {"type": "text", "text": "Answer briefly. " * 600, "cache_control": {"type": "ephemeral"}}
while True:
    question = {"role": "user", "content": input()}
    client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=[RULES], messages=[question])
```

## Fix safety
`--fix` takes the breakpoint off empty text and thinking blocks, and puts that of a message onto a block with its text;
where that text changes each time, `--unsafe-fixes` sets it on the system text instead.

## Limits
Text that is only empty at run time is not seen.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, Severity, certainty, one_step_down, rule

_PROBLEMS = {
    "empty": ("empty text", "set it on a block with text, or leave it out when the text is empty"),
    "thinking": ("a thinking block", "set it on the text or tool block behind the thinking"),
    "message": (
        "the message object",
        'write the content as a list of blocks and set it on the last: {"type": "text", ...}',
    ),
    "string": (
        "plain string content",
        'write the content as a list of blocks and set it on one: {"type": "text", ...}',
    ),
}


@rule("PL405", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for marker in request.breakpoints:
        if marker.problem is None:
            continue
        place, advice = _PROBLEMS.get(marker.problem, (marker.problem, "set it on a text block"))
        sure = certainty(request)
        yield Finding(
            message=f"a cache breakpoint on {place}: the API refuses the request",
            primary=marker.span,
            severity=Severity.ERROR,
            confidence=one_step_down(sure) if marker.optional else sure,
            scope=Scope.REQUEST,
            region=request.segments[marker.segment].region,
            site=request.site,
            label=f"not accepted on {place}",
            advice=advice,
        )
