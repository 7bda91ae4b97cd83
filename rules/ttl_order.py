r"""A breakpoint with a longer lifetime stands behind one with a shorter lifetime.

## What it does
Compares the lifetimes (`ttl`) of the breakpoints in the order in which the provider renders them: tools, system text,
messages, whatever the order of the arguments.

## Why is this bad?
The API wants longer lifetimes first and refuses the request otherwise (HTTP 400). A breakpoint without `ttl` has five
minutes.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
MANUAL = "Turn the screw to the left. " * 600
while True:
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        messages=[{"role": "user", "content": input()}],
    )
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
MANUAL = "Turn the screw to the left. " * 600
while True:
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            {"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        messages=[{"role": "user", "content": input()}],
    )
```

## Fix safety
`--fix` gives earlier breakpoints the longer lifetime, which is always accepted. One hour costs twice the input price to
write, five minutes 1.25 times: take `ttl` off instead if five minutes will do.

## Limits
Lifetimes that are computed are not compared.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, Severity, certainty, one_step_down, rule

_UNITS = {"s": 1, "m": 60, "h": 3_600}


@rule("PL404", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    shortest = None
    for marker in request.breakpoints if request.facts.longer_ttl_first else ():
        seconds = _seconds(marker.ttl)
        if seconds is None:
            continue
        if shortest is not None and seconds > shortest[0]:
            earlier = shortest[1]
            sure = certainty(request)
            yield Finding(
                message=f"a breakpoint of {marker.ttl} stands behind one of {earlier.ttl}: the API refuses a longer "
                "lifetime after a shorter one",
                primary=marker.span,
                severity=Severity.ERROR,
                confidence=one_step_down(sure) if marker.optional or earlier.optional else sure,
                scope=Scope.REQUEST,
                region=request.segments[marker.segment].region,
                site=request.site,
                label=f"lives {marker.ttl}",
                advice=f'give both the same ttl, or drop the earlier breakpoint: "{marker.ttl}" here covers its text',
                related=((earlier.span, f"lives {earlier.ttl}, and comes first in the request"),),
            )
            return
        if shortest is None or seconds < shortest[0]:
            shortest = seconds, marker


def _seconds(ttl: str | None) -> int | None:
    if not ttl or not ttl[:-1].isdigit() or ttl[-1] not in _UNITS:
        return None
    return int(ttl[:-1]) * _UNITS[ttl[-1]]
