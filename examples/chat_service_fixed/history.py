"""The turns of one conversation."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]

MAX_MESSAGES = 80


class Conversation:
    """Turns in the order in which they were spoken."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": content})

    def shorten(self) -> None:
        """Drop the older half in one go when the conversation has become very long.

        Called between two questions. The cut falls on a question, so that no tool result loses its call.
        """
        if len(self.messages) > MAX_MESSAGES:
            questions = [i for i, message in enumerate(self.messages) if isinstance(message["content"], str)]
            self.messages = self.messages[questions[len(questions) // 2] :]
