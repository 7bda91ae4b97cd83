import asyncio

from .agent import Translator


async def main() -> None:
    translator = Translator()
    while True:
        print(await translator.translate(input("> ")))


asyncio.run(main())
