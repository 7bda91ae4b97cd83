"""promptlint: finds what keeps a provider's prompt cache from being hit."""

__version__ = "0.1.0"
