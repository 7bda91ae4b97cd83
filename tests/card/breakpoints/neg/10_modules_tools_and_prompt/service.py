import anthropic
from prompts import system
from tools import all_tools


class Service:
    def __init__(self, client: anthropic.Anthropic) -> None:
        self.client = client
        self.turns: list[dict] = []

    def ask(self, text: str) -> None:
        self.turns.append({"role": "user", "content": text})
        reply = self.client.messages.create(
            model="claude-sonnet-4-5", max_tokens=200, tools=all_tools(), system=system(), messages=self.turns
        )
        self.turns.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    service = Service(anthropic.Anthropic())
    while report := input("report: "):
        service.ask(report)
