r"""A suppression comment suppresses nothing.

## What it does
Reports `# promptlint: ignore[...]` comments that fit no finding.

## Why is this bad?
The comment claims a problem that is not there, and would hide the next one on that line.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
question = {"role": "user", "content": "Hello"}
client.messages.create(  # promptlint: ignore[volatile-time] the clock is needed
    model="claude-sonnet-4-5", max_tokens=500, messages=[question]
)
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
question = {"role": "user", "content": "Hello"}
client.messages.create(model="claude-sonnet-4-5", max_tokens=500, messages=[question])
```

## Fix safety
`--fix` takes the rule out of the comment, and the comment out of the file when no rule is left in it.

## Limits
Comments for rules that are not selected in this run are left alone.
"""

from promptlint.api import Finding, rule


@rule("PL901", kind="", since="0.1.0", meta=True)
def check() -> tuple[Finding, ...]:
    return ()  # the engine reports it once all findings are known
