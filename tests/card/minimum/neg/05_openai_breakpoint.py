# card: minimum | expect: nothing | why: the prefix is long enough
import asyncio

from openai import AsyncOpenAI

client = AsyncOpenAI()
LEGEND = "Blue lines are water, brown lines are height, red dots are huts. " * 300


async def read_map(question: str) -> str:
    legend = {"type": "input_text", "text": LEGEND}
    legend["prompt_cache_breakpoint"] = {"mode": "explicit"}
    response = await client.responses.create(
        model="gpt-5.6-terra",
        prompt_cache_options={"mode": "explicit"},
        input=[{"role": "user", "content": [legend, {"type": "input_text", "text": question}]}],
    )
    return response.output_text


async def main() -> None:
    while True:
        print(await read_map(input("where? ")))


if __name__ == "__main__":
    asyncio.run(main())
