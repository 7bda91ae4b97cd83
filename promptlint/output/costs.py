"""``promptlint cost``: what a layout costs, as a table with bars and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promptlint.cost import Estimate, Layout, Row, thousands
from promptlint.output import words
from promptlint.output.jsonformat import VERSION, dumps
from promptlint.output.paint import Paint
from promptlint.prices import HINT, available
from promptlint.simulator.exchange import ago

_BAR = "█"
_COSTS = "costs as much as"


def render(estimate: Estimate, *, color: bool, width: int, source: str = "") -> str:
    """The table, the bars and what to take from them; ``source`` says where the numbers are from."""
    return "".join(f"{line}\n" for line in _lines(estimate, Paint(color), width, source))


def _lines(estimate: Estimate, paint: Paint, width: int, source: str) -> Iterator[str]:
    facts = estimate.facts
    yield paint(f"{facts.model or 'no model'} ({facts.provider}): {_layout(estimate)}", "bold")
    if source:
        yield source
    yield _prices(estimate)
    yield ""
    yield from _table(estimate, paint)
    yield ""
    yield from _bars(estimate, paint, width)
    yield f"{'':{max(len(row.name) for row in estimate.rows)}}  | = no caching" if _cheaper(estimate) else ""
    yield ""
    yield from _advice(estimate)
    yield from (f"Note: {note}." for note in estimate.notes)
    yield f"Facts: {facts.source}, as of {facts.as_of}, confidence {facts.confidence}."


def _layout(estimate: Estimate) -> str:
    layout = estimate.layout
    kind = "carried on to the next turn (a conversation)" if layout.grow else "not carried on (independent questions)"
    answers = f" and {words.count(layout.output, 'token')} of answer" if layout.output else ""
    return (
        f"a prefix of {words.count(layout.prefix, 'token')}, {words.count(layout.turns, 'turn')} "
        f"{ago(layout.gap)} apart with {layout.new:,} new tokens{answers} each, {kind}"
    )


def _prices(estimate: Estimate) -> str:
    facts = estimate.facts
    if not facts.caches:
        return "There are no prices for cached tokens."
    read = "unknown" if facts.read is None else f"{facts.read:g}"
    written = ", ".join(f"{price:g} ({ttl})" for ttl, price in facts.write) or "1"
    kept = f", kept in a cache object {facts.storage:g} an hour" if facts.storage is not None else ""
    dollars = (
        "" if estimate.rows[0].dollars is not None else f"; no dollars: {'model not listed' if available() else HINT}"
    )
    return f"Prices in uncached input tokens: read {read}, written {written}{kept}{dollars}."


def _table(estimate: Estimate, paint: Paint) -> Iterator[str]:
    rows, plain = estimate.rows, estimate.rows[0]
    lifetimes = list(dict.fromkeys(ttl for row in rows for ttl, _ in row.written))
    columns = {"": [row.name for row in rows], "read": [thousands(row.read) for row in rows]}
    if len(lifetimes) > 1:
        for ttl in lifetimes:
            columns[f"written {ttl}"] = [thousands(dict(row.written).get(ttl, 0)) for row in rows]
    else:
        columns["written"] = [thousands(total(row.written)) for row in rows]
    columns["uncached"] = [thousands(row.uncached) for row in rows]
    if any(row.storage for row in rows):
        columns["kept (token hours)"] = [thousands(row.storage) for row in rows]
    columns[_COSTS] = [thousands(row.weight) for row in rows]
    columns[" "] = [_saved(row, plain) for row in rows]
    if plain.dollars is not None:
        columns["dollars"] = [_dollars(row.dollars or 0.0) for row in rows]
    sizes = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}

    def line(cells: Iterable[str]) -> str:
        pairs = zip(columns, cells, strict=True)
        shown = [cell.rjust(sizes[name]) if name.strip() else cell.ljust(sizes[name]) for name, cell in pairs]
        return "  ".join(shown).rstrip()

    yield paint(line(columns), "dim")
    yield from map(line, zip(*columns.values(), strict=True))


def total(written: Sequence[tuple[str, int]]) -> int:
    """Tokens written for any lifetime."""
    return sum(tokens for _, tokens in written)


def _dollars(amount: float) -> str:
    return f"{amount:,.4f}" if amount < 0.01 else f"{amount:,.2f}"


def _saved(row: Row, plain: Row) -> str:
    if row is plain or not plain.weight:
        return ""
    change = row.weight / plain.weight - 1
    if abs(change) < 0.005:
        return "the same"
    return f"{-change:.0%} saved" if change < 0 else f"{change:.0%} dearer"


def _cheaper(estimate: Estimate) -> bool:
    return any(row.weight < estimate.rows[0].weight for row in estimate.rows)


def _bars(estimate: Estimate, paint: Paint, width: int) -> Iterator[str]:
    names = max(len(row.name) for row in estimate.rows)
    most = max(row.weight for row in estimate.rows) or 1
    room = max(10, min(60, width - names - 12))
    limit = round(estimate.rows[0].weight / most * room)
    for row in estimate.rows:
        length = max(1, round(row.weight / most * room))
        style = (
            "red" if row.weight > estimate.rows[0].weight else "green" if row.weight < estimate.rows[0].weight else ""
        )
        bar = _BAR * length
        shown = paint(bar, style) if style else bar
        mark = " " * (limit - length - 1) + "|" if length < limit else ""
        yield f"{row.name:{names}}  {shown}{mark}{' ' * (room - length - len(mark))}  {thousands(row.weight)}"


def _advice(estimate: Estimate) -> Iterator[str]:
    if not estimate.rows[1].read:  # the notes say why
        return
    pays = [(ttl, requests) for ttl, requests in estimate.pays_from if requests is not None]
    if pays:
        parts = [f"{requests:,} requests in time{f' ({ttl})' if ttl else ''}" for ttl, requests in pays]
        yield f"Caching the prefix pays from {words.listing(parts)}."
    if estimate.objects:
        within = estimate.by_ttl[0][1].weight < estimate.rows[0].weight
        what = f"a cache object, made anew each {estimate.ttl}, pays" if within else "a cache object does not pay"
        yield f"At a gap of {ago(estimate.layout.gap)}: {what}."
    elif len(estimate.by_ttl) > 1:
        costs = [f"{ttl} {thousands(row.weight)}" for ttl, row in estimate.by_ttl]
        choice = f"take {estimate.best}" if estimate.best else "no lifetime pays: do not cache"
        yield f"At a gap of {ago(estimate.layout.gap)}: {', '.join(costs)}: {choice}."


def render_json(estimate: Estimate) -> str:
    """The same for other programs, version 1."""
    layout, facts = estimate.layout, estimate.facts

    def row(row: Row) -> dict[str, object]:
        return {
            "name": row.name,
            "read": row.read,
            "written": total(row.written),
            "written_by_ttl": dict(row.written),
            "uncached": row.uncached,
            "storage_token_hours": round(row.storage, 3),
            "equivalent_tokens": round(row.weight, 3),
            "dollars": None if row.dollars is None else round(row.dollars, 6),
            "hits": row.hits,
        }

    return dumps(
        {
            "version": VERSION,
            "provider": facts.provider,
            "model": facts.model,
            "prefix": layout.prefix,
            "new": layout.new,
            "turns": layout.turns,
            "gap": layout.gap,
            "grow": layout.grow,
            "output_tokens": layout.output,
            "code": _written(layout),
            "ttl": estimate.ttl or None,
            "rows": [row(r) for r in estimate.rows],
            "by_ttl": {ttl: row(r) for ttl, r in estimate.by_ttl},
            "best_ttl": estimate.best or None,
            "pays_from_requests": dict(estimate.pays_from),
            "notes": list(estimate.notes),
        }
    )


def _written(layout: Layout) -> dict[str, object] | None:
    """What the code makes of the prefix, where it was read from code that breaks it."""
    found = layout.written
    if found is None:
        return None
    marked = {"marked_ahead": found.marked_ahead, "marked_behind": found.marked_behind}
    return {"ahead": found.ahead, "behind": layout.prefix - found.ahead, **marked}
