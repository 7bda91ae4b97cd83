"""Documents of a database that keep a conversation in one of their fields, and what the program does to it there.

Of MongoDB (``find_one``, ``update_one`` ...), DynamoDB (``get_item``, ``put_item``) and Firestore (``to_dict``,
``set``); reads and writes are told to belong together by the name of the collection, in one module.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from promptlint.code.expression import Attr, Call, DictOf, Expr, Free, Global, Literal, Param, SeqOf, unchanged
from promptlint.code.expression import Item as ItemOf
from promptlint.codebase.program import called_name
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.calling.given import Given
from promptlint.link.joining import join
from promptlint.link.kept import stores
from promptlint.link.turns import growth, mutations
from promptlint.link.values import CALL, Const, Edit, Entry, History, Hole, Lazy, Limit, Map, Seq, Value, options
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.code.index import Function, Module
    from promptlint.link.evaluate import Evaluator

MAX_WRITERS = 6
READS = frozenset(("find_one", "find_one_and_update", "get_item", "to_dict"))
_WRITES = ("update_one", "find_one_and_update", "insert_one", "put_item", "set", "update")
_WITHIN = {"put_item": "Item", "set": "document_data", "update": "field_updates", "insert_one": "document"}
"""The argument, the first one, that holds the fields; of all others it is the second one, with operators."""


class _Write(NamedTuple):
    """A call that writes a field; one that has ``added`` puts ``value``, a list, behind what stands there."""

    function: Function
    call: Call
    value: Expr
    added: bool = False
    keeps: Expr | None = None
    """The ``$slice`` beside it: how many of the newest are left."""


def found(ev: Evaluator, name: str, args: Given) -> Value | None:
    """What a look-up of one document gives, if its module makes a field of it grow; else ``None``."""
    func, module = args.node.func, args.frame.module
    where = _collection(func.base) if isinstance(func, Attr) else ""
    if name == "to_dict" and isinstance(func, Attr) and not _is_document(func.base):
        return None
    if not where or not any(writer in module.called for writer in _WRITES):
        return None
    fields: dict[str, list[_Write]] = {}
    for field, write in _writes(ev, module, where):
        fields.setdefault(field, []).append(write)
    cut = dict(_cuts(args))
    if not fields and not cut:
        return None
    shown = ev.snippet(args.frame, args.node.at)
    entries: dict[str, Entry] = {}
    for field in {**fields, **cut}:
        kept = partial(_kept, ev, module, where, field, fields.get(field, []), args.span)
        held = _cut_at(kept, cut[field]) if field in cut else Lazy(kept)
        entries[field] = Entry(held, args.span)
    document = Map(entries, args.span, (Hole(shown, args.span, args.origins),))
    return Map({"Item": Entry(document, args.span)}, args.span) if name == "get_item" else document


def _collection(node: Expr) -> str:
    """The name of a collection or table, wherever it is got from."""
    node = unchanged(node)
    match node:
        case Attr(name=name) | Global(name=name) | Free(name=name) | Param(name=name):
            return name
        case ItemOf(key=Literal(value=str(name))):
            return name
        case Call(func=Attr(name="collection" | "Table" | "get_collection"), args=(Literal(value=str(name)), *_)):
            return name
        case Call(func=Attr(base=base)):
            return _collection(base)
    return ""


def _is_document(node: Expr) -> bool:
    """Whether something is got from a collection by its name: ``db.collection("chats").document(user).get()``."""
    node = unchanged(node)
    while isinstance(node, Call) and isinstance(node.func, Attr):
        if node.func.name == "collection":
            return True
        node = unchanged(node.func.base)
    return False


def _writes(ev: Evaluator, module: Module, where: str) -> Iterator[tuple[str, _Write]]:
    """The fields that the calls of a module write in the documents of a collection."""
    for name in _WRITES:
        for function in module.called.get(name, ()):
            for call in ev.summary(function).calls:
                if called_name(call) != name or not isinstance(call.func, Attr) or _collection(call.func.base) != where:
                    continue
                keyword, place = _WITHIN.get(name, "update"), 0 if name in _WITHIN else 1
                given = dict(call.keywords).get(keyword)
                if given is None and len(call.args) > place:
                    given = call.args[place]
                for field, value in _items(given):
                    if not field.startswith("$"):
                        yield from _written(field, _Write(function, call, value))
                    elif field in ("$set", "$push"):
                        for inner, part in _items(value):
                            yield from _written(inner, _Write(function, call, part, field == "$push"))


def _written(field: str, write: _Write) -> Iterator[tuple[str, _Write]]:
    """A write that may make a list longer: one of constants does not."""
    if write.added and (inside := dict(_items(write.value))) and "$each" in inside:
        write = write._replace(value=inside["$each"], keeps=inside.get("$slice"))
    elif write.added:
        write = write._replace(value=SeqOf(write.value.at, "list", (write.value,)))
    empty = isinstance(write.value, SeqOf) and not write.value.items
    if not empty and not isinstance(write.value, Literal):
        yield field, write


def _items(node: Expr | None) -> Iterator[tuple[str, Expr]]:
    """The entries of a dict under constant keys."""
    node = unchanged(node) if node is not None else None
    for key, value in node.items if isinstance(node, DictOf) else ():
        if isinstance(key, Literal) and isinstance(key.value, str):
            yield key.value, value


def _cuts(args: Given) -> Iterator[tuple[str, Limit]]:
    """The fields of which a projection gives the newest elements only."""
    for value in (*args.values[1:2], *(v for k, v in args.keywords.items() if k == "projection")):
        for field, entry in value.entries.items() if isinstance(value, Map) else ():
            size = entry.value.entries.get("$slice") if isinstance(entry.value, Map) else None
            rows = _number(size.value) if size is not None else None
            if rows is not None and rows < -1:
                yield field, Limit(-rows, entry.span, f"$slice: {rows}")


def _number(value: Value) -> int | None:
    known = value.value if isinstance(value, Const) else None
    return known if isinstance(known, int) else None


def _cut_at(kept: partial[Value], limit: Limit) -> Value:
    """What a field holds, of which a projection gives the newest elements only."""
    value = kept()
    if isinstance(value, Seq):
        return mutations.with_edit(value, Edit("window", limit.span, limit.what, keeps=limit.rows, taken=True))
    return replace(value, window=limit) if isinstance(value, Hole) else value


def _kept(ev: Evaluator, module: Module, where: str, field: str, writes: list[_Write], span: Span) -> Value:
    """What a field holds after all that the module writes there again and again."""
    key = ("document", module, where, field)
    plain = Hole(field, span)
    if (override := ev.kept.get(key)) is not None:
        return override
    cached = ev.attribute_cache.get(key)
    if cached is None and key not in ev.attributes_active:
        ev.attributes_active.add(key)
        try:
            cached = _grown(ev, key, writes, span)
        finally:
            ev.attributes_active.discard(key)
        if not ev.exhausted:
            ev.attribute_cache[key] = cached
    return cached if cached is not None and stores.grows(cached) else plain


def _grown(ev: Evaluator, key: tuple[object, ...], writes: list[_Write], span: Span) -> Value:
    result: Value = Seq("list", (), span)
    added: list[Value] = []
    edits: list[Edit] = []
    for write in writes[:MAX_WRITERS]:
        function, at = write.function, write.function.module.span(write.call.at)
        frame = ev.new_frame(function, CALL, this=ev.generic(function).this)
        if write.added:
            turns = containers.as_seq(ev, ev.eval(write.value, frame), at)
            added += [i.value for i in turns.items]
            rows = _number(ev.eval(write.keeps, frame)) if write.keeps is not None else None
            if write.keeps is not None and (rows is None or rows < 0):
                what = f"$slice: {ev.snippet(frame, write.keeps.at)}"
                edits.append(Edit("window", at, what, write.call.guards, keeps=-rows if rows is not None else None))
            continue
        marker = growth.base_marker(result, key)
        value = ev.assuming(key, marker, partial(ev.eval, write.value, frame))
        kept = [o for o in options(value) if stores.keeps(o, key)]
        if kept:
            result = growth.grown(ev, result, join(kept), key, at, CALL, history=True)
    if added:
        turns = Seq("list", (History(join(added), span, root=key, edits=tuple(edits)),), span)
        return turns if not stores.grows(result) else result
    return result
