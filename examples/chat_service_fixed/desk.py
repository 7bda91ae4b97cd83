"""The assistant: conversations, and the loop in which it uses its tools."""

from __future__ import annotations

from . import llm, tools
from .context import with_context
from .history import Conversation
from .prompts import build_system


class Desk:
    """All conversations of this process."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}

    def ask(self, customer: str, question: str) -> str:
        """Answer the next question of a customer."""
        service = llm.route(question)
        if service == "data_sheet":
            return llm.answer_from_sheets(question)
        if service == "estimate":
            return llm.estimate(question)
        return self.chat(customer, question)

    def chat(self, customer: str, question: str) -> str:
        conversation = self.conversations.setdefault(customer, Conversation())
        conversation.shorten()
        conversation.add("user", with_context(question))
        while True:
            response = llm.reply(
                system=build_system(),
                messages=conversation.messages,
                tools=tools.definitions(),
            )
            conversation.add("assistant", response.content)
            if response.stop_reason != "tool_use":
                return llm.text_of(response)
            conversation.add("user", tools.run_all(response.content))
