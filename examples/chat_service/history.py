"""The turns of one conversation."""

from __future__ import annotations

from typing import Any

from .config import SETTINGS

Message = dict[str, Any]

EXCERPT = 300


class Conversation:
    """Turns in the order in which they were spoken."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": content})

    def recent(self, limit: int = SETTINGS.max_messages) -> list[Message]:
        """The newest turns, so that a request does not grow without end."""
        return self.messages[-limit:]

    def compact(self) -> None:
        """Shorten what the tools said earlier: the model has read it by now."""
        for message in self.messages[:-2]:
            if message["role"] != "user" or isinstance(message["content"], str):
                continue
            for block in message["content"]:
                if block["type"] == "tool_result":
                    block["content"] = block["content"][:EXCERPT]
