"""The tokens that llama.cpp's server itself makes of a prompt, so that predictions are exact.

Asked over its routes ``/apply-template`` and ``/tokenize``, which compute no answer and leave the cache as it is.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from promptlint.probe.execute import standing_in
from promptlint.probe.plan import Destination, Plan
from promptlint.probe.samples import Sample
from promptlint.simulator import Block, Call

_SECONDS = 30.0


def asked(plan: Plan) -> Destination | None:
    """The server that is asked for its tokens, if one of the plan's is of this kind."""
    trials = (trial for trial in plan.trials if trial.steps[0].sample.facts.provider == "llama_cpp")
    return next((trial.destination for trial in trials), None)


def counting(where: Destination) -> Callable[[Sample], Call]:
    """Calls with the server's own tokens; with those that stand in for them where it does not tell."""
    root = where.url.removesuffix("/v1")

    def counted(sample: Sample) -> Call:
        given = _chat(sample)
        if given is None:
            return standing_in(sample)
        try:
            prompt = _post(f"{root}/apply-template", given)["prompt"]
            found = _post(f"{root}/tokenize", {"content": prompt, "parse_special": True})["tokens"]
            return Call((Block("messages", tuple(map(int, found))),))
        except (OSError, ValueError, KeyError, TypeError, urllib.error.URLError):
            return standing_in(sample)

    return counted


def _post(url: str, body: object) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        return json.load(response)


def _chat(sample: Sample) -> dict[str, Any] | None:
    """The request in the form of Chat Completions, as the server turns the other APIs into it; text only."""
    if sample.wire.api == "chat":
        return {key: sample.body[key] for key in ("messages", "tools") if key in sample.body}
    if any(part.kind not in ("text", "tool") for part in sample.wire.parts):
        return None
    tools = [_function(part.value) for part in sample.wire.parts if part.region == "tools"]
    return {"messages": list(_messages(sample)), **({"tools": tools} if tools else {})}


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
