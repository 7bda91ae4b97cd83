# card: history | expect: nothing | why: the address is that of the uploaded file
from anthropic import Anthropic

client = Anthropic()
RULES = "A claim needs a picture of the damage, a date and a name. " * 200


def picture(name):
    return {"type": "image", "source": {"type": "file", "file_id": name}}


def rendered(claims):
    out = []
    for claim in claims:
        content = [{"type": "text", "text": claim["text"]}]
        content.append(picture(claim["file"]))
        out.append({"role": "user", "content": content})
        out.append({"role": "assistant", "content": claim["answer"]})
    return out


def main():
    claims = []
    while True:
        text = input()
        reply = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            messages=[*rendered(claims), {"role": "user", "content": text}],
            cache_control={"type": "ephemeral"},
        )
        claims.append({"text": text, "file": input(), "answer": reply.content[0].text})


main()
