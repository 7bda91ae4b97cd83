# card: tool_order | expect: unstable-json @ L21
import asyncio
import json

from openai import AsyncOpenAI

client = AsyncOpenAI()
RULES = "A parcel is weighed, measured and labelled before it is taken. " * 200
OFFICES = ("north", "south", "harbour")


async def load(office):
    return {office: open(f"{office}.txt").read()}


async def offices():
    return [await task for task in asyncio.as_completed([load(office) for office in OFFICES])]


async def ask(text):
    system = f"Offices: {json.dumps(await offices(), sort_keys=True)}\n{RULES}"  # <- unstable-json
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    return await client.chat.completions.create(model="gpt-4.1", messages=messages)


async def main():
    for line in open("questions.txt"):
        print(await ask(line))


asyncio.run(main())
