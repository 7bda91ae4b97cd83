# card: breakpoints | expect: too-many-breakpoints @ L16
import anthropic

client = anthropic.Anthropic()
SYSTEM = "You are the stage manager. Call each cue by its number. " * 200


def strip(messages: list[dict]) -> None:
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)


def cue(messages: list[dict], text: str) -> None:
    block = {"type": "text", "text": text}
    block["cache_control"] = {"type": "ephemeral"}  # <- too-many-breakpoints
    messages.append({"role": "user", "content": [block]})
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=100, system=SYSTEM, messages=messages)
    messages.append({"role": "assistant", "content": [{"type": "text", "text": reply.content[0].text}]})


if __name__ == "__main__":
    play: list[dict] = []
    while line := input("cue: "):
        cue(play, line)
