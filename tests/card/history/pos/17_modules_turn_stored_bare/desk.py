# card: history | expect: lossy-replay @ L23
from pathlib import Path

import anthropic
from book import Book
from fastapi import FastAPI
from prompts import RULES, with_page

app = FastAPI()
client = anthropic.Anthropic()
book = Book()


def page_for(question: str) -> str:
    words = question.lower().split()
    return max(Path("pages").glob("*.md"), key=lambda p: sum(w in p.stem for w in words)).read_text()


@app.post("/rooms/{room}")
def ask(room: str, question: str) -> str:
    said = with_page(page_for(question), question)
    turns = book.turns(room)
    block = {"type": "text", "text": said, "cache_control": {"type": "ephemeral"}}  # <- lossy-replay
    messages = [*turns, {"role": "user", "content": [block]}]
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=RULES, messages=messages)
    book.note(room, "user", question)
    book.note(room, "assistant", reply.content[0].text)
    return reply.content[0].text
