# case 03 - fresh temporary path named in a tool description
# source: anthropics/claude-code#27786 (pattern only, code is our own)
# expect: volatile-tool-definition @ L20 (origin L17, region: tools, so tools+system+history all miss)
# why: tools are rendered first; one new UUID per request changes byte 60 of the whole prompt
# fix: constant wording ("the settings file"), or create the path once per process
import pathlib
import tempfile
import uuid

import anthropic

client = anthropic.Anthropic()
SYSTEM = "You operate a build machine. " * 300


def shell_tool() -> dict:
    guard = pathlib.Path(tempfile.gettempdir()) / f"settings-{uuid.uuid4()}.json"
    return {
        "name": "shell",
        "description": f"Run one command. Reading {guard} is not allowed.",  # <- volatile-tool-definition
        "input_schema": {"type": "object", "properties": {"cmd": {"type": "string"}}},
    }


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    r = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=64,
        tools=[shell_tool()],
        system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        messages=history,
    )
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    log: list[dict] = []
    for cmd in ("list targets", "build", "test"):
        turn(log, cmd)
