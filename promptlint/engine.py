"""One run: discover, link every sink in every context, run the rules, and put the findings in order."""

from __future__ import annotations

import ast
import gc
import os
import pickle
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

from promptlint import knowledge, registry, tokens, workers
from promptlint import provider as providers
from promptlint.answers import finish
from promptlint.answers.finish import Found
from promptlint.assembly import bodies, build, chains
from promptlint.assembly.prose import merged
from promptlint.cache import cutoff
from promptlint.cache.kept import Kept
from promptlint.code.expression import At, Call
from promptlint.code.index import Function, terminal
from promptlint.codebase import parts, questions, scan
from promptlint.codebase.memory import Memory
from promptlint.codebase.program import Program
from promptlint.config import Settings
from promptlint.files import disk
from promptlint.files.project import NoPython, Options, Project, SourceRef, discover
from promptlint.files.source import Broken, Source, Unreadable, to_bytes
from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.frames import roomy
from promptlint.gates import levels, toggles
from promptlint.link.evaluate import Evaluator
from promptlint.link.libraries import sinks
from promptlint.link.texts.strings import pieces
from promptlint.report import Problem, Report, Withheld
from promptlint.request import Kind, Request, Siblings
from promptlint.span import Span

Progress = Callable[[str, int, int], None]

RECURSION_LIMIT = 12_000
GARBAGE = (200_000, 50, 50)
"""Rare collections: trees and values live to the end of the run, and walking them again and again costs half of it."""
EVALUATED = 3_000_000
"""Nodes evaluated between two collections where there are no others: what they leave is about 300 MB."""
MANY_OBJECTS = 3_000_000
"""Objects made since the last collection that are worth one between two parts: about 300 MB."""


class NoInput(Exception):
    """Nothing to analyse; the message names the path and says why."""


class How(TypedDict, total=False):
    """What a run may be given besides paths and settings."""

    stdin: tuple[str, str] | None
    """The name of a file and its text."""
    overlay: Mapping[Path, str] | None
    """Texts that stand in for what is on the disk, such as an editor's unsaved buffers."""
    progress: Progress | None
    """Hears how far the run is, and may raise to end it."""
    memory: Memory | None
    """Of an earlier run on the same project: files that have not changed are not parsed again."""
    only: Set[str] | None
    """Leaves out the requests that are sent in other files than these."""
    jobs: int
    """In up to how many processes a tree of several large programs is analysed; what is found does not depend on it."""


