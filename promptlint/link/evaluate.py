"""Evaluation of the expression DAG across functions and files, on demand and memoised per calling context."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from promptlint.code.expression import (
    After,
    AfterLoop,
    At,
    Attr,
    Binary,
    Call,
    Comp,
    Concat,
    Definition,
    DictOf,
    Either,
    Element,
    Expr,
    Field,
    Formatted,
    Found,
    Free,
    Global,
    Guard,
    Import,
    Literal,
    LoopState,
    Mutate,
    Once,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Summary,
    Test,
    Unknown,
    Write,
    children,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.code.index import Class, Function, Module
from promptlint.codebase.program import MAX_HELD, Program
from promptlint.files import comments
from promptlint.files.source import Unreadable
from promptlint.frozen import replace
from promptlint.knowledge.rows import ClientRow, EntryRow, SinkRow
from promptlint.link import calls, conditions, containers, decisions, effects, loops, names, told
from promptlint.link.calling import binding, callers
from promptlint.link.classes import objects
from promptlint.link.frame import Frame
from promptlint.link.joining import join
from promptlint.link.kept import once, state, switches
from promptlint.link.libraries import externals, prompts, sinks
from promptlint.link.texts import strings
from promptlint.link.turns import mutations, slices
from promptlint.link.values import (
    CALL,
    IMPORT,
    NONE_SPAN,
    SESSION,
    Choice,
    Const,
    Edit,
    Entry,
    External,
    FilePath,
    Hole,
    Instance,
    Lazy,
    Many,
    Map,
    Namespace,
    One,
    Origins,
    Rest,
    Routine,
    Seq,
    Text,
    Type,
    Value,
    options,
    stored,
    text,
    truth,
    union,
)
from promptlint.span import Span

MAX_EVAL_DEPTH = 300
MAX_CALL_DEPTH = 14
MAX_WORK = 60_000
"""Nodes evaluated for one sink; a bound that was hit shows as the feature "bound"."""
MAX_TOTAL = 80_000
"""The same, together with what was evaluated to answer the questions below."""
MAX_UNSURE = 20_000
"""The same, for a call that has not sent a prompt yet in any context: most posts go elsewhere than to a model."""
MAX_PROJECT = 700_000
"""Nodes evaluated for all sinks before each further one gets only ``LATE_TOTAL``: time grows no faster than code."""
LATE_TOTAL = 6_000
LEAST_PART = 0.35
"""The share of ``MAX_PROJECT`` that any part of a tree gets which is linked apart from the others."""
LEAST_SHARE = 2_000
MAX_ASSUMING = 6_000
"""Nodes evaluated to find out what one function writes to a place that is read back."""
MAX_RESOLVING = 1_500
"""Nodes evaluated to find out what one call calls."""
MAX_RESOLVING_ALL = 8 * MAX_RESOLVING
"""The same, together with what was evaluated to find out what the calls on the way call."""


class Evaluator:
    """Evaluates expressions for one program. ``budget`` is reset for each sink."""

    def __init__(
        self, program: Program, provider: str | None = None, model: str | None = None, most: int = MAX_PROJECT
    ) -> None:
        self.program = program
        self.most = most
        """Nodes evaluated before each further sink gets only ``LATE_TOTAL``."""
        self.settings_provider = provider
        self.settings_model = model
        self._clients: dict[str, list[ClientRow]] = {}
        for rows in program.knowledge.clients.values():
            for row in rows:
                self._clients.setdefault(row.type, []).append(row)
        self.knowledge = program.knowledge
        self.client_types = frozenset(t for row in program.knowledge.sinks for t in row.types)
        """Qualified classes whose methods send requests."""
        self.work = 0
        self.total = 0
        self.spent = 0
        self.allowance = MAX_TOTAL
        self.limit = MAX_WORK
        self.depth = 0
        self.hit_bound = False
        self._resolving = 0
        self._module_frames: dict[tuple[Module, tuple[int, ...]], Frame] = {}
        self._generic: dict[tuple[Function, Class | None], Frame] = {}
        self.following: set[tuple[Phi, Frame]] = set()
        """By activation: the variables of loops that are being followed through one iteration."""
        self.cycles = 0
        """How often a value was asked for while it was being found, and so was not known."""
        self._deps: dict[Expr, frozenset[int]] = {}
        self._nodes: list[ast.expr] = []
        self._cheap: dict[Expr, bool] = {}
        self._telling: dict[Expr, bool] = {}
        """Of tests: whether what the outcome depends on is worth a look."""
        self.leaves: dict[Expr, tuple[Expr, ...]] = {}
        """Of tests: what they start from."""
        self._picked: dict[Expr, frozenset[int]] = {}
        self.handed_only: dict[tuple[Expr, bool], bool] = {}
        self.followed: dict[tuple[int, Frame], dict[tuple[object, ...], tuple[Value, Frame]]] = {}
        """By loop and activation: the variables of a loop that are known while another one of it is followed."""
        self.written_later: dict[tuple[Class, str], bool] = {}
        self.borrowed: dict[Function, dict[Call, list[Expr]]] = {}
        """By function: what became of the results of calls that it changes in place."""
        self.lent: dict[Function, frozenset[str]] = {}
        """By function: the places whose content it hands out."""
        self.keyed: dict[tuple[Function, str], bool] = {}
        """By function and parameter: whether it looks for keys in it."""
        self.calls_by_name: dict[Function, dict[str, list[Call]]] = {}
        """By function: its calls, by the last name of what they call."""
        self.attribute_classes: dict[tuple[Class, str], Class | None] = {}
        self.element_classes: dict[tuple[Class | Module, str], Class | None] = {}
        self.switches: dict[Span, tuple[Function, Write]] = {}
        self.passing: dict[Class, bool] = {}
        self.writers_of: dict[Span, tuple[tuple[Function, Call], ...]] = {}
        """By the place of a read: the calls that write to what is read there."""
        self.written_files: dict[str, tuple[tuple[Function, Call], ...]] = {}
        """By the name of a file: the calls that write a text to it."""
        self.on_command: dict[tuple[Function, frozenset[str], tuple[Guard, ...]], bool] = {}
        self.command_tables: dict[Module, frozenset[str]] = {}
        self.uses_callables: dict[Module, bool] = {}
        self.usage_cache: dict[Module, tuple[list[ast.expr], list[ast.BinOp], bool]] = {}
        self.replying: dict[Function, bool] = {}
        self.rebuilt: dict[Function, int | None] = {}
        self._hints: dict[str, dict[int, dict[str, str]]] = {}
        self._hinting = frozenset(ref.path for ref in program.project.having("promptlint"))
        self._ast_values: dict[tuple[ast.expr, int], Value] = {}
        self.attribute_cache: dict[tuple[object, ...], Value] = {}
        self.attributes_active: set[tuple[object, ...]] = set()
        self.global_overrides: dict[tuple[Module, str], Value] = {}
        self.filling: dict[tuple[Class, str], Value] = {}
        """What an attribute holds before code outside its class changes it, while that change is looked at."""
        self.session_overrides: dict[tuple[str, str], Value] = {}
        self.kept: dict[object, Value] = {}
        """What a place outside the program is taken to hold while what writes there is looked at."""
        self.decorators: dict[Function, tuple[tuple[Expr, ...], Frame]] = {}
        self.writer_levels: dict[Function, int] = {}
        self.by_name_cache: dict[str, Sequence[Function]] = {}
        self.callers_cache: dict[Function, list[callers.Caller]] = {}
        self.entries: dict[Function, EntryRow | None] = {}
        self.on_the_way: dict[tuple[object, ...], Frame] = {}
        """By the steps of a path from an entry: the activations on it, for all paths that begin alike."""
        self.running: list[Function] = []
        self.joining = 0
        self._literals: dict[Literal, Value] = {}
        self._snippets: dict[tuple[Module, At], str] = {}

    def renewed(self) -> Evaluator:
        """An evaluator that has all to find out again, but no more work to spend."""
        self.program.forget()
        made = Evaluator(self.program, self.settings_provider, self.settings_model, self.most)
        made.spent = self.spent + self.total
        return made

    def for_part(self, share: float) -> Evaluator:
        """An evaluator for a part of the tree that is linked apart from the others, with its share of the work."""
        self.program.begin_part(MAX_HELD // 2)
        most = int(MAX_PROJECT * max(share, LEAST_PART))
        return Evaluator(self.program, self.settings_provider, self.settings_model, most)

    # -- frames -------------------------------------------------------------------------------------------------

    def module_frame(self, module: Module, inside: tuple[int, ...] = ()) -> Frame:
        """The activation of a module's body, as it is imported or while these loops of a script are running."""
        frame = self._module_frames.get((module, inside))
        if frame is None:
            level = CALL if inside else IMPORT
            frame = self._module_frames[module, inside] = Frame(module.body, level, path_loops=inside)
        return frame

    def generic(self, function: Function, cls: Class | None = None, level: int = CALL) -> Frame:
        """An activation of which nothing is known but what declarations and defaults say."""
        owner = cls or function.owner
        key = (function, owner)
        frame = self._generic.get(key)
        if frame is None:
            this = None
            if owner is not None and function.is_method:
                this = Instance(owner, owner.module.span(At.start(owner.node)), None, SESSION, exact=False)
            parent = None
            if function.parent is not None and not isinstance(function.parent.node, ast.Module):
                parent = self.generic(function.parent)
            level = min(level, SESSION) if state.makes_objects(function) else level
            frame = Frame(function, level, this=this, parent=parent)
            self._generic[key] = frame
        return frame

    def new_frame(self, function: Function, level: int, this: Value | None = None, depth: int = 0) -> Frame:
        """An activation that no call in the code makes (a property, a method looked at on its own)."""
        parent = None
        if function.parent is not None and not isinstance(function.parent.node, ast.Module):
            parent = self.generic(function.parent)
        return Frame(function, level, this=this, parent=parent, depth=depth)

    def span(self, frame: Frame, node: Expr) -> Span:
        module = frame.function.module
        return module.spans.get(node.at) or module.span(node.at)

    def module_span(self, frame: Frame, at: At) -> Span:
        return frame.module.span(at)

    def ast_value(self, node: ast.expr, module: Module, level: int = IMPORT) -> Value:
        """The value of an expression outside any body: a default, a class field."""
        key = (node, level)
        known = self._ast_values.get(key)
        if known is None:
            arguments = ast.arguments([], [], None, [], [], None, [])
            function = Function(module, "<default>", "<default>", ast.Lambda(arguments, node), None, module.body)
            frame = Frame(function, level)
            returns = self.program.summary(function).returns
            known = self.eval(returns[0], frame) if returns else Const(None, NONE_SPAN)
            self._ast_values[key] = known
            self._nodes.append(node)
        return known

    def clients_of_type(self, name: str) -> list[ClientRow]:
        """The client rows that make objects of this qualified type."""
        return self._clients.get(name, [])

    def hints_at(self, span: Span) -> dict[str, str]:
        """The hints that comments give for a line, with the value of each ("" without one)."""
        found = self._hints.get(span.path)
        if found is None:
            found = {}
            for ref in self.program.project.files:
                if ref.path == span.path and not isinstance(ref.source, Unreadable):
                    for comment in comments.read(ref.path, ref.source.text):
                        for line in comment.lines:
                            found.setdefault(line, {})[comment.verb] = next(iter(comment.arguments), "")
            self._hints[span.path] = found
        return found.get(span.line, {})

    def sink_row(self, name: str) -> SinkRow | None:
        """The row of a qualified name that is a call which sends a request."""
        return sinks.row_for_name(self.knowledge, name)

    def is_sink_call(self, node: Call) -> bool:
        return sinks.row_for_shape(self.knowledge, node) is not None

    def is_sink_reference(self, node: Attr) -> bool:
        return sinks.row_for_reference(self.knowledge, node) is not None

    def apply(self, func: Value, values: tuple[Value, ...], node: Call, frame: Frame) -> Value:
        """The result of ``func(*values)`` for values that no expression of the call holds."""
        span = self.span(frame, node)
        bare = Call(node.at, node.func, (), (), node.loops, node.guards)
        if isinstance(func, (Type, External)) and not values:
            return self.call(func, bare, frame)
        if isinstance(func, Routine):
            target = self.activation(replace(func, preset=((*func.preset[0], *values), func.preset[1])), bare, frame)
            return self.result(target, func.function, span) if target is not None else Hole("…", span)
        if isinstance(func, External) and func.name == "builtins.str" and values:
            return Text(strings.pieces(self, values[0], span))
        return Hole(self.snippet(frame, node.at), span, union(*(v.origins() for v in values)))

    def summary(self, function: Function) -> Summary:
        return self.program.summary(function)

    # -- evaluation ---------------------------------------------------------------------------------------------

    def begin(self, sure: bool = True) -> None:
        """A new sink, with a full budget as long as the project has one, and if it is ``sure`` to be one."""
        self.spent += self.total
        self.allowance = LATE_TOTAL if self.spent >= self.most else MAX_TOTAL if sure else MAX_UNSURE
        self.work = self.total = 0

    def go_on(self) -> None:
        """The sink is one for sure: the rest of a full budget."""
        if self.allowance == MAX_UNSURE:
            self.allowance = MAX_TOTAL

    @property
    def exhausted(self) -> bool:
        """Whether a bound on work is hit: what is evaluated now is not worth keeping."""
        return self.work > self.limit or self.total > self.allowance

    def within(self, budget: int, query: Callable[[], Value]) -> Value:
        """The answer to a query that has its own budget, so that it does not depend on who asks first."""
        outer = self.work, self.limit
        self.work, self.limit = 0, budget
        try:
            return query()
        finally:
            self.work, self.limit = outer

    def assuming(self, key: object, value: Value, query: Callable[[], Value]) -> Value:
        """The answer to a query while ``value`` is kept under ``key``; nothing that is found then is remembered."""
        outer = self._generic, self._module_frames, self.attribute_cache
        self._generic, self._module_frames, self.attribute_cache = {}, {}, {}
        self.kept[key] = value
        try:
            return self.within(MAX_ASSUMING, query)
        finally:
            del self.kept[key]
            self._generic, self._module_frames, self.attribute_cache = outer

    def share(self, query: Callable[[], Value]) -> tuple[Value, bool]:
        """The answer to one of several queries that share a budget, and whether its part of the rest was too little.

        So one function that computes a lot leaves something for what stands beside it.
        """
        outer = self.limit, self.allowance
        self.limit = min(outer[0], self.work + max((outer[0] - self.work) // 2, LEAST_SHARE))
        self.allowance = min(outer[1], self.total + max((outer[1] - self.total) // 2, LEAST_SHARE))
        try:
            value = query()
            return value, self.exhausted
        finally:
            self.limit, self.allowance = outer

    def resolve(self, node: Expr, frame: Frame) -> Value:
        """What a called expression means in ``frame``, at bounded cost."""
        known = frame.memo.get(node)
        if known is None or known is _ACTIVE:
            outer = self.allowance
            if not self._resolving:
                self.allowance = min(outer, self.total + MAX_RESOLVING_ALL)
            self._resolving += 1
            try:
                known = self.within(MAX_RESOLVING, lambda: self.eval(node, frame))
            finally:
                self._resolving -= 1
                self.allowance = outer
            if frame.memo.get(node) is not _ACTIVE and self.total <= outer:
                frame.memo[node] = known
        return known

    def eval(self, node: Expr, frame: Frame) -> Value:
        """The value of ``node`` in ``frame``."""
        if isinstance(node, Literal):
            return self._literal(node, frame)
        if frame.via is not None:
            loops = self.loops_of(node)
            while frame.via is not None and not (loops & frame.bindings.keys()):
                frame = frame.via
        memo = frame.memo
        known = memo.get(node)
        if known is not None and known is not _ACTIVE:
            return known
        self.work += 1
        self.total += 1
        if known is not None or self.depth > MAX_EVAL_DEPTH or self.work > self.limit or self.total > self.allowance:
            if known is not None:
                self.cycles += 1
            else:
                self.hit_bound = True
            return Hole("…", self.span(frame, node), features=_BOUND)
        memo[node] = _ACTIVE
        self.depth += 1
        try:
            value = _HANDLERS.get(node.__class__, Evaluator._other)(self, node, frame)
        except BaseException:
            del memo[node]
            raise
        finally:
            self.depth -= 1
        if self.work > self.limit or self.total > self.allowance:  # exhausted: spelled out, as all runs through here
            del memo[node]
        else:
            memo[node] = value
        return value

    def origins(self, nodes: Iterable[Expr], frame: Frame) -> Origins:
        return union(*(self.eval(n, frame).origins() for n in nodes))

    def snippet(self, frame: Frame, at: At, limit: int = 60) -> str:
        """The source text of a place, on one line."""
        key = (frame.module, at)
        known = self._snippets.get(key)
        if known is None:
            known = self._snippets[key] = snippet(frame.module.source.lines, at)
        return known if len(known) <= limit else known[: limit - 1] + "…"

    # -- atoms --------------------------------------------------------------------------------------------------

    def _literal(self, node: Literal, frame: Frame) -> Value:
        known = self._literals.get(node)
        if known is None:
            span = self.span(frame, node)
            known = text(node.value, span) if isinstance(node.value, str) else Const(node.value, span)
            self._literals[node] = known
        return known

    def _other(self, node: Expr, frame: Frame) -> Value:
        return Hole(type(node).__name__, self.span(frame, node))

    def _found(self, node: Found, frame: Frame) -> Value:
        return cast("Value", node.value)

    def _unknown(self, node: Unknown, frame: Frame) -> Value:
        return Hole(node.what, self.span(frame, node), self.origins(node.parts, frame))

    def _param(self, node: Param, frame: Frame) -> Value:
        return self.parameter(frame.activation, node.name)

    def parameter(self, frame: Frame, name: str) -> Value:
        """The value of a parameter in this activation."""
        given = frame.arguments.get(name)
        function = frame.function
        if given is not None:
            if isinstance(given, tuple):
                value = self.eval(*given)
                frame.arguments[name] = value
                frame.passed[name] = given
                return value
            return given
        if function.is_method and function.parameters and function.parameters[0].name == name:
            if frame.this is not None:
                return frame.this
            if function.owner is not None:
                if "classmethod" in function.decorator_names:
                    return Type(function.owner)
                return Instance(
                    function.owner, function.module.span(At.start(function.node)), None, SESSION, exact=False
                )
        value = binding.unbound_parameter(self, frame, name)
        frame.arguments[name] = value
        return value

    def _global(self, node: Global, frame: Frame) -> Value:
        return self.global_value(node.name, frame.module, self.span(frame, node))

    def global_value(self, name: str, module: Module, span: Span, depth: int = 0) -> Value:
        """A name at the top level of ``module``; builtins are external."""
        return names.global_value(self, name, module, span, depth)

    def _free(self, node: Free, frame: Frame) -> Value:
        return names.free(self, node, frame)

    def _import(self, node: Import, frame: Frame) -> Value:
        return self.imported(node.dotted, frame.module, self.span(frame, node))

    def imported(self, name: str, module: Module, span: Span) -> Value:
        """What an absolute dotted name means, in the project or outside."""
        return names.imported(self, name, module, span)

    def member(self, module: Module, name: str, span: Span) -> Value:
        """A top-level name of a project module, or a submodule of a package."""
        return names.member(self, module, name, span)

    def _definition(self, node: Definition, frame: Frame) -> Value:
        found = frame.module.definitions.get(node.node)
        if isinstance(found, Class):
            return Type(found)
        if isinstance(found, Function):
            if node.decorators:
                self.decorators[found] = (node.decorators, frame)
            return Routine(found, frame if frame.function is not frame.module.body else None)
        return Hole("definition", self.span(frame, node))

    # -- text ---------------------------------------------------------------------------------------------------

    def _concat(self, node: Concat, frame: Frame) -> Value:
        pieces = [
            p for part in node.parts for p in strings.pieces(self, self.eval(part, frame), self.span(frame, part))
        ]
        return Text(tuple(pieces))

    def _formatted(self, node: Formatted, frame: Frame) -> Value:
        value = self.eval(node.value, frame)
        spec = self.eval(node.spec, frame) if node.spec is not None else None
        return strings.formatted(self, value, spec, self.span(frame, node))

    def _binary(self, node: Binary, frame: Frame) -> Value:
        if node.op == "+" and isinstance(node.right, Slice):
            cut = slices.cut_out(self, node, node.right, frame)
            if cut is not None:
                return cut
        left, right = self.eval(node.left, frame), self.eval(node.right, frame)
        if isinstance(node.right, Slice) and isinstance(left, Seq):
            right = slices.with_head(right, left.items, self.span(frame, node.right))
        if node.op == "|":
            chains = [
                c
                for a in options(left)
                for b in options(right)
                if (c := prompts.piped(self, a, b, self.span(frame, node)))
            ]
            if chains:
                return join(chains)
        return containers.binary(self, node.op, left, right, self.span(frame, node), self.snippet(frame, node.at))

    def _test(self, node: Test, frame: Frame) -> Value:
        values = [self.eval(p, frame) for p in node.parts]
        number = values[0].value if node.op == "minus" and isinstance(values[0], Const) else None
        if isinstance(number, (int, float)):
            return Const(-number, self.span(frame, node))
        known = decisions.outcome(node.op, values)
        if known is not None:
            return Const(known, self.span(frame, node))
        deps = switches.typed(node, self.span(frame, node), frame.level) or union(*map(conditions.tested, values))
        deps = conditions.in_one_round(deps) if decisions.looks_for_a_round(node) else deps
        return Hole(self.snippet(frame, node.at), self.span(frame, node), deps)

    def _either(self, node: Either, frame: Frame) -> Value:
        if node.test is None:
            values: list[Value] = []
            for option in node.options:
                value = self.eval(option, frame)
                certain = truth(value)
                if certain is False and option is not node.options[-1]:
                    continue
                values.append(conditions.made_when_missing(value) if values else value)
                if certain is True:
                    break
            return join(values)
        test = node.test
        bound = frozenset(loop for loop, b in frame.bindings.items() if b.element is not None)
        simple = self.is_cheap(test) or (bool(bound) and decisions.is_cheap(test, bound=bound))
        certain = truth(self.eval(test, frame)) if simple else self._outcome(test, frame)
        if certain is not None and len(node.options) == 2:
            return self.eval(node.options[0 if certain else 1], frame)
        values = [self.eval(o, frame) for o in node.options]
        for way in self._picked_ways(node):
            values[way] = conditions.chosen_by(self, values[way], (Guard(test),), frame).get()
        return self._ways(test, values, frame)

    def _picked_ways(self, node: Either) -> frozenset[int]:
        known = self._picked.get(node)
        if known is None:
            known = self._picked[node] = decisions.picked_ways(node)
        return known

    def _ways(self, test: Expr, values: list[Value], frame: Frame) -> Value:
        """What the ways of a test make of a value."""
        ways = conditions.guarded(values, test)
        worth = self._telling.get(test)
        if worth is None:
            worth = self._telling[test] = self.is_cheap(test) or decisions.is_telling(test)
        return conditions.decided_by(join(ways), ways, lambda: self.eval(test, frame), worth)

    def under(self, guard: Guard, made: Value, before: Value, frame: Frame) -> Value:
        """What became of ``before`` where something that makes ``made`` of it stands under a guard."""
        if guard.test is None:
            return join((made, before))
        certain = self._outcome(guard.test, frame)
        if certain is not None:
            return made if certain is guard.sense else before
        return self._ways(guard.test, [made, before] if guard.sense else [before, made], frame)

    def _outcome(self, test: Expr, frame: Frame) -> bool | None:
        """How a test comes out, as far as a part that is found at once decides it: the flag in ``flag and rows``."""
        if self.is_cheap(test):
            return truth(self.eval(test, frame))
        if isinstance(test, Either) and test.test is not None and len(test.options) == 2:
            first = self._outcome(test.test, frame)
            return None if first is None else self._outcome(test.options[0 if first else 1], frame)
        return None

    def lazy(self, node: Expr, frame: Frame) -> Value | Lazy:
        """The value of ``node`` when somebody looks at it; at once where that costs nothing."""
        if isinstance(node, (Literal, Global, Import, Definition)):
            return self.eval(node, frame)
        return Lazy(lambda: self.eval(node, frame))

    def is_cheap(self, node: Expr) -> bool:
        """Whether a test can be decided without looking into calls."""
        known = self._cheap.get(node)
        if known is None:
            known = self._cheap[node] = decisions.is_cheap(node)
        return known

    # -- containers ---------------------------------------------------------------------------------------------

    def _sequence(self, node: SeqOf, frame: Frame) -> Value:
        items: list[One | Many | Rest] = []
        order: Origins = ()
        edits: tuple[Edit, ...] = ()
        start = 0
        for number, part in enumerate(node.items):
            if isinstance(part, Star):
                value = self.eval(part.value, frame)
                if isinstance(part.value, Slice):
                    value = slices.with_head(value, items, self.span(frame, part.value))
                    together = slices.behind(self, node.items[number - 1], part, frame) if number else None
                    if together is not None:
                        value = together
                        del items[start:]
                start = len(items)
                spread = containers.as_seq(self, value, self.span(frame, part))
                items.extend(spread.items)  # type: ignore[arg-type]
                order, edits = union(order, spread.order), (*edits, *spread.edits)
            else:
                items.append(One(self.lazy(part, frame), self.span(frame, part)))
        if node.kind == "set":
            order = union(order, containers.hash_order(self, frame, node.at))
        return Seq(node.kind, tuple(items), self.span(frame, node), order, edits)

    def _dict(self, node: DictOf, frame: Frame) -> Value:
        result: Map = Map({}, self.span(frame, node))
        for key, value in node.items:
            if isinstance(key, Literal) and isinstance(key.value, str):
                # In place: nobody has seen this dict yet.
                # A parameter stands where its function does: what is put in here is put in at the key.
                place = self.span(frame, key if isinstance(value, Param) else value)
                result.entries[key.value] = Entry(self.lazy(value, frame), place)
            elif key is None:
                result = containers.update(result, self.eval(value, frame), self.span(frame, value))
            else:
                result = containers.set_key(
                    result, self.eval(key, frame), self.lazy(value, frame), self.span(frame, value)
                )
        return result

    def _item(self, node: ItemOf, frame: Frame) -> Value:
        return containers.item(
            self.eval(node.base, frame),
            self.eval(node.key, frame),
            self.span(frame, node),
            self.snippet(frame, node.at),
        )

    def _slice(self, node: Slice, frame: Frame) -> Value:
        return slices.slice_of(self, node, frame)

    def _comp(self, node: Comp, frame: Frame) -> Value:
        return loops.comprehension(self, node, frame)

    def _element(self, node: Element, frame: Frame) -> Value:
        return loops.element(self, node, frame)

    def _once(self, node: Once, frame: Frame) -> Value:
        return once.kept(self, node, frame)

    def _phi(self, node: Phi, frame: Frame) -> Value:
        return loops.phi(self, node, frame)

    def _after_loop(self, node: AfterLoop, frame: Frame) -> Value:
        return loops.after_loop(self, node.phi, frame)

    def _mutate(self, node: Mutate, frame: Frame) -> Value:
        return mutations.mutate(self, node, frame)

    def _after(self, node: After, frame: Frame) -> Value:
        return effects.after(self, node, frame)

    # -- names and calls ----------------------------------------------------------------------------------------

    def _attr(self, node: Attr, frame: Frame) -> Value:
        base = effects.chained(self, node.base, frame)
        shown = self.snippet(frame, node.at) if isinstance(base, (Hole, Choice)) else ""  # nothing else takes it over
        return self.attribute(base, node.name, self.span(frame, node), frame, shown)

    def _field(self, node: Field, frame: Frame) -> Value:
        made = effects.chained(self, node.made, frame)
        if isinstance(made, Instance):
            known = effects.after_calls(self, made, node, frame)
            if known is not None:
                return known
        return self._attr(node, frame)

    def attribute(self, base: Value, name: str, span: Span, frame: Frame, shown: str = "") -> Value:
        """``base.name``, by the kind of ``base``."""
        if not isinstance(base, Choice):
            value = self._attribute(base, name, span, frame, shown)
            return value if not isinstance(value, Choice) else join((value,))
        return join(self._attribute(b, name, span, frame, shown) for b in options(base))

    def _attribute(self, base: Value, name: str, span: Span, frame: Frame, shown: str) -> Value:
        if isinstance(base, Namespace):
            return self.member(base.module, name, span)
        if isinstance(base, Instance):
            held = objects.attribute(self, base, name, span, frame)
            return stored(held) if base.kept else held
        if isinstance(base, Type):
            return objects.class_attribute(self, base, name, span)
        if isinstance(base, External):
            return externals.attribute(self, base, name, span, frame)
        if isinstance(base, Map):
            entry = base.entries.get(name)
            if entry is not None:
                return entry.value
            if base.type is not None and name in ("type", "messages"):
                known = externals.of_library_object(self, base, name, span, frame)
                if known is not None:
                    return known
        if isinstance(base, Hole):
            return externals.hole_attribute(self, base, name, span, shown, frame)
        if isinstance(base, FilePath):
            return externals.path_attribute(base, name, span)
        if isinstance(base, Routine) and name == "__doc__":
            return text(base.function.docstring, span)
        return External(f".{name}", span, this=base)

    def _call(self, node: Call, frame: Frame) -> Value:
        if isinstance(node.func, Global) and node.func.name == "super" and not node.args:
            this = binding.receiver(self, frame)
            if this is not None and frame.function.owner is not None:
                return External("builtins.super", self.span(frame, node), instance=True, this=this)
        func = self.eval(node.func, frame)
        if isinstance(func, Choice):
            made = join(self.call(f, node, frame) for f in func.options)
        else:
            made = self.call(func, node, frame)
            made = join((made,)) if isinstance(made, Choice) else made
        hinted = self._hinting and frame.module.path in self._hinting
        return told.as_told(self, made, node, frame) if hinted else made

    def call(self, func: Value, node: Call, frame: Frame) -> Value:
        """The result of calling ``func`` as ``node`` does."""
        return calls.call(self, func, node, frame)

    def invoke(self, routine: Routine, node: Call, frame: Frame) -> Value:
        """Runs a function of the project on the arguments of ``node``."""
        return calls.invoke(self, routine, node, frame)

    def replies(self, function: Function) -> bool:
        """Whether a function sends a request itself and returns what the model says: a wrapper of a client."""
        return calls.replies(self, function)

    def argument_origins(self, node: Call, frame: Frame) -> Origins:
        return self.origins((*node.args, *(v for _, v in node.keywords)), frame)

    def result(self, target: Frame, function: Function, span: Span) -> Value:
        """What an activation returns (or yields)."""
        summary = self.summary(function)
        self.running.append(function)
        try:
            if function.decorator_names & {"contextmanager", "asynccontextmanager"} and summary.yields:
                return join(self.eval(y, target) for y in summary.yields)
            if summary.yielded is not None:
                return replace(containers.as_seq(self, self.eval(summary.yielded, target), span), kind="iterator")
            if not summary.returns:
                return Const(None, span)
            return join(self.eval(r, target) for r in summary.returns)
        finally:
            self.running.pop()

    def activation(self, routine: Routine, node: Call, frame: Frame, path_loops: tuple[int, ...] = ()) -> Frame | None:
        """The frame of a call, or ``None`` beyond the bounds."""
        function = routine.function
        if frame.depth >= MAX_CALL_DEPTH or self.running.count(function) >= 2:
            self.hit_bound = self.hit_bound or frame.depth >= MAX_CALL_DEPTH
            return None
        this = routine.this
        arguments = binding.bind_arguments(self, function, routine, node, frame)
        level = frame.level_at(node.loops)
        if externals.is_memoised(self, function):
            level = IMPORT
        parent = routine.frame
        return Frame(function, level, arguments, this, parent, path_loops, frame.depth + 1)

    # -- loops --------------------------------------------------------------------------------------------------

    def loops_of(self, node: Expr) -> frozenset[int]:
        """The loops whose iteration a value depends on."""
        known = self._deps.get(node)
        if known is None:
            self._deps[node] = frozenset()
            known = self._deps[node] = self._find_loops(node)
        return known

    def _find_loops(self, node: Expr) -> frozenset[int]:
        found = {node.loop} if isinstance(node, (Element, Phi)) else set()
        for child in children(node):
            found |= self.loops_of(child)
        if isinstance(node, Comp):
            found.difference_update(loop for loop, _, _ in node.clauses)
        if isinstance(node, AfterLoop):
            state = node.phi.state
            step = state.steps.get(node.phi.name)
            if step is not None:
                found |= self.loops_of(step) - {node.phi.loop}
            if state.iterable is not None:
                found |= self.loops_of(state.iterable)
        return frozenset(found)

    def loop_state(self, frame: Frame, loop: int) -> LoopState | None:
        return self.summary(frame.function).loops.get(loop)


def snippet(lines: Sequence[str], at: At) -> str:
    if not 0 < at.lineno <= len(lines):
        return "value"
    line = lines[at.lineno - 1]
    if at.lineno != at.end_lineno:
        raw = line[at.col_offset :] + " …"
    elif line.isascii():
        raw = line[at.col_offset : at.end_col_offset]
    else:
        raw = line.encode()[at.col_offset : at.end_col_offset].decode(errors="ignore")
    return " ".join(raw.split())


_BOUND = frozenset({"bound"})
_ACTIVE: Value = Hole("…", NONE_SPAN)
"""Stands in the memo of an activation for what is being evaluated."""

_HANDLERS: dict[type[Expr], Callable[..., Value]] = {
    Found: Evaluator._found,
    Unknown: Evaluator._unknown,
    Param: Evaluator._param,
    Global: Evaluator._global,
    Free: Evaluator._free,
    Import: Evaluator._import,
    Definition: Evaluator._definition,
    Attr: Evaluator._attr,
    Field: Evaluator._field,
    ItemOf: Evaluator._item,
    Slice: Evaluator._slice,
    Call: Evaluator._call,
    Concat: Evaluator._concat,
    Formatted: Evaluator._formatted,
    Binary: Evaluator._binary,
    Test: Evaluator._test,
    Either: Evaluator._either,
    DictOf: Evaluator._dict,
    SeqOf: Evaluator._sequence,
    Element: Evaluator._element,
    Comp: Evaluator._comp,
    Once: Evaluator._once,
    Phi: Evaluator._phi,
    AfterLoop: Evaluator._after_loop,
    Mutate: Evaluator._mutate,
    After: Evaluator._after,
}
