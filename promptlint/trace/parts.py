"""The pieces of a request in the order in which a provider reads them, whatever API they were sent through."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MARKERS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
"""Keys that ask for a cache entry: they are no prompt text."""
IDS = frozenset(("id", "tool_use_id", "tool_call_id", "call_id", "toolUseId", "response_id"))
"""Fields that tie a call and its result together."""
_WRAPPERS = ("toolUse", "toolResult", "functionCall", "functionResponse")


@dataclass(frozen=True, slots=True)
class Part:
    """One content block or tool definition.

    ``value`` is what stands in the body there, without cache markers: a text, or the JSON of a block that is more than
    text. ``path`` is where, as in ``messages[3].content[0].text``. ``kind`` is "text", "image", "tool_use",
    "tool_result", "thinking", "tool" ... whatever the API calls them, ``role`` that of the message ("" for tools).
    ``marker`` is the lifetime that a marker on it asks for, "" for the usual one, ``None`` without a marker.
    """

    region: str
    path: str
    kind: str
    role: str
    value: Any
    marker: str | None = None

    @property
    def text(self) -> str:
        """The part as text: JSON with the keys in the order in which they were sent where it is more than text."""
        return self.value if isinstance(self.value, str) else dumps(self.value)

    @property
    def nameless(self) -> str:
        """The text without the ids of calls and results: those may be given anew when a history is rebuilt."""
        if self.kind not in ("tool_use", "tool_result") or not isinstance(self.value, dict):
            return self.text
        return dumps(_nameless(self.value))


def _nameless(value: dict[str, Any]) -> dict[str, Any]:
    kept = {key: inner for key, inner in value.items() if key not in IDS}
    return {
        key: _nameless(inner) if key in _WRAPPERS and isinstance(inner, dict) else inner for key, inner in kept.items()
    }


def dumps(value: Any) -> str:
    """JSON as compact as it gets, keys in their own order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def marker(block: Any, keys: tuple[str, ...] = MARKERS) -> str | None:
    """The lifetime that a marker on this block asks for, "" for the usual one; ``None`` where there is no marker."""
    if isinstance(block, dict):
        for key in keys:
            if key in block and _is_marker(key, block[key]):
                return str(block[key].get("ttl") or "")
    return None


def stripped(value: Any) -> Any:
    """The value without the cache markers in it."""
    if isinstance(value, dict):
        return {k: stripped(v) for k, v in value.items() if not (k in MARKERS and (v is None or _is_marker(k, v)))}
    return [stripped(item) for item in value] if isinstance(value, list) else value


def _is_marker(key: str, value: Any) -> bool:
    """A tool may have an argument of the same name, so the value has to look like one, too."""
    return (
        key in MARKERS
        and isinstance(value, dict)
        and (value.get("type") in ("ephemeral", "default") or value.get("mode") == "explicit")
    )
