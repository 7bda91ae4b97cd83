"""``promptlint providers``: what is known about each provider's cache, where it is from and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from textwrap import wrap

from promptlint.output.paint import Paint
from promptlint.provider import Facts, facts, model_rows, providers, source
from promptlint.simulator.exchange import ago

_HEADINGS = ("provider", "caches", "from tokens", "read", "written", "lifetime", "as of", "confidence")


def listing(*, color: bool) -> str:
    """A line for each provider."""
    rows = [_summary(facts(name, None)) for name in providers()]
    sizes = [max(len(row[column]) for row in [_HEADINGS, *rows]) for column in range(len(_HEADINGS))]

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(cell.ljust(size) for cell, size in zip(cells, sizes, strict=True)).rstrip() + "\n"

    paint = Paint(color)
    legend = (
        "\nread, written: price in uncached input tokens. ~ the smallest plausible: it depends on the model."
        "\n`promptlint providers NAME` shows one with its sources; NAME is a provider or a model.\n"
    )
    return paint(line(_HEADINGS), "dim") + "".join(map(line, rows)) + legend


def _summary(known: Facts) -> tuple[str, ...]:
    return (
        known.provider,
        {"explicit": "when asked", "automatic": "by itself"}.get(known.trigger, "unknown"),
        f"{'' if known.minimum_known else '~'}{known.minimum:,}",
        _read(known),
        _written(known),
        _lifetime(known),
        str(known.as_of or ""),
        known.confidence,
    )


def _read(known: Facts) -> str:
    return "?" if known.read is None else f"{known.read:g}"


def _written(known: Facts) -> str:
    return ", ".join(f"{price:g} ({ttl})" for ttl, price in known.write) or ("?" if known.read is None else "1")


def _lifetime(known: Facts) -> str:
    if known.ttls:
        return ", ".join(known.ttls)
    return ago(known.ttl_seconds) if known.ttl_seconds else "no promise"


def details(known: Facts, *, color: bool, width: int) -> str:
    """All that is known for one provider, or for one of its models, with sources."""
    return "".join(f"{line}\n" for line in _details(known, Paint(color), width))


def _details(known: Facts, paint: Paint, width: int) -> Iterator[str]:
    yield paint(f"{known.provider}{f', {known.model}' if known.model else ''}", "bold")
    for label, value in _fields(known):
        yield from _wrapped(f"  {label}: ", value, width)
    rows = model_rows(known.provider) if not known.model and known.provider in providers() else ()
    if rows:
        yield "  by model (regular expressions, the first that is found counts):"
        for row in rows:
            stated = [f"{key} {_value(value)}" for key, value in row.items() if key not in _ABOUT]
            about = _stamp(row["sources"], row["as_of"], row["confidence"])
            yield from _wrapped("    ", f"{row['pattern']}: {', '.join(stated)} [{about}]", width)
    if known.invalidation:
        yield "  a change of parameters costs:"
        for change in known.invalidation:
            lost = ", ".join(change.drops) + (f"; by model {', '.join(change.may_drop)}" if change.may_drop else "")
            about = _stamp(change.sources, change.as_of, change.confidence)
            yield from _wrapped("    ", f"{', '.join(change.parameters)} ({change.change}): {lost} [{about}]", width)
    for title, notes in (("watch out", known.pitfalls), ("sources differ", known.disputed)):
        if notes:
            yield f"  {title}:"
            for note in notes:
                yield from _wrapped("    - ", note, width)
    yield f"  as of {known.as_of}, confidence {known.confidence}, {known.source}"
    tags = [*known.sources, *(tag for row in rows for tag in row["sources"])]
    for tag in dict.fromkeys([*tags, *(tag for change in known.invalidation for tag in change.sources)]):
        yield from _wrapped(f"    {tag}: ", source(tag), width)


def _stamp(sources: Sequence[str], as_of: date | None, confidence: str) -> str:
    return f"{', '.join(sources)} {as_of} {confidence}".strip()


_ABOUT = ("pattern", "sources", "as_of", "confidence")


def _value(value: object) -> str:
    if isinstance(value, tuple):
        pairs = [f"{item[0]} {item[1]:g}" if isinstance(item, tuple) else str(item) for item in value]
        return " ".join(pairs) or "none"
    return str(value).lower() if isinstance(value, bool) else f"{value}" if value != "" else "none"


def _fields(known: Facts) -> Iterator[tuple[str, str]]:
    if not known.caches:
        yield "caching", "this model is known not to cache, or to give no discount for it"
        return
    yield (
        "caches",
        {
            "explicit": "only what a request asks for",
            "automatic": "by itself",
            "unknown": "not known",
        }[known.trigger],
    )
    if known.marker:
        limit = f", at most {known.max_breakpoints}" if known.max_breakpoints else ""
        too_many = {"error": " (more are an error)", "dropped": " (the latest are kept)"}.get(known.too_many, "")
        yield "marker on a block", f"{known.marker}{limit}{too_many}"
    if known.converse_marker and known.converse_marker != known.marker:
        yield "in the Converse API", known.converse_marker
    if known.request_marker:
        yield "for the whole request", known.request_marker
    least = "" if known.minimum_known else " at the least: it depends on the model"
    yield "smallest prefix", f"{known.minimum:,} tokens{least}"
    yield "order on the wire", ", ".join(known.order)
    if known.granularity > 1:
        yield "in steps of", f"{known.granularity:,} tokens"
    if known.lookback:
        yield "lookback", f"{known.lookback} blocks ahead of a marker"
    if known.window:
        yield "read window", f"{known.window} breakpoints"
    yield "price of a cached token", _read(known)
    if known.read_unmarked is not None:
        yield "without a marker", f"{known.read_unmarked:g}, and writing costs nothing extra"
    yield "price of a written token", _written(known)
    if known.storage is not None:
        yield "price of keeping a token in a cache object for an hour", f"{known.storage:g}"
    yield "lifetime", _lifetime(known)
    if known.retentions:
        yield "values of prompt_cache_retention", ", ".join(known.retentions)
    if known.concurrent:
        yield "requests sent together", "the others read what the first one has begun to store"
    if known.forgets_thinking:
        yield "thinking of earlier turns", "taken out by the server when the user speaks again"
    if known.routing:
        yield "keeps requests together", known.routing
    for label, paths in (("input", known.usage_input), ("read", known.usage_read), ("written", known.usage_write)):
        if paths:
            yield f"usage, {label}", ", ".join(paths)
    if known.input_includes_cached is not None:
        yield "input tokens include cached ones", "yes" if known.input_includes_cached else "no"
    if known.isolation:
        yield "shared within", known.isolation
    if known.diagnostics:
        yield "diagnostics", known.diagnostics
    if known.unmarkable:
        yield "takes no marker", ", ".join(known.unmarkable)
    if known.prewarm_refuses:
        yield "not beside max_tokens = 0", ", ".join(known.prewarm_refuses)
    if known.refuses:
        yield "refuses", ", ".join(known.refuses)
    if known.object_conflicts:
        yield "not beside a cache object", ", ".join(known.object_conflicts)


def _wrapped(lead: str, text: str, width: int) -> list[str]:
    indent = " " * (len(lead) if lead.isspace() or lead.endswith("- ") else len(lead) - len(lead.lstrip()) + 2)
    return wrap(lead + text, max(width, 40), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
