r"""The marked prefix is too short to be cached.

## What it does
Reports requests that ask for caching with a breakpoint although all text up to the last one is shorter than the
smallest prefix that the model caches.

## Why is this bad?
Nothing is cached and nothing is said: the request succeeds and the usage shows neither a write nor a read.

## Example
```python
from anthropic import Anthropic

client = Anthropic()
for question in ("How long?", "How often?", "Which tool?"):
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system=[{"type": "text", "text": "Answer briefly.", "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": question}],
    )
```

## Use instead
```python
from anthropic import Anthropic

client = Anthropic()
for question in ("How long?", "How often?", "Which tool?"):
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        system="Answer briefly.",
        messages=[{"role": "user", "content": question}],
    )
```

## Fix safety
Leaving the breakpoint out changes no text and no price, but the prefix may grow one day: `--fix --unsafe-fixes`.

## Limits
Only text that is known to the letter is counted; a prefix with a part of unknown length is not reported.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, Scope, Severity, certainty, evidence, in_words, rule


@rule("PL406", kind="below-minimum", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    facts = request.facts
    if not request.breakpoints or not facts.caches or not (request.reuse.turns or request.reuse.repeats):
        return
    last = max(request.breakpoints, key=lambda marker: (marker.automatic, marker.segment))
    prefix = request.size if last.automatic else request.before(last.segment + 1)
    if prefix.high >= facts.minimum or last.problem:
        return
    model = facts.model or f"a model of {facts.provider}"
    yield Finding(
        message=f"the prefix up to this breakpoint has {in_words(prefix)}, but {model} caches nothing below "
        f"{facts.minimum:,}: the breakpoint has no effect",
        primary=last.span,
        severity=Severity.WARNING if facts.minimum_known else Severity.INFO,
        confidence=certainty(request),
        scope=Scope.TURN if request.reuse.turns else Scope.CONVERSATION,
        region=request.segments[last.segment].region,
        site=request.site,
        label="no effect",
        advice="leave it out, or let the breakpoint cover more constant text (documents, examples, tools)",
        related=evidence(request),
        tokens_lost=prefix,
    )
