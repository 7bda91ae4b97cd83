"""What the model thought, taken out of kept turns before they are sent again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.code.expression import Either, Expr, Guard, Literal, Mutate, SeqOf, Test
from promptlint.link.values import Edit, Map, Seq, Value, options

KEYS = frozenset(("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks"))
"""Keys of a message under which the thinking stands."""
TYPES = frozenset(("thinking", "redacted_thinking", "reasoning"))
"""Types of blocks, and of items of the Responses API, that hold thinking."""
EDIT = "unthink"
MAX_DEPTH = 4


def drops(test: Expr, sense: bool = True) -> bool:
    """Whether nothing that is thinking passes a test."""
    if isinstance(test, Either) and test.test is None:
        return any(drops(option, sense) for option in test.options)
    if not isinstance(test, Test):
        return False
    if test.op == "not" and len(test.parts) == 1:
        return drops(test.parts[0], not sense)
    excludes = test.op in ("!=", "not in") if sense else test.op in ("==", "in")
    return excludes and any(map(_names_type, test.parts[1:]))


def _names_type(node: Expr) -> bool:
    if isinstance(node, SeqOf):
        return any(map(_names_type, node.items))
    return isinstance(node, Literal) and isinstance(node.value, str) and node.value in TYPES


def removes(change: Expr) -> bool:
    """Whether a change in place takes the thinking of a message away, and nothing else."""
    found = False
    while isinstance(change, Mutate):
        key = change.args[0] if change.args else None
        if change.op not in ("pop", "delitem") or not (isinstance(key, Literal) and key.value in KEYS):
            return False
        found, change = True, change.base
    return found


def taken_out(message: Value) -> Edit | None:
    """Where thinking is taken out of the content of a message, if it is."""
    for option in options(message):
        content = option.entries.get("content") if isinstance(option, Map) else None
        for held in options(content.value) if content is not None else ():
            if isinstance(held, Seq):
                for edit in held.edits:
                    if edit.kind == EDIT:
                        return edit
                for item in held.items:
                    if any(map(_guards, item.guards)):
                        return Edit(EDIT, item.span, "leaving out blocks of thinking")
    return None


def _guards(guard: Guard) -> bool:
    return guard.test is not None and drops(guard.test, guard.sense)


# -- which turns ---------------------------------------------------------------------------------------------------


def only_of_old_turns(module: ast.Module, line: int) -> bool:
    """Whether what stands in a line is done to some of the messages only, by where they stand in the list.

    What is done to all of them is done to a new one before it is sent again: no request differs from the one before.
    """
    around = [n for n in ast.walk(module) if _first(n) <= line <= (getattr(n, "end_lineno", None) or 0)]
    numbers = {name for node in around for name in _numbers(node)}
    return any(_is_part(node) or _tests_place(node, numbers) for node in around)


def _first(node: ast.AST) -> int:
    return getattr(node, "lineno", None) or 0


def _is_part(node: ast.AST) -> bool:
    """A loop over a part of a list that leaves out its end."""
    iterables = [node.iter] if isinstance(node, (ast.For, ast.AsyncFor)) else []
    iterables += [g.iter for g in getattr(node, "generators", ())]
    return any(
        isinstance(inner, ast.Slice) and inner.upper is not None for i in iterables for inner in ast.walk(i)
    ) or any(_counts(i) for i in iterables)


def _counts(iterable: ast.expr) -> bool:
    """``range(len(messages) - 2)``."""
    ranged = isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"
    return ranged and any(isinstance(n, ast.BinOp) for n in ast.walk(iterable))


def _numbers(node: ast.AST) -> Iterator[str]:
    """Names of the places of elements: ``i`` in ``for i, m in enumerate(messages)`` and in ``for i in range(n)``."""
    loops = [node] if isinstance(node, (ast.For, ast.AsyncFor)) else getattr(node, "generators", ())
    for loop in loops:
        func = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        counts = isinstance(func, ast.Name) and func.id in ("enumerate", "range")
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
        if counts and isinstance(first, ast.Name):
            yield first.id


def _tests_place(node: ast.AST, numbers: set[str]) -> bool:
    """A test that compares the place of an element with something."""
    tests = [node.test] if isinstance(node, (ast.If, ast.IfExp)) else []
    tests += [t for g in getattr(node, "generators", ()) for t in g.ifs]
    for test in tests:
        for compared in (n for n in ast.walk(test) if isinstance(n, ast.Compare)):
            sides = [compared.left, *compared.comparators]
            if any(isinstance(s, ast.Name) and s.id in numbers for s in sides):
                return True
    return False
