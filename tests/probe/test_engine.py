"""Against a real engine: a program with faults of all kinds and sound calls, run twice, then sent to llama.cpp."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from benchmarks.engines.llama import Llama, server
from benchmarks.engines.verdicts import examined, function, listed, sent, wrong
from promptlint.probe import engine, plan
from promptlint.probe.claims import Claim, claims
from tests.probe.build import MANUAL, Body, chat, claude, clocks, finding, read, recorded, response, turn

FAULTS, SOUND = listed("FAULTS"), listed("SOUND")


@pytest.fixture
def llama() -> Iterator[Llama]:
    with server(1) as running:
        yield running


@pytest.fixture(scope="module")
def program() -> list[Claim]:
    """What is expected of each call of the program, from its runs without a network."""
    return examined("llama_cpp")


def test_every_verdict_and_every_count_is_right(llama: Llama, program: list[Claim]) -> None:
    result = sent(program, llama.address)
    assert wrong(result.verdicts) == []
    assert (len(FAULTS), len(SOUND)) >= (15, 10)
    assert all(len(verdict.readings) == 3 for verdict in result.verdicts)


def test_what_is_expected_beforehand_is_what_comes(program: list[Claim]) -> None:
    assert {function(c) for c in program if c.forecast and c.forecast.breaks} == FAULTS
    assert {function(c) for c in program if c.forecast and not c.forecast.breaks} == SOUND


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param([claude(head="Now: 10:31. "), turn(claude(head="Now: 10:32. "), "Hi.", "And?")], id="messages"),
        pytest.param(
            [response(head="Now: 10:31. "), turn(response(head="Now: 10:32. "), "Hi.", "And?")], id="responses"
        ),
    ],
)
def test_the_other_apis(llama: Llama, pair: list[Body]) -> None:
    api = "messages" if "system" in pair[0] else "responses"
    exchanges = recorded([_plain(body) for body in pair], api)
    made = claims([finding()], read(exchanges, served_by="llama_cpp"))
    [verdict] = sent(made, llama.address).verdicts
    assert verdict.ruling.value == "confirmed"
    for reading in verdict.readings:
        assert (reading.predicted, reading.predicted_total) == (reading.read, reading.total)


def _plain(body: Body) -> Body:
    """In the form that llama.cpp takes, and short enough for it: no bare texts as items, and no model of a vendor."""
    body = json.loads(json.dumps(body).replace(MANUAL, MANUAL[:2000]))
    if "input" not in body:
        return body | {"model": "tiny"}
    kinds = {"assistant": "output_text"}
    items = [
        {
            "type": "message",
            "role": "system" if item["role"] == "developer" else item["role"],
            "content": item["content"]
            if isinstance(item["content"], list)
            else [{"type": kinds.get(item["role"], "input_text"), "text": item["content"]}],
        }
        for item in body["input"]
    ]
    return body | {"model": "tiny", "input": items}


METRICS = """# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{_block_size_resolved="True",block_size="32",cache_dtype="auto"} 1.0
"""


@contextmanager
def vllm(metrics: str, status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """What vLLM says about itself: three tokens for every prompt, and its metrics."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(metrics.encode())

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self._say(b'{"count": 3, "tokens": [7, 8, 9]}')

        def _say(self, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}", asked
    finally:
        running.shutdown()
        running.server_close()


def asked_at(url: str, exchanges: Any) -> tuple[engine.Engine, plan.Plan]:
    planned = plan.make(claims([finding()], read(exchanges, served_by="vllm")), base_url=url)
    found = engine.asked(planned)
    assert found
    return found, found.fitted(planned)


def test_vllm_tells_its_tokens_and_the_size_of_its_blocks() -> None:
    with vllm(METRICS) as (url, asked):
        found, fitted = asked_at(url, clocks(claude))
        sample = fitted.trials[0].steps[0].sample
        assert (sample.facts.granularity, sample.facts.minimum) == (32, 32)
        assert tuple(found.count(sample).blocks[0].tokens) == (7, 8, 9)
        assert [message["role"] for message in asked[0]["messages"]] == ["system", "user"]
        assert found.routes == ("/tokenize", "/metrics")


@pytest.mark.parametrize("metrics", ["", "vllm:cache_config_info{} 1.0"])
@pytest.mark.parametrize("status", [200, 404])
def test_a_server_that_tells_nothing_is_taken_as_usual(metrics: str, status: int) -> None:
    with vllm(metrics, status) as (url, _):
        found, fitted = asked_at(url, clocks(chat, "chat"))
        sample = fitted.trials[0].steps[0].sample
        assert sample.facts.granularity == 16
        assert sum(len(block.tokens) for block in found.count(sample).blocks) > 0
