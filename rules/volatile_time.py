r"""A date or time stands ahead of text that could be cached.

## What it does
Reports a clock value that is rendered ahead of the kept history or of constant text, when it changes between two
requests that should share a prefix.

## Why is this bad?
A cache hit needs the same bytes from the start of the request. The clock ends the shared prefix: everything behind it
is paid for in full again, with every turn for seconds and minutes, once a day for a date.

## Example
```python
from datetime import datetime
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    system = {"role": "system", "content": f"It is {datetime.now():%H:%M:%S}.\n{RULES}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
from datetime import datetime
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": RULES}]
while True:
    history.append({"role": "user", "content": f"[{datetime.now():%H:%M:%S}] {input()}"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix --unsafe-fixes` prints the day and nothing finer, where the format is written out and has a date in it; else it
moves the line with the time into the newest user message, where that is made and stored in one place in sight. Both
change what the model reads, so nothing is done unasked. A time that is sent with a message and not stored with it makes
every old message change instead.

## Limits
The granularity is read from format strings and `timespec`; a clock whose format is not known counts as it is printed.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Moment, Request, Scope, report, rule, text_breaks

TURN = (
    ("put the time into the newest user message and store it there", "sent but not stored, it would change old turns"),
    ("print the date only", "the model no longer knows the time of day"),
    ("take the time from the start of the conversation", "it is stale in a long one"),
    ("offer it as a tool", "one more call when the model asks for it"),
)


@rule("PL101", kind="volatile-time", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "time"):
        if (broken.cause.grain or 0) >= 86_400:
            advice = "take the date from the start of the conversation, or put it behind the constant text"
        elif broken.cause.moment is Moment.IMPORT:
            advice = "leave the time out of text that every process should send alike, or print the date only"
        elif broken.cause.moment is Moment.SESSION:
            advice = "put the start time into the first user message, behind the constant text, or print the date only"
        else:
            advice = (
                "put the time into the newest user message and store it with that message (else old messages change), "
                "offer it as a tool, or print the date only"
            )
        turn = broken.scope is Scope.TURN and broken.cause.moment >= Moment.CALL
        yield report(request, broken, advice, options=TURN if turn else ())
