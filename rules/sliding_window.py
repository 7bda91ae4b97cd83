r"""The history is cut to a fixed number of messages.

## What it does
Reports histories from which the oldest messages are dropped one by one: `history[-20:]`, `pop(0)`,
`deque(maxlen=20)`, a `LIMIT` on the stored rows, trimming until the budget fits.

## Why is this bad?
Once the window is full, every turn removes a message from the front. The first message then differs each time, and
only the text ahead of the history can still be reused.

## Example
```python
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "Answer briefly. " * 600}
history = []
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=[RULES, *history[-10:]])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "Answer briefly. " * 600}
history = []
while True:
    history.append({"role": "user", "content": input()})
    if len(history) > 100:
        history = history[-20:]
    reply = client.chat.completions.create(model="gpt-4.1", messages=[RULES, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
What the model may forget is the author's choice, so nothing is done unasked. `--fix --unsafe-fixes` lets the history
grow and cuts it in bulk where it is cut by `history = history[-N:]` or `history.pop(0)`; where only the request is cut
(`history[-N:]`), its start moves on by N messages at a time.

## Limits
Reported as information only: a window of more than 40 messages (of more than 100 where tools are called, whose calls
and results are messages, too, or where a loop goes on by itself), or one that a program with a known number of
questions does not fill; a cut in bulk above a threshold or on a command of the user; a cut in a script that asks
without a loop.
"""

from collections.abc import Iterator

from promptlint.api import (
    Confidence,
    Conversation,
    Finding,
    Severity,
    keeps_history,
    report_mutator,
    rule,
    seldom_filled,
)

OPTIONS = (
    ("cut rarely and in bulk (from 100 messages to 20, say)", "more is sent in between, mostly at the price of a read"),
    ("keep all turns, and summarise them once near the limit of the model", "one rewrite pays for many turns"),
)


@rule("PL301", kind="history-truncated", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    for mutator in conversation.mutators if request.facts.caches else ():
        # A window over kept turns shows by itself that they are sent again.
        if mutator.kind == "window" and (keeps_history(request) or request.has_history):
            size = f" to {mutator.keeps} messages" if mutator.keeps is not None else ""
            large = mutator.keeps is not None and seldom_filled(request, mutator.keeps)
            asked = mutator.guard == "command"
            seldom = mutator.bulk or asked or mutator.guard == "threshold"
            often = (
                "each cut lets the next turn pay again for what is left"
                if seldom
                else "once it is full, each turn drops the oldest message and nothing behind it can be reused"
            )
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what} cuts the history{size}: {often}",
                "cut rarely and in bulk (for example from 100 messages to 20), so that the turns in between share a "
                "prefix",
                Severity.INFO if large or asked or request.reuse.repeats is None else Severity.WARNING,
                Confidence.HIGH if keeps_history(request) else Confidence.MEDIUM,
                OPTIONS[1:] if mutator.what.rpartition("=")[0].isidentifier() else OPTIONS,  # a library's option
            )
