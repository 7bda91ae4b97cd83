# card: minimum | expect: nothing | why: this model caches from 1,024 tokens on
from anthropic import Anthropic

MODEL = "claude-sonnet-4-5"
PRIMER = "A stanza is a room and a line is a breath, and both have doors. " * 130


class Poet:
    def __init__(self) -> None:
        self.client = Anthropic()
        self.system = [{"type": "text", "text": PRIMER}]
        self.system[0]["cache_control"] = {"type": "ephemeral"}

    def scan(self, verse: str) -> str:
        request = {"model": MODEL, "max_tokens": 100, "system": self.system}
        request["messages"] = [{"role": "user", "content": verse}]
        return self.client.messages.create(**request).content[0].text


if __name__ == "__main__":
    poet = Poet()
    while line := input("verse: "):
        print(poet.scan(line))
