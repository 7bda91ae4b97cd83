from openai import OpenAI

MODEL = "gpt-4.1"


class LLM:
    def __init__(self) -> None:
        self._client = OpenAI()

    def complete(self, messages: list[dict], tools: list[dict]) -> dict:
        reply = self._client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        return reply.choices[0].message.model_dump(exclude_none=True)
