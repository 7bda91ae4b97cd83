# card: breakpoints | expect: nothing | why: only the last document is marked
from pathlib import Path

import anthropic

client = anthropic.Anthropic()
DOCUMENTS = ["statutes.md", "fees.md", "bylaws.md", "minutes.md", "register.md", "insurance.md"]


def blocks() -> list[dict]:
    found = []
    for name in DOCUMENTS:
        block = {"type": "text", "text": Path(name).read_text()}
        found.append(block)
    found[-1]["cache_control"] = {"type": "ephemeral"}
    return found


def ask(question: str) -> str:
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=400,
        messages=[{"role": "user", "content": [*blocks(), {"type": "text", "text": question}]}],
    )
    return reply.content[0].text


if __name__ == "__main__":
    for line in ("Who may vote?", "What does a moorage cost?"):
        print(ask(line))
