"""What a request says beside its prompt: parameters by the names of the facts, and wishes about caching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.gates.toggles import UNSEEN
from promptlint.provider import Facts
from promptlint.trace.parts import dumps, marker

OPTIONS = "prompt_cache_options"
RETENTION = "prompt_cache_retention"
BETA = "anthropic-beta"

_PROMPT = frozenset(
    ("system", "messages", "instructions", "input", "contents", "systemInstruction", "system_instruction", "prompt")
)
_LISTS = frozenset(("tools", "functions"))
_SCHEMAS = frozenset(("schema", "json_schema", "responseSchema", "response_schema"))
_DEPTH = 3


def flattened(body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, str]:
    """Every field that is no prompt text, by its path ("thinking.budget_tokens"), a schema as the JSON that it is."""
    found: dict[str, str] = {}
    for key, value in body.items():
        if key in _PROMPT or key in _LISTS or (key == "cache_control" and marker(body) is not None):
            continue
        if key == "toolConfig" and isinstance(value, Mapping):  # Bedrock's holds the tools and their choice
            choice = {k: v for k, v in value.items() if k != "tools"}
            found |= _leaves("", choice, _DEPTH) if "tools" in value else _leaves(key, value, _DEPTH)
        else:
            found |= _leaves(key, value, _DEPTH)
    betas = {beta.strip() for name, value in headers.items() if name.lower() == BETA for beta in value.split(",")}
    if betas:
        found[BETA] = ",".join(sorted(betas))
    return found


def _leaves(path: str, value: Any, depth: int) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, Mapping) and value and depth and path.rpartition(".")[2] not in _SCHEMAS:
        leaves: dict[str, str] = {}
        for key, inner in value.items():
            leaves |= _leaves(f"{path}.{key}" if path else key, inner, depth - 1)
        return leaves
    return {path: value if isinstance(value, str) else dumps(value) if isinstance(value, dict | list) else str(value)}


def deciding(parameters: Mapping[str, str], facts: Facts) -> dict[str, str]:
    """The parameters that a cached prefix may depend on; one that says what leaving it out says is left out."""
    return {
        name: value
        for name, value in parameters.items()
        if name not in UNSEEN and ((row := facts.invalidates(name)) is None or value not in row.default)
    }


def automatic(body: Mapping[str, Any], facts: Facts) -> str | None:
    """The lifetime that the request as a whole asks for, "" for the usual one; ``None`` when it asks for nothing."""
    if (asked := marker(body)) is not None:
        return asked
    options = body.get(OPTIONS)
    if isinstance(options, Mapping):
        return str(options.get("ttl") or "")
    retention = body.get(RETENTION)
    return str(retention) if retention and facts.policy == "blocks" and not facts.refuses else None


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[str]:
    """The names of the parameters that two requests set differently, or only one of them sets."""
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            yield name
