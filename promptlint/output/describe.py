"""What ``map`` and the HTML page say of a request, in words: its parts, what is shared, and what becomes of that."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from promptlint.cost import Break
from promptlint.finding import Confidence, Region
from promptlint.output import words
from promptlint.output.lifetime import Lifetime, lifetime
from promptlint.prices import input_price
from promptlint.request import Breakpoint, Kind, Request, Segment
from promptlint.span import Span
from promptlint.tokens import UNKNOWN, ZERO, Interval


def origin(segment: Segment) -> Span:
    """The source that makes the segment vary, or the place where it is written."""
    return segment.causes[0].origin if segment.causes else segment.span


def number(value: Interval) -> str:
    """An interval of tokens in few characters."""
    if isinf(value.high):
        return f"{value.low:,}+" if value.low else "?"
    return f"{value.low:,}" if value.low == value.high else f"{value.low:,}-{round(value.high):,}"


def marker(mark: Breakpoint) -> str:
    """What is particular about a breakpoint."""
    parts = [
        "automatic" if mark.automatic else "",
        mark.ttl or "ttl ?",
        f"x{number(mark.count)}" if mark.count != Interval(1, 1) else "",
        "maybe" if mark.optional else "",
        f"refused: {mark.problem}" if mark.problem else "",
    ]
    return " ".join(part for part in parts if part)


def content(segment: Segment) -> str:
    """The text itself in quotes, or what the code calls the value."""
    if segment.kind is Kind.TOOL:
        what = f"tool {segment.name}".rstrip() if segment.name or segment.text is None else segment.text
    elif segment.text is not None:
        what = f'"{words.discreet(words.plain(segment.text))}"'
    else:
        what = segment.name or ("kept turns" if segment.kind is Kind.HISTORY else f"unknown {segment.kind}")
    if segment.causes:
        what += f": {segment.causes[0].what}" if segment.causes[0].what not in what else ""
    notes = [note for note, holds in (("optional", segment.optional), ("repeated", segment.repeats)) if holds]
    return words.plain(what) + (f" ({', '.join(notes)})" if notes else "")


def drawn(segment: Segment) -> int:
    """Tokens to draw: the middle of the interval; where it has no upper end, at least ``SOME``."""
    return max(segment.tokens.low, SOME) if isinf(segment.tokens.high) else _middle(segment.tokens)


SOME = 400
"""Tokens for which a part of unknown size is drawn."""


def shared(request: Request) -> int:
    """How many segments the next request repeats byte for byte; it is the next turn where there is one."""
    longest = Lifetime.CONVERSATION if request.reuse.turns else Lifetime.PROCESS
    ends = [index for index, segment in enumerate(request.segments) if lifetime(segment) > longest]
    ends += [mutator.position for mutator in request.mutators if mutator.guard == "always"]
    return min(ends, default=len(request.segments))


def lost(request: Request) -> Interval | None:
    """The tokens behind the shared prefix that could be shared, too; ``None`` where nothing breaks it there."""
    end = shared(request)
    return next((broken.lost for broken in request.breaks if broken.segment == end and broken.lost.high > 0), None)


def growth(request: Request) -> Interval | None:
    """What a turn of a conversation adds besides the reply: its newest message. ``None`` where no turns are kept."""
    if not request.reuse.turns:
        return None
    newest = [s.tokens for s in request.segments if s.region is Region.LAST_MESSAGE and s.kind is not Kind.HISTORY]
    return sum(newest, ZERO) if newest else UNKNOWN


def as_layout(request: Request) -> tuple[int, Break | None, str]:
    """The prefix that requests of this site could share, as one number for an estimate, what the code makes of it, and
    where both are from.
    """
    end = shared(request)
    ahead = request.before(end)
    longest = Lifetime.CONVERSATION if request.reuse.turns else Lifetime.PROCESS
    broken = [found for found in request.breaks if found.segment == end]
    kept = (
        [s for s in request.segments[end:] if s.kind is not Kind.HISTORY and lifetime(s) <= longest] if broken else []
    )
    behind = sum((segment.tokens for segment in kept), ZERO)
    marks = [mark for mark in request.breakpoints if mark.problem is None]
    first = [mark for mark in marks if mark.segment < end and not mark.automatic]
    said = f"Prefix of {words.spot(request.site.span)}: {words.quantity(ahead)}"
    taken = _middle(ahead) + _middle(behind)
    written: Break | None = Break(_middle(ahead), bool(first), len(first) < len(marks))
    if kept:
        what = words.plain(broken[0].cause.what)
        said += f", and {words.quantity(behind)} behind {what} ({words.spot(broken[0].cause.origin)}), which varies"
    elif request.facts.trigger == "explicit" and not marks and not request.open:
        said += ", without a marker"
    else:
        written = None
    return taken, written, f"{said}; {taken:,} taken."


def _middle(size: Interval) -> int:
    return size.low if isinf(size.high) else round((size.low + size.high) / 2)


def _caching(request: Request) -> str:
    """When the provider caches, and from how many tokens on."""
    facts = request.facts
    who = facts.model or facts.provider
    if not facts.caches:
        return f"{who} does not cache prompts"
    if facts.trigger == "unknown":
        return f"nothing is known about its cache: {words.count(facts.minimum, 'token')} are taken as the least"
    minimum = f"{who} caches from {words.count(facts.minimum, 'token')}"
    if not facts.minimum_known:
        minimum += " at the least (depends on the model)"
    return f"{minimum}, where marked" if facts.trigger == "explicit" else minimum


def _verdict(request: Request, end: int) -> str:
    """What the provider makes of the shared prefix that ends before segment ``end``."""
    facts = request.facts
    size = request.before(end)
    if not facts.caches or facts.trigger == "unknown" or not end:
        return ""
    if size.high < facts.minimum:
        return "; too short to be cached"
    if facts.trigger == "explicit":
        marked = [mark.segment for mark in request.breakpoints if mark.problem is None and mark.segment < end]
        if not marked:
            return "; not cached: no marker in it" if not request.open else "; no marker seen in it"
        if max(marked) + 1 < end:
            return f"; cached up to its last marker, behind segment {max(marked) + 1}"
    return ""


def about(request: Request) -> Iterator[str]:
    """Who gets it, from how many tokens on it is cached, why it is sent again, and what changes its history."""
    yield f"to {words.recipient(request.site)}; {_caching(request)}"
    where = f" ({words.spot(request.reuse.span)})" if request.reuse.span else ""
    yield f"reuse: {words.plain(request.reuse.why) or 'no evidence that it is sent more than once'}{where}"
    if (added := growth(request)) is not None:
        yield f"grows with each turn by its newest message ({words.quantity(added)}) and the reply"
    if (price := cost(request)) is not None:
        yield price
    if request.fallback:
        yield "sent in place of a request that failed; what can be said about it is said there"
    if request.path:
        yield "called through: " + " > ".join(words.spot(step.span) for step in request.path)
    for mutator in request.mutators:
        guard = "" if mutator.guard == "always" else f", on {mutator.guard}"
        yield f"history changed at {words.spot(mutator.span)}: {words.plain(mutator.what)} ({mutator.kind}{guard})"
    if request.open:
        yield f"may also get, unseen: {', '.join(map(words.plain, request.open))}"
    if request.confidence is not Confidence.HIGH:
        yield f"confidence: {request.confidence}"


def cost(request: Request) -> str | None:
    """What a request costs as the code is written, and what it would if all that can be shared were in the cache.

    In uncached input tokens, and in dollars where the price is known. The turns kept so far are not in it, nor what is
    paid once for writing. ``None`` where nothing can be shared, or the price of reading is not known.
    """
    facts, end, size = request.facts, shared(request), request.size.low
    if not facts.caches or facts.read is None or not size or not (request.reuse.turns or request.reuse.repeats):
        return None
    gone = lost(request)
    most = request.before(end).low + (gone.low if gone is not None else 0)
    now = size - _held(request, end) * (1 - facts.read)
    best = min(now, size - most * (1 - facts.read)) if most >= facts.minimum else now
    said = f"cost: that of at least {words.count(round(now), 'uncached token')} each time"
    said += ", without the turns kept" if request.has_history else ""
    said += f"; {round(best):,} if all that can be shared were cached" if best < now else ""
    price = input_price(facts)
    if price is None:
        return said
    amounts = dict.fromkeys(f"${words.TIMES * tokens * price(size):,.2f}" for tokens in (now, best))
    return f"{said} ({' and '.join(amounts)} for {words.TIMES:,})"


def _held(request: Request, end: int) -> int:
    """Tokens of the shared prefix, which ends before segment ``end``, that the provider surely finds in its cache."""
    facts = request.facts
    if facts.trigger == "explicit":
        marked = [mark.segment + 1 for mark in request.breakpoints if mark.problem is None and mark.segment < end]
        end = max(marked, default=0)
    size = request.before(end).low
    return size if size >= facts.minimum else 0


def border(request: Request) -> str:
    """Where the shared prefix ends and what the provider makes of it."""
    end = shared(request)
    audience = "turn" if request.reuse.turns else "request"
    if end:
        text = f"the prefix shared with the next {audience} ends here: {words.quantity(request.before(end))}"
    else:
        text = f"nothing at its beginning is shared with the next {audience}"
    gone = lost(request)
    behind = f"; lost behind it: {words.quantity(gone)}" if gone else ""
    return f"{text}{_verdict(request, end)}{behind}"


def verdict(request: Request) -> str:
    """In a few words how much of a request the next one finds in the cache, for editors to show beside the call."""
    facts, size = request.facts, number(request.size)
    if not facts.caches:
        return f"{facts.model or facts.provider} does not cache prompts"
    if not (request.reuse.turns or request.reuse.repeats):
        return f"{size} tokens, sent once as far as is known"
    prefix = request.before(shared(request))
    said = f"{number(prefix)} of {size} tokens stay the same"
    if facts.minimum_known:
        said += f", caching starts at {facts.minimum:,}"
    if prefix.high < facts.minimum:
        return f"{said}: too few"
    marked = any(mark.problem is None for mark in request.breakpoints)
    return f"{said}, none are marked" if facts.trigger == "explicit" and not marked and not request.open else said
