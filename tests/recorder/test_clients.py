"""Every HTTP library tells of its requests, whole or streamed, and gives its answers to the program unchanged."""

from __future__ import annotations

import asyncio
import base64
import binascii
import gc
import gzip
import io
import json
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import boto3
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from botocore.config import Config

import promptlint
from promptlint.recorder import hooks, lazy
from promptlint.recorder.flight import UNREAD
from promptlint.trace.format import Exchange, read

KEY = "sk-ant-api03-" + "x7" * 30
BODY: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Grüß Gott"}]}
USAGE = {"input_tokens": 12, "cache_read_input_tokens": 8}
ANSWER = {"id": "msg_1", "content": [{"type": "text", "text": "Hello"}], "usage": USAGE}
EVENTS = (
    {"type": "message_start", "message": {"id": "msg_1", "usage": {**USAGE, "output_tokens": 1}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)
STREAMED_USAGE = {**USAGE, "output_tokens": 2}
SSE = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in EVENTS]


def frame(kind: str, event: Any) -> bytes:
    """One message of AWS's event stream, with its checksums."""
    headers = b"".join(
        bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
        for name, value in ((b":event-type", kind.encode()), (b":message-type", b"event"))
    )
    payload = json.dumps(event).encode()
    head = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = head + struct.pack(">I", binascii.crc32(head)) + headers + payload
    return message + struct.pack(">I", binascii.crc32(message))


CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 12, "outputTokens": 2, "totalTokens": 14},
    "metrics": {"latencyMs": 1},
}
CONVERSE_STREAM = [
    frame("messageStart", {"role": "assistant"}),
    frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hello"}}),
    frame("messageStop", {"stopReason": "end_turn"}),
    frame("metadata", {"usage": CONVERSE["usage"], "metrics": {"latencyMs": 1}}),
]
INVOKE_STREAM = [frame("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}) for event in EVENTS]


class Handler(BaseHTTPRequestHandler):
    """Answers by the path, and waits in the middle of a stream until the test has seen the first part."""

    protocol_version = "HTTP/1.1"
    gate: threading.Event

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        if self.path.startswith("/refuse"):
            self._whole(429, {"type": "error", "error": {"type": "rate_limit_error", "message": f"Slow down, {KEY}."}})
        elif self.path.startswith("/cut"):
            self._pieces("text/event-stream", SSE[:2], end=False)
        elif self.path.endswith("/converse"):
            self._whole(200, CONVERSE)
        elif self.path.endswith("/converse-stream"):
            self._pieces("application/vnd.amazon.eventstream", CONVERSE_STREAM)
        elif self.path.endswith("/invoke-with-response-stream"):
            self._pieces("application/vnd.amazon.eventstream", INVOKE_STREAM)
        elif b'"stream": true' in sent or b'"stream":true' in sent:
            self._pieces("text/event-stream", SSE)
        else:
            self._whole(200, ANSWER)

    def _whole(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        packed = "gzip" in self.headers.get("Accept-Encoding", "")
        data = gzip.compress(data) if packed else data
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(data)

    def _pieces(self, kind: str, pieces: list[bytes], *, end: bool = True) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(pieces):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            if number == 0:
                self.gate.wait(5)
        if end:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    Handler.gate = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def gate() -> Iterator[threading.Event]:
    """Open, unless a test closes it to see that a stream comes through piece by piece."""
    Handler.gate.set() if hasattr(Handler, "gate") else None
    yield Handler.gate
    Handler.gate.set()


Run = Callable[[], Any]


def recorded(path: Path, run: Run) -> tuple[list[Exchange], Any]:
    with promptlint.record(path):
        result = run()
    return list(read(path)), result


HEADERS = {"x-api-key": KEY, "anthropic-beta": "b1", "content-type": "application/json"}


def text(data: bytes | str) -> str:
    """What the program read: the text of the answer, in either form."""
    data = data.decode() if isinstance(data, bytes) else data
    if data.startswith("{"):
        return str(json.loads(data)["content"][0]["text"])
    lines = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: ")]
    return "".join(event["delta"]["text"] for event in lines if event["type"] == "content_block_delta")


def httpx_whole(url: str, body: Any) -> Any:
    return text(httpx.post(url, json=body, headers=HEADERS).content)


def httpx_lines(url: str, body: Any) -> Any:
    with httpx.Client() as client, client.stream("POST", url, json=body, headers=HEADERS) as response:
        return text("\n".join(response.iter_lines()))


def httpx2_whole(url: str, body: Any) -> Any:
    return text(httpx2.post(url, json=body, headers=HEADERS).content)


def httpx2_bytes(url: str, body: Any) -> Any:
    with httpx2.Client() as client, client.stream("POST", url, json=body, headers=HEADERS) as response:
        return text(b"".join(response.iter_bytes()))


def httpx_async(url: str, body: Any) -> Any:
    async def main() -> str:
        async with httpx.AsyncClient() as client:
            return text((await client.post(url, json=body, headers=HEADERS)).content)

    return asyncio.run(main())


def httpx2_async_lines(url: str, body: Any) -> Any:
    async def main() -> str:
        async with httpx2.AsyncClient() as client, client.stream("POST", url, json=body, headers=HEADERS) as response:
            return text("\n".join([line async for line in response.aiter_lines()]))

    return asyncio.run(main())


def requests_whole(url: str, body: Any) -> Any:
    return text(requests.post(url, json=body, headers=HEADERS).content)


def requests_lines(url: str, body: Any) -> Any:
    with requests.post(url, json=body, headers=HEADERS, stream=True) as response:
        return text("\n".join(line.decode() for line in response.iter_lines()))


def requests_content(url: str, body: Any) -> Any:
    return text(requests.post(url, data=json.dumps(body), headers=HEADERS, stream=True).content)


def requests_raw(url: str, body: Any) -> Any:
    with requests.post(url, json=body, headers={**HEADERS, "Accept-Encoding": "identity"}, stream=True) as response:
        return text(response.raw.read())


def urllib_whole(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request) as response:
        return text(response.read())


def urllib_lines(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request) as response:
        return text(b"".join(response))


def urllib_wrapped(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, headers=HEADERS)
    with io.TextIOWrapper(urllib.request.urlopen(request, json.dumps(body).encode())) as response:
        return text(response.read())


def urllib3_whole(url: str, body: Any) -> Any:
    return text(urllib3.PoolManager().request("POST", url, body=json.dumps(body), headers=HEADERS).data)


def urllib3_stream(url: str, body: Any) -> Any:
    response = urllib3.PoolManager().request("POST", url, json=body, headers=HEADERS, preload_content=False)
    return text(b"".join(response.stream()))


def aiohttp_json(url: str, body: Any) -> Any:
    async def main() -> str:
        session = aiohttp.ClientSession()
        async with session, session.post(url, json=body, headers=HEADERS) as response:
            return text(await response.read())

    return asyncio.run(main())


def aiohttp_lines(url: str, body: Any) -> Any:
    async def main() -> str:
        session = aiohttp.ClientSession(headers=HEADERS)
        async with session, session.post(url, data=json.dumps(body)) as response:
            return text(b"".join([line async for line in response.content]))

    return asyncio.run(main())


def aiohttp_chunks(url: str, body: Any) -> Any:
    async def main() -> str:
        async with aiohttp.ClientSession(headers=HEADERS) as session:
            response = await session.post(url, data=json.dumps(body).encode())
            return text(b"".join([chunk async for chunk in response.content.iter_chunked(7)]))

    return asyncio.run(main())


def anthropic_whole(url: str, body: Any) -> Any:
    return anthropic.Anthropic(base_url=url.removesuffix("/v1/messages"), api_key=KEY).messages.create(**body)


WAYS = [
    httpx_whole,
    httpx_lines,
    httpx2_whole,
    httpx2_bytes,
    httpx_async,
    httpx2_async_lines,
    requests_whole,
    requests_lines,
    requests_content,
    requests_raw,
    urllib_whole,
    urllib_lines,
    urllib_wrapped,
    urllib3_whole,
    urllib3_stream,
    aiohttp_json,
    aiohttp_lines,
    aiohttp_chunks,
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_request_is_recorded_once_whatever_sends_it(server: str, tmp_path: Path, way: Any, stream: bool) -> None:
    body = {**BODY, "stream": True} if stream else BODY
    url = f"{server}/v1/messages?beta=true&key={KEY}"
    [exchange], answer = recorded(tmp_path / "t.jsonl", lambda: way(url, body))
    assert answer == "Hello"
    assert json.loads(exchange.body) == body
    assert (exchange.api, exchange.status, exchange.error) == ("messages", 200, None)
    assert (exchange.usage, exchange.answer) == (STREAMED_USAGE if stream else USAGE, "Hello")
    assert exchange.response_id == "msg_1"
    assert exchange.endpoint == f"{server}/v1/messages?beta=true"
    assert exchange.headers == {"anthropic-beta": "b1"}
    assert exchange.began is not None and exchange.lasted is not None and exchange.began <= exchange.lasted
    assert exchange.stack[0].function.startswith(way.__name__)
    assert KEY not in (tmp_path / "t.jsonl").read_text()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_outside_a_recording_nothing_is_noticed(server: str, way: Any) -> None:
    assert way(f"{server}/v1/messages", BODY) == "Hello"


def bedrock(server: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=server,
        aws_access_key_id="AKIA" + "B" * 16,
        aws_secret_access_key="s" * 40,
        config=Config(retries={"max_attempts": 1}),
    )


def test_bedrock_is_recorded(server: str, tmp_path: Path) -> None:
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    messages = [{"role": "user", "content": [{"text": "hi"}]}]

    def run() -> list[Any]:
        client = bedrock(server)
        whole = client.converse(modelId=model, messages=messages)
        stream = client.converse_stream(modelId=model, messages=messages)["stream"]
        said = [event["contentBlockDelta"]["delta"]["text"] for event in stream if "contentBlockDelta" in event]
        invoked = client.invoke_model(modelId=model, body=json.dumps(BODY))["body"].read()
        streamed = client.invoke_model_with_response_stream(modelId=model, body=json.dumps(BODY))["body"]
        events = [json.loads(event["chunk"]["bytes"]) for event in streamed]
        return [whole["output"]["message"]["content"][0]["text"], *said, text(invoked), events[1]["delta"]["text"]]

    exchanges, answers = recorded(tmp_path / "t.jsonl", run)
    assert answers == ["Hello", "Hello", "Hello", "Hel"]
    assert [e.api for e in exchanges] == ["converse", "converse", "invoke", "invoke"]
    assert [e.usage for e in exchanges] == [CONVERSE["usage"], CONVERSE["usage"], USAGE, STREAMED_USAGE]
    assert [e.answer for e in exchanges] == ["Hello"] * 4
    assert "AKIA" not in (tmp_path / "t.jsonl").read_text()


def first_pieces(url: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """For each library, how to get the first piece of a stream."""
    body = {**BODY, "stream": True}
    client, client2 = httpx.Client(), httpx2.Client()
    pool, session = urllib3.PoolManager(), requests.Session()
    request = urllib.request.Request(url, json.dumps(body).encode(), HEADERS)
    yield "httpx", lambda: next(client.send(client.build_request("POST", url, json=body), stream=True).iter_raw())
    yield "httpx2", lambda: next(client2.send(client2.build_request("POST", url, json=body), stream=True).iter_raw())
    yield "requests", lambda: next(session.post(url, json=body, stream=True).iter_content(None))
    yield "urllib3", lambda: next(pool.request("POST", url, json=body, preload_content=False).stream())
    yield "urllib", lambda: urllib.request.urlopen(request).readline()


def test_a_stream_comes_through_without_delay(server: str, tmp_path: Path, gate: threading.Event) -> None:
    """The server sends the second piece only when the first has been read."""
    with promptlint.record(tmp_path / "t.jsonl"):
        for name, first in first_pieces(f"{server}/v1/messages"):
            gate.clear()
            assert b"message_start" in first(), name
            assert not gate.is_set()
            gate.set()


def test_an_answer_that_is_not_read_to_its_end_is_recorded_as_far_as_it_went(server: str, tmp_path: Path) -> None:
    def run() -> None:
        with httpx2.stream("POST", f"{server}/v1/messages", json={**BODY, "stream": True}) as response:
            next(response.iter_raw(1))
        requests.post(f"{server}/v1/messages", json={**BODY, "stream": True}, stream=True).close()

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    assert [e.status for e in exchanges] == [200, 200]
    assert exchanges[1].error == UNREAD


def test_an_answer_that_is_dropped_in_the_middle_is_recorded_at_once(server: str, tmp_path: Path) -> None:
    url, body = f"{server}/v1/messages", {**BODY, "stream": True}

    def run() -> None:
        client = httpx2.Client()
        for piece in client.send(client.build_request("POST", url, json=body), stream=True).iter_raw(9):
            assert piece
            break
        for piece in requests.post(url, json=body, stream=True).iter_content(9):
            assert piece
            break
        gc.collect()
        assert len(list(read(tmp_path / "t.jsonl"))) == 2

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    assert [exchange.status for exchange in exchanges] == [200, 200]


@pytest.mark.parametrize("way", [httpx_lines, httpx2_bytes, requests_lines, aiohttp_lines, urllib3_stream])
def test_a_stream_that_is_cut_is_an_error_for_both(server: str, tmp_path: Path, way: Any) -> None:
    body = {**BODY, "stream": True}
    with pytest.raises(Exception) as plain:
        way(f"{server}/cut/v1/messages", body)
    with pytest.raises(type(plain.value)), promptlint.record(tmp_path / "t.jsonl"):
        way(f"{server}/cut/v1/messages", body)
    [exchange] = read(tmp_path / "t.jsonl")
    assert exchange.error and exchange.error != UNREAD
    assert exchange.usage == {**USAGE, "output_tokens": 1}


def test_no_connection_is_recorded_as_an_error(tmp_path: Path) -> None:
    url = "http://127.0.0.1:1/v1/messages"

    def run() -> None:
        for way in WAYS:
            with pytest.raises(Exception):  # noqa: B017 - whatever the library raises
                way(url, BODY)

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    assert len(exchanges) == len(WAYS)
    assert all(e.status is None and e.error for e in exchanges)


def test_what_the_provider_refuses_says_why_without_the_key(server: str, tmp_path: Path) -> None:
    def run() -> None:
        for way in (httpx2_whole, httpx_whole, requests_whole):
            with pytest.raises(KeyError):
                way(f"{server}/refuse/v1/messages", BODY)
        with pytest.raises(urllib.error.HTTPError, match="Too Many Requests") as refused:
            urllib_whole(f"{server}/refuse/v1/messages", BODY)
        assert b"rate_limit_error" in refused.value.read()

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    assert [e.status for e in exchanges] == [429] * 4
    assert str(exchanges[0].error).startswith("rate_limit_error: Slow down, [masked ")
    assert [e.retry_of for e in exchanges] == [None, exchanges[0].id, None, exchanges[2].id]


def test_retries_of_an_sdk_are_told_apart(server: str, tmp_path: Path) -> None:
    def run() -> None:
        client = anthropic.Anthropic(base_url=f"{server}/refuse", api_key=KEY, max_retries=2)
        client._calculate_retry_timeout = lambda *args, **kwargs: 0.0  # type: ignore[method-assign]
        for _ in range(2):
            with pytest.raises(anthropic.RateLimitError):
                client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    ids = [e.id for e in exchanges]
    assert [e.retry_of for e in exchanges[:3]] == [None, ids[0], ids[1]]
    assert len(set(ids)) == len(ids) == 6


def test_the_same_request_again_is_no_retry(server: str, tmp_path: Path) -> None:
    exchanges, _ = recorded(tmp_path / "t.jsonl", lambda: [httpx_whole(f"{server}/v1/messages", BODY) for _ in "ab"])
    assert [e.retry_of for e in exchanges] == [None, None]


def test_other_traffic_is_left_alone(server: str, tmp_path: Path) -> None:
    def run() -> None:
        for way in WAYS:
            way(f"{server}/hook", {"text": "hi"})
        httpx.post(f"{server}/v1/messages", files={"f": io.BytesIO(b"x")})
        requests.post(f"{server}/v1/messages", data=iter([b"{}"]))
        httpx2.post(f"{server}/v1/messages", content=iter([b"{}"]))
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{server}/v1/messages")

    exchanges, _ = recorded(tmp_path / "t.jsonl", run)
    assert exchanges == []


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_a_faked_network_is_recorded_too(tmp_path: Path, module: Any) -> None:
    def answer(request: Any) -> Any:
        return module.Response(200, json=ANSWER)

    async def ask() -> str:
        async with module.AsyncClient(transport=module.MockTransport(answer)) as client:
            return text((await client.post("https://api.anthropic.com/v1/messages", json=BODY)).content)

    def run() -> list[str]:
        with module.Client(transport=module.MockTransport(answer)) as client:
            one = text(client.post("https://api.anthropic.com/v1/messages", json=BODY).content)
        return [one, asyncio.run(ask())]

    exchanges, answers = recorded(tmp_path / "t.jsonl", run)
    assert answers == ["Hello", "Hello"]
    assert [e.usage for e in exchanges] == [USAGE, USAGE]


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}])
def test_openai_streams_are_recorded_to_their_last_event(tmp_path: Path, usage: Any) -> None:
    """The SDK stops reading at [DONE]."""
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": {"content": "Hello"}}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    def answer(request: httpx2.Request) -> httpx2.Response:
        pieces = [data[:40].encode(), data[40:].encode()]
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(pieces))

    def run() -> str:
        transport = httpx2.MockTransport(answer)
        client = openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
        return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)

    [exchange], said = recorded(tmp_path / "t.jsonl", run)
    assert said == exchange.answer == "Hello"
    assert exchange.usage == usage and exchange.error is None


def test_hooks_cover_the_libraries_that_are_watched() -> None:
    assert set(lazy.LIBRARIES) <= set(hooks.HOOKS)
