from anthropic import Anthropic

from app.prompts import system_prompt
from app.tools import TOOLS

client = Anthropic()


class Agent:
    def __init__(self, user: str) -> None:
        self.user = user
        self.history: list[dict] = []

    def ask(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        self.history = trim(
            self.history,
            keep=20,
        )
        reply = client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1024,
            tools=TOOLS,
            system=[{"type": "text", "text": system_prompt(self.user), "cache_control": {"type": "ephemeral"}}],
            messages=self.history,
        )
        return reply.content[0].text
