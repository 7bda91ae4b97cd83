r"""A file that the analysis needs is not valid Python.

## What it does
Reports the syntax error of a file that was named on the command line, or that a request depends on.

## Why is this bad?
What the file builds is not seen, so problems in it go unreported.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
client.messages.create(model="claude-sonnet-4-5", max_tokens=500, messages=[)
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
client.messages.create(model="claude-sonnet-4-5", max_tokens=500, messages=[{"role": "user", "content": "Hello"}])
```

## Fix safety
No automatic fix.

## Limits
Files are read with the grammar of the Python that runs promptlint: newer syntax is an error there. Files that no
request depends on are not read that far, broken or not.
"""

from promptlint.api import Finding, rule


@rule("PL900", kind="", since="0.1.0", meta=True)
def check() -> tuple[Finding, ...]:
    return ()  # the engine reports it while reading files
