"""Prompt templates of libraries, and chains of steps that end in a model: ``prompt | model | parser``.

Which class is a template, which of its arguments holds the text or the messages, and which method fills it in is told
by rows (``TemplateRow``, ``PipeRow`` of ``knowledge.rows``); this module knows what filling in and chaining mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING

from promptlint.code.expression import Call
from promptlint.frozen import replace
from promptlint.knowledge.rows import TemplateRow
from promptlint.link import containers
from promptlint.link.joining import join
from promptlint.link.kept import remembered
from promptlint.link.texts import strings
from promptlint.link.turns import mutations
from promptlint.link.turns.messages import SYSTEM_ROLES, message_of
from promptlint.link.values import (
    Choice,
    Const,
    Edit,
    Entry,
    External,
    Hole,
    Item,
    Map,
    One,
    Origins,
    Rest,
    Routine,
    Seq,
    Text,
    Value,
    literal,
    only,
    options,
    union,
)
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

_ROLES = {"human": "user", "ai": "assistant"}
_SPEAKERS = frozenset(("user", "assistant", *SYSTEM_ROLES))
_FORMATS = (None, "f-string")
_MAX_STEPS = 20


# -- templates -----------------------------------------------------------------------------------------------------


def made(ev: Evaluator, name: str, values: list[Value], keywords: dict[str, Value], span: Span) -> Value | None:
    """The template or chain that a call of ``name`` makes, if a row says that it makes one."""
    row = ev.knowledge.templates.get(name)
    if row is not None:
        given = dict(zip(row.positional, values, strict=False)) | keywords
        content = next((given[key] for key in (row.messages, row.text) if key and key in given), None)
        if content is None:
            return None
        known = literal(given["template_format"]) if "template_format" in given else None
        if known not in _FORMATS:
            return Hole(name.rpartition(".")[2], span, content.origins())
        bound = given.get("partial_variables")
        return External(row.type, span, True, (content,), _entries(bound) if bound is not None else {}, maker=name)
    pipe = ev.knowledge.pipes.get(name)
    if pipe is None:
        return None
    given = dict(zip(pipe.positional, values, strict=False)) | keywords
    others = {key: value for key, value in given.items() if key not in pipe.steps}
    return External(pipe.type, span, True, tuple(given[key] for key in pipe.steps if key in given), others, maker=name)


def method(
    ev: Evaluator, this: External, name: str, values: list[Value], keywords: dict[str, Value], node: Call, frame: Frame
) -> Value | None:
    """The result of a method of a template or of a chain that holds no model; ``None`` when it is none of them."""
    row = ev.knowledge.templates.get(this.maker)
    if row is None:
        if not is_chain(ev, this) or name not in ("invoke", "ainvoke") or not values:
            return None
        return through(ev, _steps(ev, this), values[0], node, frame)
    if name in row.partial:
        return replace(this, keywords={**this.keywords, **keywords})
    how = row.fills.get(name)
    if how is None:
        return None
    given = {**keywords, **(_entries(values[0]) if values else {})} if how == "mapping" else keywords
    rest = values[0].origins() if values and not isinstance(values[0], Map) else ()
    return _filled(ev, row, this, given, rest, node, frame)


def _entries(value: Value) -> dict[str, Value]:
    return {k: e.value for o in options(value) if isinstance(o, Map) for k, e in o.entries.items()}


def _filled(
    ev: Evaluator,
    row: TemplateRow,
    template: External,
    given: Mapping[str, Value],
    rest: Origins,
    node: Call,
    frame: Frame,
) -> Value:
    """The text or the messages of a template with its variables filled in."""
    bound = {k: ev.apply(v, (), node, frame) if isinstance(v, Routine) else v for k, v in template.keywords.items()}
    names = {**bound, **given}
    span = ev.span(frame, node)

    def fill(value: Value) -> Value:
        filled = [
            strings.format_method(ev, o, (), names, rest, span, frame) if isinstance(o, Text) else o
            for o in options(value)
        ]
        return join(filled)

    content = template.arguments[0]
    if row.text:
        text = fill(content)
        return (
            Seq("list", (One(message_of(row.role, text, content_span(content, span)), span),), span)
            if row.role
            else text
        )
    sequence = containers.as_seq(ev, content, span)
    parts = [_messages(ev, item, names, rest, fill, node, frame) for item in sequence.items]
    items, edits = tuple(i for part in parts for i in part.items), tuple(e for part in parts for e in part.edits)
    order = union(sequence.order, *(part.order for part in parts))
    return Seq("list", items, sequence.span, order, (*sequence.edits, *edits))


def content_span(value: Value, span: Span) -> Span:
    """Where a text is written."""
    return next((p.span for o in options(value) if isinstance(o, Text) for p in o.pieces), span)


def _messages(
    ev: Evaluator,
    item: Item,
    names: Mapping[str, Value],
    rest: Origins,
    fill: Callable[[Value], Value],
    node: Call,
    frame: Frame,
) -> Seq:
    """What one element of a message template becomes."""
    value = item.value

    def one(role: str, content: Value, span: Span) -> Seq:
        return Seq("list", (replace(item, held=message_of(_ROLES.get(role, role), content, span)),), item.span)

    placeholder = _placeholder(value)
    if placeholder is not None:
        name, most = placeholder
        given = names.get(name, Hole(name, item.span, rest))
        kept = containers.as_seq(ev, given, item.span)
        if most is not None:
            kept = mutations.with_edit(kept, Edit("window", item.span, f"n_messages={most}", keeps=most))
        unknown = not kept.items and not isinstance(given, Seq)
        return replace(kept, items=(Rest(given, item.span),)) if unknown else kept
    if (pair := _pair(value)) is not None:
        role, content = pair
        made = _blocks(content, fill) if isinstance(content, Seq) else fill(content)
        return one(role, made, content_span(content, item.span))
    if isinstance(value, Text):
        return one("user", fill(value), content_span(value, item.span))
    if isinstance(value, External) and value.maker in ev.knowledge.templates:
        inner = _filled(ev, ev.knowledge.templates[value.maker], value, names, rest, node, frame)
        return inner if isinstance(inner, Seq) else one("user", inner, item.span)
    return Seq("list", (item,), item.span)


def _pair(value: Value) -> tuple[str, Value] | None:
    """A message that is written as ``("system", text)``."""
    if isinstance(value, Seq) and value.kind in ("tuple", "list") and len(value.items) == 2:
        return literal(value.items[0].value) or "", value.items[1].value
    return None


def spoken(value: Value) -> Value:
    """What a model is handed, with a message for each such pair in a list."""
    if not isinstance(value, Seq):
        return value
    return replace(value, items=tuple(replace(i, held=_as_message(i.value, i.span)) for i in value.items))


def _as_message(turn: Value, span: Span) -> Value:
    if isinstance(turn, Choice):
        return join(_as_message(way, span) for way in turn.options)
    role, content = _pair(turn) or ("", turn)
    role = _ROLES.get(role, role)
    return message_of(role, content, content_span(content, span)) if role in _SPEAKERS else turn


def _blocks(blocks: Seq, fill: Callable[[Value], Value]) -> Seq:
    """The content blocks of a message template."""

    def block(value: Value) -> Value:
        if isinstance(value, Map) and "text" in value.entries:
            entry = value.entries["text"]
            return replace(value, entries={**value.entries, "text": replace(entry, held=fill(entry.value))})
        return fill(value)

    return replace(blocks, items=tuple(replace(i, held=block(i.value)) for i in blocks.items))


def _placeholder(value: Value) -> tuple[str, int | None] | None:
    """The variable that holds messages, and how many of the newest are taken."""
    if isinstance(value, Seq) and len(value.items) == 2 and literal(value.items[0].value) == "placeholder":
        name = literal(value.items[1].value)
        return (name.strip("{}"), None) if name is not None else None
    keywords = _entries(value)
    if isinstance(value, External):
        keywords = {**value.keywords, **({"variable_name": value.arguments[0]} if value.arguments else {})}
        named = value.name
    elif isinstance(value, Map):
        named = value.type or ""
    else:
        return None
    name = literal(keywords["variable_name"]) if "variable_name" in keywords else None
    if name is None or not named.endswith("MessagesPlaceholder"):
        return None
    most = keywords.get("n_messages")
    return name, most.value if isinstance(most, Const) and isinstance(most.value, int) else None


# -- chains --------------------------------------------------------------------------------------------------------


def piped(ev: Evaluator, left: Value, right: Value, span: Span) -> External | None:
    """``left | right`` where one of them is a step of a chain."""
    for side in (left, right):
        if isinstance(side, External) and side.instance:
            for pipe in ev.knowledge.pipes.values():
                if any(side.name.startswith(prefix) for prefix in pipe.joins):
                    return External(pipe.type, span, True, (left, right), maker=pipe.maker)
    return None


def is_chain(ev: Evaluator, value: External) -> bool:
    pipe = ev.knowledge.pipes.get(value.maker)
    return pipe is not None and (pipe.does == "chain" or (pipe.does == "remember" and bool(value.arguments)))


def _steps(ev: Evaluator, chain: Value, depth: int = 0) -> list[Value]:
    """The steps of a chain in order."""
    if depth < _MAX_STEPS and isinstance(chain, External) and is_chain(ev, chain):
        remembers = ev.knowledge.pipes[chain.maker].does == "remember"
        ahead: list[Value] = [replace(chain, arguments=())] if remembers else []
        return [*ahead, *(step for part in chain.arguments for step in _steps(ev, part, depth + 1))]
    return [chain]


def asks_nobody(ev: Evaluator, value: Value | None) -> bool:
    """Whether a value is a chain without a model."""
    return isinstance(value, External) and is_chain(ev, value) and model_of(ev, value) is None


def model_of(ev: Evaluator, chain: External) -> External | None:
    """The model that a chain asks."""
    return next((s for s in _steps(ev, chain) if isinstance(s, External) and _is_model(ev, s)), None)


def _is_model(ev: Evaluator, step: External) -> bool:
    return step.instance and bool(ev.clients_of_type(step.name)) and not is_chain(ev, step)


def sent(ev: Evaluator, called: Value, given: Value, node: Call, frame: Frame) -> Iterator[Value]:
    """What the steps ahead of the model make of the input of a chain; chains that differ in it only send the same."""
    ways: dict[tuple[int, ...], list[Value]] = {}
    for chain in options(called):
        if isinstance(chain, External) and model_of(ev, chain) is not None:
            ahead = list(takewhile(lambda s: not (isinstance(s, External) and _is_model(ev, s)), _steps(ev, chain)))
            ways.setdefault(tuple(map(id, ahead)), ahead)
    yield from (through(ev, ahead, given, node, frame) for ahead in ways.values())


def through(ev: Evaluator, steps: list[Value], value: Value, node: Call, frame: Frame) -> Value:
    """What the steps of a chain make of its input, one after another."""
    for step in steps:
        value = join(_stepped(ev, o, value, node, frame) for o in options(step))
    return value


def _remembered(ev: Evaluator, step: External, value: Value, node: Call, frame: Frame) -> Value:
    """The input of a chain with the turns of its session, or of its memory, where it is known what happens to them."""
    span = ev.span(frame, node)
    if (memory := step.keywords.get("memory")) is not None:
        recalled = remembered.recalled(ev, memory, span, remembered.OWN)
        return containers.update(value, recalled, span) if recalled is not None and isinstance(value, Map) else value
    session = step.keywords.get("get_session_history")
    names = [step.keywords.get(f"{which}_messages_key") for which in ("history", "input")]
    key, said = (literal(name) if name is not None else None for name in names)
    if not isinstance(session, Routine):
        return value
    found = ev.apply(session, (Hole("session_id", span),), node, frame)
    kept = join(ev.attribute(o, remembered.FIELD, span, frame) for o in options(found))
    turns = only(kept, Seq)
    if key is None:  # ahead of what is said now
        new = containers.as_seq(ev, _entries(value).get(said, value) if said is not None else value, span)
        old = turns.items if turns is not None else (Rest(kept, span),)
        key, turns = said, replace(new, items=(*old, *new.items), edits=turns.edits if turns is not None else ())
    if turns is None or key is None:
        return turns or value
    return containers.update(value, Map({key: Entry(turns, span)}, span), span) if isinstance(value, Map) else value


def _stepped(ev: Evaluator, step: Value, value: Value, node: Call, frame: Frame) -> Value:
    """What one step makes of a value."""
    span = ev.span(frame, node)
    if isinstance(step, Routine):
        return ev.apply(step, (value,), node, frame)
    if isinstance(step, Map):  # several steps side by side
        entries = {
            k: replace(e, held=through(ev, _steps(ev, e.value), value, node, frame)) for k, e in step.entries.items()
        }
        return replace(step, entries=entries, type=None)
    if isinstance(step, External):
        pipe = ev.knowledge.pipes.get(step.maker)
        does = pipe.does if pipe is not None else ""
        if step.maker in ev.knowledge.templates:
            return method(ev, step, "invoke", [value], {}, node, frame) or value
        if does == "pass":
            return value
        if does == "assign" and isinstance(value, Map):
            added = Map({k: Entry(v, span) for k, v in step.keywords.items()}, span)
            made = _stepped(ev, added, value, node, frame)
            return containers.update(value, made, span)
        if does == "remember":
            return _remembered(ev, step, value, node, frame)
        if does == "call" and step.arguments:
            return _stepped(ev, step.arguments[0], value, node, frame)
        if step.name == "operator.itemgetter" and step.arguments:
            key = literal(step.arguments[0])
            found = _entries(value).get(key or "")
            if found is not None:
                return found
        if does == "chain":
            return through(ev, _steps(ev, step), value, node, frame)
        if step.maker in ev.knowledge.windows:
            return remembered.stepped(ev, step, value)
        if step.this is not None and step.name.rpartition(".")[2] in remembered.RECALLS:
            return remembered.recalled(ev, step.this, span) or Hole(step.name.rpartition(".")[2], span)
    if isinstance(step, (Text, Const)):
        return step
    name = step.name.rpartition(".")[2] if isinstance(step, (Hole, External)) else "step"
    looked_up = tuple(replace(o, features=o.features | {"opaque-call"}) for o in value.origins())
    return Hole(name, span, union(step.origins(), looked_up))
