r"""Thinking is taken out of old turns before they are sent again.

## What it does
Reports code that removes thinking blocks, reasoning items or `reasoning_content` from the older messages of a
conversation only, or at the start of a turn from messages whose steps were sent with them.

## Why is this bad?
The turn was sent with its thinking and comes back without: the prefix ends there, and the steps and tool results behind
it are read and paid for again. Some providers also refuse a tool call whose thinking is missing.

## Example
```python
import anthropic

client = anthropic.Anthropic()
turns = []
while True:
    turns.append({"role": "user", "content": input()})
    for turn in turns[:-2]:
        if turn["role"] == "assistant":
            turn["content"] = [b for b in turn["content"] if b["type"] not in ("thinking", "redacted_thinking")]
    reply = client.messages.create(
        model="claude-opus-4-6", max_tokens=8000, messages=turns, cache_control={"type": "ephemeral"}
    )
    turns.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
```

## Use instead
```python
import anthropic

client = anthropic.Anthropic()
turns = []
while True:
    turns.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="claude-opus-4-6", max_tokens=8000, messages=turns, cache_control={"type": "ephemeral"}
    )
    turns.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
```

## Fix safety
No automatic fix: thinking that is kept counts as input in every later turn, at the price of a read.

## Limits
What is removed from every message, each time ahead of the request, is gone before a message is sent again: not
reported. Nor are models whose server takes the thinking of earlier turns out by itself.
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Conversation, Finding, Severity, keeps_history, report_mutator, rule


@rule("PL306", kind="history-rewritten", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    if not request.facts.caches or request.facts.forgets_thinking or not keeps_history(request):
        return
    for mutator in conversation.mutators:
        if mutator.kind == "unthink":
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what} takes thinking out of turns that were sent with it: nothing behind the first of them "
                "can be reused",
                "send old turns as they were; to save tokens, clear thinking rarely and in bulk, or let the provider "
                "do it (context editing)",
                Severity.WARNING,
                Confidence.MEDIUM,
            )
