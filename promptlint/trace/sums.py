"""The report on any number of traces from the outcomes that were written of them: DuckDB adds the rows up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlint.trace import duck
from promptlint.trace.analysis import Analysis
from promptlint.trace.explain import SOUND, Cause
from promptlint.trace.format import Frame
from promptlint.trace.outcomes import COLUMNS, SUMMED, VERSION
from promptlint.trace.tally import BUCKETS, MOST, ROWS, SEVERAL, Bucket, Example, Group, Row, Spread, Tally, Totals
from promptlint.trace.texts import Change

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SUMS = ", ".join(f"sum({name})" for name in SUMMED)
_NUMBERED = """
CREATE TEMP TABLE numbers AS
SELECT trace, conversation, row_number() OVER (ORDER BY min(example."at"), trace, conversation) AS number
FROM outcomes WHERE conversation > 0 GROUP BY trace, conversation
"""


def summed(files: Sequence[Path]) -> Analysis:
    """The report on outcomes in JSON Lines and Parquet files. Raises ``OSError`` and ``duck.MissingError``."""
    connection = duck.connect("outcomes of traces are added up by")
    try:
        with duck.told(files[0] if len(files) == 1 else "the outcomes"):
            _open(connection, files)
            return Analysis(tuple(map(str, files)), _tally(connection))
    finally:
        connection.close()


def _open(connection: DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Makes all rows the view ``outcomes``. Raises ``OSError`` for those of a later version."""
    packed = [file for file in files if duck.is_parquet(file)]
    plain = [file for file in files if file not in packed]
    sources = [duck.tables(packed)] if packed else []
    sources += [duck.lines(plain, COLUMNS)] if plain else []
    chosen = " UNION ALL ".join(f"SELECT {', '.join(COLUMNS)} FROM {source}" for source in sources)
    connection.execute(f"CREATE TEMP VIEW outcomes AS {chosen}")
    [newest] = connection.execute("SELECT max(outcome) FROM outcomes").fetchone() or (None,)
    if newest is not None and newest > VERSION:
        raise OSError(0, f"outcomes of version {newest}: a newer promptlint wrote them", "outcomes")
    connection.execute(_NUMBERED)


def _tally(connection: DuckDBPyConnection) -> Tally:
    tally = Tally()
    whole = connection.execute(f"SELECT {_SUMS} FROM outcomes HAVING count(*) > 0").fetchone()
    if whole is None:
        return tally
    tally.totals = Totals(*whole)
    tally.causes = {_cause(cause): totals for (cause,), totals in _by(connection, "cause")}
    tally.models = {(provider, model): totals for (provider, model), totals in _by(connection, "provider", "model")}
    tally.sites = {_site(site): totals for (site,), totals in _by(connection, "site")}
    _spreads(connection, tally)
    [tally.conversation_count] = connection.execute("SELECT count(*) FROM numbers").fetchall()[0]
    _conversations(connection, tally)
    for values in connection.execute(
        f"SELECT cause, site, region, place, arg_max(example, lost), list_distinct(list(model)), {_SUMS} FROM outcomes"
        f" WHERE cause NOT IN ({', '.join(duck.quoted(str(cause)) for cause in SOUND)}) GROUP BY ALL"
    ).fetchall():
        cause, site, region, place, example, models, *sums = values
        group = Group(_cause(cause), _site(site), region, place, Totals(*sums), _example(example), {*models})
        tally.groups[cause, group.site, region, place] = group
    _timeline(connection, tally)
    tally.rows = list(_rows(connection))
    return tally


def _by(connection: DuckDBPyConnection, *keys: str) -> Iterator[tuple[tuple[Any, ...], Totals]]:
    """The totals by the values of columns, those with most requests first."""
    asked = f"SELECT {', '.join(keys)}, {_SUMS} FROM outcomes GROUP BY {', '.join(keys)} ORDER BY sum(requests) DESC"
    for values in connection.execute(asked).fetchall():
        yield values[: len(keys)], Totals(*values[len(keys) :])


def _spreads(connection: DuckDBPyConnection, tally: Tally) -> None:
    found = connection.execute(
        f"SELECT site, list(DISTINCT [trace, conversation::VARCHAR])[:{SEVERAL}],"
        f" list(DISTINCT [trace, process::VARCHAR])[:{SEVERAL}] FROM outcomes GROUP BY site"
    )
    for site, conversations, processes in found.fetchall():
        tally.spreads[_site(site)] = Spread({*map(tuple, conversations)}, {*map(tuple, processes)})


def _conversations(connection: DuckDBPyConnection, tally: Tally) -> None:
    """Those that lost most one by one, the others as one sum."""
    ranked = (
        f"SELECT coalesce(number, 0), {_SUMS} FROM outcomes LEFT JOIN numbers USING (trace, conversation)"
        " GROUP BY 1 ORDER BY sum(lost_weight) DESC, 1"
    )
    for number, *sums in connection.execute(f"{ranked} LIMIT {MOST}").fetchall():
        tally.conversations[number] = Totals(*sums)
    for name in SUMMED:
        rest = getattr(tally.totals, name) - sum(getattr(t, name) for t in tally.conversations.values())
        setattr(tally.others, name, rest)


def _timeline(connection: DuckDBPyConnection, tally: Tally) -> None:
    found = connection.execute('SELECT min(example."at"), max(example."at") FROM outcomes').fetchone()
    if not found or found[0] is None:
        return
    timeline = tally.timeline
    timeline.start, last = found
    while (last - found[0]) / timeline.seconds >= BUCKETS:
        timeline.seconds *= 2
    asked = (
        'SELECT CAST(floor((example."at" - ?) / ?) AS BIGINT), sum(requests), sum(read), sum(written),'
        " sum(total - read - written), sum(lost) FROM outcomes GROUP BY 1"
    )
    for number, *sums in connection.execute(asked, [found[0], timeline.seconds]).fetchall():
        timeline.buckets[number] = Bucket(*sums)


def _rows(connection: DuckDBPyConnection) -> Iterator[Row]:
    asked = (
        'SELECT example.request, example."at", coalesce(number, 0), site, model, size,'
        " CASE WHEN reported > 0 THEN read END, written, expected_read, expected_written, cause, lost"
        f' FROM outcomes LEFT JOIN numbers USING (trace, conversation) ORDER BY example."at" LIMIT {ROWS}'
    )
    for request, at, number, site, model, size, read, written, expected, stored, cause, lost in connection.execute(
        asked
    ).fetchall():
        yield Row(request, at, number, _site(site), model, size, read, written, expected, stored, _cause(cause), lost)


def _cause(name: str) -> Cause | Change:
    return Change(name) if name in {*Change} else Cause(name)


def _site(frames: Sequence[Mapping[str, Any]] | None) -> tuple[Frame, ...]:
    return tuple(Frame(**frame) for frame in frames or ())


def _example(found: Mapping[str, Any]) -> Example:
    return Example(**{**found, "names": tuple(found["names"] or ())})
