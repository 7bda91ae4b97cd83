from openai import OpenAI

client = OpenAI(base_url="https://api.groq.com/openai/v1")
MODEL = "openai/gpt-oss-120b"


def complete(system: str, messages: list[dict]) -> str:
    full = [{"role": "system", "content": system}]
    full.extend(messages)
    reply = client.chat.completions.create(model=MODEL, messages=full)
    return reply.choices[0].message.content or ""
