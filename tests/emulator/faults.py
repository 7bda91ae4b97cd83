"""What can go wrong with one answer, on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    """How one request is answered otherwise than it should be; the default is no fault.

    ``status`` answers with that error, ``headers`` beside it ("retry-after"). ``delay`` are seconds before the response
    begins, which is also when its cache entry becomes readable. ``cut`` ends the connection after that many events of
    a stream, or in the middle of a plain answer. ``usage`` replaces fields of the reported usage (``None`` takes one
    out). ``cold``: another machine serves the request and finds nothing. ``pending``: the comparison that was asked
    for is not finished.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    cold: bool = False
    pending: bool = False


class ApiError(Exception):
    """An error that the API answers with: the HTTP status, the vendor's name for it, and what it says."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.fault = Fault()


KINDS = {
    400: ("invalid_request_error", "The request is not valid."),
    401: ("authentication_error", "The key is not valid."),
    403: ("permission_error", "The key has no permission for this."),
    404: ("not_found_error", "There is no such thing."),
    429: ("rate_limit_error", "Too many requests: slow down."),
    500: ("api_error", "Internal server error."),
    503: ("api_error", "The service is not available."),
    529: ("overloaded_error", "Overloaded."),
}
"""The name and the words of each status, where a fault asks for it."""
