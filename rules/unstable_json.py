r"""JSON in the prompt is made of a value without a fixed order.

## What it does
Reports `json.dumps` of sets, of directory listings, of results in the order in which they were ready, and of dicts that
are filled from such values, where its text stands ahead of text that could be cached.

## Why is this bad?
The text differs although it says the same. The order of a set differs between processes (`PYTHONHASHSEED`), a listing
from machine to machine, results of concurrent work from call to call: no worker can use what another one cached.

## Example
```python
import json
from openai import OpenAI

client = OpenAI()
SKILLS = {"search": "searches the shelves", "write": "writes a letter", "remind": "writes to late readers"}
RULES = "Answer briefly. " * 600
known = {name: SKILLS[name] for name in {"search", "write", "remind"}}
history = [{"role": "system", "content": f"Skills: {json.dumps(known)}\n{RULES}"}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Use instead
```python
import json
from openai import OpenAI

client = OpenAI()
SKILLS = {"search": "searches the shelves", "write": "writes a letter", "remind": "writes to late readers"}
RULES = "Answer briefly. " * 600
known = {name: SKILLS[name] for name in {"search", "write", "remind"}}
history = [{"role": "system", "content": f"Skills: {json.dumps(known, sort_keys=True)}\n{RULES}"}]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
```

## Fix safety
`--fix` writes `sorted(...)` around what the value is made of, where that is known to be strings or paths.
`sort_keys=True` orders the keys of dicts only: a list keeps the order of what it was made of, and needs `sorted(...)`.
Arguments that the model wrote should be kept as it wrote them.

## Limits
A dict keeps the order in which it was filled: one that is written down, or read from a file, is not reported.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, text_breaks


@rule("PL109", kind="unsorted-json", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "json"):
        yield report(
            request,
            broken,
            "sort what the JSON is made of: sorted(...) for a list, sort_keys=True for the keys of a dict",
            f"JSON in an order that is not fixed ({broken.cause.what})",
        )
