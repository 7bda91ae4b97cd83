# card: minimum | expect: prefix-below-minimum @ L22
from anthropic import Anthropic

from .settings import SETTINGS
from .texts import METHODS


class Reader:
    def __init__(self) -> None:
        self._client: Anthropic | None = None

    @property
    def client(self) -> Anthropic:
        if self._client is None:
            self._client = Anthropic()
        return self._client

    def read(self, page: str) -> str:
        reply = self.client.messages.create(
            model=SETTINGS.model,
            max_tokens=SETTINGS.max_tokens,
            system=[{"type": "text", "text": METHODS, "cache_control": {"type": "ephemeral"}}],  # <- prefix-below-minimum
            messages=[{"role": "user", "content": page}],
        )
        return reply.content[0].text
