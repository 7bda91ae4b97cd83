# card: timestamp | expect: volatile-time @ L14
from datetime import datetime

from fastapi import FastAPI, WebSocket
from openai import OpenAI

app = FastAPI()
client = OpenAI()
TOUR = "The second hall shows the tools with which the organ was built. " * 200


class Guide:
    def __init__(self, hall: str) -> None:
        self.system = f"Tour of {hall}, begun {datetime.now():%d %B %H:%M:%S}.\n{TOUR}"  # <- volatile-time
        self.turns: list[dict] = []

    def answer(self, text: str) -> str:
        self.turns.append({"role": "user", "content": text})
        response = client.chat.completions.create(
            model="gpt-4.1", messages=[{"role": "system", "content": self.system}, *self.turns]
        )
        reply = response.choices[0].message.content or ""
        self.turns.append({"role": "assistant", "content": reply})
        return reply


@app.websocket("/tour")
async def tour(socket: WebSocket) -> None:
    await socket.accept()
    guide = Guide("hall two")
    while True:
        await socket.send_text(guide.answer(await socket.receive_text()))
