r"""Files in old turns get a new signed address in every request.

## What it does
Reports signed addresses (presigned URLs, SAS tokens) that are made anew for turns which were sent before, or that stand
ahead of text which could be cached.

## Why is this bad?
The signature holds the time at which it was made. The same picture has another address in each request, and the prefix
ends at the first of them: all turns behind it, and the picture itself, are read and paid for again.

## Example
```python
import boto3
from openai import OpenAI

client, s3 = OpenAI(), boto3.client("s3")
turns = []


def shown(turn):
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "pictures", "Key": turn["key"]})
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


while key := input():
    turns.append({"key": key})
    client.chat.completions.create(model="gpt-4.1", messages=[shown(turn) for turn in turns])
```

## Use instead
```python
import boto3
from openai import OpenAI

client, s3 = OpenAI(), boto3.client("s3")
turns = []


def shown(key):
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "pictures", "Key": key})
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


while key := input():
    turns.append(shown(key))
    client.chat.completions.create(model="gpt-4.1", messages=turns)
```

## Fix safety
No automatic fix: an address that is kept has to be valid for as long as the conversation. Signing with a time that is
rounded down (to the hour, say) gives the same address until it is due; the id of an uploaded file never changes.

## Limits
Text in base64 is the same for the same bytes and is not reported; whether a picture is encoded anew with the same bytes
is not known.
"""

from collections.abc import Iterator

from promptlint.api import Finding, Request, report, rule, text_breaks


@rule("PL307", kind="history-rewritten", since="0.1.0")
def check(request: Request) -> Iterator[Finding]:
    for broken in text_breaks(request, "signed"):
        yield report(
            request,
            broken,
            "make the address once and store it with the turn, sign with a rounded time, or send the file by its id",
            f"{broken.cause.what} is a new signed address, which",
        )
