# card: minimum | expect: nothing | why: the prefix is long enough
import anthropic

client = anthropic.Anthropic()


def complete(system: str, prompt: str, **options: object) -> str:
    block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=[block],
        messages=[{"role": "user", "content": prompt}],
        **options,
    )
    return reply.content[0].text
