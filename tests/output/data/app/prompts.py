"""Prompt texts of the support bot."""

from datetime import datetime
from pathlib import Path

RULES = Path("rules.md").read_text()


def stamp() -> str:
    return datetime.now().isoformat(timespec="seconds")


def system_prompt(user: str) -> str:
    head = f"現在時刻は {stamp()} です。Ticket {new_ticket()}."
    return f"{head}\n\nYou help {user} with orders, refunds and returns, and you never promise a date. {RULES} Answer in the language of the customer, be brief, and cite the rule you used."
