r"""The newest turn is sent with text that is not stored with it.

## What it does
Reports code that copies the history, changes the newest message of the copy, sends it, and keeps the history without
the change.

## Why is this bad?
The next request holds that turn as it was stored, not as it was sent. The shared prefix ends there, and the turn, the
reply to it and all that follows are paid for again, each time. A long text that is added to the newest turn (notes,
files, a reminder) is written to the cache for nothing.

## Example
```python
import copy

from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input()})
    sent = copy.deepcopy(history)
    sent[-1]["content"] += "\n(Answer in one sentence.)"
    reply = client.chat.completions.create(model="gpt-4.1", messages=sent)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from openai import OpenAI

client = OpenAI()
history = [{"role": "system", "content": "Answer briefly. " * 600}]
while True:
    history.append({"role": "user", "content": input() + "\n(Answer in one sentence.)"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
No automatic fix: a text that is stored stays in front of the model in all later turns.

## Limits
Cache markers that are set on a copy change no text and are not reported. What was sent before the newest turn stays
shared, so this is a warning and no error.
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Conversation, Finding, Severity, keeps_history, report_mutator, rule

OPTIONS = (
    ("store the message as it was sent", "the text stays in front of the model in all later turns"),
    ("send the text as a message of its own and store that", "one short message more with each turn"),
)


@rule("PL304", kind="history-rewritten", since="0.1.0")
def check(conversation: Conversation) -> Iterator[Finding]:
    request = conversation.request
    for mutator in conversation.mutators if request.facts.caches and keeps_history(request) else ():
        if mutator.kind == "decorate":
            yield report_mutator(
                request,
                mutator,
                f"{mutator.what} changes the newest message in the copy that is sent and not in the history: from this "
                "turn on, the next request cannot reuse what this one sent",
                "store the message as it was sent, or say it in a message of its own that is stored",
                Severity.WARNING,
                Confidence.HIGH,
                OPTIONS,
            )
