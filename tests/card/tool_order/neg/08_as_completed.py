# card: tool_order | expect: nothing | why: gather returns results in the order of its arguments
import asyncio

from anthropic import AsyncAnthropic

client = AsyncAnthropic()
SERVERS = ("https://maps.example", "https://rail.example", "https://ferry.example")
ROUTES = "Between two connections leave ten minutes, and twenty with a change of station. " * 200


async def describe(server: str) -> dict:
    await asyncio.sleep(0.1)
    name = server.removeprefix("https://").removesuffix(".example")
    return {"name": name, "description": f"Ask {server}", "input_schema": {"type": "object"}}


async def connect() -> list[dict]:
    return list(await asyncio.gather(*[describe(server) for server in SERVERS]))


async def main() -> None:
    tools = await connect()
    messages: list[dict] = []
    while True:
        messages.append({"role": "user", "content": input("from, to: ")})
        reply = await client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=400,
            tools=tools,
            system=ROUTES,
            messages=messages,
            cache_control={"type": "ephemeral"},
        )
        messages.append({"role": "assistant", "content": reply.content})


if __name__ == "__main__":
    asyncio.run(main())
