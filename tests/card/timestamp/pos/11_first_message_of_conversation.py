# card: timestamp | expect: volatile-time @ L15
from datetime import datetime

from openai import OpenAI

client = OpenAI()
STARTED = datetime.now()
CATALOGUE = "Item 300 is a hinge of brass, 60 mm, sold in pairs with screws. " * 200
history: list[dict] = []


def opening() -> list[dict]:
    now = datetime.now()
    return [
        {"role": "user", "content": f"As of {now:%H:%M:%S} the catalogue reads:\n{CATALOGUE}"},  # <- volatile-time
        {"role": "assistant", "content": "I have read it."},
    ]


def turn(text: str) -> None:
    history.append({"role": "user", "content": text})
    response = client.chat.completions.create(model="gpt-4.1", messages=[*opening(), *history])
    history.append({"role": "assistant", "content": response.choices[0].message.content})


if __name__ == "__main__":
    for question in ("brass hinges?", "in pairs?", "and the screws?"):
        turn(question)
