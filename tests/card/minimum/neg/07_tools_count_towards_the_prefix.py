# card: minimum | expect: nothing | why: the tools stand in front of the system text and count
import anthropic

client = anthropic.Anthropic()
SCHEMA = "Lot number, estimate and reserve of an item. "


def tools() -> list[dict]:
    fields = {"lot": {"type": "string", "description": SCHEMA * 300}}
    return [{"name": "bid", "description": "Place a bid.", "input_schema": {"type": "object", "properties": fields}}]


def call(lot: str) -> str:
    kwargs: dict = {"model": "claude-sonnet-4-5", "max_tokens": 100}
    kwargs["tools"] = tools()
    kwargs["system"] = [{"type": "text", "text": "You bid for absent buyers. Stop at their limit."}]
    kwargs["system"][-1]["cache_control"] = {"type": "ephemeral"}
    kwargs["messages"] = [{"role": "user", "content": lot}]
    return client.messages.create(**kwargs).content[0].text


if __name__ == "__main__":
    for number in ("12, a clock", "13, two chairs", "14, a globe"):
        print(call(number))
