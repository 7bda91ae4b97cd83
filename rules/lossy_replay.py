r"""An old turn is sent again in another form than before.

## What it does
Reports turns whose form changes between two requests: a new id for each old tool call, a user's turn that is sent with
text around it and stored without, a tool result that is stored shorter than it was sent, several steps that are stored
as one message.

## Why is this bad?
The prefix ends at the first byte that differs from what was sent before. A random id in an old turn spoils everything
behind it in every request. A turn that is stored in another form than it was sent in is read again with the next one,
together with its tool results; and where a breakpoint stands on it, what was written to the cache is never read.

## Example
```python
import uuid

from openai import OpenAI

client = OpenAI()


def replayed(steps):
    for step in steps:
        call = {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": step["function"]}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": call["id"], "content": step["result"]}


def main(store):
    while question := input():
        sent = [*replayed(store.steps()), {"role": "user", "content": question}]
        print(client.chat.completions.create(model="gpt-4.1", messages=sent))
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()


def replayed(steps):
    for step in steps:
        call = {"id": step["id"], "type": "function", "function": step["function"]}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": call["id"], "content": step["result"]}


def main(store):
    while question := input():
        sent = [*replayed(store.steps()), {"role": "user", "content": question}]
        print(client.chat.completions.create(model="gpt-4.1", messages=sent))
```

## Fix safety
No automatic fix: what a turn looked like has to be stored with it. Do not sort the keys of arguments that the model
wrote: the sorted text is not what it generated, which is what local servers cache.

## Limits
A conversion that gives the same turn the same form in every request is stable and not reported. Where nothing is sent
behind the turn before the next one comes, only the turn itself is read again: that is information only.
"""

from collections.abc import Iterator

from promptlint.api import (
    Confidence,
    Conversation,
    Finding,
    keeps_history,
    repaid,
    replay_breaks,
    report,
    report_mutator,
    rule,
)


@rule("PL305", kind="history-rewritten", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    for broken in replay_breaks(request):
        where = " where none was stored" if "fallback" in broken.cause.features else ""
        yield report(
            request,
            broken,
            "store the id with the turn when it is first sent; for old turns without one, derive it from what is "
            "stored (a hash, or their number)",
            f"{broken.cause.what} is put into turns that were already sent{where}, and",
        )
    for mutator in conversation.mutators if request.facts.caches and keeps_history(request) else ():
        if mutator.kind == "replay":
            severity, loss = repaid(request, mutator)
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what}: {loss}",
                "store the turn as it was sent, or send what does not belong to it as a message of its own",
                severity,
                Confidence.HIGH,
            )
