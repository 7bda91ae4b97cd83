# card: tool_order | expect: unordered-tools @ L14
import anthropic

client = anthropic.Anthropic()
REGISTRY = {
    name: {"name": name, "description": f"{name} a shipment", "input_schema": {"type": "object"}}
    for name in ("book", "trace", "divert", "weigh", "insure", "recall")
}
ENABLED = set(REGISTRY) - {"recall"}
RULES = "A shipment over thirty kilograms needs two carriers and a ramp. " * 200


def tools() -> list[dict]:
    return [REGISTRY[name] for name in ENABLED]  # <- unordered-tools


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=300,
        tools=tools(),
        system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
        messages=history,
    )
    history.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    log: list[dict] = []
    while line := input("> "):
        turn(log, line)
