"""What can be set about the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Values that hold for the whole life of the process."""

    model: str = "claude-sonnet-4-5"
    router_model: str = "gpt-4.1-mini"
    max_tokens: int = 1024
    branch: str = "Nørrebro"
    notes: Path = Path("notes")
    enabled_tools: tuple[str, ...] = ("find_part", "free_days", "order_status", "book_repair")


SETTINGS = Settings()
