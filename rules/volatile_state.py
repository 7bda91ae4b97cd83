r"""Retrieved text or program state stands ahead of the history.

## What it does
Reports search results, memories, todo lists, plans and open files that are rendered into the system text, or into a
message ahead of the kept history, for each request.

## Why is this bad?
System text precedes all messages. When a memory is recalled there, the next request differs before its first message,
and the whole history is paid for again, even if the constant part of the system text has its own breakpoint.

## Example
```python
import chromadb
from openai import OpenAI

client = OpenAI()
notes = chromadb.Client().get_collection("notes")
RULES = "Answer briefly. " * 600
history = []
while True:
    question = input()
    found = notes.query(query_texts=[question])["documents"]
    history.append({"role": "user", "content": question})
    system = {"role": "system", "content": f"{RULES}\nNotes: {found}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
import chromadb
from openai import OpenAI

client = OpenAI()
notes = chromadb.Client().get_collection("notes")
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": RULES}]
while True:
    question = input()
    found = notes.query(query_texts=[question])["documents"]
    history.append({"role": "user", "content": f"Notes: {found}\n\n{question}"})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix --unsafe-fixes` moves the line with the text into the newest user message, where that is made and stored in one
place in sight. What is sent with a message must be stored with it; sent but not stored, it breaks the next turn.

## Limits
How often the text really changes is only seen at run time (`promptlint record`).
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, report, rule, text_breaks

TURN = (
    ("put it into the newest user message and store it there", "each turn keeps its own copy, at the price of a read"),
    ("offer it as a tool", "one more call when the model asks for it"),
    ("keep it as it was when the conversation began", "what changes since has to be said in a new message"),
)


@rule("PL105", kind="volatile-user", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "state"):
        if broken.scope is Scope.TURN:
            advice = "put it into the newest user message and store it with that message, or offer it as a tool"
        else:
            advice = "put the constant text first, and what was retrieved for this call behind it"
        yield report(request, broken, advice, options=TURN if broken.scope is Scope.TURN else ())
