# card: tool_order | expect: nothing | why: a set that is only asked for membership
import os

from openai import OpenAI

client = OpenAI()
SCHEMAS = {
    "tide": {"type": "object", "properties": {"harbour": {"type": "string"}}},
    "wind": {"type": "object", "properties": {"hour": {"type": "integer"}}},
    "depth": {"type": "object", "properties": {"buoy": {"type": "string"}}},
    "locks": {"type": "object", "properties": {"canal": {"type": "string"}}},
}
ALLOWED = set(os.environ.get("PILOT_TOOLS", "tide,wind,depth").split(","))
PILOTAGE = "Keep the green cone to starboard and give way to anything that is towed. " * 200


def functions() -> list[dict]:
    names = [name for name in SCHEMAS if name in ALLOWED]
    return [{"type": "function", "function": {"name": name, "parameters": SCHEMAS[name]}} for name in names]


def main() -> None:
    messages: list[dict] = [{"role": "system", "content": PILOTAGE}]
    tools = functions()
    while True:
        messages.append({"role": "user", "content": input("skipper: ")})
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools)
        messages.append(reply.choices[0].message.model_dump(exclude_none=True))


if __name__ == "__main__":
    main()
