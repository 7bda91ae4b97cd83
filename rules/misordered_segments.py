r"""Constant text stands behind the history or behind text that differs on every call.

## What it does
Reports large constant text that is sent after the kept history, or after the text of the current call.

## Why is this bad?
Only the order is wrong: the history grows in front of the constant text, which moves back with every turn and is paid
for in full each time.

## Example
```python
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "Answer briefly. " * 600}
history = []
while True:
    user = {"role": "user", "content": input()}
    reply = client.chat.completions.create(model="gpt-4.1", messages=history + [RULES, user])
    history += [user, {"role": "assistant", "content": reply.choices[0].message.content}]
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "Answer briefly. " * 600}
history = []
while True:
    user = {"role": "user", "content": input()}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[RULES, *history, user])
    history += [user, {"role": "assistant", "content": reply.choices[0].message.content}]
```

## Fix safety
No automatic fix: models can weigh the same rules differently at the start and at the end.

## Limits
Short reminders at the end are deliberate and cheap: constant text below the provider's minimum is not reported, and
behind text that is sent once, less than 1,024 tokens are information only.
"""

from collections.abc import Iterator

from promptlint.api import (
    Axis,
    Confidence,
    Finding,
    Interval,
    Kind,
    Moment,
    Region,
    Request,
    Scope,
    Segment,
    Severity,
    assumed,
    certainty,
    constant,
    evidence,
    in_words,
    keeps_history,
    reaches_minimum,
    rule,
    unmarked,
)

SHORT = 1_024  # tokens


@rule("PL110", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    turns = keeps_history(request)
    if not request.facts.caches or not (turns or request.reuse.repeats):
        return
    ahead = [i for i, s in enumerate(request.segments) if (s.kind is Kind.HISTORY if turns else _of_this_call(s))]
    behind = [s for s in request.segments[ahead[-1 if turns else 0] + 1 :] if constant(s)] if ahead else []
    lost = sum((s.tokens for s in behind if not s.optional), Interval(0, 0))
    enough = reaches_minimum(lost, request.facts)
    if enough == "no":
        return
    # The smallest prompts are not worth another order, also where a provider would cache them.
    short = not turns and lost.low < SHORT
    weak = enough == "maybe" or short or (not turns and (assumed(request) or unmarked(request)))
    first = max(behind, key=lambda s: s.tokens.low)
    place = "the history" if turns else "text that differs on every call"
    yield Finding(
        message=f"{in_words(lost)} of constant text stand behind {place} and are paid for in full each time",
        primary=first.placed or first.span,
        severity=Severity.INFO if weak else Severity.ERROR if turns else Severity.WARNING,
        confidence=min(certainty(request), Confidence.HIGH if turns else Confidence.MEDIUM),
        scope=Scope.TURN if turns else Scope.CONVERSATION,
        region=first.region,
        site=request.site,
        label="constant, but not at the start",
        advice="move the constant text to the start of the request and keep only a short reminder here",
        related=evidence(request),
        tokens_lost=lost,
    )


def _of_this_call(segment: Segment) -> bool:
    known = (c for c in segment.causes if c.kind != "opaque" and c.moment >= Moment.CALL)
    return segment.region is Region.LAST_MESSAGE and any(c.axes & {Axis.CALL, Axis.TURN} for c in known)
