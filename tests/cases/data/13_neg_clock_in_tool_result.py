# case 13 (hard negative) - clock inside a tool RESULT
# source: nikolai-vysotskyi/trace-mcp#1016 (two runs chased this wrongly), mindsdb/anton#194
# expect: no finding
# why: a tool result is appended after everything already sent and is stored once, so it stays
#      byte-identical on replay; `datetime.now()` and `messages` meet, but never before old tokens
from datetime import datetime

import anthropic

client = anthropic.Anthropic()
TOOLS = [{"name": "now", "description": "Current local time", "input_schema": {"type": "object"}}]


def clock() -> str:
    return datetime.now().isoformat()


def loop(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    for _ in range(3):
        r = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=64,
            tools=TOOLS,
            system="You keep a diary. " * 400,
            cache_control={"type": "ephemeral"},
            messages=history,
        )
        call_id = f"toolu_{len(history)}"
        history.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": r.content[0].text},
                    {"type": "tool_use", "id": call_id, "name": "now", "input": {}},
                ],
            }
        )
        history.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": clock()}]}
        )


if __name__ == "__main__":
    loop([], "write today's entry")
