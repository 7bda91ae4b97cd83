"""Which fixes are made: those after which the engine no longer finds the cause, applied until there are no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptlint.finding import Applicability, Edit, Finding, Fix
from promptlint.fix import proposals
from promptlint.fix.edits import Lines, meet
from promptlint.fix.files import Files
from promptlint.fix.proposals import Proposal
from promptlint.fix.write import Rewrite
from promptlint.report import Report
from promptlint.span import Span

_ROUNDS = 30

Analyse = Callable[[Mapping[Path, str]], Report]
Listed = Callable[[Report], Sequence[Finding]]
_Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to rewrite, how many fixes that makes, and the report on the code as it will be."""

    rewrites: tuple[Rewrite, ...]
    changes: int
    report: Report


@dataclass(frozen=True, slots=True)
class _Trial:
    """Proposals that were made together: those that do what they should, those that do not, and what is left then."""

    good: list[Proposal]
    bad: list[Proposal]
    texts: dict[str, str]
    report: Report


def make(report: Report, listed: Listed, analyse: Analyse, *, unsafe: bool = False) -> Plan:
    """Plans the fixes for the findings that ``listed`` picks from a report; ``unsafe`` ones only where asked for.

    ``analyse`` makes the report on the project with texts that stand in for files. Nothing is written. Raises FixError
    when a file is no longer what was analysed.
    """
    allowed = {Applicability.SAFE, *((Applicability.UNSAFE,) if unsafe else ())}
    files = Files(report, {})
    hopeless: set[object] = set()
    changes = 0
    for _ in range(_ROUNDS):
        found = [p for p in proposals.make(report, listed(report), files) if p.fix.applicability in allowed]
        batch = _together(p for p in found if _key(p, files) not in hopeless)
        if not batch:
            break
        trial = _tried(batch, files, report, analyse)
        hopeless |= {_key(proposal, files) for proposal in trial.bad}
        if trial.good:
            changes += len(trial.good)
            files.keep(trial.texts, trial.report)
            report = trial.report
    rewrites = (Rewrite(files.originals[path], text) for path, text in sorted(files.texts.items()))
    return Plan(tuple(r for r in rewrites if r.text != r.source.text), changes, report)


def with_fixes(report: Report, listed: Listed, analyse: Analyse, texts: Mapping[str, str]) -> Report:
    """The report with the fixes of the findings that ``listed`` picks, each of them tried.

    ``texts`` stand in for what is on the disk, by absolute path. Raises FixError as ``make`` does.
    """
    files = Files(report, texts)
    pending = proposals.make(report, listed(report), files)
    good: set[Proposal] = set()
    while pending:
        trial = _tried(_together(pending), files, report, analyse)
        good |= {*trial.good}
        pending = [p for p in pending if p not in good and p not in trial.bad]
    fixes = {finding: fix for finding in listed(report) if (fix := _fix_of(finding, good)) is not None}
    return replace(report, findings=tuple(replace(f, fix=fixes.get(f, f.fix)) for f in report.findings))


def _fix_of(finding: Finding, good: Iterable[Proposal]) -> Fix | None:
    """The fix that ends a finding altogether, with the ways out that its rule names."""
    mine = [proposal for proposal in good if finding in proposal.findings]
    if not mine or (finding.rule in proposals.ORDER and len(mine) < len(proposals.origins(finding))):
        return None
    edits = {edit for proposal in mine for edit in proposal.fix.edits}
    return replace(mine[0].fix, edits=tuple(sorted(edits)), options=finding.fix.options if finding.fix else ())


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


def _tried(batch: list[Proposal], files: Files, report: Report, analyse: Analyse) -> _Trial:
    edits = [edit for proposal in batch for edit in proposal.fix.edits]
    texts = files.changed(edits)
    after = analyse(files.overlay(texts))
    failed = _failed(batch, report, after, edits)
    if not failed:
        return _Trial(batch, [], texts, after)
    if len(failed) < len(batch):
        rest = _tried([p for p in batch if p not in failed], files, report, analyse)
        return replace(rest, bad=[*rest.bad, *failed])
    if len(batch) > 1:  # one of them may have spoiled it for all
        return _tried(batch[: len(batch) // 2], files, report, analyse)
    return _Trial([], batch, {}, report)


def _failed(batch: list[Proposal], before: Report, after: Report, edits: Sequence[Edit]) -> list[Proposal]:
    """The proposals that do not end what they are for; all of them when something else has become worse.

    What is no longer seen at all proves nothing: then all have failed.
    """
    moved = {path: Lines([e for e in edits if e.span.path == path]) for path in {e.span.path for e in edits}}

    def line(span: Span) -> _Line:
        return span.path, moved[span.path][span.line] if span.path in moved else span.line

    def here(span: Span) -> _Line:
        return span.path, span.line

    if Counter(line(r.site.span) for r in before.requests) != Counter(here(r.site.span) for r in after.requests):
        return batch
    if Counter(_cache_faults(after)) - Counter(_cache_faults(before)):
        return batch
    was = Counter(line(origin) for origin in {cause.origin for cause, _ in proposals.causes(before)})
    now = Counter(here(origin) for origin in {cause.origin for cause, _ in proposals.causes(after)})
    ended = Counter(line(proposal.origin) for proposal in batch if proposal.origin is not None)
    failed = []
    for proposal in batch:
        if proposal.origin is not None:
            place = line(proposal.origin)
            stays = now[place] > was[place] - ended[place]
        else:
            finding = proposal.findings[0]
            first, behind = line(finding.primary), line(replace(finding.primary, line=finding.primary.end_line + 1))
            stays = any(
                f.rule == finding.rule and f.severity >= finding.severity and first <= here(f.primary) < behind
                for f in after.findings
            )
        if stays:
            failed.append(proposal)
    return failed


def _cache_faults(report: Report) -> Iterator[str]:
    """The rules about breakpoints and cache fields, once for each finding."""
    return (finding.rule for finding in report.findings if finding.code.startswith("PL4"))