def check(paths: Sequence[Path], settings: Settings, **how: Unpack[How]) -> Report:
    """Analyses the Python files under ``paths``.

    Nothing of the analysed code is imported or run. Raises ``NoInput`` when a path yields no Python.
    """
    return analyse(paths, settings, **how).report


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report, and what a later run needs to tell whether it still holds."""

    report: Report
    left: Callable[[], Kept]


@roomy
def analyse(paths: Sequence[Path], settings: Settings, **how: Unpack[How]) -> Analysis:
    """As ``check``, for who wants to know later whether the report still holds (``promptlint.cache.cutoff``)."""
    stdin = how.get("stdin")
    rules = registry.load(settings.rule_paths)
    selected = rules.select(settings.select, settings.ignore)
    project, ev = _open(paths, settings, stdin, how.get("overlay"), how.get("memory"))
    shapes = scan.shapes(ev.program)
    sending = scan.files(ev.program, shapes)
    linked = _linked(ev, sending, settings, how.get("progress"), how.get("only"), how.get("jobs", 1))
    requests = [request for ref in sending for part in linked for request in part.requests.get(ref.path, ())]
    withheld = [call for ref in sending for part in linked for call in part.withheld.get(ref.path, ())]
    own_faults = [fault for part in linked for fault in part.faults]
    judged = _with_asides(_accompanied([request for request in requests if not request.fallback]))
    told, faults = registry.run(selected, judged, _siblings(judged))
    named = [*paths, *([Path(stdin[0])] if stdin is not None else [])]
    findings = _merged([*told, *_syntax_errors(project, ev, named, selected)])
    annotated = project.having("promptlint")
    found = Found(
        findings=tuple(findings),
        requests=_in_order(requests, judged),
        withheld=tuple(withheld),
        problems=tuple(sorted([*own_faults, *faults, *_problems(project, ev)], key=lambda p: (p.path, p.line or 0))),
        files=sum(ref.problem is None for ref in project.files),
        broken=frozenset(ev.program.broken),
        annotated=frozenset(ref.path for ref in annotated),
    )
    wanted = finish.wanted(found)
    sources = {ref.path: ref.source for ref in project.files if ref.path in wanted}
    report = finish.report(found, sources, settings, rules)

    def left() -> Kept:
        asked = [part.asked for part in linked] if len(linked) > 1 else [questions.noted(ev.program)]
        return cutoff.kept(found, questions.of(ev.program, asked, shapes, sending), settings)

    return Analysis(report, left)


def why_no_request(paths: Sequence[Path], settings: Settings, path: str, line: int) -> list[str]:
    """Why the calls on a line of a file are no requests, a sentence each."""
    project, ev = _open(paths, settings, None)
    ref = next((ref for ref in project.files if ref.path == path), None)
    if ref is None:
        return ["this file is not looked at: it is excluded, ignored, a test, or outside of the given paths"]
    module = ev.program.parse(ref)
    if module is None:
        broken = ev.program.broken.get(path) or ev.program.unreadable.get(path)
        return [f"this file cannot be analysed: {broken.message}" if broken else "this file cannot be analysed"]
    if ref not in scan.files(ev.program, scan.shapes(ev.program)):
        return ["this file is not searched for requests: nothing in it looks like a call that sends one"]
    written = [n for n in ast.walk(module.tree) if isinstance(n, ast.Call) and n.lineno <= line <= (n.end_lineno or 0)]
    written = [n for n in written if n.lineno == line] or written[-1:]
    if not written:
        return ["there is no call on this line"]
    places = {(n.lineno, n.col_offset) for n in written}
    names = {terminal(n.func) for n in written}
    functions = dict.fromkeys(f for name in names if name for f in module.called.get(name, ()))
    known = [
        (f, call) for f in functions for call in ev.summary(f).calls if (call.at.lineno, call.at.col_offset) in places
    ]
    if not known:
        return ["the call on this line is never reached, or nested too deeply to analyse"]
    return [sinks.why_none(ev, function, call) for function, call in known]


def reveal(paths: Sequence[Path], settings: Settings) -> dict[tuple[str, int], str]:
    """What each ``reveal_prompt(x)`` in the code would print: the text of ``x`` with holes, by path and line."""
    project, ev = _open(paths, settings, None)
    revealed: dict[tuple[str, int], str] = {}
    for ref in project.files:
        module = ev.program.parse(ref) if b"reveal_prompt" in ref.data else None
        if module is None:
            continue
        for function in module.called.get("reveal_prompt", ()):
            for call in ev.summary(function).calls:
                if sinks.chain(call.func)[:1] == ["reveal_prompt"] and call.args:
                    revealed[(ref.path, call.at.lineno)] = _reveal(ev, function, call)
    return revealed


def _reveal(ev: Evaluator, function: Function, call: Call) -> str:
    frame = ev.generic(function)
    shown: list[str] = []
    for piece in merged(pieces(ev, ev.eval(call.args[0], frame), ev.span(frame, call))):
        word = (
            '"' + piece.text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            if piece.text is not None
            else "{" + piece.name + "}"
        )
        shown.append(f"[{word}]" if piece.optional else word)
    return " + ".join(shown) or '""'


def _open(
    paths: Sequence[Path],
    settings: Settings,
    stdin: tuple[str, str] | None,
    overlay: Mapping[Path, str] | None = None,
    memory: Memory | None = None,
) -> tuple[Project, Evaluator]:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    gc.set_threshold(*GARBAGE)
    rows = knowledge.load(settings.rows)
    providers.extend(settings.rows.get(knowledge.PROVIDER, ()))
    foreign = frozenset(t.split(".")[0] for row in rows.sinks for t in (row.types or (row.call,)) if "." in t)
    options = Options(exclude=settings.exclude, include_tests=settings.include_tests, foreign=foreign)
    texts = {**(overlay or {}), **({Path(stdin[0]): stdin[1]} if stdin is not None else {})}
    given = [*paths, *([Path(stdin[0])] if stdin is not None and not paths else [])]
    given += [file for file in overlay or {} if not file.exists()]  # no walk finds a file that was never saved
    try:
        unsaved = {file: to_bytes(text) for file, text in texts.items()}
        project = (memory.project if memory is not None else discover)(given, options, unsaved)
    except NoPython as error:
        raise NoInput(str(error)) from None
    ev = Evaluator(Program(project, rows, memory), settings.provider, settings.default_model)
    return project, ev


@dataclass(slots=True)
class _Linked:
    """What linking some files gives: plain records, which another process may have made."""

    requests: dict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    """By path of the file that sends."""
    withheld: dict[str, list[Withheld]] = field(default_factory=lambda: defaultdict(list))
    faults: list[Problem] = field(default_factory=list)
    broken: dict[str, Broken] = field(default_factory=dict)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)
    asked: questions.Noted | None = None
    notes: disk.Notes | None = None


def _linked(
    ev: Evaluator,
    sending: Sequence[SourceRef],
    settings: Settings,
    progress: Progress | None,
    only: Set[str] | None,
    jobs: int,
) -> list[_Linked]:
    """What linking gives, part by part; in up to so many processes where there are several parts."""
    several = parts.of(sending)
    if len(several) == 1:
        return [_of_files(ev, sending, settings, progress, only)]

    def link(number: int) -> _Linked:
        part = several[number]
        linked = _of_files(ev.for_part(part.share), part.refs, settings, None, only)
        linked.asked = questions.noted(ev.program)
        return linked

    def packed(number: int) -> bytes:
        with disk.noting() as notes:
            linked = link(number)
        linked.broken, linked.unreadable, linked.notes = ev.program.broken, ev.program.unreadable, notes
        return pickle.dumps(linked, protocol=5)

    ended = 0

    def end(number: int) -> None:
        nonlocal ended
        ended += len(several[number].refs)
        if progress is not None:
            progress(several[number].refs[-1].path, ended, len(sending))

    order = sorted(range(len(several)), key=lambda n: -several[n].share)
    made = workers.each(order, packed, jobs, end) if jobs > 1 and workers.can_fork() else {}
    found = []
    for number in range(len(several)):
        if number in made:
            linked: _Linked = pickle.loads(made[number])  # from a copy of this process, which nobody else could send
            ev.program.broken.update(linked.broken)
            ev.program.unreadable.update(linked.unreadable)
            if linked.notes is not None:
                disk.take(linked.notes)
        else:
            if gc.get_count()[0] > MANY_OBJECTS:
                gc.collect()
            linked = link(number)
            end(number)
        found.append(linked)
    return found


def _of_files(
    ev: Evaluator,
    sending: Sequence[SourceRef],
    settings: Settings,
    progress: Progress | None,
    only: Set[str] | None,
) -> _Linked:
    """Every request of every sink in every context, the calls that looked like sinks and are none, and own faults."""
    linked = _Linked()
    refs = [ref for ref in sending if only is None or ref.path in only]
    collected = 0
    for number, ref in enumerate(refs):
        if ev.program.is_full or ev.spent - collected > EVALUATED:
            ev = ev.renewed() if ev.program.is_full else ev
            gc.collect()  # syntax trees and values refer to each other in circles
            collected = ev.spent
        module = ev.program.parse(ref)
        if module is None:
            continue
        requests, withheld = linked.requests[ref.path], linked.withheld[ref.path]
        for function in sorted(sinks.candidates(ev, module), key=lambda f: getattr(f.node, "lineno", 0)):
            if progress is not None:
                progress(ref.path, number, len(refs))
            ev.begin()
            try:
                for sink in sinks.in_function(ev, function):
                    requests.extend(_of_sink(ev, sink, settings, withheld))
            except RecursionError:
                place = module.span(At.start(function.node))
                withheld.append(Withheld(place, f"{function.name}() is too deeply nested to analyse"))
            except Exception as error:  # the rest is worth having, and the user is told
                place = module.span(At.start(function.node))
                message = _fault(function.name, error)
                linked.faults.append(Problem(place.path, message, place.row, place.cell_number, internal=True))
    return linked


def _fault(name: str, error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{name}() could not be analysed: internal error: {type(error).__name__} in {Path(where.filename).name}:"
        f"{where.lineno}; this is a bug in promptlint, please report it with the code of this function"
    )


def _of_sink(ev: Evaluator, sink: sinks.Sink, settings: Settings, withheld: list[Withheld]) -> list[Request]:
    found: list[Request] = []
    ev.begin(sure=not bodies.is_unsure(sink))
    for chain in chains.of(ev, sink) if bodies.may_ask(ev, sink, ev.generic(sink.function)) is not False else ():
        found.extend(_judged(request, settings) for request in build.requests(ev, sink, chain))
        if found:
            ev.go_on()
        elif ev.exhausted:
            break
    if not found:
        withheld.append(Withheld(ev.span(ev.generic(sink.function), sink.call), "its arguments hold no prompt"))
    return found


def _judged(request: Request, settings: Settings) -> Request:
    """The request with exact token counts where they can matter, and with its breaks."""
    interesting = (
        any(s.causes for s in request.segments) or request.breakpoints or request.facts.trigger == "explicit"
    ) and (request.reuse.turns or request.reuse.repeats)
    if interesting:
        counted = tuple(
            replace(s, tokens=tokens.count(s.text, request.site.model, request.site.provider))
            if s.text is not None and s.kind is not Kind.TOOL and len(s.text) > 40
            else s
            for s in request.segments
        )
        request = replace(request, segments=counted)
    return replace(request, breaks=levels.breaks(request, settings.gap), traffic=settings.traffic)


def _accompanied(requests: Sequence[Request]) -> list[Request]:
    """The requests, with the others that begin alike where a write is paid for."""
    alike: dict[tuple[str, str | Span], list[Request]] = defaultdict(list)

    def beginning(request: Request) -> tuple[str, str | Span]:
        first = request.segments[0]
        return request.site.provider, first.text or first.span

    for request in requests:
        if request.segments:
            alike[beginning(request)].append(request)
    return [
        replace(request, company=tuple(other.site for other in others if other is not request))
        if request.facts.write and request.segments and len(others := alike[beginning(request)]) > 1
        else request
        for request in requests
    ]


def _with_asides(requests: Sequence[Request]) -> list[Request]:
    """The requests, with the questions about the turns of another one marked as such."""
    aside = {id(request) for group in _siblings(requests) for request in toggles.asides(group)}
    return [toggles.as_aside(request) if id(request) in aside else request for request in requests]


def _in_order(requests: Sequence[Request], judged: Sequence[Request]) -> tuple[Request, ...]:
    """All requests, those that were judged as they are now."""
    rest = iter(judged)
    return tuple(request if request.fallback else next(rest) for request in requests)


def _siblings(requests: Sequence[Request]) -> list[Siblings]:
    """The requests that send the turns of one history."""
    groups: dict[Span, list[Request]] = defaultdict(list)
    for request in requests:
        if request.reuse.turns and request.reuse.span is not None:
            groups[request.reuse.span].append(request)
    return [Siblings(tuple(group)) for group in groups.values()]


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """One finding per rule and insertion point; further requests go to ``also``, further origins to ``related``."""
    by_key: dict[tuple[str, Span], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.primary)
        known = by_key.get(key)
        if known is None:
            by_key[key] = finding
            continue
        first, second = (known, finding) if _rank(known) >= _rank(finding) else (finding, known)
        sites = {s.span: s for s in (*first.also, *second.also, second.site) if s.span != first.site.span}
        related = first.related
        if second.origin is not None and second.origin not in (first.origin, *(span for span, _ in related)):
            related = (*related, (second.origin, "varies here as well"))
        by_key[key] = replace(first, also=tuple(sites.values()), related=related)
    return list(by_key.values())


def _rank(finding: Finding) -> tuple[Severity, Confidence, int]:
    return finding.severity, finding.confidence, -list(Scope).index(finding.scope)


def _syntax_errors(
    project: Project, ev: Evaluator, named: Sequence[Path], selected: registry.Registry
) -> list[Finding]:
    """PL900 for files that the analysis needed, or that were named, and that are no valid Python."""
    if not any(info.code == "PL900" for info in selected):
        return []
    given = {os.path.abspath(path) for path in named}
    for ref in project.files:
        if os.path.join(ref.directory, ref.file.name) in given:
            ev.program.parse(ref)
    found = []
    cells = _notebooks(project, ev.program.broken)
    for path, broken in sorted(ev.program.broken.items()):
        cell = cells[path].cell(broken.line) if path in cells else None
        span = Span(path, broken.line, broken.column, broken.line, broken.column + 1, cell)
        finding = Finding(
            message=f"cannot be parsed: {broken.message}",
            primary=span,
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            scope=Scope.REQUEST,
            region=Region.PARAMETERS,
            site=Site(span, "unknown"),
            advice="fix the syntax, or exclude the file; requests that need it are not analysed"
            if cell is None
            else "make the cell valid Python; the other cells are analysed without it",
        )
        found.append(finding.stamped("syntax-error", "PL900", ""))
    return found


def _notebooks(project: Project, paths: Container[str]) -> dict[str, Source]:
    """The notebooks among some files, by path."""
    read = ((ref.path, ref.source) for ref in project.files if ref.is_notebook and ref.path in paths)
    return {path: source for path, source in read if isinstance(source, Source)}


def _problems(project: Project, ev: Evaluator) -> list[Problem]:
    unread = [ref.problem for ref in project.files if ref.problem is not None]
    unreadable = {u.path: u for u in (*project.unreadable, *unread, *ev.program.unreadable.values())}
    return [Problem(u.path, u.message, u.line) for u in unreadable.values()]
