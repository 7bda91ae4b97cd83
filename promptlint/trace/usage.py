"""Token counts as providers report them, brought to one form by the paths in ``knowledge/providers.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from promptlint.provider import Facts, facts

_OUTPUT = ("output_tokens", "completion_tokens", "outputTokens", "candidates_token_count", "eval_count")
_OTHERS = ("anthropic", "bedrock_anthropic", "openai", "gemini")
"""Whose fields are looked for where a provider's own are not there: gateways answer in another vendor's form."""
_TTL = re.compile(r"_(\d+[mh])_")


@dataclass(frozen=True, slots=True)
class Usage:
    """``total`` are all input tokens, ``read`` those from the cache, ``written`` those stored, by lifetime ("" = the
    usual one, or not said). ``None``: not reported.
    """

    total: int | None = None
    read: int | None = None
    written: tuple[tuple[str, int], ...] | None = None
    output: int | None = None

    @property
    def stored(self) -> int:
        """All written tokens."""
        return sum(tokens for _, tokens in self.written or ())

    @property
    def uncached(self) -> int | None:
        """Input tokens that were neither read nor written."""
        return None if self.total is None else self.total - (self.read or 0) - self.stored


def reported(usage: Mapping[str, Any] | None, known: Facts) -> Usage:
    """What the usage object of a response says, counted as the provider counts: inclusive or exclusive."""
    if not usage:
        return Usage()
    form = _form(usage, known)
    total = _first(usage, form.usage_input)
    read = _first(usage, form.usage_read)
    if read is None:
        read = _first(usage, known.usage_read)
    written = _written(usage, form)
    if total is not None and form.input_includes_cached is False:
        total += (read or 0) + sum(tokens for _, tokens in written or ())
    return Usage(total, read, written, _first(usage, _OUTPUT))


def _form(usage: Mapping[str, Any], known: Facts) -> Facts:
    """The facts whose fields this object has. "input_tokens" is Anthropic's and OpenAI's: what is beside it decides."""
    forms = [known, *(facts(name, None) for name in _OTHERS)]
    having = [form for form in forms if _first(usage, form.usage_input) is not None]
    if "input_tokens" in usage and having:
        inclusive = "input_tokens_details" in usage
        having = [form for form in having if bool(form.input_includes_cached) is inclusive] or having
    return having[0] if having else known


def _first(usage: Mapping[str, Any], paths: tuple[str, ...]) -> int | None:
    return next((found for path in paths for found, _ in _at(usage, path)), None)


def _written(usage: Mapping[str, Any], form: Facts) -> tuple[tuple[str, int], ...] | None:
    """By lifetime where the provider tells them apart, otherwise the sum."""
    whole: int | None = None
    by_ttl: dict[str, int] = {}
    for path in form.usage_write:
        named = _TTL.search(path)
        for tokens, item in _at(usage, path):
            ttl = named[1] if named else str(item.get("ttl") or "")
            if ttl:
                by_ttl[ttl] = by_ttl.get(ttl, 0) + tokens
            elif whole is None:
                whole = tokens
    if whole is None and not by_ttl:
        return None
    if by_ttl and (whole is None or sum(by_ttl.values()) >= whole):
        return tuple((ttl, tokens) for ttl, tokens in by_ttl.items() if tokens)
    return (("", whole),) if whole else ()


def _at(usage: Mapping[str, Any], path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The numbers at a path of the facts ("usage.a.b", "usage.a[].b"), each with the object that it stands in.

    ``usage`` is the object that the first step names; a step is also found in camelCase.
    """
    steps = path.split(".")[1:] or [path]
    owners: list[Mapping[str, Any]] = [usage]
    for step in steps[:-1]:
        inner = [_field(owner, step.removesuffix("[]")) for owner in owners]
        flat = [item for value in inner for item in (value if isinstance(value, list) else [value])]
        owners = [item for item in flat if isinstance(item, Mapping)]
    for owner in owners:
        value = _field(owner, steps[-1])
        if isinstance(value, int) and not isinstance(value, bool):
            yield value, owner


def _field(owner: Mapping[str, Any], name: str) -> Any:
    return owner[name] if name in owner else owner.get(re.sub(r"_(\w)", lambda match: match[1].upper(), name))
