# case 23 (extra) - thinking budget derived from a value that shrinks per turn
# source: LionSR/TeXRA#2548, Shelpuk-AI-Technology-Consulting/kitty-bridge#108 (pattern only)
# expect: toggled-parameter @ L19 (thinking.budget_tokens <- max_tokens <- len(history))
# why: thinking settings are rendered into the prompt, so the messages cache is lost on each change
# fix: constant budget per route; let only max_tokens vary
import anthropic

client = anthropic.Anthropic()
SYSTEM = "You prove theorems. " * 400


def turn(history: list[dict], text: str) -> None:
    history.append({"role": "user", "content": text})
    max_tokens = 16384 - 1024 * len(history)
    r = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=max_tokens,
        system=SYSTEM,
        thinking={"type": "enabled", "budget_tokens": max_tokens - 1},  # <- toggled-parameter
        cache_control={"type": "ephemeral"},
        messages=history,
    )
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    talk: list[dict] = []
    for text in ("lemma 1", "lemma 2", "lemma 3"):
        turn(talk, text)
