# card: tool_order | expect: unordered-tools @ L13
import json
import os

import requests

URL = "https://api.openai.com/v1/chat/completions"
KNITTING = "Cast on an even number of stitches and knit the first row into the back. " * 200


def load(folder: str) -> list[dict]:
    found = []
    for name in os.listdir(folder):  # <- unordered-tools
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append({"type": "function", "function": json.load(file)})
    return found


TOOLS = load("stitches")


def send(messages: list[dict]) -> dict:
    payload = {"model": "gpt-4.1", "messages": [{"role": "system", "content": KNITTING}]}
    payload["messages"] += messages
    payload["tools"] = TOOLS
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    response = requests.post(URL, headers=headers, data=json.dumps(payload), timeout=60)
    return response.json()["choices"][0]["message"]


if __name__ == "__main__":
    rows: list[dict] = []
    while row := input("row: "):
        rows.append({"role": "user", "content": row})
        rows.append(send(rows))
