"""Classes of the project that are made of a client of a library: what their objects are to the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Expr, Global
from promptlint.code.index import Class, Function
from promptlint.frozen import replace
from promptlint.link.calling.given import Given
from promptlint.link.kept import state
from promptlint.link.libraries import externals
from promptlint.link.values import External, Instance

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def client_of(ev: Evaluator, made: Instance) -> External | None:
    """The client that an object is, with what the constructor of the library was given."""
    kind = client_type(ev, made.cls)
    if kind is None or made.client is not None:
        return made.client
    inits = [init for cls in ev.program.mro(made.cls) if (init := cls.methods.get("__init__")) is not None]
    # That of the class which is made of the client itself; those before it hand on what they were given.
    init = inits[-1] if inits and inits[-1].parameters else None
    call = _base_call(ev, init) if init is not None else None
    if init is None or call is None:
        return _bare(kind, made)
    frame = made.init if made.init is not None and made.init.function is init else state.base_init(ev, made, init)
    known = constructed(ev, kind, call, frame)
    return replace(known, level=made.level, span=made.span) if known is not None else _bare(kind, made)


def constructed(ev: Evaluator, kind: str, call: Call, frame: Frame) -> External | None:
    """The client that a call makes."""
    maker = next((row.maker for row in ev.clients_of_type(kind)), kind)
    return externals.made_client(ev, maker, Given(ev, call, frame))


def _bare(kind: str, made: Instance) -> External:
    return External(kind, made.span, instance=True, level=made.level)


def client_type(ev: Evaluator, cls: Class) -> str | None:
    """The client of a library of which a class is made."""
    return next((kind for kind in sorted(ev.program.foreign_bases(cls)) if ev.clients_of_type(kind)), None)


def called_directly(ev: Evaluator, types: frozenset[str]) -> frozenset[str]:
    """The names of the classes of the project that are made of one of some classes of libraries."""
    names = {t.rpartition(".")[2] for t in types}
    modules = (module for name in sorted(names) for module in ev.program.mentioning(name, None))
    return frozenset(
        cls.name for module in modules for cls in module.classes.values() if ev.program.foreign_bases(cls) & types
    )


def _base_call(ev: Evaluator, init: Function) -> Call | None:
    for call in ev.summary(init).calls:
        if isinstance(call.func, Attr) and call.func.name == "__init__" and _is_super(call.func.base):
            return call
    return None


def _is_super(node: Expr) -> bool:
    return isinstance(node, Call) and isinstance(node.func, Global) and node.func.name == "super"
