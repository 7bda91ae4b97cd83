# card: breakpoints | expect: too-many-breakpoints @ L15
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
        "cache_control": {"type": "ephemeral"},  # <- too-many-breakpoints
    }


def all_tools() -> list[dict]:
    return [tool(name, about) for name, about in SPECS.items()]
