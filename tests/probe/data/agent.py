import os
import uuid
from datetime import datetime

import anthropic

client = anthropic.Anthropic()
MANUAL = "Answer as the handbook says, and be brief about it. " * 200
TOOL_NAMES = {"find", "cancel", "order", "pay"}


def build_tools():
    return [
        {"name": n, "description": f"Use {n} when needed. " * 80, "input_schema": {"type": "object", "properties": {}}}
        for n in TOOL_NAMES
    ]


class Chat:
    def __init__(self):
        self.history = []

    def turn(self, text):
        self.history.append({"role": "user", "content": text})
        answer = client.messages.create(
            model="claude-sonnet-5",
            max_tokens=500,
            system=[{"type": "text", "text": f"{MANUAL} Now: {datetime.now():%H:%M:%S}",
                     "cache_control": {"type": "ephemeral"}}],
            messages=self.history,
        )
        self.history.append({"role": "assistant", "content": answer.content[0].text})


def review(document):
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=500,
        tools=build_tools(),
        system=[{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": document}],
    )


def window(questions):
    history = []
    for q in questions:
        history.append({"role": "user", "content": q})
        answer = client.messages.create(
            model="claude-sonnet-5", max_tokens=500, cache_control={"type": "ephemeral"},
            system=MANUAL, messages=history[-3:],
        )
        history.append({"role": "assistant", "content": answer.content[0].text * 20})


def sound(questions):
    history = []
    for q in questions:
        history.append({"role": "user", "content": q})
        answer = client.messages.create(
            model="claude-sonnet-5", max_tokens=500, cache_control={"type": "ephemeral"},
            system=MANUAL, messages=history,
        )
        history.append({"role": "assistant", "content": answer.content[0].text})


def main():
    chat = Chat()
    for q in ("a?", "b?", "c?"):
        chat.turn(q)
    for d in ("one", "two"):
        review(d)
    window(["first? " * 200, "second? " * 200, "third? " * 200, "fourth? " * 200])
    sound(["x", "y", "z"])


if __name__ == "__main__":
    while True:
        Chat().turn(input())
