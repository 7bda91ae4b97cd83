"""One request through each library, and attempts to reach the network otherwise; a program for the probe."""

import asyncio
import json
import os
import socket
import urllib.request
from pathlib import Path

URL = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hello"}]}
said = {}


def keep(name, text):
    said[name] = text


def content(answer):
    return answer["choices"][0]["message"]["content"]


def through_urllib():
    request = urllib.request.Request(URL, json.dumps(BODY).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        keep("urllib", content(json.load(response)))


def through_requests():
    import requests

    keep("requests", content(requests.post(URL, json=BODY, timeout=9).json()))


def through_httpx():
    import httpx

    keep("httpx", content(httpx.post(URL, json=BODY).json()))
    with httpx.stream("POST", URL, json={**BODY, "stream": True}) as response:
        keep("httpx stream", "".join(line for line in response.iter_lines() if "[DONE]" in line))


def through_httpx2():
    import httpx2

    keep("httpx2", content(httpx2.post(URL, json=BODY).json()))


async def through_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(URL, json=BODY) as response:
        keep("aiohttp", content(await response.json()))


async def through_sdks():
    import anthropic
    import openai

    claude = anthropic.AsyncAnthropic()
    hello = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": BODY["messages"]}
    answer = await claude.messages.create(**hello)
    keep("anthropic", answer.content[0].text)
    async with claude.messages.stream(**hello) as stream:
        keep("anthropic stream", await stream.get_final_text())
    gpt = openai.AsyncOpenAI()
    keep("openai responses", (await gpt.responses.create(model="gpt-5.6-sol", input="Hello")).output_text)
    formatted = {"type": "json_object"}
    answer = await gpt.chat.completions.create(**BODY, response_format=formatted)
    keep("openai json", answer.choices[0].message.content)
    try:
        await gpt.embeddings.create(model="text-embedding-3-small", input="x", timeout=5)
    except openai.APIConnectionError as error:
        keep("denied embeddings", type(error).__name__)


def elsewhere():
    attempts = {
        "connect": lambda: socket.socket().connect(("93.184.216.34", 80)),
        "look up": lambda: socket.getaddrinfo("example.com", 80),
        "loopback": lambda: socket.create_connection(("127.0.0.1", int(os.environ["OPEN_PORT"])), timeout=2),
        "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53)),
        "get": lambda: urllib.request.urlopen("http://example.com/", timeout=2),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
            keep(f"denied {name}", "reached")
        except OSError as error:
            keep(f"denied {name}", type(error).__name__)


async def everything():
    through_urllib()
    through_requests()
    through_httpx()
    through_httpx2()
    await asyncio.gather(through_aiohttp(), through_sdks())
    elsewhere()
    Path(os.environ["SAID"]).write_text(json.dumps({**said, "key": os.environ["OPENAI_API_KEY"]}))
