"""Which fixes are made: those after which the engine no longer finds the cause, applied until there are no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from promptlint.answers.suppress import UNUSED
from promptlint.finding import Applicability, Edit, Finding, Fix, Region, Severity
from promptlint.fix import proposals
from promptlint.fix.edits import Lines, meet
from promptlint.fix.files import Files
from promptlint.fix.proposals import Proposal
from promptlint.fix.write import Rewrite
from promptlint.report import Report
from promptlint.span import Span

_ROUNDS = 30
TRIED = frozenset([Applicability.SAFE, Applicability.UNSAFE])

Analyse = Callable[[Mapping[Path, str], Set[str] | None], Report]
"""Makes the report on the project with texts that stand in for files; of requests sent in some of its files only."""
Listed = Callable[[Report], Sequence[Finding]]
_Line = tuple[str, int]
_MESSAGES = frozenset([Region.FIRST_MESSAGE, Region.MID_HISTORY, Region.LAST_MESSAGE])


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to rewrite, how many fixes that makes, and the report on the code as it will be."""

    rewrites: tuple[Rewrite, ...]
    changes: int
    report: Report


@dataclass(frozen=True, slots=True)
class _Trial:
    """Proposals that were made together: those that do what they should, those that do not, and what comes of it."""

    good: list[Proposal]
    bad: list[Proposal]
    ended: set[Finding]
    texts: dict[str, str]
    report: Report


def make(report: Report, listed: Listed, analyse: Analyse, *, unsafe: bool = False) -> Plan:
    """Plans the fixes for the findings that ``listed`` picks from a report; ``unsafe`` ones only where asked for.

    Nothing is written. Raises FixError when a file is no longer what was analysed.
    """
    allowed = {Applicability.SAFE, *((Applicability.UNSAFE,) if unsafe else ())}
    files = Files(report, {})
    hopeless: set[object] = set()
    changes = 0

    def may(proposal: Proposal) -> bool:
        return proposal.fix.applicability in allowed and _key(proposal, files) not in hopeless

    for _ in range(_ROUNDS):
        batch = _together(_best(proposals.make(report, listed(report), files), may))
        if not batch:
            break
        trial = _tried(batch, files, report, lambda texts: analyse(texts, None))
        hopeless |= {_key(proposal, files) for proposal in trial.bad}
        if trial.good:
            changes += len(trial.good)
            files.keep(trial.texts, trial.report)
            report = trial.report
    rewrites = (Rewrite(files.originals[path], text) for path, text in sorted(files.texts.items()))
    return Plan(tuple(r for r in rewrites if r.text != r.source.text), changes, report)


def with_fixes(
    report: Report, listed: Listed, analyse: Analyse, texts: Mapping[str, str], *, tried: Set[Applicability] = TRIED
) -> Report:
    """The report with the fixes of the findings that ``listed`` picks, each of them tried on the requests it is about.

    A trial can take as long as the run did: fixes of an applicability that is not among ``tried`` only leave valid
    Python. ``texts`` stand in for what is on the disk, by absolute path. Raises FixError as ``make`` does.
    """
    files = Files(report, texts)
    found = proposals.make(report, listed(report), files)
    good = {p for p in found if p.fix.applicability not in tried and files.stay_valid(p.fix.edits)}
    ended = {finding for proposal in good for finding in proposal.findings}

    def may(proposal: Proposal) -> bool:
        return proposal.fix.applicability in tried

    pending = list(_best(found, may))
    while pending:
        trial = _all_tried(pending, files, report, analyse)
        good |= {*trial.good}
        ended |= trial.ended
        pending = list(_best((p.other for p in trial.bad if p.other is not None), may))
    fixes = {finding: _fix_of(finding, good) for finding in ended}
    return replace(report, findings=tuple(replace(f, fix=fixes.get(f, f.fix)) for f in report.findings))


