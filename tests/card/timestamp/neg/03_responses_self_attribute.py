# card: timestamp | expect: nothing | why: the date changes once a day
from datetime import UTC, datetime

from openai import OpenAI

POLICY = "A claim is settled when the adjuster has seen the invoice and the photographs. " * 150


class ClaimsDesk:
    def __init__(self) -> None:
        self.client = OpenAI()
        self.items: list[dict] = []
        self.instructions = POLICY

    def refresh(self) -> None:
        now = datetime.now(UTC).date().isoformat()
        self.instructions = f"Current time: {now}\n\n{POLICY}"

    def ask(self, text: str) -> str:
        self.refresh()
        self.items.append({"role": "user", "content": text})
        response = self.client.responses.create(
            model="gpt-4.1", instructions=self.instructions, input=self.items, store=False
        )
        self.items.append({"role": "assistant", "content": response.output_text})
        return response.output_text


if __name__ == "__main__":
    desk = ClaimsDesk()
    for message in ("my roof leaks", "since Sunday", "about two square metres"):
        print(desk.ask(message))
