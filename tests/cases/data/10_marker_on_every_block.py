# case 10 - cache marker stamped on each item of a collection
# source: run-llama/llama_index#20854, agentjido/req_llm#480, BerriAI/litellm#14317 (pattern only)
# expect: too-many-breakpoints @ L17 (loop writes a marker; 6 tools + 1 system = 7 > 4 -> HTTP 400)
# why: a marker means "cache everything up to here"; only the LAST tool needs it
# fix: tools[-1]["cache_control"] = {...} after the loop
import anthropic

client = anthropic.Anthropic()
NAMES = ("open", "close", "lock", "unlock", "dim", "status")
MARK = {"type": "ephemeral"}


def build() -> dict:
    tools = []
    for name in NAMES:
        tool = {"name": name, "description": f"{name} the door", "input_schema": {"type": "object"}}
        tool["cache_control"] = dict(MARK)  # <- too-many-breakpoints
        tools.append(tool)
    return {"tools": tools, "system": [{"type": "text", "text": "You run a house. " * 300, "cache_control": MARK}]}


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    r = client.messages.create(model="claude-sonnet-4-5", max_tokens=64, messages=history, **build())
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    log: list[dict] = []
    for text in ("good night", "status"):
        turn(log, text)
