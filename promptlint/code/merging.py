"""What several ways through a body make of its names: one expression for each, under the tests that decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from promptlint.code.expression import (
    NOWHERE,
    At,
    Attr,
    Call,
    Either,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Literal,
    Param,
    Test,
    Unknown,
    cell,
    unchanged,
)

Env = dict[str, Expr]


class Place(NamedTuple):
    """How many guards, loops and ``try`` blocks are around a statement."""

    guards: int
    loops: int
    tries: int


class End(NamedTuple):
    """A way out of a body or of an iteration: what has to hold for it, as far as tests say so, and the names then."""

    guards: tuple[Guard, ...]
    uncertain: bool
    env: Env

    def tests(self) -> Iterator[tuple[Expr, bool]]:
        """The tests with their outcome, innermost first."""
        for guard in reversed(self.guards):
            yield guard.test or Unknown(NOWHERE, "an error"), guard.sense
        if self.uncertain:
            yield Unknown(NOWHERE, "an iteration"), True


def merge(test: Expr | None, yes: Env | None, no: Env | None) -> Env | None:
    if yes is None:
        return no
    if no is None:
        return yes
    result: Env = {}
    for path in {**yes, **no}:
        a, b = yes.get(path), no.get(path)
        if a is b or b is None or a is None:
            value = a if a is not None else b
            assert value is not None
            # A name bound on one side only: reading it on the other would be an error, so the bound value stands.
            # A path below an object stays readable on the other side: its older value is one of the options.
            if "." in path and (a is None or b is None):
                older = older_value(path, value.at, (result, yes, no))
                if older is not None:
                    value = Either(value.at, test, (value, older) if b is None else (older, value))
            result[path] = value
        else:
            result[path] = Either(a.at, test, (a, b))
    return result


def older_value(path: str, at: At, known: tuple[Env, ...]) -> Expr | None:
    """What a path below an object was before anything was written to it, by the nearest part of it that is known."""
    parts = path.split(".")
    for size in range(len(parts) - 1, 0, -1):
        base = next((e for env in known if (e := env.get(".".join(parts[:size]))) is not None), None)
        if base is None and size == 1 and len(parts) > 2:
            base = Global(at, parts[0])  # a path below a name of the module
        if base is not None:
            for part in parts[size:]:
                base = Attr(at, base, part)
            return base
    return None


def merge_ends(ends: list[End]) -> Env:
    """The environment after the first of ``ends`` that is reached; each comes where the earlier ones do not."""
    if not ends:
        return {}
    result = ends[-1].env
    for end in reversed(ends[:-1]):
        merged = end.env
        for test, sense in end.tests():
            merged = (merge(test, merged, result) if sense else merge(test, result, merged)) or {}
        result = merged
    return dict(result)


def first_reached(returned: list[tuple[End, Expr]]) -> Expr:
    """The value of the first ``return`` that is reached."""
    result = returned[-1][1]
    for end, value in reversed(returned[:-1]):
        merged = value
        for test, sense in end.tests():
            merged = Either(value.at, test, (merged, result) if sense else (result, merged))
        result = merged
    return result


def merge_all(ends: list[Env], test: Expr | None = None) -> Env:
    if not ends:
        return {}
    result = ends[0]
    for other in ends[1:]:
        result = merge(test, result, other) or {}
    return dict(result)


def finds_nothing(guard: Guard, path: str) -> bool:
    """A test that says that ``path`` is ``None``, empty or not there."""
    test = guard.test
    if not isinstance(test, Test):
        return test is not None and not guard.sense and _asked_for(test) == path
    subject = test.parts[0]
    if test.op == "not":
        if isinstance(subject, Call) and isinstance(subject.func, Global) and subject.func.name == "hasattr":
            owner, name = (*subject.args, None, None)[:2]
            named = isinstance(name, Literal) and owner is not None and f"{_asked_for(owner)}.{name.value}" == path
            return guard.sense and named
        return guard.sense and _asked_for(subject) == path
    if test.op in ("in", "not in") and isinstance(subject, Literal):
        return guard.sense == (test.op == "not in") and f"{_asked_for(test.parts[1])}.{subject.value}" == path
    if test.op in ("is", "is not") and isinstance(test.parts[1], Literal) and test.parts[1].value is None:
        return guard.sense == (test.op == "is") and _asked_for(subject) == path
    return False


def finds_no_key(guard: Guard, path: str, key: Expr) -> bool:
    """A test that says that nothing is kept under ``key`` in the dict that is ``path``."""
    test = guard.test
    match test:
        case Test(op="in" | "not in", parts=(asked, held)):
            missing = guard.sense == (test.op == "not in")
            return missing and place_of(held) == path and _is_same(asked, key)
        case Test(op="not", parts=(subject,)):
            missing = guard.sense
        case Test(op="is" | "is not", parts=(subject, Literal(value=None))):
            missing = guard.sense == (test.op == "is")
        case Expr() as subject:
            missing = not guard.sense
        case _:
            return False
    place = cell(unchanged(subject)) if missing else None
    return place is not None and place_of(place[0]) == path and _is_same(place[1], key)


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether two keys are known to be one value."""
    one, other = unchanged(one), unchanged(other)
    if isinstance(one, Literal) and isinstance(other, Literal):
        return one.value == other.value
    return one is other or (place_of(one) is not None and place_of(one) == place_of(other))


def finds_missing(guard: Guard) -> bool:
    """A test that says that some place below an object is ``None``, empty or not there."""
    test = guard.test
    subject = test.parts[0] if isinstance(test, Test) else test
    path = place_read(subject) if subject is not None else None
    return path is not None and "." in path and finds_nothing(guard, path)


def place_read(node: Expr) -> str | None:
    """``self.client.system`` as a path, for what was read there before anything was written."""
    return _path(node, lambda part: part)


def place_of(node: Expr) -> str | None:
    """The same, whatever calls have been given it since."""
    return _path(node, unchanged)


def _asked_for(node: Expr) -> str | None:
    """The same as ``place_read``; what hangs on a module that was imported here begins with the name of that."""
    return _path(node, lambda part: part, imported=True)


def _path(node: Expr, seen: Callable[[Expr], Expr], imported: bool = False) -> str | None:
    parts: list[str] = []
    node = seen(node)
    while isinstance(node, Attr):
        parts.append(node.name)
        node = seen(node.base)
    if imported and isinstance(node, Import):
        return ".".join(reversed([*parts, node.dotted]))
    return ".".join(reversed([*parts, node.name])) if isinstance(node, (Param, Global, Free)) else None
