# card: history | expect: prepended-history @ L10
from openai import OpenAI

client = OpenAI()
RULES = {"role": "system", "content": "You keep the minutes of the choir. " * 200}
REMINDER = {"role": "user", "content": "Remember: decisions in the past tense, names in full."}


def minute(history: list[dict], text: str) -> None:
    history.insert(0, dict(REMINDER))  # <- prepended-history
    history.append({"role": "user", "content": text})
    reply = client.chat.completions.create(model="gpt-4.1", messages=[RULES, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})


if __name__ == "__main__":
    evening: list[dict] = []
    for item in ("the concert", "new robes", "the organ"):
        minute(evening, item)
