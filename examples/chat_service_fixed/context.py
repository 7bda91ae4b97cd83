"""What the assistant is told about here and now: the time, the branch, and what colleagues wrote down."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from .config import SETTINGS


def local_time() -> datetime:
    return datetime.now(ZoneInfo("Europe/Copenhagen"))


def header() -> str:
    """The line that places the conversation; it is the same for all customers, all day."""
    return f"Branch: {SETTINGS.branch}."


def retrieve_notes(question: str) -> str:
    """Notes of colleagues that share a word with the question."""
    words = {word.lower() for word in question.split() if len(word) > 4}
    found = [
        text
        for text in (path.read_text(encoding="utf-8") for path in sorted(SETTINGS.notes.glob("*.md")))
        if words & set(text.lower().split())
    ]
    return "\n\n".join(found) or "No notes on this subject."


def with_context(question: str) -> str:
    """The question as it is sent and stored: behind the notes and the time, so that earlier turns stay as they were."""
    return (
        f"Notes of colleagues that may help:\n{retrieve_notes(question)}\n\n"
        f"Shop time: {local_time():%A %d %B %Y, %H:%M:%S}.\n\n{question}"
    )
