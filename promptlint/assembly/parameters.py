"""Request parameters that are no prompt text: their values field by field, and the tests that choose among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    DictOf,
    Either,
    Expr,
    Guard,
    Item,
    Literal,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Star,
    within,
)
from promptlint.code.expression import Call as CallNode
from promptlint.link.conditions import tested
from promptlint.link.values import Const, External, Hole, Map, Origin, Routine, Seq, Text, Type, Value, literal, options
from promptlint.request import LEFT_OUT
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_FIELDS = 2
"""Levels of nested objects whose fields are told apart."""
MAX_TESTS = 12
MAX_NODES = 200
"""Bounds of the search for the tests that decide about one parameter."""
MAX_COUNTED = 20
Path = tuple[str | int, ...]
"""The keys and indices below a value, outermost first."""
_NOT_GIVEN = ("NOT_GIVEN", "NotGiven", "not_given", "Omit", "omit")


@dataclass
class Leaf:
    """What one field of a parameter can be: texts of constants, ``None`` for a value that is not known."""

    span: Span
    texts: dict[str | None, None] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()


def may_be_missing(value: Value) -> bool:
    """Whether one of the alternatives of a value is that there is none."""
    for option in options(value):
        if isinstance(option, Const) and option.value is None:
            return True
        parts = option.pieces if isinstance(option, Text) else option.items if isinstance(option, Seq) else ()
        if parts and all(p.optional for p in parts):
            return True
    return False


def leaves(value: Value, span: Span, optional: bool = False) -> dict[str, Leaf]:
    """The fields of a parameter by dotted name ("" for the value itself); empty when the parameter is never given."""
    found = _leaves(value, span, 0)
    if optional:
        for leaf in found.values():
            leaf.texts[LEFT_OUT] = None
    return found


def _leaves(value: Value, span: Span, depth: int) -> dict[str, Leaf]:
    found: dict[str, Leaf] = {}
    for number, option in enumerate(options(value)):
        here = _of_option(option, span, depth)
        for name in {**found, **here}:
            if name not in found:
                found[name] = Leaf(here[name].span, {LEFT_OUT: None} if number else {})
            leaf = found[name]
            leaf.texts.update(here[name].texts if name in here else {LEFT_OUT: None})
            leaf.origins += here[name].origins if name in here else ()
    return found


def _of_option(option: Value, span: Span, depth: int) -> dict[str, Leaf]:
    fields = _fields(option, span) if depth < MAX_FIELDS else None
    if fields is None:
        texts = _texts(option)
        return {"": Leaf(span, dict.fromkeys(texts), option.origins())} if texts else {}
    found: dict[str, Leaf] = {}
    for name, (inner, place, optional) in fields.items():
        for rest, leaf in _leaves(inner, place, depth + 1).items():
            if optional:
                leaf.texts[LEFT_OUT] = None
            found[f"{name}.{rest}" if rest else name] = leaf
    return found


def _fields(option: Value, span: Span) -> Mapping[str, tuple[Value, Span, bool]] | None:
    if isinstance(option, Map) and not option.rest and not option.open:
        return {k: (e.value, e.span, e.optional) for k, e in option.entries.items()}
    if isinstance(option, External) and option.keywords and "**" not in option.keywords:
        return {k: (v, span, False) for k, v in option.keywords.items()}
    return None


def _texts(option: Value) -> tuple[str | None, ...]:
    """How a value is written when it is constant; nothing when it stands for a parameter that is not given."""
    if isinstance(option, Const):
        return () if option.value is None else (repr(option.value),)
    if isinstance(option, External) and option.name.rpartition(".")[2] in _NOT_GIVEN:
        return ()
    known = literal(option)
    if known is not None:
        return (known,)
    if isinstance(option, Text) and option.pieces and all(p.optional and p.text is not None for p in option.pieces):
        pieces = tuple(p.text for p in option.pieces)
        return pieces if len(pieces) > 1 else (*pieces, LEFT_OUT)  # one of several, or nothing
    if isinstance(option, Type):
        return (option.cls.name,)
    if isinstance(option, External) and not option.instance and not option.keywords and not option.arguments:
        return (option.name,)
    if isinstance(option, Seq) and option.known:
        parts = [_texts(i.value) for i in option.items]
        if all(len(p) == 1 and p[0] is not None for p in parts):
            return (f"[{', '.join(str(p[0]) for p in parts)}]",)
    if isinstance(option, Map) and not option.rest and not option.open:
        fields = {k: () if e.optional else _texts(e.value) for k, e in option.entries.items()}
        if all(len(t) == 1 and t[0] is not None for t in fields.values()):
            return (f"{{{', '.join(f'{k}: {t[0]}' for k, t in fields.items())}}}",)
    return (None,)


# -- the tests that decide ------------------------------------------------------------------------------------------


def deciding(ev: Evaluator, node: Expr, frame: Frame, path: Path) -> list[tuple[Either, Frame]]:
    """The choices that decide what stands at ``path`` of a value, each with the frame it is evaluated in."""
    found: dict[tuple[Expr, Frame], tuple[Either, Frame]] = {}
    seen: set[tuple[Expr, Frame, Path]] = set()
    stack: list[tuple[Expr, Frame, Path]] = [(node, frame, path)]
    while stack and len(seen) < MAX_NODES and len(found) < MAX_TESTS:
        here, at, rest = stack.pop()
        here, rest = _settled(here, rest)
        if (here, at, rest) in seen:
            continue
        seen.add((here, at, rest))
        if isinstance(here, Either) and here.test is not None:
            found.setdefault((here.test, at), (here, at))
            for counted in within((here.test,), MAX_COUNTED):  # under tests of its own
                if isinstance(counted, Either) and counted.test is not None:
                    told = Either(here.at, counted.test, counted.options)
                    found.setdefault((counted.test, at), (told, at))
        stack.extend(_below(ev, here, at, rest))
    return list(found.values())


def _settled(node: Expr, path: Path, depth: int = 0) -> tuple[Expr, Path]:
    """Where what stands at ``path`` was last written, as far as that is the same on all ways."""
    while depth < MAX_TESTS:
        if isinstance(node, Mutate) and path and node.op == "setitem":
            key = _key(node.args[0])
            if key == path[0]:
                node, path = node.args[1], path[1:]
            elif key is not None:
                node = node.base
            else:
                break
        elif isinstance(node, DictOf) and path and all(k is not None for k, _ in node.items):
            inner = next((v for k, v in reversed(node.items) if k is not None and _key(k) == path[0]), None)
            if inner is None:
                break
            node, path = inner, path[1:]
        elif isinstance(node, Either):
            ways = [_settled(way, path, depth + 1) for way in node.options]
            if not all(_same(way, ways[0]) for way in ways[1:]):
                break
            node, path = ways[0]
        elif isinstance(node, After):
            node = node.before
        else:
            break
    return node, path


def _same(one: tuple[Expr, Path], other: tuple[Expr, Path]) -> bool:
    (a, rest), (b, left) = one, other
    if isinstance(a, Literal) and isinstance(b, Literal):
        return a.value == b.value
    if isinstance(a, DictOf) and isinstance(b, DictOf) and rest and left:  # neither has the field
        return True
    return a is b and rest == left


def _below(ev: Evaluator, node: Expr, frame: Frame, path: Path) -> Iterator[tuple[Expr, Frame, Path]]:
    """The expressions that a value at ``path`` comes from."""
    match node:
        case Either(options=ways):
            yield from ((way, frame, path) for way in ways)
        case AfterLoop(phi=phi):
            yield phi, frame, path
        case Phi():
            yield node.before, frame, path
            step = node.state.steps.get(node.name)
            if step is not None:
                yield step, frame, path
        case After():
            yield node.before, frame, path
        case Mutate():
            yield node.base, frame, path
            if node.op == "update":
                yield from ((a, frame, path) for a in node.args)
        case Item(base=base, key=Literal(value=str() | int() as place)):
            yield base, frame, (place, *path)
        case Item(key=chosen):
            yield chosen, frame, ()
        case SeqOf(items=parts) if path and isinstance(path[0], int):
            if 0 <= path[0] < len(parts) and not any(isinstance(p, Star) for p in parts):
                yield parts[path[0]], frame, path[1:]
        case DictOf() if path:
            for key, value in node.items:
                if key is None:
                    yield value, frame, path
                elif _key(key) == path[0]:
                    yield value, frame, path[1:]
        case Binary(op="|"):
            yield node.left, frame, path
            yield node.right, frame, path
        case Param():
            given = frame.passed.get(node.name) or frame.arguments.get(node.name)
            if isinstance(given, tuple):
                yield (*given, path)
        case CallNode(func=Attr(name="get"), args=(chosen, *others)) if not isinstance(chosen, Literal):
            yield from ((part, frame, ()) for part in (chosen, *others))
        case CallNode():
            yield from _of_call(ev, node, frame, path)


def _of_call(ev: Evaluator, node: CallNode, frame: Frame, path: Path) -> Iterator[tuple[Expr, Frame, Path]]:
    for option in options(ev.eval(node.func, frame)):
        if isinstance(option, Routine):
            target = ev.activation(option, node, frame)
            if target is not None:
                yield from ((r, target, path) for r in ev.summary(option.function).returns)
        elif isinstance(option, External) and path:
            for key, value in node.keywords:
                if key == path[0]:
                    yield value, frame, path[1:]
                elif key is None:
                    yield value, frame, path


def _key(node: Expr) -> object:
    return node.value if isinstance(node, Literal) else None


def origins_of_test(ev: Evaluator, guard: Guard, frame: Frame) -> tuple[Origin, ...]:
    """What the outcome of a test depends on."""
    if guard.test is None:
        return ()
    value = ev.eval(guard.test, frame)
    return () if isinstance(value, Hole) and value.base is not None else tested(value)
