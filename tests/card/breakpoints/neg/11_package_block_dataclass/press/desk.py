from anthropic import AnthropicVertex

from .style import GUIDE


def review(client: AnthropicVertex, article: str) -> str:
    reply = client.messages.create(
        model="claude-sonnet-4-5@20250929",
        max_tokens=800,
        system=[block.render() for block in GUIDE],
        messages=[{"role": "user", "content": article}],
    )
    return reply.content[0].text
