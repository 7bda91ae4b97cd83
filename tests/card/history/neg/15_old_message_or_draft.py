# card: history | expect: nothing | why: only the message that was not sent yet is edited
import anthropic

client = anthropic.Anthropic()
CANON = "A villanelle has nineteen lines, two rhymes and two refrains. " * 200


def write(poem: list[dict], line: str) -> None:
    draft = {"role": "user", "content": line}
    poem.append(draft)
    draft["content"] = line.strip() + "\n"
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=200,
        system=CANON,
        messages=poem,
        cache_control={"type": "ephemeral"},
    )
    poem.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    lines: list[dict] = []
    while text := input("line: "):
        write(lines, text)
