# card: breakpoints | expect: nothing | why: the system text is marked, and covers the tools
SPECS = {
    "lift": "Raise the platform.",
    "lower": "Lower the platform.",
    "stop": "Stop at once.",
    "level": "Level the floor with the stop.",
}


def tool(name: str, about: str) -> dict:
    return {
        "name": name,
        "description": about,
        "input_schema": {"type": "object"},
    }


def all_tools() -> list[dict]:
    return [tool(name, about) for name, about in SPECS.items()]
