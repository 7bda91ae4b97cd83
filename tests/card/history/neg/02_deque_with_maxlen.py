# card: history | expect: nothing | why: a deque without a bound drops nothing
from collections import deque

import anthropic


class Radio:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.turns: deque[dict] = deque()

    def say(self, text: str) -> str:
        self.turns.append({"role": "user", "content": text})
        reply = self.client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=200,
            cache_control={"type": "ephemeral"},
            system="You are the weather service for small boats. Be calm and exact. " * 200,
            messages=list(self.turns),
        )
        self.turns.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text


if __name__ == "__main__":
    radio = Radio()
    while call := input("boat: "):
        print(radio.say(call))
