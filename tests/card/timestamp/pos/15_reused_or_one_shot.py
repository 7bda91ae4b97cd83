# card: timestamp | expect: volatile-time @ L12
from datetime import datetime

from openai import OpenAI

client = OpenAI()
LETTERS = ("Dear Sirs, the boiler is cold again.", "Dear Sirs, thank you.", "Dear Sirs, I give notice.")
RULES = "Name the sender's wish, the date by which it is due, and who must act. " * 200


def sort_letter(letter: str) -> str | None:
    system = f"Read at {datetime.now():%H:%M:%S.%f}\n{RULES}"  # <- volatile-time
    response = client.chat.completions.create(
        model="gpt-4.1", messages=[{"role": "system", "content": system}, {"role": "user", "content": letter}]
    )
    return response.choices[0].message.content


if __name__ == "__main__":
    for post in LETTERS:
        print(sort_letter(post))
