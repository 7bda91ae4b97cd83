"""What is stored where a test found nothing yet: it is made seldom, and holds what it was given then."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from promptlint.code.expression import Once
from promptlint.frozen import replace
from promptlint.link.joining import join
from promptlint.link.values import IMPORT, SESSION, External, Instance, Value, only, options
from promptlint.span import Hop, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def kept(ev: Evaluator, node: Once, frame: Frame) -> Value:
    """The value as it is read from then on: as old as the object or the key of a dict that it is stored in."""
    level = SESSION if node.keyed else IMPORT
    if node.keeper is not None:
        keeper = only(ev.eval(node.keeper, frame), Instance)
        level = SESSION if keeper is None else keeper.level
    step = Step(ev.span(frame, node), "stored where nothing was stored yet", hop=Hop.ONCE)
    made = options(ev.eval(node.value, frame))
    # A text that is kept under a key varies with what is asked for, which may be another one in each turn.
    return join(_as_old(o, level, step) if not node.keyed or _is_object(o) else o for o in made)


def _is_object(value: Value) -> TypeGuard[External]:
    """Whether a value is an object of a library."""
    return isinstance(value, External) and value.instance


def _as_old(value: Value, level: int, step: Step) -> Value:
    """A value that is not made anew since; an object of a library is not given anything else either."""
    if not _is_object(value):
        return value.change(lambda o: replace(o.via(step), level=min(o.level, level)))
    return replace(
        value,
        arguments=tuple(_as_old(given, level, step) for given in value.arguments),
        keywords={name: _as_old(given, level, step) for name, given in value.keywords.items()},
        this=None if value.this is None else _as_old(value.this, level, step),
        level=None if value.level is None else min(value.level, level),
    )
