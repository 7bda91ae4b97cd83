# card: breakpoints | expect: lookback-overflow @ L25
from anthropic import Anthropic

client = Anthropic()
RULES = "A survey names each room, its size, its windows and its damage. " * 200
ROOMS = [f"room {number}" for number in range(1, 31)]


def described(rooms, note):
    return [{"type": "text", "text": f"{room}: {note}"} for room in rooms]


def survey():
    turns = []
    while True:
        note = input("note: ")
        turns.append({"role": "user", "content": described(ROOMS, note)})
        request = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1000,
            "system": [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            "messages": turns,
        }
        request |= {
            "cache_control": {"type": "ephemeral"},  # <- lookback-overflow
        }
        reply = client.messages.create(**request)
        turns.append({"role": "assistant", "content": reply.content[0].text})


survey()
