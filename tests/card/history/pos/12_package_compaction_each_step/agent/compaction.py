# card: history | expect: rewritten-history @ L12
from typing import Any

KEEP = 200


def compact(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Old results, shortened to their beginning."""
    compacted = []
    for message in messages:
        if message["role"] == "tool":
            message = {**message, "content": message["content"][:KEEP]}  # <- rewritten-history
        compacted.append(message)
    return compacted
