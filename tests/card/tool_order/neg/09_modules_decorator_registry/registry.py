# card: tool_order | expect: nothing | why: the names stand in a list
from settings import ENABLED

TOOLS: dict[str, dict] = {}


def tool(function):
    TOOLS[function.__name__] = {
        "name": function.__name__,
        "description": function.__doc__,
        "input_schema": {"type": "object", "properties": {"station": {"type": "string"}}},
    }
    return function


def active() -> list[dict]:
    return [TOOLS[name] for name in ENABLED]
