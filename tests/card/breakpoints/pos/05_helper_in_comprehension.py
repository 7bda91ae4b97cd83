# card: breakpoints | expect: too-many-breakpoints @ L19
import anthropic
from flask import Flask, request

app = Flask(__name__)
client = anthropic.Anthropic()
CHAPTERS = {
    "knots": "A bowline holds under load and is opened with one hand. " * 100,
    "sails": "Reef when the thought of it first crosses your mind. " * 100,
    "engine": "Bleed the filter first, then the pump, then the injectors. " * 100,
    "safety": "One hand is for the ship and one hand is for yourself. " * 100,
    "charts": "Depths are reduced to the lowest astronomical tide. " * 100,
}


def mark(text: str, last: bool = True) -> dict:
    block: dict = {"type": "text", "text": text}
    if last:
        block["cache_control"] = {"type": "ephemeral"}  # <- too-many-breakpoints
    return block


@app.post("/ask")
def ask() -> str:
    titles = list(CHAPTERS)
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=200,
        system=[mark(CHAPTERS[title]) for title in titles],
        messages=[{"role": "user", "content": request.get_json()["question"]}],
    )
    return reply.content[0].text
