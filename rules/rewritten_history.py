r"""Messages that were already sent are edited.

## What it does
Reports code that shortens, masks, summarises or replaces old messages between two requests of one conversation.

## Why is this bad?
The prefix ends at the first message that differs from what was sent before. Removing old tool results to save tokens
costs more than it saves: everything behind them is paid for in full on each such turn.

## Example
```python
from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    for message in history[1:]:
        message["content"] = message["content"][:200]
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()[:200]})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: shortening at another time changes what the model reads.

## Limits
One bulk rewrite above a threshold (compaction near the context limit) is reported as information only, a summary once
there are a few messages as a warning: it comes back after some turns. Moving cache markers changes no text and is not
reported.
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Conversation, Finding, Severity, keeps_history, report_mutator, rule

OPTIONS = (
    ("shorten a message once, before it is first sent", "the model never reads what is cut"),
    ("rewrite in bulk, rarely, above a threshold", "one rewrite pays for many turns; more is sent in between"),
)


@rule("PL302", kind="history-rewritten", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    for mutator in conversation.mutators if request.facts.caches and keeps_history(request) else ():
        if mutator.kind == "rewrite":
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what} changes messages that were already sent: nothing behind the first of them can be "
                "reused",
                "shorten a message once, before it is first sent; or rewrite in bulk, rarely, above a threshold",
                Severity.WARNING if mutator.bulk else Severity.ERROR,
                Confidence.HIGH,
                OPTIONS,
            )
