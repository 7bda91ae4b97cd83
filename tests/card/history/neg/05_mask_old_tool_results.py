# card: history | expect: nothing | why: results are cut once, before they are stored
import anthropic

client = anthropic.Anthropic()
TOOLS = [{"name": "dig", "description": "Open a trench", "input_schema": {"type": "object"}}]
BRIEF = {
    "type": "text",
    "text": "Record the layer, its colour and what was found in it. " * 200,
    "cache_control": {"type": "ephemeral"},
}


def dig(call: dict) -> str:
    return f"trench {call}: clay, then gravel, then a hearth " * 40


def mask(messages: list[dict]) -> None:
    for message in messages[:-1]:
        for block in message["content"]:
            if isinstance(block, dict) and block["type"] == "tool_result":
                block["content"] = "[seen]"


def season(task: str) -> None:
    messages: list[dict] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    while True:
        reply = client.messages.create(
            model="claude-sonnet-4-5", max_tokens=900, system=[BRIEF], tools=TOOLS, messages=messages
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            break
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": dig(block.input)[:400]}
            for block in reply.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    season("Open the field behind the church.")
