# case 16 (hard negative) - random ids in metadata, headers and logs
# source: anthropics/claude-code#92524 ("metadata.user_id ... is not part of the prompt and is harmless")
# expect: no finding
# why: `metadata`, `extra_headers` and log lines are not rendered into the prompt; the stable
#      prompt_cache_key-like routing fields are a different rule (see case 22)
import logging
import uuid

import anthropic

client = anthropic.Anthropic()
log = logging.getLogger(__name__)
SYSTEM = "You translate manuals. " * 400


def turn(history: list[dict], text: str) -> None:
    request_id = str(uuid.uuid4())
    log.info("request %s", request_id)
    history.append({"role": "user", "content": text})
    r = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=64,
        system=SYSTEM,
        messages=history,
        cache_control={"type": "ephemeral"},
        metadata={"user_id": f"run-{request_id}"},
        extra_headers={"x-request-id": request_id},
    )
    history.append({"role": "assistant", "content": r.content[0].text})


if __name__ == "__main__":
    talk: list[dict] = []
    for text in ("page 1", "page 2", "page 3"):
        turn(talk, text)
