# case 11 - one-hour marker after a five-minute marker
# source: agno-agi/agno#8694, vellum-ai/vellum-assistant#22191 (pattern only, code is our own)
# expect: ttl-order @ L21 (1h in system after the default 5m at L15; render order tools->system->messages)
# why: the service rejects a longer TTL after a shorter one, whatever the keyword order in the call
# fix: give the tool marker ttl "1h" too, or drop it (the system marker already covers the tools)
import anthropic

client = anthropic.Anthropic()


def options(cache_tools: bool = True) -> dict:
    tool = {"name": "lookup", "description": "Find a part", "input_schema": {"type": "object"}}
    if cache_tools:
        # default ttl is five minutes
        tool["cache_control"] = {"type": "ephemeral"}
    return {
        "system": [
            {
                "type": "text",
                "text": "Parts catalogue. " * 600,
                "cache_control": {"type": "ephemeral", "ttl": "1h"},  # <- ttl-order
            }
        ],
        "tools": [tool],
    }


if __name__ == "__main__":
    client.messages.create(
        model="claude-sonnet-4-5", max_tokens=64, messages=[{"role": "user", "content": "axle 12 mm"}], **options()
    )
