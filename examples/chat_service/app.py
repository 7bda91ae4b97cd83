"""Entry points: `uvicorn chat_service.app:app`, or `python -m chat_service.app` in the terminal."""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel

from .desk import Desk

app = FastAPI(title="Service desk")
desk = Desk()


class Question(BaseModel):
    customer: str
    text: str


@app.post("/questions")
def ask(question: Question) -> dict[str, str]:
    return {"answer": desk.ask(question.customer, question.text)}


def main() -> None:
    while text := input("> ").strip():
        print(desk.ask("terminal", text))


if __name__ == "__main__":
    main()
