# case 04 - tool array built by iterating a set of names
# source: langchain-ai/deepagents#2497, skye-harris/hass_local_openai_llm#119 (pattern only)
# expect: unordered-tools @ L20 (scope: across processes, NOT between turns of one process)
# why: str hashes are seeded per interpreter, so each worker or restart sends another tool order
# fix: [REGISTRY[n] for n in sorted(ENABLED)]
import anthropic

client = anthropic.Anthropic()


def spec(name: str) -> dict:
    return {"name": name, "description": f"{name} helper", "input_schema": {"type": "object"}}


REGISTRY = {n: spec(n) for n in ("search", "fetch", "edit", "run", "plan", "notes")}
ENABLED = set(REGISTRY) - {"notes"}


def tools() -> list[dict]:
    return [REGISTRY[name] for name in ENABLED]  # <- unordered-tools


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    r = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=64,
        tools=tools(),
        system="You plan trips. " * 500,
        cache_control={"type": "ephemeral"},
        messages=history,
    )
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    log: list[dict] = []
    for text in ("Lisbon", "three days", "book"):
        turn(log, text)
