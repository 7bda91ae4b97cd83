# case 01 - clock inside the cached system block
# source: BasedHardware/omi#7984 (pattern only, code is our own)
# expect: volatile-time @ L16 (sink: system=, region: system, granularity: microsecond)
# why: the time is rendered before everything else, so each call writes the cache and none reads it
# fix: constant system text; put the time in the newest user turn and STORE that text in history
from datetime import UTC, datetime

import anthropic

client = anthropic.Anthropic()
GUIDE = "You are the service desk of a bike shop. Use the handbook.\n" + "Rule. " * 900


def ask(history: list[dict], question: str) -> None:
    history.append({"role": "user", "content": question})
    system = f"It is {datetime.now(UTC).isoformat()}.\n{GUIDE}"  # <- volatile-time
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=256,
        system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        messages=history,
    )
    history.append({"role": "assistant", "content": reply.content[0].text})


if __name__ == "__main__":
    talk: list[dict] = []
    for q in ("Opening hours?", "Do you repair forks?", "Price list?"):
        ask(talk, q)
