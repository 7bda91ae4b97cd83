"""promptlint: finds what keeps a provider's prompt cache from being hit."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptlint.recorder.session import record

__all__ = ["record"]


def __getattr__(name: str) -> object:
    # The recorder loads this module into every program that it records: it imports nothing before it is asked to.
    if name == "record":
        from promptlint.recorder.session import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
