"""Room for deep recursion, which CPython makes dear otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

ROOM = 1 << 19
"""Places (of 8 bytes) for values and frames: enough for a recursion of about 15,000 calls; untouched memory is free."""


def roomy(work: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
    """The same function, with room for the frames of all that it calls in one piece.

    CPython keeps frames in pieces of 16 kB, and gives a piece back to the system when the first frame in it ends: code
    that calls and returns across the end of a piece, as a deep recursion does all the time, asks the system for memory
    again and again (a tenth of a whole run). A frame that wants a large stack gets a piece of up to twice that size,
    and what it calls has room behind it.
    """

    def run(*args: _Given.args, **kwargs: _Given.kwargs) -> _Made:
        return work(*args, **kwargs)

    run.__code__ = run.__code__.replace(co_stacksize=ROOM)
    return wraps(work)(run)
