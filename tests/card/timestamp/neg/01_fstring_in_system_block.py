# card: timestamp | expect: nothing | why: the date changes once a day
from datetime import datetime

import anthropic

client = anthropic.Anthropic()
HANDBOOK = "Tickets are valid for two hours and in all zones named on them. " * 200


def ask(history: list[dict], question: str) -> str:
    history.append({"role": "user", "content": question})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=512,
        cache_control={"type": "ephemeral"},
        system=[
            {"type": "text", "text": f"It is {datetime.now():%d %B %Y}."},
            {"type": "text", "text": HANDBOOK},
        ],
        messages=history,
    )
    history.append({"role": "assistant", "content": reply.content})
    return reply.content[0].text


if __name__ == "__main__":
    talk: list[dict] = []
    while line := input("> "):
        print(ask(talk, line))
