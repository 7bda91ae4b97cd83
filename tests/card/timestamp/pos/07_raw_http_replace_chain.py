# card: timestamp | expect: volatile-time @ L21
import functools
import os
from datetime import datetime

import httpx

PROMPT = "{{role}}. It is {{time}}.\n\n" + "Answer with the page of the timetable and the platform. " * 220


def clock() -> str:
    return datetime.now().astimezone().isoformat()


@functools.cache
def role() -> str:
    return os.environ.get("DESK_ROLE", "You are the information desk")


def render() -> str:
    return PROMPT.replace("{{role}}", role()).replace("{{time}}", clock())  # <- volatile-time


def post(history: list[dict]) -> str:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 400,
        "cache_control": {"type": "ephemeral"},
        "system": render(),
        "messages": history,
    }
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    response = httpx.post("https://api.anthropic.com/v1/messages", headers=headers, json=body, timeout=60)
    return response.json()["content"][0]["text"]


if __name__ == "__main__":
    turns: list[dict] = []
    while question := input("traveller: "):
        turns.append({"role": "user", "content": question})
        turns.append({"role": "assistant", "content": post(turns)})
