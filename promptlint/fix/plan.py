"""Which fixes are made: those after which the engine no longer finds the cause, applied until there are no more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from libcst import BaseExpression, ParserSyntaxError

from promptlint import source
from promptlint.finding import Finding
from promptlint.fix import order
from promptlint.fix.write import FixError, Rewrite
from promptlint.link.values import LISTED
from promptlint.report import Report
from promptlint.request import Cause
from promptlint.source import Broken, Source
from promptlint.span import Span

FIXABLE = frozenset(["unordered-text", "unstable-json", "unordered-tools"])
"""The rules whose findings may have a fix."""

_KINDS = frozenset(["unordered", "json"])
_ROUNDS = 10

Analyse = Callable[[Mapping[Path, str]], Report]
Listed = Callable[[Report], Sequence[Finding]]
_Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to rewrite, how many expressions that changes, and the report on the code as it will be."""

    rewrites: tuple[Rewrite, ...]
    changes: int
    report: Report


def make(report: Report, listed: Listed, analyse: Analyse) -> Plan:
    """Plans the fixes for the findings that ``listed`` picks from a report.

    ``analyse`` makes the report on the project with texts that stand in for files. Nothing is written. Raises FixError
    when a file is no longer what was analysed.
    """
    originals: dict[str, Source] = {}
    texts: dict[str, str] = {}
    hopeless: set[_Line] = set()
    changes = 0
    for _ in range(_ROUNDS):
        disorders = _disorders(report, [f for f in listed(report) if f.rule in FIXABLE], hopeless)
        modules = _modules(report, disorders, originals, texts)
        wanted = {d: made for d in disorders if (made := order.edits(d, modules))}
        while wanted:
            trial = {**texts, **_changed(wanted.values(), modules)}
            after = analyse({originals[path].file: text for path, text in trial.items()})
            failed = _failed(wanted, report, after)
            if not failed:
                break
            hopeless |= failed
            wanted = {d: made for d, made in wanted.items() if _line(d.origin) not in failed}
        if not wanted:
            break
        changes += len({node for made in wanted.values() for nodes in made.values() for node in nodes})
        texts, report = trial, after
    rewrites = (Rewrite(originals[path], text) for path, text in sorted(texts.items()))
    return Plan(tuple(r for r in rewrites if r.text != r.source.text), changes, report)


def _causes(report: Report) -> Iterator[Cause]:
    for request in report.requests:
        causes = [part.causes for part in request.segments] + [part.causes for part in request.parameters.values()]
        yield from (cause for some in causes for cause in some if cause.kind in _KINDS)


def _disorders(report: Report, findings: Iterable[Finding], hopeless: set[_Line]) -> list[order.Disorder]:
    """What is unordered in these findings, each with all places where a request lists it."""
    places: dict[Span, Span] = {}
    for finding in findings:
        for origin in (finding.origin, *(span for span, _ in finding.related)):
            if origin is not None and origin.cell is None and _line(origin) not in hopeless:
                places.setdefault(origin, finding.primary)
    uses: dict[Span, set[Span]] = defaultdict(set)
    rows: dict[Span, str] = {}
    for cause in _causes(report):
        if cause.origin in places:
            uses[cause.origin].add(_first_listing(cause) or places[cause.origin])
            rows[cause.origin] = (cause.because or "").rpartition(": ")[2]
    return [order.Disorder(origin, frozenset(uses[origin]), rows[origin]) for origin in sorted(rows)]


def _first_listing(cause: Cause) -> Span | None:
    return next((step.span for step in cause.flow if step.message == LISTED), None)


def _modules(
    report: Report, disorders: Iterable[order.Disorder], originals: dict[str, Source], texts: Mapping[str, str]
) -> dict[str, order.Module]:
    """The files in question, parsed; one that LibCST cannot read is left out, and so are its fixes."""
    modules: dict[str, order.Module] = {}
    for path in sorted({span.path for d in disorders for span in (d.origin, *d.uses)}):
        if path not in originals:
            read = source.read(Path(path))
            if not isinstance(read, Source):
                raise FixError(f"{path} cannot be fixed: {read.message}; nothing was changed")
            if report.sources.get(path, read.text) != read.text:
                raise FixError(f"{path} was changed while it was analysed; nothing was fixed, run it again")
            originals[path] = read
        if originals[path].cells:
            continue
        module = order.Module(path, texts.get(path, originals[path].text))
        try:
            module.scopes  # noqa: B018  (parses)
        except (ParserSyntaxError, RecursionError):
            continue
        modules[path] = module
    return modules


def _changed(wanted: Iterable[dict[str, list[BaseExpression]]], modules: Mapping[str, order.Module]) -> dict[str, str]:
    """The new texts; a file that would no longer be valid Python stays as it is, so that its fixes fail."""
    chosen: dict[str, list[BaseExpression]] = defaultdict(list)
    for made in wanted:
        for path, nodes in made.items():
            chosen[path] += nodes
    texts = {path: order.applied(modules[path], nodes) for path, nodes in chosen.items()}
    return {path: text if _valid(text) else modules[path].text for path, text in texts.items()}


def _valid(text: str) -> bool:
    return not isinstance(Source("", Path(), text.encode()).tree, Broken)


def _line(span: Span) -> _Line:
    return span.path, span.line


def _failed(wanted: Iterable[order.Disorder], before: Report, after: Report) -> set[_Line]:
    """The lines on which there are more causes than the fixes should have left. No fix moves one to another line.

    What is no longer seen at all proves nothing: then all have failed.
    """

    def counted(report: Report) -> Counter[_Line]:
        return Counter(map(_line, {cause.origin for cause in _causes(report)}))

    def sent(report: Report) -> Counter[_Line]:
        return Counter(_line(request.site.span) for request in report.requests)

    ended = Counter(_line(disorder.origin) for disorder in wanted)
    was, now = counted(before), counted(after)
    if sent(before) != sent(after):
        return set(ended)
    return {line for line, number in ended.items() if now[line] > was[line] - number}
