"""What the assistant can do besides talking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .config import SETTINGS


@dataclass(frozen=True)
class Tool:
    """A function of the shop system, and how the model is told about it."""

    name: str
    description: str
    parameters: dict[str, str]
    run: Callable[..., str]

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": {
                "type": "object",
                "properties": {key: {"type": "string", "description": text} for key, text in self.parameters.items()},
                "required": list(self.parameters),
            },
        }


REGISTRY: dict[str, Tool] = {}

EXCERPT = 2000


def tool(description: str, **parameters: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register the decorated function under its own name."""

    def register(function: Callable[..., str]) -> Callable[..., str]:
        REGISTRY[function.__name__] = Tool(function.__name__, description, parameters, function)
        return function

    return register


@tool("Stock and price of a part.", part="name or number of the part")
def find_part(part: str) -> str:
    return f"{part}: 4 in stock, 24.00 EUR"


@tool(
    "Days of the coming two weeks on which the workshop takes bicycles in.", kind="city, cargo, electric or children's"
)
def free_days(kind: str) -> str:
    return f"{kind}: Tuesday, Thursday, Friday"


@tool("State of an order.", number="order number", postal_code="postal code of the delivery address")
def order_status(number: str, postal_code: str) -> str:
    return f"order {number} ({postal_code}): handed over"


@tool("Book a repair for a day.", day="weekday and date", complaint="in the customer's words", phone="for the message")
def book_repair(day: str, complaint: str, phone: str) -> str:
    return f"booked for {day}: {complaint}, message goes to {phone}"


@tool("Credit towards the next size when a children's bicycle comes back.", frame_number="stamped under the crank")
def exchange_credit(frame_number: str) -> str:
    return f"{frame_number}: 120.00 EUR"


def definitions() -> list[dict[str, Any]]:
    """The tools that are switched on, as the model sees them."""
    return [REGISTRY[name].definition() for name in SETTINGS.enabled_tools]


def run_all(content: list[Any]) -> list[dict[str, Any]]:
    """Run what the model asked for; one result per call, cut to size before it is stored."""
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": REGISTRY[block.name].run(**block.input)[:EXCERPT]}
        for block in content
        if block.type == "tool_use"
    ]
