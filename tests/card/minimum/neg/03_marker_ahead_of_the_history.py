# card: minimum | expect: nothing | why: the breakpoint moves with the growing history
import anthropic


class Butler:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.history: list[dict] = []

    def ring(self, wish: str) -> str:
        self.history.append({"role": "user", "content": wish})
        options = {
            "system": [
                {"type": "text", "text": "You are a butler."}
            ],
            "cache_control": {"type": "ephemeral"},
        }
        reply = self.client.messages.create(
            model="claude-sonnet-4-5", max_tokens=100, messages=self.history, **options
        )
        self.history.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text


if __name__ == "__main__":
    butler = Butler()
    while bell := input("> "):
        print(butler.ring(bell))