def ways(
    report: Report, listed: Listed, analyse: Analyse, texts: Mapping[str, str]
) -> Mapping[Finding, tuple[Fix, ...]]:
    """All fixes of each finding that ``listed`` picks, best first, each tried by itself as ``with_fixes`` does."""
    files = Files(report, texts)
    found: dict[Finding, list[Fix]] = {}
    pending = proposals.make(report, listed(report), files)
    while pending:
        trial = _all_tried(pending, files, report, analyse)
        for finding in trial.ended:
            known, fix = found.setdefault(finding, []), _fix_of(finding, trial.good)
            known += [fix] if all(fix.edits != other.edits for other in known) else []
        pending = [proposal.other for proposal in pending if proposal.other is not None]
    return {finding: tuple(fixes) for finding, fixes in found.items()}


def _all_tried(pending: list[Proposal], files: Files, report: Report, analyse: Analyse) -> _Trial:
    """What becomes of proposals that are tried on the requests they are about, together where they do not meet."""
    concerned = {s.span.path for p in pending for f in p.findings for s in (f.site, *f.also)}
    part = replace(
        report,
        findings=tuple(f for f in report.findings if f.site.span.path in concerned),
        requests=tuple(r for r in report.requests if r.site.span.path in concerned),
    )
    whole = _Trial([], [], set(), {}, report)
    while pending:
        trial = _tried(_together(pending), files, part, lambda texts: analyse(texts, concerned))
        whole = replace(
            whole, good=[*whole.good, *trial.good], bad=[*whole.bad, *trial.bad], ended=whole.ended | trial.ended
        )
        pending = [p for p in pending if p not in whole.good and p not in whole.bad]
    return whole


def _fix_of(finding: Finding, good: Iterable[Proposal]) -> Fix:
    """The fixes that end a finding as one, with the ways out that its rule names."""
    mine = [proposal for proposal in good if finding in proposal.findings]
    edits = {edit for proposal in mine for edit in proposal.fix.edits}
    return replace(mine[0].fix, edits=tuple(sorted(edits)), options=finding.fix.options if finding.fix else ())


def _best(found: Iterable[Proposal], may: Callable[[Proposal], bool]) -> Iterator[Proposal]:
    """For each proposal the first of those for its findings that may be tried."""
    for proposal in found:
        best = next(filter(may, proposal.all()), None)
        if best is not None:
            yield best


def _together(found: Iterable[Proposal]) -> list[Proposal]:
    """The proposals that can be made at the same time: a later one that meets an earlier one has to wait."""
    chosen: list[Proposal] = []
    taken: list[Edit] = []
    for proposal in found:
        if not any(meet(edit, other) for edit in proposal.fix.edits for other in taken):
            chosen.append(proposal)
            taken += proposal.fix.edits
    return chosen


def _key(proposal: Proposal, files: Files) -> object:
    """What makes a proposal the same one after others have moved its lines."""
    edits = sorted(proposal.fix.edits)
    taken = tuple(module.between(e.span) for e in edits if (module := files.get(e.span.path)) is not None)
    around = tuple(module.lines[e.span.line - 1] for e in edits if (module := files.get(e.span.path)) is not None)
    return proposal.findings[0].rule, edits[0].span.path, taken, around, tuple(edit.text for edit in edits)


