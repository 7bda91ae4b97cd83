import anthropic
import valves  # noqa: F401
from registry import active

client = anthropic.Anthropic()
PROCEDURE = "Close the upstream valve first and wait until the pressure has settled. " * 200


class Waterworks:
    def __init__(self) -> None:
        self.history: list[dict] = []

    def step(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        request = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 300,
            "system": [{"type": "text", "text": PROCEDURE, "cache_control": {"type": "ephemeral"}}],
            "messages": self.history,
        }
        reply = client.messages.create(tools=active(), **request)
        self.history.append({"role": "assistant", "content": reply.content})
        return reply.stop_reason or ""


if __name__ == "__main__":
    works = Waterworks()
    while line := input("> "):
        works.step(line)
