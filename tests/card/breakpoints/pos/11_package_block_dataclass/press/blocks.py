# card: breakpoints | expect: too-many-breakpoints @ L13
from dataclasses import dataclass


@dataclass
class Block:
    text: str
    cached: bool = True

    def render(self) -> dict:
        rendered = {"type": "text", "text": self.text}
        if self.cached:
            rendered["cache_control"] = {"type": "ephemeral"}  # <- too-many-breakpoints
        return rendered