def _tried(
    batch: list[Proposal], files: Files, report: Report, analyse: Callable[[Mapping[Path, str]], Report]
) -> _Trial:
    edits = [edit for proposal in batch for edit in proposal.fix.edits]
    texts = files.changed(edits)
    after = analyse(files.overlay(texts))
    change = _Change(report, after, edits)
    failed = change.failed(batch)
    if not failed:
        ended = {f for proposal in batch for f in proposal.findings if not change.stays(f)}
        return _Trial(batch, [], ended, texts, after)
    if len(failed) < len(batch):
        rest = _tried([p for p in batch if p not in failed], files, report, analyse)
        return replace(rest, bad=[*rest.bad, *failed])
    if len(batch) > 1:  # one of them may have spoiled it for all
        return _tried(batch[: len(batch) // 2], files, report, analyse)
    return _Trial([], batch, set(), {}, report)


class _Change:
    """What edits have done: the reports on the code before and after them."""

    def __init__(self, before: Report, after: Report, edits: Sequence[Edit]) -> None:
        self._before, self._after = before, after
        paths = {edit.span.path for edit in edits}
        self._moved = {path: Lines([edit for edit in edits if edit.span.path == path]) for path in paths}

    def _line(self, span: Span, line: int = 0) -> _Line:
        """Where a line is now: that on which a span begins, if it is not given."""
        line = line or span.line
        return span.path, self._moved[span.path][line] if span.path in self._moved else line

    def stays(self, finding: Finding) -> bool:
        """Whether a finding is still there, on the lines that have taken the place of its own.

        Of several comments in vain on a line, each is told apart by its words.
        """
        first = self._line(finding.primary)
        behind = self._line(finding.primary, (finding.primary.end_line or finding.primary.line) + 1)
        return any(
            f.rule == finding.rule
            and f.severity >= finding.severity
            and first <= _line(f.primary) < behind
            and (finding.rule != UNUSED or f.message == finding.message)
            for f in self._after.findings
        )

    def failed(self, batch: list[Proposal]) -> list[Proposal]:
        """The proposals that do not end what they are for; all of them when something else has become worse.

        What is no longer seen at all proves nothing: then all have failed.
        """
        sent = Counter(self._line(request.site.span) for request in self._before.requests)
        if sent != Counter(_line(request.site.span) for request in self._after.requests):
            return batch
        if Counter(_cache_faults(self._after)) - Counter(_cache_faults(self._before)):
            return batch
        was = Counter(self._line(origin) for origin in proposals.unordered(self._before))
        now = Counter(_line(origin) for origin in proposals.unordered(self._after))
        ended = Counter(self._line(proposal.origin) for proposal in batch if proposal.origin is not None)
        return [
            proposal
            for proposal in batch
            if self._moves_trouble(proposal)
            or (proposal.told is not None and not self._is_told(proposal.findings[0].primary, proposal.told))
            or (
                self.stays(proposal.findings[0])
                if proposal.origin is None
                else now[place := self._line(proposal.origin)] > was[place] - ended[place]
            )
        ]

    def _written(self, edit: Edit) -> tuple[_Line, _Line]:
        """The first line that an edit is on now, and the first one behind it."""
        return self._line(edit.span), self._line(edit.span, edit.span.end_line + 1)

    def _moves_trouble(self, proposal: Proposal) -> bool:
        """Whether there is more to find on the lines of the edits than there was, remarks aside."""
        for edit in proposal.fix.edits:
            first, behind = self._written(edit)
            until = edit.span.path, edit.span.end_line + 1
            was = Counter(f.rule for f in _losses(self._before) if _line(edit.span) <= _line(f.primary) < until)
            now = Counter(f.rule for f in _losses(self._after) if first <= _line(f.primary) < behind)
            if now - was:
                return True
        return False

    def _is_told(self, gone: Span, told: Edit) -> bool:
        """Whether every request that had what is gone has a message with the text that an edit has written."""
        sites = {self._line(r.site.span) for r in self._before.requests if any(s.span == gone for s in r.segments)}
        first, behind = self._written(told)
        return bool(sites) and all(
            any(s.region in _MESSAGES and s.text and first <= _line(s.span) < behind for s in request.segments)
            for request in self._after.requests
            if _line(request.site.span) in sites
        )


def _losses(report: Report) -> Iterator[Finding]:
    """The findings that are more than a remark."""
    return (finding for finding in report.findings if finding.severity > Severity.INFO)


def _line(span: Span) -> _Line:
    return span.path, span.line


def _cache_faults(report: Report) -> Iterator[str]:
    """The rules about breakpoints and cache fields, once for each finding."""
    return (finding.rule for finding in report.findings if finding.code.startswith("PL4"))
