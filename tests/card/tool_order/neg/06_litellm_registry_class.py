# card: tool_order | expect: nothing | why: a dict keeps the order of insertion
import litellm


class Toolbox:
    """Names that are switched on; the order of the prompt comes from here."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def enable(self, name: str) -> None:
        self.names[name] = None

    def schemas(self) -> list[dict]:
        schemas = []
        for name in self.names:
            schemas.append({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
        return schemas


SCORE = "A phrase ends where the bow is lifted, and the next begins with an up-bow. " * 200
box = Toolbox()
for label in ("transpose", "finger", "bow", "slur"):
    box.enable(label)


def rehearse(messages: list[dict]) -> dict:
    response = litellm.completion(
        model="gpt-4.1",
        messages=[{"role": "system", "content": SCORE}, *messages],
        tools=box.schemas(),
    )
    return response.choices[0].message.model_dump(exclude_none=True)


if __name__ == "__main__":
    bars: list[dict] = []
    while bar := input("bar: "):
        bars.append({"role": "user", "content": bar})
        bars.append(rehearse(bars))
