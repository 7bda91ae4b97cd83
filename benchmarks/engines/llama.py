"""The simulator against llama.cpp's own server, in this process (``pip install xllamacpp``): cached tokens compared.

python -m benchmarks.engines.llama [--conversations 200] [--slots 1 4]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.engines import conversations, tiny_gguf
from promptlint.provider import facts
from promptlint.simulator import slots


class Llama:
    """A running server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def post(self, route: str, body: object) -> Any:
        """The JSON answer to a JSON request."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.address + route, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def complete(self, prompts: Sequence[Sequence[int]], answer: int) -> list[tuple[int, list[int]]]:
        """Cached tokens and the answer's ids of prompts that are sent at once."""
        whole = [list(prompt) for prompt in prompts]
        body = {"prompt": whole if len(whole) > 1 else whole[0], "n_predict": answer, "return_tokens": True}
        replies = self.post("/completion", {**body, "temperature": 0, "cache_prompt": True})
        replies = replies if isinstance(replies, list) else [replies]
        return [(reply["timings"]["cache_n"], reply["tokens"]) for reply in sorted(replies, key=lambda r: r["index"])]


@contextmanager
def server(slots: int) -> Iterator[Llama]:
    """A server with that many slots and a random model; one prompt a slot is all that it remembers."""
    import xllamacpp

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.gguf"
        tiny_gguf.write(model)
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model)
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0  # any that is free
        parameters.n_ctx = 8192 * slots
        parameters.n_parallel = slots
        parameters.cache_ram_mib = 0
        parameters.warmup = False
        parameters.fit_params = False
        parameters.verbosity = 0
        parameters.cpuparams.n_threads = 1
        running = xllamacpp.Server(parameters)
        yield Llama(running.listening_address)


def compare(count: int, slot_count: int, answer: int = 3, first: int = 0) -> tuple[int, list[str]]:
    """The number of requests sent, and a line for each group whose cached tokens were not as predicted."""
    with server(slot_count) as llama:

        def send(prompts: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
            replies = llama.complete(prompts, answer)
            return [cached for cached, _ in replies], [tokens for _, tokens in replies]

        sent = conversations.drive(count, tiny_gguf.VOCABULARY, send, first)
    every = [call for group in sent for call in group.calls]
    outcomes = iter(slots.predict(every, facts("llama_cpp", None), slot_count))
    wrong = []
    for number, group in enumerate(sent):
        predicted = tuple(sorted(next(outcomes).read for _ in group.calls))
        if predicted != group.cached:
            wrong.append(f"group {number}: predicted {predicted}, reported {group.cached}")
    return len(every), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 4])
    options = parser.parse_args()
    failed = False
    for slot_count in options.slots:
        started = time.monotonic()
        requests, wrong = compare(options.conversations, slot_count)
        seconds = time.monotonic() - started
        print(
            f"llama.cpp, {slot_count} slot{'s' if slot_count > 1 else ''}: {options.conversations} conversations, "
            f"{requests:,} requests, {len(wrong)} mismatches, {seconds:.1f} s"
        )
        for line in wrong[:20]:
            print(f"  {line}")
        failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
