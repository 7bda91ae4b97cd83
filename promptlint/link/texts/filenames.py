"""Which file a path names, whatever it is joined of: two places that name one file read and write the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Either,
    Expr,
    Global,
    Import,
    Literal,
    Param,
    Phi,
    called_name,
)
from promptlint.code.index import CONSTRUCTORS
from promptlint.link.values import literal

if TYPE_CHECKING:
    from promptlint.code.index import Module
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_HOPS = 12
_FILE = re.compile(r"(?:.*[/\\])?([\w.-]*\w\.(?:md|txt|json|jsonl|ya?ml|toml|log))")
"""A path to a file of text, with the name of the file."""
OPENERS = frozenset(("open", "Path", "PurePath", "str", "fspath"))
"""Functions of a path that stand for the same file."""
_JOINS = frozenset(("join", "joinpath"))


def spoken_of(ev: Evaluator, call: Call, frame: Frame) -> str:
    """The name of the file that ``path.read_text()``, ``open(path).read()`` or their like speak of; "" if unknown."""
    return _named(ev, call.func.base, frame, MAX_HOPS) if isinstance(call.func, Attr) else ""


def _named(ev: Evaluator, node: Expr, frame: Frame, hops: int) -> str:
    """The last part of a path that is a constant, when it is the name of a file."""
    if hops == 0:
        return ""
    match node:
        case Literal(value=str(text)):
            return _last_part(text)
        case After(before=inner) | Phi(before=inner) | AfterLoop(phi=Phi(before=inner)) | Binary(op="/", right=inner):
            return _named(ev, inner, frame, hops - 1)
        case Either(options=ways):
            names = {_named(ev, way, frame, hops - 1) for way in ways}
            return names.pop() if len(names) == 1 else ""
        case Call():
            path = _path_in(node)
            return _named(ev, path, frame, hops - 1) if path is not None else ""
        case Attr(base=Param(), name=name):
            return _of_field(ev, name, frame, hops - 1)
        case Param(name=name):
            return _last_part(literal(ev.parameter(frame, name)) or "")
        case Global(name=name):
            return _of_module(ev, frame.module, name, hops - 1)
        case Import(dotted=dotted):
            found = ev.program.resolve(dotted, frame.module)
            return _of_module(ev, found[0], found[1], hops - 1) if found is not None else ""
    return ""


def _last_part(path: str) -> str:
    found = _FILE.fullmatch(path)
    return found[1] if found is not None else ""


def _path_in(call: Call) -> Expr | None:
    """What a call that gives a path, or the file that stands there, is told it by."""
    name, func, args = called_name(call), call.func, call.args
    if args and name in _JOINS:
        return args[-1]
    if args and name in OPENERS and (not isinstance(func, Attr) or isinstance(func.base, Import)):
        return args[0] if name == "open" else args[-1]
    return func.base if isinstance(func, Attr) else None


def _of_module(ev: Evaluator, module: Module, name: str, hops: int) -> str:
    """The file that a name at the top level of a module stands for."""
    if (target := ev.program.imported(name, module)) is not None and (found := ev.program.resolve(target, module)):
        module, name = found
    made = ev.summary(module.body).names.get(name)
    return _named(ev, made, ev.module_frame(module), hops) if made is not None else ""


def _of_field(ev: Evaluator, name: str, frame: Frame, hops: int) -> str:
    """The file that the constructor of its object puts into an attribute."""
    owner = frame.function.owner
    for method in (m for c in CONSTRUCTORS if owner is not None and (m := ev.program.method(owner, c)) is not None):
        made = next((w.value for w in ev.summary(method).writes if w.name == name), None)
        if made is not None:
            return _named(ev, made, ev.generic(method), hops)
    return ""
