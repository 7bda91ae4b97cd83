"""``promptlint cost``: what a layout costs, as a table with bars and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from promptlint.cost import Estimate, Row, thousands
from promptlint.output import words
from promptlint.output.jsonformat import VERSION, dumps
from promptlint.output.paint import Paint
from promptlint.prices import HINT, available
from promptlint.simulator.exchange import ago

_BAR = "█"
_HEADINGS = ("", "read", "written", "uncached", "costs as much as", "", "dollars")


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
    read = "unknown" if facts.read is None else f"{facts.read:g}"
    written = ", ".join(f"{price:g} ({ttl})" for ttl, price in facts.write) or "1"
    dollars = (
        "" if estimate.rows[0].dollars is not None else f"; no dollars: {'model not listed' if available() else HINT}"
    )
    return f"Prices in uncached input tokens: read {read}, written {written}{dollars}."


def _table(estimate: Estimate, paint: Paint) -> Iterator[str]:
    plain = estimate.rows[0]
    rows = [
        (
            row.name,
            thousands(row.read),
            thousands(row.written),
            thousands(row.uncached),
            thousands(row.weight),
            _saved(row, plain),
            "" if row.dollars is None else f"{row.dollars:,.4f}" if row.dollars < 0.01 else f"{row.dollars:,.2f}",
        )
        for row in estimate.rows
    ]
    columns = [column for column in range(len(_HEADINGS)) if any(row[column] for row in rows)]
    sizes = {column: max(len(row[column]) for row in [_HEADINGS, *rows]) for column in columns}

    def line(cells: tuple[str, ...]) -> str:
        shown = [
            cells[column].ljust(sizes[column]) if column in (0, 5) else cells[column].rjust(sizes[column])
            for column in columns
        ]
        return "  ".join(shown).rstrip()

    yield paint(line(_HEADINGS), "dim")
    yield from map(line, rows)


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
        parts = [f"{requests} requests in time{f' ({ttl})' if ttl else ''}" for ttl, requests in pays]
        yield f"Caching the prefix pays from {words.listing(parts)}."
    if len(estimate.by_ttl) > 1:
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
            "written": row.written,
            "uncached": row.uncached,
            "equivalent_tokens": round(row.weight, 3),
            "dollars": row.dollars,
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
            "ttl": estimate.ttl or None,
            "rows": [row(r) for r in estimate.rows],
            "by_ttl": {ttl: row(r) for ttl, r in estimate.by_ttl},
            "best_ttl": estimate.best or None,
            "pays_from_requests": dict(estimate.pays_from),
            "notes": list(estimate.notes),
        }
    )
