"""Colour for the terminal, or none."""

from __future__ import annotations

from dataclasses import dataclass

from rich.color import ColorSystem
from rich.style import Style

from promptlint.finding import Severity

SEVERITY = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold blue"}


@dataclass(frozen=True, slots=True)
class Paint:
    """Wraps text in the escape codes of a rich style ("bold red"); returns it unchanged when colour is off."""

    color: bool

    def __call__(self, text: str, style: str) -> str:
        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD) if self.color and text else text
