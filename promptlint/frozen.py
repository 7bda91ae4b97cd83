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

    _COPY: dict[type, Callable[..., Any]] = {}
    """By class: what makes a changed copy."""
    _SAME = object()

    def record(*, frozen: bool, eq: bool = True, **how: Any) -> Any:
        """As ``dataclass(frozen=True, ...)``."""
        assert frozen
        return dataclass(eq=eq, unsafe_hash=eq, **how)

    def replace(made: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        cls = made.__class__
        copy = _COPY.get(cls)
        if copy is None:
            copy = _COPY[cls] = _copier(cls)
        return copy(made, **changes)

    def _copier(cls: type) -> Callable[..., Any]:
        """A function as ``dataclass`` writes its constructors: it runs ten times as often as anything else here."""
        names = [f.name for f in fields(cls) if f.init]
        empty = {f.name: f.default for f in fields(cls) if not f.init}
        if hasattr(cls, "__post_init__") or cls.__setattr__ is not object.__setattr__:
            given = ", ".join(f"_made.{name} if {name} is _same else {name}" for name in names)
            body = f"    return _class({given})"
        else:
            lines = [f"    _new.{name} = _made.{name} if {name} is _same else {name}" for name in names]
            lines += [f"    _new.{name} = _empty[{name!r}]" for name in empty]
            body = "\n".join(["    _new = _blank(_class)", *lines, "    return _new"])
        head = ", ".join(["_made", "/", "*", *(f"{name}=_same" for name in names)])
        space: dict[str, Any] = {"_class": cls, "_same": _SAME, "_blank": object.__new__, "_empty": empty}
        exec(f"def copy({head}):\n{body}", space)
        return space["copy"]


__all__ = ["record", "replace"]
