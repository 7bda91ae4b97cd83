"""Turns that a chat history or a memory of a library keeps (LangChain), and what the program does to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Element, Expr, Guard, Mutate, SeqOf, Write, called_name, unchanged
from promptlint.link import conditions, containers
from promptlint.link.calling.given import Given
from promptlint.link.kept import state
from promptlint.link.turns import growth, mutations
from promptlint.link.turns.guards import LARGE_TOKENS
from promptlint.link.values import (
    CALL,
    Const,
    Edit,
    Entry,
    External,
    History,
    Hole,
    Map,
    Seq,
    Value,
    literal,
    options,
    text,
)
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

KEPT_TURNS = "the message history"
_KEEPS_TURNS = re.compile(r"ChatMessageHistory$|\.chat_memory$")
_ANY = "BaseChatMessageHistory"
"""What code calls any of them that it is given."""
_ROOT = "remembered"
OWN = "remembered by the chain"
"""Begins the root of turns that a chain keeps in its memory: what it is asked, and what it answers."""
FIELD = "messages"
READS = frozenset(("get_messages", "aget_messages"))
RECALLS = frozenset(("load_memory_variables", "aload_memory_variables"))
_ADDS = ("add_message", "add_messages", "aadd_messages", "aadd_message")
_CLEARS = frozenset(("clear", "aclear"))


def keeps_turns(kind: str, name: str) -> bool:
    """Whether an attribute of an object of a library is the list of turns that were added to it."""
    return name == FIELD and _KEEPS_TURNS.search(kind) is not None


def turns(ev: Evaluator, made: Span, span: Span, frame: Frame) -> Value:
    """The turns, read at ``span``, of an object that was made at ``made``."""
    marker = ev.kept.get(_ROOT)
    if marker is not None:
        return marker
    plain = Hole(KEPT_TURNS, span)
    key = (_ROOT, made)
    if key in ev.attributes_active:
        return plain
    known = ev.attribute_cache.get(key)
    if known is None:
        ev.attributes_active.add(key)
        try:
            edits = _edits(ev, made, plain, frame)
        finally:
            ev.attributes_active.discard(key)
        known = Seq("list", (History(plain, span, root=key, edits=edits),), span) if edits else plain
        if not ev.exhausted:
            ev.attribute_cache[key] = known
    return known


def recalled(ev: Evaluator, memory: Value, span: Span, root: str = _ROOT) -> Map | None:
    """What a memory adds to the input of a chain that holds no more than its newest turns."""
    for option in options(memory):
        row = ev.knowledge.windows.get(option.maker) if isinstance(option, External) else None
        if row is None or not isinstance(option, External):
            continue
        limit, key = option.keywords.get(row.limit), option.keywords.get("memory_key")
        size = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
        shown = option.maker.rpartition(".")[2] if limit is None else f"{row.limit}={'…' if size is None else size}"
        keeps = 2 * size if size is not None and row.unit == "messages" else None
        guard = "threshold" if row.unit == "tokens" and (size or 0) > LARGE_TOKENS else None
        cut = Edit("window", option.span, shown, keeps=keeps, guard=guard)
        kept = History(Hole(KEPT_TURNS, span), span, root=(root, option.span), edits=(cut,))
        name = (literal(key) if key is not None else None) or "history"
        return Map({name: Entry(Seq("list", (kept,), span), span)}, span)
    return None


def _edits(ev: Evaluator, made: Span, plain: Hole, frame: Frame) -> tuple[Edit, ...]:
    """What the program does to the turns that were kept before."""
    before: Value = Seq("list", (), plain.span)
    for function, expr, guards in _changes(ev, made, frame):
        if state.writer_level(ev, function) < CALL or not _is_used(ev, function):
            continue
        marker = growth.base_marker(before, _ROOT)
        value = ev.assuming(_ROOT, marker, lambda: ev.eval(expr, ev.generic(function)))  # noqa: B023
        value = conditions.under(value, before, guards)
        before = growth.grown(ev, before, value, _ROOT, function.module.span(expr.at), CALL, history=True)
    kept = before.items if isinstance(before, Seq) else ()
    own = before.edits if isinstance(before, Seq) else ()
    return (*own, *(e for i in kept if isinstance(i, History) for e in i.edits))


def _changes(ev: Evaluator, made: Span, frame: Frame) -> Iterator[tuple[Function, Expr, tuple[Guard, ...]]]:
    """What functions put in the place of the turns, and under which tests."""
    for function in ev.program.storing(FIELD, frame.module):
        for write in ev.summary(function).writes:
            if write.name == FIELD and _is_it(ev, write, function, made):
                yield function, write.value, write.guards
    for name in _ADDS:
        for function, call in ev.program.calls_named(name, frame.module):
            func = call.func if call.args and _is_emptied(ev, function, call) else None
            if isinstance(func, Attr) and _is_it(ev, func, function, made):
                yield function, _added(call), call.tests


def _is_used(ev: Evaluator, function: Function) -> bool:
    """Whether something calls a function, or hands it on."""
    if function is function.module.body or function.name == "<lambda>" or function.decorators:
        return True
    name, near = function.name, function.module
    return bool(ev.program.calls_named(name, near) or ev.program.handed_over(name, near))


def _added(call: Call) -> Expr:
    """All that a call adds, in one iteration after another."""
    given = call.args[0]
    if called_name(call).endswith("s"):
        return given
    item = unchanged(given)
    if isinstance(item, Element) and item.loop in call.loops:
        return item.of
    return SeqOf(given.at, "list", (given,))


def _is_emptied(ev: Evaluator, function: Function, adding: Call) -> bool:
    """Whether a function empties what it adds to right before, whenever it adds."""
    calls = (c for c in ev.summary(function).calls if called_name(c) in _CLEARS and c.at < adding.at)
    cleared = (c for c in calls if all(any(g is a for a in adding.guards) for g in c.guards))
    return any(_receiver(ev, c, function) == _receiver(ev, adding, function) != "" for c in cleared)


def _receiver(ev: Evaluator, call: Call, function: Function) -> str:
    """How the code calls what a method is called on."""
    if not isinstance(call.func, Attr):
        return ""
    node = unchanged(call.func.base)
    while isinstance(node, Mutate):
        node = unchanged(node.base)
    return ev.snippet(ev.generic(function), node.at)


def _is_it(ev: Evaluator, written: Write | Attr, function: Function, made: Span) -> bool:
    """Whether an attribute is written to, or a method called, of the object that was made at ``made``."""
    for option in options(ev.resolve(written.base, ev.generic(function))):
        kind = option.name if isinstance(option, External) else option.type if isinstance(option, Map) else None
        if not isinstance(option, (External, Map)) or kind is None:
            continue
        if kind.endswith(_ANY) or (keeps_turns(kind, FIELD) and option.span == made):
            return True
    return False


# -- calls that drop the oldest messages -----------------------------------------------------------------------------


_STEPS = frozenset(("langchain_core.messages.trim_messages", "langchain_core.messages.utils.trim_messages"))
"""Calls which, without messages, make a step of a chain."""


def shortened(ev: Evaluator, name: str, args: Given) -> Value:
    """What a call leaves of a history; a step of a chain that does so."""
    row = ev.knowledge.windows[name]
    value = args.keywords.get(row.messages)
    if value is None and row.messages in row.positional and row.positional.index(row.messages) < len(args.values):
        value = args.values[row.positional.index(row.messages)]
    shown = text(ev.snippet(args.frame, args.node.at), args.span)
    step = External(name, args.span, True, (shown,), args.keywords, maker=name)
    if value is not None:
        return stepped(ev, step, value)
    return step if name in _STEPS else args.hole()


def stepped(ev: Evaluator, step: External, value: Value) -> Seq:
    """What a step of a chain that drops the oldest messages leaves of those that it is given."""
    row, shown = ev.knowledge.windows[step.maker], step.arguments[0]
    size, counter = step.keywords.get(row.limit), step.keywords.get(row.counter)
    limit = size.value if isinstance(size, Const) and isinstance(size.value, int) else None
    in_messages = row.unit == "messages" or (isinstance(counter, External) and counter.name == "builtins.len")
    guard = None if in_messages or (limit or inf) <= LARGE_TOKENS else "threshold"
    edit = Edit("window", step.span, literal(shown) or "", keeps=limit if in_messages else None, guard=guard)
    return mutations.with_edit(containers.as_seq(ev, value, step.span), edit)
