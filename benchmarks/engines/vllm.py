"""The simulator against a vLLM server that is running (``--enable-prompt-tokens-details``): cached tokens compared.

    python -m benchmarks.engines.vllm --block 128 [--base http://127.0.0.1:8082] [--conversations 200]

Start the server anew, or empty its cache (``POST /reset_prefix_cache`` in dev mode), before each run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from benchmarks.engines import conversations, tiny_gguf
from promptlint.provider import facts
from promptlint.simulator import predict


def complete(base: str, model: str, prompt: Sequence[int]) -> tuple[int, list[int]]:
    """The cached tokens of a prompt and the ids of its answer."""
    body = {"model": model, "prompt": list(prompt), "max_tokens": 3, "temperature": 0, "return_token_ids": True}
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{base}/v1/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        reply: dict[str, Any] = json.load(response)
    details = reply["usage"]["prompt_tokens_details"] or {}
    return details.get("cached_tokens") or 0, reply["choices"][0]["token_ids"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="http://127.0.0.1:8082")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--block", type=int, required=True, help="the server's block size")
    parser.add_argument("--conversations", type=int, default=200)
    options = parser.parse_args()
    started = time.monotonic()

    def send(prompts: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
        # One request each: for a list of prompts the usage counts the cached tokens of one of them only.
        with ThreadPoolExecutor(len(prompts)) as pool:
            replies = list(pool.map(lambda prompt: complete(options.base, options.model, prompt), prompts))
        return [cached for cached, _ in replies], [ids for _, ids in replies]

    sent = conversations.drive(options.conversations, tiny_gguf.VOCABULARY, send)
    every = [call for group in sent for call in group.calls]
    known = replace(facts("vllm", None), granularity=options.block, minimum=options.block)
    outcomes = iter(predict(every, known))
    wrong = []
    for number, group in enumerate(sent):
        predicted = tuple(sorted(next(outcomes).read for _ in group.calls))
        if predicted != group.cached:
            wrong.append(f"group {number}: predicted {predicted}, reported {group.cached}")
    print(
        f"vLLM, blocks of {options.block}: {options.conversations} conversations, {len(every):,} requests, "
        f"{sum(any(group.cached) for group in sent):,} of {len(sent):,} groups with hits, {len(wrong)} mismatches, "
        f"{time.monotonic() - started:.0f} s"
    )
    for line in wrong[:20]:
        print(f"  {line}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
