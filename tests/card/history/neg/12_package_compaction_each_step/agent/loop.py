import json
from typing import Any

from openai import OpenAI

from .state import State

SYSTEM = "Change one cell at a time and recalculate before the next change. " * 200
TOOLS = [{"type": "function", "function": {"name": "read_range", "parameters": {"type": "object"}}}]


class Agent:
    def __init__(self, client: OpenAI) -> None:
        self.client = client
        self.state = State([{"role": "system", "content": SYSTEM}])

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        return json.dumps({"tool": name, "cells": arguments})[:200]

    def run(self, task: str) -> str | None:
        self.state.add({"role": "user", "content": task})
        while True:
            reply = self.client.chat.completions.create(model="gpt-4.1", messages=self.state.messages, tools=TOOLS)
            message = reply.choices[0].message
            self.state.add(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                result = self.call(call.function.name, json.loads(call.function.arguments))
                self.state.add({"role": "tool", "tool_call_id": call.id, "content": result})
