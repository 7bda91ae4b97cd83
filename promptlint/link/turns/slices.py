"""Parts of sequences and texts: what a slice keeps of a history, and what it drops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Attr,
    Binary,
    Expr,
    Free,
    Global,
    Literal,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Test,
    unchanged,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.joining import join
from promptlint.link.kept import queries
from promptlint.link.texts import clocks, strings
from promptlint.link.turns import aged, mutations, starts
from promptlint.link.turns.alike import runs_backwards
from promptlint.link.turns.guards import asks_of_first
from promptlint.link.turns.starts import Tail
from promptlint.link.values import (
    Base,
    Edit,
    Hole,
    Item,
    Limit,
    Many,
    One,
    Rest,
    Seq,
    Text,
    Value,
    options,
    text,
)
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


_OF_A_MESSAGE = re.compile(r"""(\.|\[["']|get\(["'])(content|text|body)["']?[\])]?$""")


def slice_of(ev: Evaluator, node: Slice, frame: Frame) -> Value:
    base = ev.eval(node.base, frame)
    return join(_slice(ev, b, node, frame) for b in options(base))


def _slice(ev: Evaluator, base: Value, node: Slice, frame: Frame) -> Value:
    span = ev.span(frame, node)
    lower, upper = starts.number(ev, node.lower, frame), starts.number(ev, node.upper, frame)
    if isinstance(base, Text):
        certain = (node.lower is None or lower is not None) and (node.upper is None or upper is not None)
        if base.literal is not None and certain and node.step is None:
            return text(base.literal[lower:upper], span)
        if node.lower is None and upper is not None and upper >= 0:
            return strings.truncated(base, upper)
        tail = starts.tail(ev, node, lower, frame, of_list=False) if node.upper is None else None
        return _end_of_text(ev, base, node, tail, frame) if tail is not None else base
    if node.lower is None and upper is not None and upper >= 0 and clocks.is_printed(base):
        return strings.truncated(base, upper)
    if lower == -1 and node.upper is None and node.step is None and not isinstance(base, Seq):
        last = Hole(ev.snippet(frame, node.at), span, base.origins())
        return Seq("list", (One(last, span, True),), span)
    if not isinstance(base, (Seq, Hole)):
        return Hole(ev.snippet(frame, node.at), span, base.origins())
    of_a_message = isinstance(base, Hole) and (_OF_A_MESSAGE.search(base.name) or is_content(node.base))
    tail = starts.tail(ev, node, lower, frame, of_list=isinstance(base, Seq))
    if isinstance(base, Hole) and node.step is None and (of_a_message or tail is None):
        # Named after what the list is, also where a local name stands for it.
        _, bracket, part = ev.snippet(frame, node.at).rpartition("[")
        newest = not of_a_message and node.lower is None and queries.is_newest_first(node.base)
        limited = newest and upper is not None and upper > 1
        window = Limit(upper or 0, span, ev.snippet(frame, node.at)) if limited else base.window
        return replace(base, name=base.name + bracket + part if bracket else base.name, cut=True, window=window)
    certain = isinstance(base, Seq) and base.known and (node.lower is None) == (lower is None)
    if isinstance(base, Seq) and is_content(node.base) and node.step is None and not certain:
        return replace(base, items=tuple(i.maybe() for i in base.items))
    sequence = replace(containers.as_seq(ev, base, span), copied="shallow")
    items = sequence.items
    if sequence.known and (node.lower is None or lower is not None) and (node.upper is None or upper is not None):
        step = starts.number(ev, node.step, frame)
        return replace(sequence, items=items[slice(lower, upper, step)])
    if node.lower is None and node.upper is None and starts.number(ev, node.step, frame) == -1:
        return mutations.turned(sequence)
    to_end = node.upper is None and node.step is None
    if tail is not None and (to_end or tail.counted):
        return _tail(ev, sequence, node, tail, frame, span)
    if lower is not None and lower > 0:
        rest = replace(sequence, items=_without_head(items, lower))
        return _headless(ev, rest, node, lower, frame, span) if to_end and rest.items else rest
    if node.lower is None and upper is not None and upper < 0:
        return replace(sequence, items=_without_tail(items, -upper))
    if node.lower is None and upper is not None and upper > 1 and runs_backwards(node.base):
        return _tail(ev, sequence, node, Tail(upper, True), frame, span)
    if node.lower is None and node.upper is not None:
        first = _first_known(items, upper or 0)
        if upper is not None and len(first) == upper:
            return replace(sequence, items=first)
        return replace(sequence, items=(*first, *(replace(i, optional=True) for i in items[len(first) :])))
    return sequence


def _first_known(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    """The first ``count`` elements, or as many as are certainly there."""
    certain = next((n for n, i in enumerate(items) if not isinstance(i, One) or i.optional), len(items))
    return items[: min(certain, max(count, 0))]


LARGE_TEXT = 32_000
"""Characters from which on a text of turns is seldom cut."""


def _end_of_text(ev: Evaluator, base: Text, node: Slice, tail: Tail, frame: Frame) -> Text:
    """``log[-2000:]``: a text that tells kept turns has lost the oldest ones."""
    guard = "threshold" if tail.keeps is not None and tail.keeps >= LARGE_TEXT else None
    return strings.with_edit(base, Edit("window", ev.span(frame, node), ev.snippet(frame, node.at), guard=guard))


def _headless(ev: Evaluator, rest: Seq, node: Slice, drops: int, frame: Frame, span: Span) -> Seq:
    """``x[k:]``: a kept list that goes on without its first elements has lost old turns."""
    test = node.base.state.test if isinstance(node.base, Phi) else None
    if not isinstance(rest.items[0], Base) or (test is not None and asks_of_first([test])):
        return rest
    return mutations.with_edit(rest, Edit("window", span, ev.snippet(frame, node.at), drops=drops))


def with_head(value: Value, head: Sequence[Item], span: Span) -> Value:
    """``[a, *x[1:]]``: the rest of a kept list, cut at ``span``, behind as many elements as were taken off it."""
    if not isinstance(value, Seq) or not value.items or not isinstance(value.items[0], Base):
        return value
    size = len(head) if all(isinstance(i, One) for i in head) else 0

    def mended(item: Item) -> Item:
        if not isinstance(item, Base):
            return item
        return replace(item, edits=tuple(e for e in item.edits if e.span != span or e.drops is None or e.drops > size))

    return replace(value, items=tuple(map(mended, value.items)))


def is_content(node: Expr) -> bool:
    """``message["content"]``: the text or the blocks of one message, and no list of messages."""
    node = unchanged(node)
    if isinstance(node, Attr):
        return node.name in ("content", "parts")
    return isinstance(node, ItemOf) and isinstance(node.key, Literal) and node.key.value in ("content", "text", "parts")


def _tail(ev: Evaluator, sequence: Seq, node: Slice, tail: Tail, frame: Frame, span: Span) -> Seq:
    keeps = tail.keeps
    items = sequence.items
    unknown = any(not isinstance(i, One) for i in items)
    if keeps is not None and keeps <= 1:
        last: tuple[Item, ...] = items[-1:]
        if last and isinstance(last[0], Many):
            last = (One(last[0].held, last[0].span, True, last[0].guards),)
        elif last and isinstance(last[0], Rest):
            from promptlint.link.loops import any_element

            last = (One(any_element(replace(sequence, items=last), span, ev.snippet(frame, node.at)), span, True),)
        return replace(sequence, items=last if last and isinstance(last[0], One) else tuple(i.maybe() for i in last))
    if keeps is not None and not unknown and len(items) <= keeps:
        return sequence
    edit = Edit("window", span, ev.snippet(frame, node.at), keeps=keeps, taken=True)
    kept = tuple(
        replace(i, edits=(*i.edits, edit))
        if isinstance(i, Base)
        else i
        if not isinstance(i, One)
        else replace(i, optional=True)
        for i in items
    )
    has_base = any(isinstance(i, Base) for i in items)
    return replace(sequence, items=kept, edits=sequence.edits if has_base else (*sequence.edits, edit))


def cut_out(ev: Evaluator, node: Binary, rest: Slice, frame: Frame) -> Value | None:
    """``x[:a] + x[b:]``, or ``[x[0]] + x[b:]``: a kept list without some of its elements behind the first ones."""
    start, head = rest.lower, node.left
    if start is None or rest.upper is not None or rest.step is not None:
        return None
    if isinstance(head, Binary) and head.op == "+":
        behind = cut_out(ev, replace(node, left=head.right), rest, frame)
        first = ev.eval(head.left, frame) if behind is not None else None
        if behind is None or first is None:
            return None
        return containers.binary(ev, "+", first, behind, ev.span(frame, node), ev.snippet(frame, node.at))
    if (changed := aged.of_older(head)) is not None and _ends_where(head.clauses[0][1], rest):  # type: ignore[attr-defined]
        base = ev.eval(rest.base, frame)
        edit = Edit("rewrite", ev.span(frame, changed), ev.snippet(frame, changed.at))
        return mutations.with_edit(replace(base, copied="shallow"), edit) if isinstance(base, Seq) else None
    if isinstance(head, Slice) and head.lower is None and head.step is None and _ends_where(head, rest):
        base = ev.eval(rest.base, frame)
        return replace(base, copied="shallow") if isinstance(base, Seq) else base
    if isinstance(head, SeqOf) and head.items:
        firsts = [i for i in head.items if isinstance(i, ItemOf) and is_same(i.base, rest.base)]
        places = [i.key.value for i in firsts if isinstance(i.key, Literal)]
        if len(firsts) != len(head.items) or places != list(range(len(places))):
            return None
        upper: int | None = len(places)
    elif isinstance(head, Slice) and head.lower is None and head.step is None and is_same(head.base, rest.base):
        upper = starts.number(ev, head.upper, frame)
    else:
        return None
    base = ev.eval(rest.base, frame)
    lower = starts.number(ev, start, frame)
    if not isinstance(base, Seq) or not mutations._kept(base.items) or upper is None or upper < 0:
        return None
    drops = lower - upper if lower is not None else None
    if isinstance(head, Slice) and isinstance(start, Binary) and start.op == "+" and is_same(start.left, head.upper):
        drops = starts.number(ev, start.right, frame)
    if drops == 0:
        return replace(base, copied="shallow")  # put together again
    if drops is None or drops < 0 or (lower is not None and lower < 0):
        return None
    edit = Edit("window", ev.span(frame, node), ev.snippet(frame, node.at), drops=drops)
    return mutations.with_edit(replace(base, copied="shallow"), edit)


def behind(ev: Evaluator, head: Expr, rest: Star, frame: Frame) -> Value | None:
    """``[*x[:a], *x[b:]]``: what the two are together."""
    if not isinstance(head, Star) or not isinstance(rest.value, Slice):
        return None
    return cut_out(ev, Binary(rest.at, "+", head.value, rest.value), rest.value, frame)


def _ends_where(head: Expr, rest: Slice) -> bool:
    """Whether ``head`` is the part of a list ahead of ``rest``: ``x[:n]`` and ``x[n:]``."""
    if not isinstance(head, Slice) or not is_same(head.base, rest.base) or head.upper is None or rest.lower is None:
        return False
    upper, lower = head.upper, rest.lower
    if isinstance(upper, Literal) and isinstance(lower, Literal):
        return upper.value == lower.value
    if isinstance(upper, Test) and isinstance(lower, Test):
        return upper.op == lower.op == "minus" and _is_bound(upper.parts[0], lower.parts[0])
    return _is_bound(upper, lower)


def _is_bound(a: Expr, b: Expr) -> bool:
    return is_same(a, b) or (isinstance(a, Literal) and isinstance(b, Literal) and a.value == b.value)


def is_same(a: Expr | None, b: Expr | None) -> bool:
    """Whether two expressions of one body read the same variable, attribute or cell."""
    if isinstance(a, Attr) and isinstance(b, Attr):
        return a.name == b.name and is_same(a.base, b.base)
    if isinstance(a, ItemOf) and isinstance(b, ItemOf):
        same = isinstance(a.key, Literal) and isinstance(b.key, Literal) and a.key.value == b.key.value
        return same and is_same(a.base, b.base)
    if isinstance(a, (Param, Global, Free)) and isinstance(b, (Param, Global, Free)):
        return type(a) is type(b) and a.name == b.name
    return a is b


def _without_head(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    result = list(items)
    while count and result and isinstance(result[0], One):
        if not result[0].optional:
            count -= 1
        result.pop(0)
    return tuple(result)


def _without_tail(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    result = list(items)
    while count and result and isinstance(result[-1], One):
        if not result[-1].optional:
            count -= 1
        result.pop()
    return tuple(result)
