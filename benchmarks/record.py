"""What recording adds to a request: the same requests to a server on this machine with and without a recorder.

``python benchmarks/record.py`` prints a table. Each size is sent in turns, one request plain and one recorded, so that
whatever else the machine does falls on both; the figures are medians of the processor time of the thread that sends,
which is what a request waits for. A new turn is appended each time, as in a conversation.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROUNDS = 200
TURN = "The visitor asks about the paintings in room 4, and the guide answers with the painter and the year. " * 10
ANSWER = {"id": "msg_1", "content": [{"type": "text", "text": "In room 4."}], "usage": {"input_tokens": 9}}
WORD = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}
EVENTS = [
    {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9}}},
    *[WORD] * 200,
    {"type": "message_stop"},
]
STREAM = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in EVENTS)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stream = b'"stream":true' in body
        data = STREAM if stream else json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served() -> Iterator[str]:
    """A server in a process of its own."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def body(turns: int, stream: bool) -> dict[str, Any]:
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n}. {TURN}"} for n in range(turns)]
    return {"model": "claude-sonnet-5", "max_tokens": 10, "stream": stream, "messages": messages}


def timed(send: Callable[[], object]) -> float:
    start = time.thread_time()
    send()
    return (time.thread_time() - start) * 1000


def compared(send: Callable[[], object], trace: Path, redact: bool) -> tuple[float, float]:
    """Milliseconds of a request, and how many more it takes when it is recorded."""
    from promptlint.recorder import hooks
    from promptlint.recorder.flight import Recorder
    from promptlint.trace.format import Writer

    hooks.install()
    recorder = Recorder(Writer(trace).write, root=str(trace.parent), redact=redact)
    plain, recorded = [], []
    for _ in range(ROUNDS):
        plain.append(timed(send))
        recorder.start()
        recorded.append(timed(send))
        recorder.stop()
    return statistics.median(plain), statistics.median(recorded) - statistics.median(plain)


def main() -> None:
    import httpx2

    print("| body | answer | a request, ms | recording adds, ms | with --redact-content, ms |")
    print("|---:|---|---:|---:|---:|")
    with served() as url, httpx2.Client() as client, tempfile.TemporaryDirectory() as folder:
        for turns in (1, 10, 50, 200):
            for stream in (False, True):
                data = body(turns, stream)

                def send(data: dict[str, Any] = data) -> object:
                    data["messages"][-1]["content"] = f"{time.time()} {TURN}"
                    return client.post(f"{url}/v1/messages", json=data).content

                size = len(json.dumps(data)) / 1000
                trace = Path(folder) / "trace.jsonl"
                plain, more = compared(send, trace, False)
                _, redacted = compared(send, trace, True)
                kind = "200 events" if stream else "whole"
                print(f"| {size:,.0f} kB | {kind} | {plain:.2f} | {more:.2f} | {redacted:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
    else:
        main()
