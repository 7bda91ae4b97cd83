r"""One turn adds more blocks than a breakpoint looks back over.

## What it does
Reports requests whose newest turn surely adds so many content blocks that the breakpoint at its end does not reach the
one before.

## Why is this bad?
Anthropic looks for an earlier cache entry at most 20 blocks ahead of a breakpoint. If the last entry lies further back,
nothing is found: the whole history is paid for in full, and written again.

## Example
```python
import anthropic

client = anthropic.Anthropic()
history = []
while True:
    frames = [{"type": "image", "source": {"type": "file", "file_id": f"frame{n}"}} for n in range(24)]
    history.append({"role": "user", "content": [*frames, {"type": "text", "text": input()}]})
    reply = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=500, messages=history, cache_control={"type": "ephemeral"}
    )
    history.append({"role": "assistant", "content": reply.content[0].text})
```

## Use instead
```python
import anthropic

client = anthropic.Anthropic()
history = []
while True:
    frames = [{"type": "image", "source": {"type": "file", "file_id": f"frame{n}"}} for n in range(12)]
    history.append({"role": "user", "content": [*frames, {"type": "text", "text": input()}]})
    reply = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=500, messages=history, cache_control={"type": "ephemeral"}
    )
    history.append({"role": "assistant", "content": reply.content[0].text})
```

## Fix safety
No automatic fix. A second breakpoint on the turn before, or one in the middle of the many blocks, keeps the entries
within reach; so does one block in place of several texts.

## Limits
Only blocks that are known one by one are counted. Calls of tools in a row count as one block, and so do their results.
"""

from collections.abc import Iterator

from promptlint.api import (
    Confidence,
    Conversation,
    Finding,
    Region,
    Scope,
    Severity,
    evidence,
    keeps_history,
    overlooked,
    rule,
)


@rule("PL409", kind="other", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    marker = overlooked(request) if keeps_history(request) else None
    if marker is not None:
        yield Finding(
            message=f"each turn adds {request.added} content blocks or more, and a breakpoint finds what was cached at "
            f"most {request.facts.lookback} blocks ahead of it: the whole history is paid for in full each time",
            primary=marker.span,
            severity=Severity.ERROR,
            confidence=min(request.confidence, Confidence.MEDIUM),
            scope=Scope.TURN,
            region=Region.LAST_MESSAGE,
            site=request.site,
            label="looks back over too few blocks",
            advice="keep a second breakpoint on the turn before, set one among the many blocks, or join texts into one",
            related=evidence(request),
        )
