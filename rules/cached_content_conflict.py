r"""A cache object is used together with what must be inside of it.

## What it does
Reports Gemini requests that name a cache object and pass system instructions, tools or a tool configuration as well.

## Why is this bad?
The API refuses them: "CachedContent can not be used with GenerateContent request setting system_instruction, tools or
tool_config".

## Example
```python
from google import genai
from google.genai import types

client = genai.Client()
cache = client.caches.create(
    model="gemini-2.5-flash",
    config=types.CreateCachedContentConfig(contents=["long manual " * 3000]),
)
reply = client.models.generate_content(
    model="gemini-2.5-flash",
    contents="How often must the chain be oiled?",
    config=types.GenerateContentConfig(cached_content=cache.name, system_instruction="Answer briefly."),
)
```

## Use instead
```python
from google import genai
from google.genai import types

client = genai.Client()
cache = client.caches.create(
    model="gemini-2.5-flash",
    config=types.CreateCachedContentConfig(
        contents=["long manual " * 3000], system_instruction="Answer briefly."
    ),
)
reply = client.models.generate_content(
    model="gemini-2.5-flash",
    contents="How often must the chain be oiled?",
    config=types.GenerateContentConfig(cached_content=cache.name),
)
```

## Fix safety
`--fix` takes the parameter out where the cache object is made in the same file, and puts it in there if it is missing.
Where that is made elsewhere, the parameter is taken out with `--unsafe-fixes` only: it has to go into the object.

## Limits
Silent where the cache and the other parameter are both set under a condition: most likely one stands in for the other.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Region, Request, Scope, Severity, conflicts, rule


@rule("PL408", kind="other", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for cached, other, confidence in conflicts(request):
        yield Finding(
            message=f"{other.head} is set beside cached_content: the API refuses the request",
            primary=other.span,
            severity=Severity.ERROR,
            confidence=confidence,
            scope=Scope.REQUEST,
            region=Region.PARAMETERS,
            site=request.site,
            label="refused beside cached_content",
            advice=f"pass {other.head} to caches.create(), and leave it out of the requests that use the cache",
            related=((cached.span, "the cache object is named here"),),
        )
