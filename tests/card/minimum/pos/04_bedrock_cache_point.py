# card: minimum | expect: prefix-below-minimum @ L13
import boto3
from fastapi import FastAPI

app = FastAPI()
bedrock = boto3.client("bedrock-runtime", region_name="eu-west-1")
TONE = "Rewrite the notice in plain words. Keep dates and room numbers. "


def system() -> list[dict]:
    return [
        {"text": TONE * 3},
        {"cachePoint": {"type": "default"}},  # <- prefix-below-minimum
    ]


@app.post("/notices")
def rewrite(text: str) -> dict[str, str]:
    response = bedrock.converse(
        modelId="eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=system(),
        messages=[{"role": "user", "content": [{"text": text}]}],
    )
    return {"notice": response["output"]["message"]["content"][0]["text"]}
