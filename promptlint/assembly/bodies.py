"""Whether a raw HTTP request may go to a model, by its address and the keys of its body: most of them go elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Expr, Star
from promptlint.link.values import Const, External, Hole, Instance, Map, Text, Value, options

if TYPE_CHECKING:
    from promptlint.knowledge.rows import SinkRow
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame
    from promptlint.link.libraries.sinks import Sink

POSTING = frozenset(("post", "request", "stream", "Request", "urlopen"))
"""Last names of calls that post any body to any address."""
_PATH = re.compile(r"^(\w+:)?/*[^/]*")
_SCHEME = re.compile(r"(?=https?://)")
_WIRES = (
    (re.compile(r"/messages\b"), "anthropic"),
    (re.compile(r":(stream)?generatecontent\b", re.I), "gemini"),
    (re.compile(r"/(chat/completions|completions|responses)\b"), "openai"),
)
"""Paths of requests, and the vendor in whose form they are."""
_ENDPOINT = re.compile(
    r"chat|compl|message|generat|respon|infer|invoke|predict|converse|llm|model|deployment|(?<!\w)ai(?!\w)", re.I
)
_OTHER_MODEL = re.compile(r"embed|rerank|moderation|transcri|speech|whisper|tts\b|images?/(gen|edit)")
_EMBEDDING = re.compile(r"embed|rerank")
_INVOKING = frozenset(("invoke_model",))
"""Last names of calls that send any body to any kind of model."""


def is_posting(row: SinkRow) -> bool:
    """Whether a row is one of raw HTTP, where only address and body tell that a model is asked."""
    return row.suffix in POSTING and ("url" in row.parts.values() or "body" in row.parts.values())


_BODY_OF_CHAT = tuple(re.compile(rf"""["']{key}["']\s*(?:\]\s*=|:)""") for key in ("messages", "model"))
"""What a file says that puts together a body with a model and messages."""


def is_unsure(sink: Sink) -> bool:
    """Whether many calls that fit its row send nothing to a model, and the file of this one makes no body for that."""
    if is_posting(sink.row):
        return not all(map(sink.function.module.matches, _BODY_OF_CHAT))
    return sink.row.id == "structural"


def may_ask(ev: Evaluator, sink: Sink, frame: Frame) -> bool | None:
    """Whether a call sends a request to a model, as far as ``frame`` shows; ``None``: that depends on its callers."""
    row = sink.row
    if not is_posting(row):
        return not (row.suffix in _INVOKING and _speaks_of(_EMBEDDING, sink))
    if not _passes_body(sink):
        return False
    arguments = list(_arguments(ev, sink, frame))
    addresses = [o for name, value in arguments if row.parts.get(name) == "url" for o in options(value)]
    urls = [url for address in addresses for url in urls_in(address)]
    if _speaks_of(_OTHER_MODEL, sink):
        return False
    others = [_OTHER_MODEL.search(url.lower()) is not None for url in urls]
    if any(others):
        # Callers may join several addresses in one: which of them it is, only the way of each tells.
        certain = all(others) and not any(isinstance(a, Text) and any(p.optional for p in a.pieces) for a in addresses)
        return False if certain else None
    unknown = len(urls) < len(addresses) or any(isinstance(a, Star) for a in sink.call.args)
    for name, value in arguments:
        if not name and not isinstance(value, Map):
            unknown = True
        if row.parts.get(name) != "body":
            continue
        nested = row.nested.get(name, {})
        for body in _unwrapped(value):
            keys = _keys(ev, body, nested, sink, frame)
            if _is_prompt(keys, nested, urls):
                return True
            unknown = unknown or _may_have_more(body)
    return None if unknown else False


def _arguments(ev: Evaluator, sink: Sink, frame: Frame) -> Iterator[tuple[str, Value]]:
    """What is passed under which name; what ``**`` passes without being known has no name."""
    if sink.preset is not None:
        yield from sink.preset.keywords.items()
    passed: list[tuple[str | None, Expr]] = [*zip(sink.row.positional, sink.call.args, strict=False)]
    for name, expr in (*passed, *sink.call.keywords):
        if name is not None:
            if sink.row.parts.get(name) in ("url", "body"):
                yield name, ev.eval(expr, frame)
            continue
        for option in options(ev.eval(expr, frame)):
            if isinstance(option, Map):
                yield from ((key, entry.value) for key, entry in option.entries.items())
                yield from (("", rest) for rest in option.rest)
            else:
                yield "", option


def _unwrapped(body: Value) -> Iterator[Value]:
    """The alternatives of a body, without the call that makes them JSON."""
    for option in options(body):
        if isinstance(option, External) and option.name == "json.text" and option.arguments:
            yield from _unwrapped(option.arguments[0])
        else:
            yield option


def _keys(ev: Evaluator, body: Value, nested: dict[str, str], sink: Sink, frame: Frame) -> frozenset[str]:
    if isinstance(body, Map):
        return frozenset(body.entries)
    if isinstance(body, External):
        return frozenset(body.keywords)
    if isinstance(body, Instance):
        span = ev.span(frame, sink.call)
        return frozenset(n for n in nested if not isinstance(ev.attribute(body, n, span, frame), Hole))
    return frozenset()


def _may_have_more(body: Value) -> bool:
    if isinstance(body, Map):
        return bool(body.rest or body.open)
    return not isinstance(body, (Const, Instance)) and not (isinstance(body, External) and body.keywords)


def _is_prompt(keys: frozenset[str], nested: dict[str, str], urls: list[str]) -> bool:
    """Whether a body with these keys, sent to one of these addresses, is a prompt for a model."""
    parts = {nested.get(key) for key in keys}
    if "contents" in keys and "prompt" in parts:
        return True
    if "messages" in parts:
        return "model" in parts or _may_be_endpoint(urls)
    return "model" in parts and bool(parts & {"input", "prompt"}) and _may_be_endpoint(urls)


def _passes_body(sink: Sink) -> bool:
    """Whether a call passes a body, or may do so with ``*`` or ``**``."""
    call, row = sink.call, sink.row
    if any(isinstance(a, Star) for a in call.args) or any(name is None for name, _ in call.keywords):
        return True
    given = {*row.positional[: len(call.args)], *(name for name, _ in call.keywords)}
    given |= sink.preset.keywords.keys() if sink.preset is not None else set()
    return any(row.parts.get(name or "") == "body" for name in given)


def _speaks_of(kind: re.Pattern[str], sink: Sink) -> bool:
    """Whether the names around a call speak of models of a kind: of embeddings, images, speech or moderation."""
    function = sink.function
    names = (function.name, function.owner.name if function.owner is not None else "", function.module.name)
    return any(kind.search(name.lower()) for name in names)


def _may_be_endpoint(urls: list[str]) -> bool:
    """Whether a URL may be that of a model: nothing of its path is known, or a part of it says so."""
    paths = [path for url in urls if (path := _PATH.sub("", url, count=1))]
    return not paths or any(_ENDPOINT.search(path) for path in paths)


def urls_in(value: Value) -> list[str]:
    """The addresses that a text may be, each with "x" for what is not known of it: several where one of a table is
    taken, whose entries stand one after the other in the text."""
    if not isinstance(value, Text):
        return []
    whole = "".join(p.text or "x" for p in value.pieces)
    return [url for url in _SCHEME.split(whole) if url.removeprefix("https://").removeprefix("http://")]


def spoken_to(urls: list[str]) -> str:
    """The vendor whose API has a path like that of an address; empty where none is known."""
    return next((vendor for url in urls for wire, vendor in _WIRES if wire.search(url)), "")
