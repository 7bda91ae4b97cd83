# case 19 (hard negative) - sets near tools: sorted before use, or used for reporting only
# source: code search for "list(set(tools": 7 of 10 samples were `tools_used` report fields; livekit/agents#5884 (sort)
# expect: no finding (sorted() ends the unordered flow; `used` never reaches a request;
#         plain dict order is insertion order and is deterministic since Python 3.7)
import anthropic

client = anthropic.Anthropic()
REGISTRY = {
    n: {"name": n, "description": n, "input_schema": {"type": "object"}} for n in ("zip", "cut", "join", "sort")
}
BASE, EXTRA = {"zip", "cut"}, {"cut", "join"}


def tools() -> list[dict]:
    by_order = [REGISTRY[n] for n in sorted(BASE | EXTRA)]
    return by_order + [t for n, t in REGISTRY.items() if n == "sort"]


def turn(history: list[dict], text: str, used: list[str]) -> dict:
    history.append({"role": "user", "content": text})
    r = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=64,
        tools=tools(),
        system="You handle archives. " * 400,
        cache_control={"type": "ephemeral"},
        messages=history,
    )
    history.append({"role": "assistant", "content": r.content[0].text})
    used += ["zip", "cut", "zip"]
    return {"answer": r.content[0].text, "tools_used": list(set(used))}


if __name__ == "__main__":
    talk: list[dict] = []
    for text in ("pack", "unpack", "list"):
        turn(talk, text, [])
