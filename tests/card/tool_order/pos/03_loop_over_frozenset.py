# card: tool_order | expect: unordered-tools @ L11
from openai import OpenAI

client = OpenAI()
ACTIONS = frozenset(("water", "prune", "graft", "spray", "harvest"))
ALMANAC = "Prune stone fruit after the harvest and pome fruit in late winter. " * 200


def build_tools() -> list[dict]:
    tools = []
    for action in ACTIONS:  # <- unordered-tools
        tool = {"type": "function", "name": action, "parameters": {"type": "object", "properties": {}}}
        tools.append(tool)
    return tools


class Orchard:
    def __init__(self) -> None:
        self.items: list = []
        self.tools = build_tools()

    def ask(self, text: str) -> str:
        self.items.append({"role": "user", "content": text})
        response = client.responses.create(
            model="gpt-4.1", instructions=ALMANAC, input=self.items, tools=self.tools, store=False
        )
        self.items += response.output
        return response.output_text


if __name__ == "__main__":
    orchard = Orchard()
    for task in ("the plum tree", "the old pear", "aphids"):
        print(orchard.ask(task))
