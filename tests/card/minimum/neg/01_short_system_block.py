# card: minimum | expect: nothing | why: the prefix is long enough
import anthropic

client = anthropic.Anthropic()
RULES = "Sort the comment into praise, complaint or question. Answer with one word. " * 200
COMMENTS = ("Lovely lamps!", "The shade came broken.", "Do you ship to Norway?")


def classify(comment: str) -> str:
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=8,
        system=[
            {
                "type": "text",
                "text": RULES,
                "cache_control": {"type": "ephemeral"},
            }
        ],
        messages=[{"role": "user", "content": comment}],
    )
    return reply.content[0].text


if __name__ == "__main__":
    for line in COMMENTS:
        print(classify(line))
