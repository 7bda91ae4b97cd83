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
    from dataclasses import dataclass, fields

    _NAMES: dict[type, tuple[str, ...]] = {}
    """By class: the fields that its constructor takes."""

    def record(*, frozen: bool, eq: bool = True, **how: Any) -> Any:
        """As ``dataclass(frozen=True, ...)``."""
        assert frozen
        return dataclass(eq=eq, unsafe_hash=eq, **how)

    def replace(made: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        cls = made.__class__
        names = _NAMES.get(cls)
        if names is None:
            names = _NAMES[cls] = tuple(f.name for f in fields(cls) if f.init)
        for name in names:
            if name not in changes:
                changes[name] = getattr(made, name)
        return cls(**changes)


__all__ = ["record", "replace"]
