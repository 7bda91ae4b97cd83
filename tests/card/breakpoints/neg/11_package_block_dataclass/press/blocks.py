# card: breakpoints | expect: nothing | why: two of the blocks are marked
from dataclasses import dataclass


@dataclass
class Block:
    text: str
    cached: bool = False

    def render(self) -> dict:
        rendered = {"type": "text", "text": self.text}
        if self.cached:
            rendered["cache_control"] = {"type": "ephemeral"}
        return rendered
