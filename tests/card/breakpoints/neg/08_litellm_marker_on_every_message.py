# card: breakpoints | expect: nothing | why: only the system text and the newest message are marked
import litellm

MARK = {"cache_control": {"type": "ephemeral"}}
SYSTEM = "Name the mushroom, its doubles, and whether it may be eaten. " * 200


def as_blocks(history: list[dict]) -> list[dict]:
    messages = []
    for message in history:
        text = {"type": "text", "text": message["content"]}
        messages.append({"role": message["role"], "content": [text]})
    messages[-1]["content"][0].update(MARK)
    return messages


def identify(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    system = {"role": "system", "content": [{"type": "text", "text": SYSTEM, **MARK}]}
    response = litellm.completion(
        model="anthropic/claude-sonnet-4-5",
        messages=[system, *as_blocks(history)],
    )
    history.append({"role": "assistant", "content": response.choices[0].message.content})


if __name__ == "__main__":
    basket: list[dict] = []
    while found := input("found: "):
        identify(basket, found)
