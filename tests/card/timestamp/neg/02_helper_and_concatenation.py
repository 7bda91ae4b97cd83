# card: timestamp | expect: nothing | why: the stamp is stored with the turn it belongs to
import time

from openai import OpenAI

client = OpenAI()
RULES = "Quote the paragraph of the lease that an answer rests on. " * 200
history: list[dict] = []


def stamp() -> str:
    return "Server time " + time.strftime("%Y-%m-%d %H:%M:%S")


def build_system() -> str:
    return RULES


def turn(text: str) -> str:
    history.append({"role": "user", "content": stamp() + "\n" + text})
    prefix = [{"role": "system", "content": build_system()}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=prefix + history)
    answer = reply.choices[0].message.content or ""
    history.append({"role": "assistant", "content": answer})
    return answer


def main() -> None:
    while True:
        print(turn(input("tenant: ")))


if __name__ == "__main__":
    main()
