from openai import AsyncOpenAI

from .prompts import system_text


class Translator:
    def __init__(self) -> None:
        self.client = AsyncOpenAI()
        self.history: list[dict] = []

    def messages(self) -> list[dict]:
        return [{"role": "system", "content": system_text()}, *self.history]

    async def translate(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        response = await self.client.chat.completions.create(model="gpt-4.1-mini", messages=self.messages())
        answer = response.choices[0].message.content or ""
        self.history.append({"role": "assistant", "content": answer})
        return answer
