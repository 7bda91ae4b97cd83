"""What an inference engine tells of itself, so that predictions are exact: the tokens of a prompt, the size of a block.

llama.cpp's server is asked over ``/apply-template`` and ``/tokenize``, vLLM's over ``/tokenize`` and ``/metrics``. None
of these computes an answer or touches the cache.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any

from promptlint.probe.execute import standing_in
from promptlint.probe.plan import Destination, Plan
from promptlint.probe.samples import Sample
from promptlint.simulator import Block, Call

_SECONDS = 30.0
_FAILURES = (OSError, HTTPException, ValueError, KeyError, TypeError)
"""What asking a server may end in that is not of this kind after all."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A server that is asked, and the routes that it is asked over."""

    destination: Destination
    routes: tuple[str, ...]
    tokens: Callable[[str, Mapping[str, Any]], list[int]]
    """The tokens of a request in the form of Chat Completions, by the server at a root."""
    block: Callable[[str], int | None]
    """The tokens of a block, where the server at a root has a size of its own."""

    @property
    def _root(self) -> str:
        return self.destination.url.removesuffix("/v1")

    def count(self, sample: Sample) -> Call:
        """The request with the server's own tokens; with those that stand in for them where it does not tell."""
        given = _chat(sample)
        if given is None:
            return standing_in(sample)
        try:
            return Call((Block("messages", tuple(self.tokens(self._root, given))),))
        except _FAILURES:
            return standing_in(sample)

    def fitted(self, plan: Plan) -> Plan:
        """The plan with the size of the server's blocks in place of the usual one."""
        try:
            size = self.block(self._root)
        except _FAILURES:
            size = None
        if size is None:
            return plan

        def fit(sample: Sample) -> Sample:
            return replace(sample, facts=replace(sample.facts, granularity=size, minimum=size))

        trials = (
            replace(trial, steps=tuple(replace(step, sample=fit(step.sample)) for step in trial.steps))
            for trial in plan.trials
        )
        return replace(plan, trials=tuple(trials))


def asked(plan: Plan) -> Engine | None:
    """The server that is asked, if one of the plan's is of a kind that tells."""
    for trial in plan.trials:
        kind = _KINDS.get(trial.steps[0].sample.facts.provider)
        if kind is not None:
            return Engine(trial.destination, *kind)
    return None


def _of_llama_cpp(root: str, given: Mapping[str, Any]) -> list[int]:
    prompt = _post(f"{root}/apply-template", {key: given[key] for key in ("messages", "tools") if key in given})
    found = _post(f"{root}/tokenize", {"content": prompt["prompt"], "parse_special": True})
    return [int(token) for token in found["tokens"]]


def _of_vllm(root: str, given: Mapping[str, Any]) -> list[int]:
    return [int(token) for token in _post(f"{root}/tokenize", given)["tokens"]]


def _block_of_vllm(root: str) -> int | None:
    with urllib.request.urlopen(f"{root}/metrics", timeout=_SECONDS) as response:
        found = re.search(r'^vllm:cache_config_info\{.*?\bblock_size="(\d+)"', response.read().decode(), re.MULTILINE)
    return int(found[1]) if found else None


_KINDS: dict[
    str, tuple[tuple[str, ...], Callable[[str, Mapping[str, Any]], list[int]], Callable[[str], int | None]]
] = {
    "llama_cpp": (("/apply-template", "/tokenize"), _of_llama_cpp, lambda root: None),
    "vllm": (("/tokenize", "/metrics"), _of_vllm, _block_of_vllm),
}
"""By the provider's name: what an ``Engine`` is made of."""


def _post(url: str, body: object) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        return json.load(response)


def _chat(sample: Sample) -> dict[str, Any] | None:
    """The request in the form of Chat Completions, as the servers turn the other APIs into it; text only."""
    if sample.wire.api == "chat":
        return {key: sample.body[key] for key in ("model", "messages", "tools") if key in sample.body}
    if any(part.kind not in ("text", "tool") for part in sample.wire.parts):
        return None
    tools = [_function(part.value) for part in sample.wire.parts if part.region == "tools"]
    given = {"model": sample.wire.model, "messages": list(_messages(sample))}
    return given | ({"tools": tools} if tools else {})


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    if "function" in tool:
        return tool
    parameters = tool.get("input_schema", tool.get("parameters", {}))
    named = {"name": tool.get("name", ""), "description": tool.get("description", "")}
    return {"type": "function", "function": {**named, "parameters": parameters}}


def _messages(sample: Sample) -> Iterator[dict[str, str]]:
    """Parts of one message, told by their paths, are joined."""
    role, place, texts = "", "", list[str]()
    for part in sample.wire.parts:
        if part.region == "tools":
            continue
        at = part.path.partition(".")[0] if part.region == "messages" else "system"
        if texts and at != place:
            yield {"role": role, "content": "".join(texts)}
            texts = []
        role, place = part.role, at
        texts.append(part.text)
    if texts:
        yield {"role": role, "content": "".join(texts)}
