"""What the assistant is told about here and now: the time, the branch, and what colleagues wrote down."""

from __future__ import annotations

import os
from datetime import datetime
from zoneinfo import ZoneInfo

from .config import SETTINGS


def local_time() -> datetime:
    return datetime.now(ZoneInfo("Europe/Copenhagen"))


def time_line() -> str:
    return f"Shop time: {local_time():%A %d %B %Y, %H:%M:%S}."


def header() -> str:
    """A few lines that place the conversation."""
    lines = [time_line(), f"Branch: {SETTINGS.branch}."]
    if os.environ.get("DESK_DEBUG"):
        lines.append(f"Started in {os.getcwd()}.")
    return "\n".join(lines)


def retrieve_notes(question: str) -> str:
    """Notes of colleagues that share a word with the question."""
    words = {word.lower() for word in question.split() if len(word) > 4}
    found = [
        text
        for text in (path.read_text(encoding="utf-8") for path in sorted(SETTINGS.notes.glob("*.md")))
        if words & set(text.lower().split())
    ]
    return "\n\n".join(found) or "No notes on this subject."


def notes_message(question: str) -> dict[str, object]:
    """The notes as a message that the model reads before the conversation."""
    return {"role": "user", "content": f"Notes of colleagues that may help:\n{retrieve_notes(question)}"}
