"""Dollars for input tokens, from the package genai-prices where it is installed (extra "prices")."""

from __future__ import annotations

from collections.abc import Callable

from promptlint.provider import Facts

Price = Callable[[int], float]
"""Dollars of one uncached input token, by the size of the request: long prompts cost more with some models."""

HINT = 'install "promptlint-cache[prices]" for dollars'


def input_price(facts: Facts) -> Price | None:
    """The price of an input token of this model; ``None`` where it, or the package, is not known."""
    if not facts.model or not facts.prices or not available():
        return None
    from genai_prices import Usage, calc_price

    model = facts.model

    def price(size: int) -> float:
        size = max(1, size)
        return float(calc_price(Usage(input_tokens=size), model, provider_id=facts.prices).total_price) / size

    try:
        price(1)
    except (LookupError, ValueError):
        return None
    return price


def available() -> bool:
    """Whether the package is installed."""
    try:
        import genai_prices  # noqa: F401
    except ImportError:
        return False
    return True
