"""Options with which the server itself shortens a conversation: truncation, context editing, compaction.

Sources: Anthropic's guide on context editing (a cleared result invalidates the prefix behind it; ``clear_at_least``
makes that rare), types/beta/beta_clear_tool_uses_20250919_edit_param.py of anthropic 2.14, types/responses of openai
3.57 (``truncation``, ``context_management``), of 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator

from promptlint.link.turns.guards import LARGE_TOKENS
from promptlint.link.values import Const, Edit, Map, Seq, Value, literal, options
from promptlint.span import Span


def edits_of(name: str, value: Value, span: Span) -> Iterator[Edit]:
    """What the server does to old turns when the option ``name`` is ``value``."""
    for option in options(value):
        if literal(option) == "auto":
            yield Edit("window", span, f'{name}="auto"', guard="threshold")
        elif isinstance(option, Map) and "edits" in option.entries:
            yield from edits_of(name, option.entries["edits"].value, option.entries["edits"].span)
        elif isinstance(option, Seq):
            for item in option.items:
                yield from _edit(name, item.value, item.span)


def _edit(name: str, value: Value, span: Span) -> Iterator[Edit]:
    for option in options(value):
        kind = literal(option.entries["type"].value) if isinstance(option, Map) and "type" in option.entries else None
        if not isinstance(option, Map) or kind is None:
            continue
        if kind.startswith("clear_tool_uses"):
            # Each new result pushes an old one out, unless so much goes at once that it is rare.
            seldom = "clear_at_least" in option.entries or _trigger(option) >= LARGE_TOKENS
            yield Edit("window", span, f"{name} ({kind})", guard="threshold" if seldom else None)
        elif kind.startswith(("compact", "compaction")):
            yield Edit("rewrite", span, f"{name} ({kind})", guard="threshold")


def _trigger(edit: Map) -> int:
    """The tokens from which on an edit is made: 100,000 unless told otherwise."""
    trigger = edit.entries.get("trigger")
    for option in options(trigger.value) if trigger is not None else ():
        if isinstance(option, Map) and {"type", "value"} <= option.entries.keys():
            amount = option.entries["value"].value
            if isinstance(amount, Const) and isinstance(amount.value, int):
                return amount.value if literal(option.entries["type"].value) == "input_tokens" else 0
    return 100_000
