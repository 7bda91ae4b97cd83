# card: history | expect: nothing | why: only the log line is cut
import logging

from openai import OpenAI

log = logging.getLogger(__name__)
client = OpenAI()
SYSTEM = {"role": "system", "content": "You play a patient chess teacher. " * 200}


def turn(history: list[dict], text: str) -> str:
    history.append({"role": "user", "content": text})
    log.debug("newest turns: %s", history[-4:])
    reply = client.chat.completions.create(
        model="gpt-4.1",
        messages=[SYSTEM, *history],
    )
    answer = reply.choices[0].message.content or ""
    history.append({"role": "assistant", "content": answer})
    return answer


if __name__ == "__main__":
    game: list[dict] = []
    while move := input("move: "):
        print(turn(game, move))
