# card: breakpoints | expect: too-many-breakpoints @ L29
import asyncio

from anthropic import AsyncAnthropic

client = AsyncAnthropic()


def section(title: str, sentence: str) -> dict:
    return {"type": "text", "text": f"# {title}\n" + sentence * 150, "cache_control": {"type": "ephemeral"}}


SYSTEM = [
    section("Rules", "Whoever touches a piece has to move it. "),
    section("Clock", "The clock is pressed with the hand that moved. "),
    section("Draws", "A draw is offered after one's own move. "),
    section("Appeals", "An appeal is lodged before the next round. "),
]


class Arbiter:
    def __init__(self) -> None:
        self.messages: list[dict] = []

    async def rule(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        options = {"model": "claude-sonnet-4-5", "max_tokens": 300, "system": SYSTEM}
        options |= {"cache_control": {"type": "ephemeral"}}
        reply = await client.messages.create(messages=self.messages, **options)  # <- too-many-breakpoints
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text


async def main() -> None:
    arbiter = Arbiter()
    while True:
        print(await arbiter.rule(input("table: ")))


if __name__ == "__main__":
    asyncio.run(main())
