"""The ways from an entry of the program to a sink, and what each way says about reuse."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    At,
    Attr,
    Call,
    Definition,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Literal,
    LoopState,
    Param,
    Test,
)
from promptlint.code.index import Function
from promptlint.frozen import record
from promptlint.knowledge.rows import EntryRow
from promptlint.link.calling import binding, callers, runs
from promptlint.link.libraries.sinks import chain
from promptlint.link.values import CALL, NAME_MATCH, Instance, Routine, Type, Value, options, truth
from promptlint.span import Hop, Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame
    from promptlint.link.libraries.sinks import Sink

MAX_DEPTH = 9
MAX_CHAINS = 24


@record(frozen=True, slots=True)
class Loop:
    """A loop around the way to the sink; ``level`` counts from 1, outermost first."""

    state: LoopState
    span: Span
    level: int


@record(frozen=True, slots=True, eq=False)
class Chain:
    """One calling context of a sink: the frames from the root down, and the evidence on the way."""

    frames: tuple[Frame, ...]
    calls: tuple[Call, ...]
    """What each frame calls to go on, the sink last."""
    loops: tuple[Loop, ...]
    steps: tuple[Step, ...]
    entry: tuple[EntryRow, Span] | None
    kind: str
    """"entry", "script" or "assumed" (nothing calls the root)."""
    features: frozenset[str] = frozenset()

    @property
    def sink_frame(self) -> Frame:
        return self.frames[-1]

    @property
    def root(self) -> Function:
        return self.frames[0].function


def of(ev: Evaluator, sink: Sink) -> Iterator[Chain]:
    """The contexts of a sink, at most ``MAX_CHAINS``."""
    produced = 0
    for path in _from_outside(_paths(ev, sink.function, ())):
        chain = _build(ev, path, sink)
        if chain is not None:
            yield chain
            produced += 1
            if produced >= MAX_CHAINS:
                ev.hit_bound = True
                return


def _from_outside(paths: Iterator[Path | Within]) -> Iterator[Path]:
    """The paths that begin outside of a recursion; one that begins within it only where there is no other."""
    within: list[Path] = []
    entered = False
    for path in paths:
        if isinstance(path, Within):
            within.append(path.path)
        else:
            entered = True
            yield path
    if not entered:
        yield from within


def _paths(ev: Evaluator, function: Function, below: tuple[callers.Caller, ...]) -> Iterator[Path | Within]:
    """(root, calls from the root down)."""
    calling = [c for c in callers.of(ev, function) if c.function is not function] if len(below) < MAX_DEPTH else []
    on_path = {c.function for c in below}
    found = [c for c in calling if c.function not in on_path]
    entry = entry_of(ev, function)
    if not found or (entry is not None and not is_started(entry)):
        # What registers an entry does not call it: nothing above matters, but where a graph is run on its state.
        yield Within((function, below)) if calling and not found and entry is None else (function, below)
        found = [c for c in found if runs.RUN in c.features]
    yield from _in_turn([_paths(ev, caller.function, (caller, *below)) for caller in found])


def is_started(entry: EntryRow) -> bool:
    """Whether what names the function runs it once, with arguments of its own: a thread, a timer."""
    return bool(entry.argument) and not entry.repeats


Path = tuple[Function, tuple[callers.Caller, ...]]


@record(frozen=True, slots=True)
class Within:
    """A path whose root is called from further down on it only: a recursion, entered elsewhere."""

    path: Path


def _in_turn(ways: list[Iterator[Path | Within]]) -> Iterator[Path | Within]:
    """One path of each caller after the other, so that a bound leaves none of them out."""
    while ways:
        going: list[Iterator[Path | Within]] = []
        for way in ways:
            path = next(way, None)
            if path is not None:
                yield path
                going.append(way)
        ways = going


def _build(ev: Evaluator, path: tuple[Function, tuple[callers.Caller, ...]], sink: Sink) -> Chain | None:
    root, calls = path
    frames: list[Frame] = []
    loops: list[Loop] = []
    steps: list[Step] = []
    features: set[str] = set()
    below = [*(c.call for c in calls), sink.call]
    inside = tuple(_turning(ev, root, below[0]))
    frame = _on_the_way(ev, (root,), inside, lambda: _root_frame(ev, root))
    assert frame is not None
    for position, call in enumerate(below):
        if position and any(_rules_out(ev, guard, frame) for guard in call.tests):
            return None
        for state in inside:
            loops.append(Loop(state, frame.module.span(state.at), len(loops) + 1))
        frames.append(frame)
        if position == len(calls):
            break
        caller = calls[position]
        features |= caller.features
        routine = _routine(ev, caller, frame)
        if routine is None:
            return None
        # The caller's own values, in this context: the closure and the instance that its expression means here.
        inside = tuple(_turning(ev, routine.function, below[position + 1]))
        target = _on_the_way(ev, (frame, caller), inside, partial(ev.activation, routine, call, frame))
        if target is None:
            return None
        guess = ", found by its name" if NAME_MATCH in caller.features else ""
        words = f"{frame.function.name}() calls {routine.function.name}(){guess}"
        steps.append(Step(ev.span(frame, call), words, hop=Hop.CALLED))
        frame = target
    entry = next(
        ((e, f.module.span(At.start(f.node))) for f in (fr.function for fr in frames) if (e := entry_of(ev, f))), None
    )
    return Chain(
        tuple(frames), tuple(below), tuple(loops), tuple(steps), entry, _kind(ev, root, entry), frozenset(features)
    )


def _on_the_way(
    ev: Evaluator, step: tuple[object, ...], inside: tuple[LoopState, ...], make: Callable[[], Frame | None]
) -> Frame | None:
    """The activation after a step of a path: one for all paths, to any sink, that have led the same way up to there."""
    loops = tuple(state.id for state in inside)
    frame = ev.on_the_way.get((*step, *loops))
    if frame is None:
        frame = make()
        if frame is not None:
            frame.path_loops = loops
            ev.on_the_way[*step, *loops] = frame
    return frame


def _rules_out(ev: Evaluator, guard: Guard, frame: Frame) -> bool:
    """Whether a test says that a call is not made with what the function was given here: a flag of its caller."""
    if guard.test is None or guard.error or not _asks_of_parameters(guard.test):
        return False
    return truth(ev.eval(guard.test, frame)) is (not guard.sense)


def _asks_of_parameters(test: Expr) -> bool:
    """Whether a test looks at parameters as they were handed over, and at nothing else that could change."""
    if isinstance(test, Test):
        return all(isinstance(part, Literal) or _asks_of_parameters(part) for part in test.parts)
    return isinstance(test, Param)


def _routine(ev: Evaluator, caller: callers.Caller, frame: Frame) -> Routine | None:
    """What is called here; ``None`` where it is known to be another one than this path is about.

    That is so where a function got it, and where the class of each object is known whose method it is.
    """
    wanted = caller.routine.function
    called = options(ev.eval(caller.call.func, frame))
    got = isinstance(caller.call.func, (Param, Free)) and all(isinstance(o, Routine) for o in called)
    if called and (got or (all(map(_is_of_known_class, called)) and not _made_beside(ev, called, wanted))):
        return next((o for o in called if isinstance(o, Routine) and o.function is wanted), None)
    for option in called:
        if isinstance(option, Routine) and option.function is wanted:
            return option
        if (
            isinstance(option, Routine)
            and isinstance(option.this, Instance)
            and callers.same_method(ev, option.function, wanted)
        ):
            return caller.routine
    return caller.routine


def _made_beside(ev: Evaluator, called: tuple[Value, ...], wanted: Function) -> bool:
    """Whether the function that made an object makes one that runs ``wanted`` as well: a setting tells which it is."""
    for option in called:
        this = option.this if isinstance(option, Routine) else None
        maker = ev.program.function_at(this.span) if isinstance(this, Instance) else None
        if maker is None:
            continue
        for call in ev.summary(maker).calls:
            if not isinstance(call.func, (Definition, Global, Import)):
                continue
            made = options(ev.resolve(call.func, ev.generic(maker)))
            if any(isinstance(o, Type) and ev.program.method(o.cls, wanted.name) is wanted for o in made):
                return True
    return False


def _is_of_known_class(called: Value) -> bool:
    return isinstance(called, Routine) and isinstance(called.this, Instance) and called.this.exact


def _root_frame(ev: Evaluator, root: Function) -> Frame:
    generic = ev.generic(root)
    frame = ev.new_frame(root, CALL, this=generic.this)
    entry = entry_of(ev, root)
    if entry is not None and not is_started(entry):
        # What the outside hands in, also where other code of the project passes it on.
        for parameter in root.parameters[1 if root.is_method else 0 :]:
            if parameter.kind not in ("args", "kwargs"):
                frame.arguments[parameter.name] = binding.given_from_outside(ev, frame, parameter)
    return frame


def _turning(ev: Evaluator, function: Function, call: Call) -> Iterator[LoopState]:
    """The loops of a body around a call, without those that only errors repeat."""
    states = ev.summary(function).loops
    for loop in call.loops:
        state = states.get(loop)
        if state is not None and not state.retry:
            yield state


def _kind(ev: Evaluator, root: Function, entry: tuple[EntryRow, Span] | None) -> str:
    """What the code on a path is to the outside; a thread that a script starts is a part of the script."""
    script = _is_script(root) or _is_run_by_script(ev, root)
    if entry is not None and not (script and is_started(entry[0])):
        return "entry"
    return "script" if script else "assumed"


def _is_script(function: Function) -> bool:
    return isinstance(function.node, ast.Module) or function.name in ("main", "cli", "run_cli", "__main__")


def _is_run_by_script(ev: Evaluator, root: Function) -> bool:
    """Whether only scripts call the root, once: a long path is not followed to its beginning."""
    above = callers.of(ev, root)
    return bool(above) and all(_is_script(c.function) and not c.call.loops for c in above)


def entry_of(ev: Evaluator, function: Function) -> EntryRow | None:
    """The row that makes a function an entry: a decorator, its class, its name, or a call that registers it."""
    if function in ev.entries:
        return ev.entries[function]
    ev.entries[function] = None
    ev.entries[function] = _find_entry(ev, function)
    return ev.entries[function]


def _find_entry(ev: Evaluator, function: Function) -> EntryRow | None:
    rows = ev.knowledge.entries
    module = function.module
    for decorator in function.decorators:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = ev.program.qualified(node, module)
        if name is None:
            continue
        for row in rows:
            if row.how == "decorator" and _fits(row.pattern, name):
                return row
    if function.owner is not None and function.name not in ("__init__",):
        bases = ev.program.foreign_bases(function.owner)
        if bases:
            for row in rows:
                if row.how == "base" and row.pattern in bases:
                    methods = row.methods
                    public = not function.name.startswith("_")
                    if any(fnmatchcase(function.name, m) for m in methods) if methods else public:
                        return row
    full = f"{module.name}.{function.qualname}"
    for row in rows:
        if row.how == "function" and _fits(function.name, row.pattern) and _fits(row.pattern, full):
            return row
    if isinstance(function.node, ast.Module):
        imported = {v.dotted.split(".")[0] for v in ev.summary(function).names.values() if hasattr(v, "dotted")}
        for row in rows:
            if row.how == "module" and row.pattern.split(".")[0] in imported:
                return row
        return None
    return _registered(ev, function)


def is_offered(ev: Evaluator, function: Function) -> bool:
    """Whether a package passes a function, or the class of a public method, on to its users at its top level."""
    owner = function.owner
    if function.name.startswith("_") or isinstance(function.node, ast.Module):
        return False
    name, module = (owner.name if owner is not None else function.name), function.module
    package = ev.program.find_module(module.name.partition(".")[0], module)
    bound = ev.summary(package.body).names.get(name) if package is not None and package.is_package else None
    if not isinstance(bound, Import) or package is module:
        return False
    value = ev.imported(bound.dotted, module, module.span(At.start(function.node)))
    return any(
        (isinstance(o, Type) and o.cls is owner) or (isinstance(o, Routine) and o.function is function)
        for o in options(value)
    )


def _registered(ev: Evaluator, function: Function) -> EntryRow | None:
    if function.name in ("<lambda>", "__init__"):
        return None
    rows = [r for r in ev.knowledge.entries if r.how == "register"]
    for caller, call in ev.program.handed_over(function.name, function.module):
        names = chain(call.func)
        if not names:
            continue
        name = ".".join(reversed(names))
        for row in rows:
            if _fits(row.pattern, name) or (row.pattern.startswith("*.") and names[0] == row.pattern[2:]):
                return row
            if len(names) > 1 or row.pattern.startswith("*") or row.pattern.rpartition(".")[2] != name:
                continue
            # A method of something made here: how the code calls that tells a text box from a pool of threads.
            if not isinstance(call.func, Attr) or _fits(row.pattern, ev.snippet(ev.generic(caller), call.func.at)):
                return row
    return None


def _fits(pattern: str, name: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern or name.endswith("." + pattern)
