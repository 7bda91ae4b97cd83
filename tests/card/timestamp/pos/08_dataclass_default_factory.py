# card: timestamp | expect: volatile-time @ L17
from dataclasses import dataclass, field
from datetime import datetime

from openai import OpenAI

client = OpenAI()
CODE = "A dish is vegan when none of its ingredients comes from an animal. " * 200


@dataclass
class Frame:
    kitchen: str
    opened: str = field(default_factory=lambda: datetime.now().strftime("%d.%m.%Y %H:%M:%S"))

    def text(self) -> str:
        return f"Kitchen {self.kitchen}, {self.opened}\n{CODE}"  # <- volatile-time


HOUSE = Frame("house")


def complete(frame: Frame, messages: list[dict], **options: object) -> str:
    system = {"role": "system", "content": frame.text()}
    response = client.chat.completions.create(model="gpt-4.1", messages=[system, *messages], **options)
    return response.choices[0].message.content or ""


def evening() -> None:
    messages: list[dict] = []
    while True:
        messages.append({"role": "user", "content": input("guest: ")})
        answer = complete(Frame("house"), messages, temperature=0.2)
        messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    evening()
