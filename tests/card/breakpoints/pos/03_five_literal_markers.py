# card: breakpoints | expect: too-many-breakpoints @ L25
import anthropic

client = anthropic.Anthropic()
CARE = "Turn the patient every two hours and note the time on the sheet. " * 200
WARD = "Ward four has a night nurse, a porter and a doctor on call. " * 200
FORM = "The sheet has one line for each turn and a column for the skin. " * 200
TOOL = {"name": "note", "description": "Write a note", "input_schema": {"type": "object"}}


def ask(question: str) -> str:
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=200,
        tools=[{**TOOL, "cache_control": {"type": "ephemeral"}}],
        system=[
            {"type": "text", "text": CARE, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": WARD, "cache_control": {"type": "ephemeral"}},
        ],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": FORM, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": FORM.upper(), "cache_control": {"type": "ephemeral"}},  # <- too-many-breakpoints
                    {"type": "text", "text": question},
                ],
            }
        ],
    )
    return reply.content[0].text


if __name__ == "__main__":
    while line := input("nurse: "):
        print(ask(line))
