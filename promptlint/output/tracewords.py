"""What causes of a miss are called for people, and what to do about each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from promptlint.output.words import discreet, plain
from promptlint.simulator.exchange import ago
from promptlint.trace.explain import Cause
from promptlint.trace.format import Frame
from promptlint.trace.tally import Group
from promptlint.trace.texts import Change

_REGIONS = {"tools": "the tools", "system": "the system text", "messages": "the messages", "parameters": "parameters"}

_ADVICE: dict[Cause | Change, str] = {
    Change.CLOCK: "Keep the text constant: put the time into the newest message, and keep that message as it was sent.",
    Change.ID: "Leave the id out, or put it behind everything that stays the same.",
    Change.NUMBER: "Put what counts behind everything that stays the same, in the newest message.",
    Change.PERMUTATION: "Sort what comes from a set, a directory or a database before it becomes text.",
    Change.WHITESPACE: "Send the text again as it was first sent: keep the string, not a form that is rendered anew.",
    Change.KEYS: "Fix the order of the keys, or keep the JSON text that was first sent.",
    Change.IDS: "Store the ids that the provider gave, and send those again.",
    Change.FRONT: "Drop old messages rarely and many at once, or summarise: each drop costs the whole history.",
    Change.PREPENDED: "Add new text at the end of the messages, not in front of them.",
    Change.MIDDLE: "Leave messages as they were sent; shorten them before they are sent first.",
    Change.TEXT: "Put what changes behind everything that stays the same.",
    Change.TOOL_ADDED: "Send the same tools in every request, and choose among them with tool_choice.",
    Change.TOOL_REMOVED: "Send the same tools in every request, and choose among them with tool_choice.",
    Change.TOOL_REORDERED: "Sort the tools by name once.",
    Cause.PARAMETER: "Keep this parameter the same for all requests that share a prefix.",
    Cause.MODEL: "Stay with one model in a conversation: another one starts from nothing.",
    Cause.BELOW: "Nothing is cached below the minimum; a marker there has no effect.",
    Cause.UNMARKED: "Ask for caching: this provider stores nothing without a marker.",
    Cause.DROPPED: "Earlier requests had a marker and these have none: look at what stands between code and wire.",
    Cause.PARALLEL: "Wait for the first answer to begin before sending the others.",
    Cause.EXPIRED: "Ask for a longer lifetime, if requests are usually this far apart.",
    Cause.LOOKBACK: "Add a marker in between: the provider looks back only so far from each.",
    Cause.UNSTORED: "Put a marker at the end of what the next request will share.",
    Cause.THINKING: "The server of this model takes the thinking of earlier turns out of the prompt.",
    Cause.ROUTING: "The same prompt, and in time: a cache key or fewer deployments keep requests on one machine.",
    Cause.REFUSED: "The API does not take the request as it is marked.",
}


def cause(group: Group) -> str:
    """The cause of a group with the part of the prompt it is in."""
    where = _REGIONS.get(group.region, "")
    if group.region == "parameters":
        return {Cause.PARAMETER: "another parameter", Cause.MODEL: "another model"}.get(
            group.cause if isinstance(group.cause, Cause) else Cause.PARAMETER, str(group.cause)
        )
    return f"{group.cause} in {where}" if where and "tool" not in str(group.cause) else str(group.cause)


def advice(cause: Cause | Change) -> str:
    """What to do about it; "" where nothing can be said."""
    return _ADVICE.get(cause, "")


def site(frames: Sequence[Frame]) -> str:
    """The innermost frame of a call site."""
    return shown(f"{frames[0].file}:{frames[0].line} {frames[0].function}") if frames else "(no call site)"


def facts(group: Group) -> list[str]:
    """What is known about the example of a group, a line each."""
    example = group.example
    lines = []
    if example.path:
        spot = f", character {example.char:,}" if example.char is not None else ""
        lines.append(f"{example.path}{spot}")
    if example.moved < 0:
        lines.append(f"{-example.moved} parts of the earlier request are gone from there")
    if example.moved > 0:
        lines.append(f"{example.moved} parts were put in ahead of what was there")
    if example.newest:
        lines.append("it was the newest message then: what is sent with it has to stay with it")
    lines += example.names
    if example.note:
        lines.append(example.note)
    return [shown(line) for line in lines]


def compared(group: Group) -> str:
    """Which two requests the example compares."""
    example = group.example
    if example.base is None:
        return shown(f"request {example.request}")
    kind = "of the same conversation" if example.same else "of another conversation"
    return shown(f"request {example.request}, {ago(round(example.gap, 1))} after {example.base} {kind}")


def pair(change: Cause | Change, before: str, after: str) -> tuple[str, str]:
    """Two texts around their difference; spaces are drawn where they are what differs."""
    texts = (before, after)
    if change is Change.WHITESPACE:
        drawn = str.maketrans({" ": "·", "\n": "↵", "\t": "→", "\r": "␍"})
        texts = (texts[0].translate(drawn), texts[1].translate(drawn))
    return shown(texts[0]), shown(texts[1])


def shown(text: str) -> str:
    """A text on one line, without control characters and without what looks like a key."""
    return plain(discreet(text))


def moment(at: float) -> str:
    """A time for people; "" for a trace without times."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") if at > 1e8 else ""


def dollars(amount: float) -> str:
    """An amount of money."""
    return f"${amount:,.4f}" if amount < 0.01 else f"${amount:,.2f}"
