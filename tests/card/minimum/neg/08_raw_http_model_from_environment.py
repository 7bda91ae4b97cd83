# card: minimum | expect: nothing | why: another model may cache from 512 tokens on
import os

import httpx

MODEL = os.environ["LEDGER_MODEL"]
LEDGER = "A payment is booked on the day of its value, not of its arrival. " * 130


def book(line: str) -> dict:
    payload = {
        "model": MODEL,
        "max_tokens": 200,
        "system": [{"type": "text", "text": LEDGER, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": line}],
    }
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    return httpx.post("https://api.anthropic.com/v1/messages", json=payload, headers=headers).json()


if __name__ == "__main__":
    while entry := input("entry: "):
        print(book(entry))
