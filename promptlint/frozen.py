"""Frozen dataclasses for what is made by the million.

``dataclass(frozen=True)`` makes an instance through ``object.__setattr__``, field by field, which costs several times
what plain assignments do. Here the type checker alone sees to it that nothing is assigned; at run time a ``record`` is
a plain dataclass with the hash of a frozen one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:
    from collections.abc import Callable
    from dataclasses import dataclass, fields
    from operator import attrgetter

    _READ: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
    """By class: the fields that its constructor takes, and what reads them all."""

    def record(*, frozen: bool, eq: bool = True, **how: Any) -> Any:
        """As ``dataclass(frozen=True, ...)``."""
        assert frozen
        return dataclass(eq=eq, unsafe_hash=eq, **how)

    def replace(made: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        cls = made.__class__
        if cls not in _READ:
            names = tuple(f.name for f in fields(cls) if f.init)
            read = attrgetter(*names) if len(names) > 1 else lambda made: tuple(getattr(made, name) for name in names)
            _READ[cls] = names, read
        names, read = _READ[cls]
        return cls(**{**dict(zip(names, read(made), strict=True)), **changes})


__all__ = ["record", "replace"]
