"""One activation of a body: its arguments, its receiver, and how often it runs."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.code.expression import (
    Expr,
)
from promptlint.code.index import Function, Module
from promptlint.link import loops
from promptlint.link.values import CALL, Value


class Frame:
    """One activation of a body: its arguments, its receiver, and how often it runs (``level``).

    ``path_loops`` are the loops of this body around the call that leads on to the sink, outermost first.
    """

    __slots__ = (
        "arguments",
        "bindings",
        "depth",
        "function",
        "level",
        "maker",
        "memo",
        "parent",
        "passed",
        "path_loops",
        "this",
        "via",
    )

    def __init__(
        self,
        function: Function,
        level: int,
        arguments: dict[str, Value | tuple[Expr, Frame]] | None = None,
        this: Value | None = None,
        parent: Frame | None = None,
        path_loops: tuple[int, ...] = (),
        depth: int = 0,
    ) -> None:
        self.function = function
        self.level = level
        self.arguments = arguments or {}
        self.this = this
        self.parent = parent
        self.path_loops = path_loops
        self.depth = depth
        self.memo: dict[Expr, Value] = {}
        """The values of nodes. They are kept alive here: one that is made during linking has no other place."""
        self.bindings: dict[int, loops.Binding] = {}
        self.via: Frame | None = None
        self.maker: Frame | None = None
        """The activation that called the constructor which this one stands for."""
        self.passed: dict[str, tuple[Expr, Frame]] = {}
        """The expressions of the arguments that were evaluated."""

    @property
    def module(self) -> Module:
        return self.function.module

    def bind(self, loop: int, binding: loops.Binding) -> Frame:
        """The same activation with one iteration of ``loop`` fixed."""
        child = Frame(self.function, self.level, self.arguments, self.this, self.parent, self.path_loops, self.depth)
        child.bindings = {**self.bindings, loop: binding}
        child.via = self
        child.passed = self.passed
        return child

    @property
    def activation(self) -> Frame:
        """The activation itself, without iterations that are fixed."""
        root = self
        while root.via is not None:
            root = root.via
        return root

    def level_at(self, inside: Sequence[int]) -> int:
        """How often code inside these loops of the body runs."""
        if not self.path_loops or self.level < CALL:
            return self.level
        return self.level + sum(1 for loop in self.path_loops if loop in inside)
