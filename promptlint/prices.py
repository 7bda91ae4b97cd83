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


def ceiling(facts: Facts) -> Callable[[int, int], float] | None:
    """Dollars that a request may cost at most, by its input and output tokens: the whole input written to the cache for
    the longest lifetime. ``None`` where the price, or the package, is not known.
    """
    price = input_price(facts)
    if price is None:
        return None
    from genai_prices import Usage, calc_price

    dearest = max((1.0, *(factor for _, factor in facts.write)))

    def worst(input_tokens: int, output_tokens: int) -> float:
        usage = Usage(input_tokens=max(1, input_tokens), output_tokens=output_tokens)
        answer = calc_price(usage, facts.model or "", provider_id=facts.prices).output_price
        return price(input_tokens) * input_tokens * dearest + float(answer)

    return worst


def available() -> bool:
    """Whether the package is installed."""
    try:
        import genai_prices  # noqa: F401
    except ImportError:
        return False
    return True
