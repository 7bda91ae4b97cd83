# card: history | expect: regenerated-media-url @ L22
from datetime import timedelta

from anthropic import Anthropic
from google.cloud import storage

client = Anthropic()
bucket = storage.Client().bucket("claims")
RULES = "A claim needs a picture of the damage, a date and a name. " * 200


def picture(name):
    url = bucket.blob(name).generate_signed_url(version="v4", expiration=timedelta(minutes=15))
    return {"type": "image", "source": {"type": "url", "url": url}}


def rendered(claims):
    out = []
    for claim in claims:
        content = [{"type": "text", "text": claim["text"]}]
        content.append(picture(claim["file"]))
        out.append({"role": "user", "content": content})  # <- regenerated-media-url
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
