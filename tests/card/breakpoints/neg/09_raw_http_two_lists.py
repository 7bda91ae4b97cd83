# card: breakpoints | expect: nothing | why: four breakpoints are allowed
import os

import httpx

URL = "https://api.anthropic.com/v1/messages"
CACHED = {"type": "ephemeral"}
LAW = ["A bridge is inspected every six years. " * 80, "A cable is inspected every two years. " * 80]
LOG = ["In spring the bearings were greased. " * 80, "In autumn the gutters were cleared. " * 80]


def text(content: str) -> dict:
    return {"type": "text", "text": content, "cache_control": CACHED}


def inspect(http: httpx.Client, question: str) -> str:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 300,
        "tools": [{"name": "photo", "input_schema": {"type": "object"}}],
        "system": [text(part) for part in LAW],
        "messages": [{"role": "user", "content": [*map(text, LOG), {"type": "text", "text": question}]}],
    }
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    response = http.post(URL, headers=headers, json=body)
    return response.json()["content"][0]["text"]


if __name__ == "__main__":
    with httpx.Client() as session:
        while line := input("inspector: "):
            print(inspect(session, line))
