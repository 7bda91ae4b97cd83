# card: timestamp | expect: nothing | why: the string is no f-string, so no clock is read
import datetime
from string import Template

import anthropic

client = anthropic.Anthropic()
DEFAULTS = {"model": "claude-opus-4-8", "max_tokens": 300}
FRAME = Template("Bakery assistant, clock $clock.\n$recipes")
RECIPES = "Rye needs a sour dough, three stages of proving and a falling oven. " * 200


def head() -> str:
    return FRAME.substitute(clock="{datetime.datetime.now().time()}", recipes=RECIPES)


def bake(history: list[dict]) -> None:
    options = dict(DEFAULTS, system=head(), messages=history)
    options.update(cache_control={"type": "ephemeral"})
    reply = client.messages.create(**options)
    history.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    doughs: list[dict] = []
    for dough in ("rye", "spelt", "wheat"):
        doughs.append({"role": "user", "content": dough})
        bake(doughs)
