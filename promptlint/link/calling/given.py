"""What a call hands to something outside the project: arguments by place and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import Call, Expr, Star
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.values import Hole, Map, Origins, Value, options, union

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


class Given:
    """The evaluated arguments of a call, with ``*`` and ``**`` spread as far as known.

    With ``read``, other keywords than these are left out: nobody asks for them.
    """

    def __init__(self, ev: Evaluator, node: Call, frame: Frame, read: frozenset[str] | None = None) -> None:
        self.ev, self.node, self.frame = ev, node, frame
        self.span = ev.span(frame, node)
        self.values: list[Value] = []
        self.keywords: dict[str, Value] = {}
        self.rest: list[Value] = []
        self.keys: Origins = ()
        """What decides which keywords are given."""
        for argument in node.args:
            if isinstance(argument, Star):
                spread = containers.as_seq(ev, ev.eval(argument.value, frame), self.span)
                if spread.known:
                    self.values += [i.value for i in spread.items]
                else:
                    self.rest.append(spread)
            else:
                self.values.append(ev.eval(argument, frame))
        for name, expr in node.keywords:
            if read is not None and name is not None and name not in read:
                continue
            value = ev.eval(expr, frame)
            if name is not None:
                self.keywords[name] = value
                continue
            for option in options(value):
                if isinstance(option, Map):
                    self.keywords.update({k: e.value for k, e in option.entries.items()})
                    self.rest.extend(option.rest)
                    self.keys = union(self.keys, option.order)
                else:
                    self.rest.append(option)

    def get(self, index: int, name: str = "") -> Value | None:
        if index < len(self.values):
            return self.values[index]
        return self.keywords.get(name)

    @property
    def level(self) -> int:
        """How often the call runs."""
        return self.frame.level_at(self.node.loops)

    def expr(self, index: int) -> Expr | None:
        return self.node.args[index] if index < len(self.node.args) else None

    @property
    def origins(self) -> Origins:
        return union(self.keys, *(v.origins() for v in (*self.values, *self.keywords.values(), *self.rest)))

    def hole(self, deps: Origins | None = None, **changes: object) -> Hole:
        made = Hole(self.ev.snippet(self.frame, self.node.at), self.span, self.origins if deps is None else deps)
        return replace(made, **changes) if changes else made  # type: ignore[arg-type]
