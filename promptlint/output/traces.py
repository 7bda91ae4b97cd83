"""A trace for the terminal: what was spent, what was lost and where, the dearest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from promptlint.cost import thousands
from promptlint.output import tracewords, words
from promptlint.prices import HINT, available
from promptlint.simulator.exchange import ago
from promptlint.trace.analysis import Analysis
from promptlint.trace.matching import Comparison
from promptlint.trace.tally import Group, Totals

_GROUPS, _ROWS = 12, 8
_BLOCKS = " ▁▂▃▄▅▆▇█"


def render(analysis: Analysis, comparison: Comparison | None, *, color: bool, width: int) -> str:
    """The report on a trace."""
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=color, color_system="standard" if color else None, highlight=False
    )
    for item in _report(analysis, comparison, width):
        console.print(item, soft_wrap=isinstance(item, str), markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _report(analysis: Analysis, comparison: Comparison | None, width: int) -> Iterator[str | Text | Table | Padding]:
    tally = analysis.tally
    if not tally.totals.requests:
        yield Text("No request to a language model is in the trace.", "bold")
        yield from _notes(analysis)
        return
    yield Text(_heading(analysis), "bold")
    yield from _sums(tally.totals)
    yield from _chart(analysis, width)
    yield ""
    groups = tally.ranked()
    if groups:
        yield Text("What was lost, the dearest first", "bold")
        for number, group in enumerate(groups[:_GROUPS], 1):
            yield ""
            yield from _group(number, group, tally.totals, comparison)
        if len(groups) > _GROUPS:
            yield f"\nand {len(groups) - _GROUPS:,} more kinds of loss; --output-format json has them all"
    else:
        yield Text("Nothing was lost that the program could have kept.", "green")
    yield ""
    yield from _tables(analysis)
    if comparison:
        yield from _comparison(comparison, groups)
    yield from _prediction(tally.totals)
    yield from _notes(analysis)


def _heading(analysis: Analysis) -> str:
    tally = analysis.tally
    conversations = words.count(tally.conversation_count, "conversation")
    text = f"{words.count(tally.totals.requests, 'request')} in {conversations}"
    times = list(tally.timeline.items())
    if times and tracewords.moment(times[0][0]):
        text += f", from {tracewords.moment(times[0][0])} on (UTC)"
    return text + (f", {tally.totals.failed:,} failed" if tally.totals.failed else "")


def _sums(totals: Totals) -> Iterator[Text]:
    ratio = totals.hit_ratio
    if ratio is None:
        yield Text("No answer says what was read from the cache: figures below are predictions.", "yellow")
    else:
        rest = totals.total - totals.read - totals.written
        yield Text.assemble(
            f"{words.count(totals.total, 'input token')}: ",
            (f"{ratio:.1%} read from the cache", "green" if ratio > 0.5 else "yellow"),
            f" ({thousands(totals.read)}), {thousands(totals.written)} written, {thousands(rest)} neither",
        )
    if totals.lost:
        share = totals.lost_weight / totals.weight if totals.weight else 0
        money = f", {tracewords.dollars(totals.lost_dollars)} of {tracewords.dollars(totals.dollars)}"
        yield Text.assemble(
            (f"Lost: {words.count(totals.lost, 'token')} paid for again", "red"),
            f", {share:.0%} of what the input cost{money if totals.dollars else ''}",
        )
    if not totals.dollars:
        yield Text(f"No dollars: {'no model of the trace is listed' if available() else HINT}.", "dim")


def _chart(analysis: Analysis, width: int) -> Iterator[Text]:
    """Two rows of blocks: input tokens over time, and the part of them that was lost."""
    items = list(analysis.tally.timeline.items())
    if len(items) < 3:
        return
    timeline = analysis.tally.timeline
    first, last = min(timeline.buckets), max(timeline.buckets)
    room = max(10, min(72, width - 12))
    sums = [[0, 0] for _ in range(min(room, last - first + 1))]
    for number, bucket in timeline.buckets.items():
        place = (number - first) * len(sums) // (last - first + 1)
        sums[place][0] += bucket.read + bucket.written + bucket.uncached
        sums[place][1] += bucket.lost
    most = max(total for total, _ in sums) or 1
    span = ago((last - first + 1) * timeline.seconds)
    for name, index, style in (("input", 0, "blue"), ("lost", 1, "red")):
        bars = "".join(_BLOCKS[-(-pair[index] * 8 // most)] for pair in sums)
        yield Text.assemble(f"{name:6}", (bars, style), f"  {span}" if index == 0 else "")


def _group(number: int, group: Group, totals: Totals, comparison: Comparison | None) -> Iterator[Text | Padding]:
    share = group.totals.lost_weight / totals.lost_weight if totals.lost_weight else 0
    money = f", {tracewords.dollars(group.totals.lost_dollars)}" if group.totals.lost_dollars else ""
    lost = (
        f"{words.count(group.totals.lost, 'token')} lost{money} ({share:.0%})"
        if group.totals.lost
        else "nothing to lose"
    )
    requests = words.count(group.totals.requests, "request")
    yield Text.assemble(f"{number:2}. ", (tracewords.cause(group), "bold red"), f": {requests}, {lost}")
    yield _indented(tracewords.site(group.site), "cyan")
    for line in tracewords.facts(group):
        yield _indented(line)
    example = group.example
    if example.before or example.after:
        before, after = tracewords.pair(group.cause, group.example.before, group.example.after)
        yield _indented(f"before  {before}", "green")
        yield _indented(f"now     {after}", "red")
    yield _indented(tracewords.compared(group), "dim")
    if comparison and group.site:
        found = comparison.predicted[number - 1]
        said = "; ".join(f"{one.rule} at {words.spot(one.primary)}" for one in found[:3])
        yield _indented(f"check predicts it: {said}" if found else "check does not predict it", "magenta")
    yield _indented(tracewords.advice(group.cause))


def _indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style), (0, 0, 0, 4))


def _tables(analysis: Analysis) -> Iterator[Table]:
    tally = analysis.tally
    causes = {str(cause): totals for cause, totals in tally.causes.items()}
    models = {f"{model} ({provider})": totals for (provider, model), totals in tally.models.items()}
    sites = {tracewords.site(site): totals for site, totals in tally.sites.items()}
    conversations = {f"conversation {number}": totals for number, totals in tally.conversations.items()}
    yield _table("Outcome", causes, by_lost=False)
    yield _table("Model", models)
    if any(tally.sites):
        yield _table("Call site", sites)
    if len(conversations) > 1:
        yield _table("Conversation", conversations)


def _table(heading: str, rows: Mapping[str, Totals], *, by_lost: bool = True) -> Table:
    money = any(totals.dollars for totals in rows.values())
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(heading, overflow="fold", ratio=1)
    for name in ("requests", "input", "hit ratio", "lost", *(("$ spent", "$ lost") if money else ())):
        table.add_column(name, justify="right", no_wrap=True)

    def worth(item: tuple[str, Totals]) -> tuple[float, int]:
        return (-item[1].lost_weight if by_lost else 0.0, -item[1].requests)

    ranked = sorted(rows.items(), key=worth)
    for name, totals in ranked[: _ROWS if by_lost else None]:
        table.add_row(*_cells(name, totals, money))
    if by_lost and len(ranked) > _ROWS:
        others = Totals()
        for _, totals in ranked[_ROWS:]:
            others += totals
        table.add_row(*_cells(f"{len(ranked) - _ROWS:,} others", others, money))
    table.add_row()
    return table


def _cells(name: str, totals: Totals, money: bool) -> list[str]:
    ratio = "" if totals.hit_ratio is None else f"{totals.hit_ratio:.1%}"
    lost = thousands(totals.lost) if totals.lost else ""
    cells = [tracewords.shown(name), f"{totals.requests:,}", thousands(totals.total), ratio, lost]
    return [*cells, f"{totals.dollars:,.2f}", f"{totals.lost_dollars:,.2f}"] if money else cells


def _comparison(comparison: Comparison, groups: Sequence[Group]) -> Iterator[Text | Padding]:
    confirmed, unseen = comparison.count("confirmed"), comparison.count("not seen")
    known = [found for group, found in zip(groups, comparison.predicted, strict=True) if group.site]
    told = sum(bool(found) for found in known)
    yield Text("The findings of check beside the trace", "bold")
    idle = comparison.count("not exercised")
    yield _indented(
        f"{confirmed:,} confirmed, {unseen:,} predicted but not seen, {idle:,} that this trace cannot show;"
        f" {told:,} of {words.count(len(known), 'kind')} of loss predicted"
    )
    for match in comparison.matches:
        if match.verdict == "not seen":
            yield _indented(f"not seen: {match.finding.rule} at {words.spot(match.finding.primary)}", "dim")
    yield Text("")


def _prediction(totals: Totals) -> Iterator[Text]:
    if totals.compared:
        told = _agreement(totals.predicted, totals.compared_read, "read", totals.agreed, totals.compared)
        yield Text(f"The simulator expected {told}.", "dim")
    if totals.writes:
        told = _agreement(
            totals.predicted_written, totals.compared_written, "written", totals.writes_agreed, totals.writes
        )
        yield Text(f"It expected {told}.", "dim")


def _agreement(expected: int, counted: int, what: str, agreed: int, compared: int) -> str:
    tokens = f"{thousands(expected)} tokens to be {what}, and {thousands(counted)} were"
    return f"{tokens}; {agreed:,} of {words.count(compared, 'request')} came out as expected"


def _notes(analysis: Analysis) -> Iterator[str]:
    for problem in analysis.problems:
        yield f"Note: {tracewords.shown(str(problem))}"
    if analysis.skipped > len(analysis.problems):
        yield f"Note: {analysis.skipped:,} records were left out in all."
    if analysis.closed:
        yield (
            f"Note: {analysis.closed:,} conversations that nothing was heard of for long were closed to save memory; if"
            " they went on, that counts as a new conversation."
        )
