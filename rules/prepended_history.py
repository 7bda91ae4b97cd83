r"""Something new is inserted ahead of old messages.

## What it does
Reports messages that are inserted in front of the kept history, or between old messages, for each request.

## Why is this bad?
What is inserted moves every message behind it. If it differs from turn to turn, the whole history is paid for in full
each time, even though no old message changed.

## Example
```python
import chromadb
from openai import OpenAI

client = OpenAI()
notes = chromadb.Client().get_collection("notes")
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    question = input()
    history.append({"role": "user", "content": question})
    found = notes.query(query_texts=[question])["documents"]
    history.insert(1, {"role": "user", "content": f"Notes: {found}"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
import chromadb
from openai import OpenAI

client = OpenAI()
notes = chromadb.Client().get_collection("notes")
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    question = input()
    found = notes.query(query_texts=[question])["documents"]
    history.append({"role": "user", "content": f"Notes: {found}\n\n{question}"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
The place of a message can matter to the model. `--fix --unsafe-fixes` writes `append` for `insert`, so that it stands
behind the newest turn, and stays there.

## Limits
A message that stays the same in every request (a fixed example, the system text) is not reported.
"""

from collections.abc import Iterator

from promptlint.api import (
    Axis,
    Confidence,
    Conversation,
    Finding,
    Moment,
    Mutator,
    Severity,
    keeps_history,
    report_mutator,
    rule,
)

OPTIONS = (
    ("append it to the newest user message and store it there", "each turn keeps its own copy"),
    ("keep one constant text in the system prompt and announce changes in new messages", "it can become stale"),
)


@rule("PL303", kind="history-prepended", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    for mutator in conversation.mutators if request.facts.caches and keeps_history(request) else ():
        if mutator.kind == "prepend" and (_changes(mutator) or not mutator.causes):
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what} puts text ahead of old messages: the history behind it cannot be reused",
                "append it to the newest user message and store it with that message",
                Severity.ERROR if mutator.causes else Severity.WARNING,
                Confidence.HIGH if mutator.causes else Confidence.MEDIUM,
                OPTIONS,
            )


def _changes(mutator: Mutator) -> bool:
    """Whether what is inserted differs from turn to turn."""
    return any(
        c.moment >= Moment.CALL and (c.axes & {Axis.CALL, Axis.TURN} or (c.grain is not None and c.grain < 3_600))
        for c in mutator.causes
    )
