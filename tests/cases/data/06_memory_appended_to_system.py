# case 06 - retrieval result concatenated to the system text in the loop
# source: shareAI-lab/learn-claude-code#311, mem0ai/mem0#4341, mozilla-ai/clawbolt#1420 (pattern only)
# expect: volatile-state @ L23 (origin L19: value depends on the current user text)
# why: even AFTER the marked block it precedes all messages, so the history cache is lost each turn
# fix: keep `system` constant; put recalled notes in the new user message and store them with it
import anthropic

client = anthropic.Anthropic()
BASE = {"type": "text", "text": "You coach runners. " * 400, "cache_control": {"type": "ephemeral"}}
NOTES = {"knee": "left knee hurts", "race": "10k in May", "shoes": "size 43"}


class Store:
    def search(self, query: str) -> str:
        return "; ".join(v for k, v in NOTES.items() if k in query)


def turn(store: Store, history: list[dict], text: str) -> None:
    recalled = store.search(text)
    history.append({"role": "user", "content": text})
    system = [BASE]
    if recalled:
        system = [BASE, {"type": "text", "text": f"About the user: {recalled}"}]  # <- volatile-state
    r = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=64, system=system, cache_control={"type": "ephemeral"}, messages=history
    )
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    log: list[dict] = []
    for text in ("my knee", "the race", "new shoes"):
        turn(Store(), log, text)
