"""What messages look like: roles, contents, and names that tell a list of turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from promptlint.link.values import (
    Choice,
    Const,
    Entry,
    External,
    Hole,
    Instance,
    Item,
    Many,
    Map,
    One,
    Origins,
    Rest,
    Sent,
    Seq,
    Text,
    Value,
    literal,
    options,
    text,
)
from promptlint.span import Span

HISTORY_NAMES = re.compile(
    r"(^|[._\s(])\w*(histor|conversation|transcript|dialog|chat_log|thread|past_|previous_|prior_|old_m|memory\b|memories|turns|convo|chat_context|context_messages|all_messages|stored_messages|saved_messages)",
    re.IGNORECASE,
)
MESSAGES_NAMES = re.compile(r"(messages|msgs|message_list|chat|contents|input_items|input_list)\b", re.IGNORECASE)
_FIELDS = ("role", "content", "parts", "text")
"""What an object that stands for a message has one of."""


def is_history_name(name: str) -> bool:
    return bool(HISTORY_NAMES.search(name))


def is_fetched(value: Value | None) -> bool:
    """Whether a list is what a call gives, or the rows in a reply of DynamoDB, and not what the code was handed."""
    return (
        isinstance(value, Hole)
        and not value.root
        and ("(" in value.name or value.name.endswith(("['Items']", '["Items"]')))
    )


def message_of(role: str, content: Value, span: Span) -> Map:
    return Map({"role": Entry(text(role, span), span), "content": Entry(content, span)}, span)


SYSTEM_ROLES = frozenset(("system", "developer"))
_BLOCKS = frozenset(
    ("function", "tool_use", "tool_result", "text", "image", "image_url", "document", "thinking", "redacted_thinking")
)
"""Types of what is a part of a message, or a tool, and no message."""


def role_of(value: Value) -> str | None:
    """The role of a message: its text, "" when there is one that is not known, ``None`` without."""
    for option in options(value):
        if isinstance(option, Map):
            if (role := option.entries.get("role")) is not None:
                return literal(role.value) or ""
            if (kind := option.entries.get("type")) is not None and (told := literal(kind.value) or "") not in _BLOCKS:
                return told
            if option.type is not None and "content" in option.entries:
                return ""
        if isinstance(option, Instance):
            found = option.given("role")
            if found is not None:
                return literal(found) or ""
    return None


def retells(item: Item) -> bool:
    """Whether an element is there only when old ones were cut, and holds what they said."""
    return item.optional and {o.kind for o in item.value.origins()} <= {"reply", "history"}


def reads_role(value: Value) -> bool:
    """Whether a message is made from a stored one (of a chain of nodes, for instance): its role is that one's."""
    role = value.entries.get("role") if isinstance(value, Map) else None
    if role is not None and isinstance(role.value, Text):
        return {"user", "assistant"} <= {p.text for p in role.value.pieces if p.optional}
    return role is not None and isinstance(role.value, Hole) and "." in role.value.name


def said_before(value: Value) -> bool:
    """Whether the role of a message depends on something: it was said, and by whom, before it got here."""
    role = value.entries.get("role") if isinstance(value, Map) else None
    return role is not None and bool(role.value.origins())


def roles_of(value: Value) -> set[str]:
    """The roles that the messages of a history have; "" for one that is not known."""
    return {role_of(option) or "" for option in options(value)}


def content_origins(value: Value, role: str) -> Iterator[Origins]:
    """What the text of the messages of one role depends on, without looking into blocks of other kinds."""
    for option in options(value):
        if isinstance(option, Map) and role_of(option) in (role, ""):
            content = option.entries.get("content") or option.entries.get("parts")
            if content is not None and isinstance(content.value, (Text, Hole, Choice)):
                yield content.value.origins()


def role_source(value: Value) -> str:
    """How the code calls what the elements of a rendered history are taken from."""
    for option in options(value):
        if isinstance(option, Map):
            for key in ("content", "role"):
                entry = option.entries.get(key)
                if entry is not None and isinstance(entry.value, Hole):
                    return entry.value.name
    return ""


def may_be_message(value: Value) -> bool:
    """Whether a changed element can be a message or a block of one, and not an element of some other list."""
    for option in options(value):
        if isinstance(option, Map):
            known = option.entries.keys() & {
                "role",
                "content",
                "parts",
                "text",
                "type",
                "tool_calls",
                "input",
                "output",
            }
            if known or not option.entries:
                return True
        elif isinstance(option, Instance):
            names = {*option.overrides, *option.cls.fields}
            if any(n in names or any(m.stores(n) for m in option.cls.methods.values()) for n in _FIELDS):
                return True
        elif not isinstance(option, (Text, Const)):
            return True
    return False


def looks_like_messages(value: Value) -> bool:
    for option in options(value):
        if isinstance(option, Seq):
            if any(role_of(i.value) is not None for i in option.items if not isinstance(i, Rest)):
                return True
            if any(
                isinstance(i, Rest) and isinstance(i.value, Hole) and MESSAGES_NAMES.search(i.value.name)
                for i in option.items
            ):
                return True
        if isinstance(option, Hole) and MESSAGES_NAMES.search(option.name):
            return True
    return False


def is_of_reply(value: Value) -> bool:
    """Whether a value is a reply of the model, or a field of one."""
    while isinstance(value, External) and value.this is not None:
        value = value.this
    return isinstance(value, Sent)


def by_role_of_source(items: Sequence[Item]) -> list[Item]:
    """The templates that turn each message of one list, by its role, into one of another kind.

    A row that holds both what was asked and what was answered gives two: the newest such rows are turns, too.
    """
    made = [
        i for i in items if isinstance(i, Many) and isinstance(i.of, Hole) and (i.guards or i.of.window is not None)
    ]
    answers = [i.of for i in made if role_of(i.value) in ("assistant", "model", "ai")]
    return [i for i in made if any(i.of is of for of in answers)]


def positions(items: Sequence[Item]) -> int:
    """How many blocks these messages surely add, as a look-back for an earlier cache entry counts them.

    Calls of tools that follow each other count as one, and so do results.
    """
    kinds = [kind for item in items if isinstance(item, One) and not item.optional for kind in _blocks(item.value)]
    runs = ("tool_use", "tool_result", "tool")
    return sum(1 for n, kind in enumerate(kinds) if kind not in runs or n == 0 or kinds[n - 1] != kind)


def _blocks(message: Value) -> Iterator[str]:
    """The types of the blocks that a message surely has; text counts as one block."""
    entry = message.entries.get("content") if isinstance(message, Map) else None
    if not isinstance(message, Map) or entry is None or entry.optional:
        return
    if not isinstance(entry.value, Seq):
        yield role_of(message) or "text"
        return
    for item in entry.value.items:
        sure = isinstance(item, One) and not item.optional
        if sure and isinstance(item.value, Map) and not is_bare_marker(item.value):
            kind = item.value.entries.get("type")
            yield (literal(kind.value) if kind is not None else None) or "text"


def is_bare_marker(block: Map) -> bool:
    """Whether a block is nothing but a cache marker."""
    return bool(block.entries.keys() & {"cachePoint", "cache_point"}) and not block.entries.keys() & {"text", "content"}
