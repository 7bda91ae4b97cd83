"""Whatever is sent and answered: no secret is written, no redacted text either, and the program sees no change."""

from __future__ import annotations

import gzip
import json
from typing import Any
from unittest import mock

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.recorder.session import listening
from promptlint.trace.format import Exchange, encode

ADDRESS = "https://api.anthropic.com/v1/messages"
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"

tokens = st.text(LETTERS, min_size=24, max_size=40).filter(lambda text: not text.isalpha())
words = st.text(LETTERS.upper(), min_size=9, max_size=14)


def lines(exchanges: list[Exchange]) -> str:
    return "\n".join(map(encode, exchanges))


def sent(body: bytes, headers: dict[str, str], address: str, answer: httpx2.Response, *, redact: bool) -> str:
    """What is recorded of one request."""
    found: list[Exchange] = []
    with listening(found.append, redact_content=redact):
        client = httpx2.Client(transport=httpx2.MockTransport(lambda request: answer))
        client.post(address, content=body, headers=headers)
    assert len(found) == 1
    return lines(found)


@given(tokens, tokens, words, st.booleans(), st.sampled_from([200, 400, 429, 500]))
def test_no_secret_is_written_wherever_it_turns_up(key: str, bearer: str, word: str, redact: bool, status: int) -> None:
    body = {
        "model": "m",
        "system": f"Our key is sk-ant-{key}, says {word}.",
        "messages": [
            {"role": "user", "content": json.dumps({"nested": {"authorization": f"Bearer {bearer}", word: key}})}
        ],
        "metadata": {"user_id": word, "api_key": key, "note": f"{bearer}{word}"},
    }
    answer = {
        "id": "msg_1",
        "content": [{"type": "text", "text": f"{word}: {bearer}"}],
        "usage": {"input_tokens": 5, "service": bearer, "nested": [key]},
        "error": {"type": "bad", "message": f"{word} {key}"},
    }
    headers = {"X-Api-Key": key, "Authorization": f"Bearer {bearer}", "Anthropic-Beta": "b", "Cookie": bearer}
    address = f"{ADDRESS}?key={key}&beta=true"
    text = sent(json.dumps(body).encode(), headers, address, httpx2.Response(status, json=answer), redact=redact)
    assert key not in text and bearer not in text
    assert (word in text) is not redact
    assert '"input_tokens":5' in text


@given(st.text(max_size=60), st.booleans())
def test_bodies_that_are_no_json_are_recorded_all_the_same(text: str, redact: bool) -> None:
    body = f'{{"messages": {text}'.encode("utf-8", "surrogatepass")
    sent(body, {}, ADDRESS, httpx2.Response(200, text="fine"), redact=redact)


answers = st.binary(max_size=300) | st.text(max_size=100).map(str.encode) | st.binary(max_size=100).map(gzip.compress)
kinds = st.sampled_from(["application/json", "text/event-stream", "application/vnd.amazon.eventstream", "", "x/y; q"])


@given(answers, kinds, st.sampled_from(["", "gzip", "deflate", "br", "zstd", "odd"]), st.integers(200, 599))
def test_the_program_gets_the_answer_that_it_would_get(data: bytes, kind: str, encoding: str, status: int) -> None:
    headers = {"content-type": kind} | ({"content-encoding": encoding} if encoding else {})

    def outcome() -> Any:
        pieces = iter([data[:20], data[20:]])
        answer = httpx2.Response(status, headers=headers, stream=_Pieces(pieces))
        client = httpx2.Client(transport=httpx2.MockTransport(lambda request: answer))
        try:
            return client.post(ADDRESS, json={"model": "m", "messages": []}).content
        except Exception as error:
            return type(error), str(error)

    expected = outcome()
    found: list[Exchange] = []
    with listening(found.append):
        assert outcome() == expected
    assert [exchange.status for exchange in found] == [status]


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    def __iter__(self) -> Any:
        return self._pieces


BROKEN = [
    "promptlint.recorder.flight.endpoints.recognise",
    "promptlint.recorder.flight.endpoints.kept",
    "promptlint.recorder.flight.callsite.stack",
    "promptlint.recorder.flight.responses.understood",
    "promptlint.recorder.flight.Recorder.earlier",
    "promptlint.recorder.flight.Recorder._masked",
    "promptlint.recorder.flight.Exchange",
    "promptlint.recorder.flight.os.getpid",
]


@settings(max_examples=40)
@given(st.sampled_from(BROKEN), st.sampled_from([MemoryError, RecursionError, OSError, ValueError, AttributeError]))
def test_an_exception_anywhere_in_the_recorder_stays_there(name: str, kind: type[Exception]) -> None:
    answer = httpx2.Response(200, json={"usage": {"a": "b"}})
    client = httpx2.Client(transport=httpx2.MockTransport(lambda request: answer))
    with listening(lambda exchange: None), mock.patch(name, side_effect=kind("on purpose")):
        assert client.post(ADDRESS, json={"model": "m", "messages": []}).json() == {"usage": {"a": "b"}}


def test_a_sink_that_raises_is_not_noticed() -> None:
    def sink(exchange: Exchange) -> None:
        raise OSError(28, "No space left on device")

    client = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, text="fine")))
    with listening(sink):
        assert client.post(ADDRESS, json={"model": "m", "messages": []}).text == "fine"


def test_a_body_of_many_megabytes_is_recorded() -> None:
    picture = "QUJD" * (3 << 20)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": picture}]}).encode()
    for redact in (False, True):
        text = sent(body, {}, ADDRESS, httpx2.Response(200, text="fine"), redact=redact)
        assert (picture in text) is not redact
