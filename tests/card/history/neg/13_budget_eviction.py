# card: history | expect: nothing | why: the conversation ends instead
from anthropic import Anthropic

client = Anthropic()
BUDGET = 6000
CURATOR = "Say who made the painting, when, and what it looked like when it was new. " * 200


def size(messages: list[dict]) -> int:
    return sum(len(str(message["content"])) // 4 for message in messages)


def visit() -> None:
    messages: list[dict] = []
    while question := input("visitor: "):
        messages.append({"role": "user", "content": question})
        if size(messages) > BUDGET:
            raise SystemExit("The tour is over.")
        reply = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=CURATOR,
            messages=messages,
            cache_control={"type": "ephemeral"},
        )
        messages.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    visit()
