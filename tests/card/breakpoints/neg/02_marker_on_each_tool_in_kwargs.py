# card: breakpoints | expect: nothing | why: only the request itself is marked
import anthropic

client = anthropic.Anthropic()
NAMES = ("pump", "drain", "heat", "cool", "stir")
MARK = {"type": "ephemeral"}
BREWING = "Raise the mash by one degree a minute and hold it at each rest. " * 200


def build() -> dict:
    tools = [
        {"name": name, "description": f"{name} the kettle", "input_schema": {"type": "object"}}
        for name in NAMES
    ]
    system = [{"type": "text", "text": BREWING}]
    return {"tools": tools, "system": system, "cache_control": MARK}


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=200, messages=history, **build())
    history.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    brew: list[dict] = []
    for step in ("mash in", "first rest", "lauter"):
        turn(brew, step)
