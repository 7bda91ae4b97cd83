"""Summaries: one forward, flow-sensitive pass over a body that knows nothing of other files."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from promptlint.code import merging, syntax
from promptlint.code.expression import (
    NOWHERE,
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Definition,
    Either,
    Element,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Item,
    Literal,
    LoopEnd,
    LoopState,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Summary,
    Test,
    Unknown,
    Write,
    cell,
    each_once,
    earlier,
    is_none,
    unchanged,
)
from promptlint.code.index import MUTATORS, Function, terminal
from promptlint.code.merging import End, Env, Place
from promptlint.code.places import at_of, rooted
from promptlint.code.syntax import YIELDED
from promptlint.code.translate import OPERATORS, PURE, Translator, is_buffer, loop_ids
from promptlint.frozen import replace


def summarise(function: Function, package: str) -> Summary:
    """The summary of ``function``; ``package`` is what relative imports of its module start from."""
    return _Summariser(function, package).run()


def _is_made(node: Expr) -> bool:
    """Whether a call gives a value, and not what a dict holds."""
    return isinstance(node, Call) and cell(node) is None


BEGIN = Place(0, 0, 0)


class _Summariser(Translator):
    """Goes through the statements of a body."""

    def run(self) -> Summary:
        node = self.function.node
        env: Env = {}
        for parameter in self.function.parameters:
            env[parameter.name] = Param(at_of(node), parameter.name)
        self.initial = dict(env)
        may_yield = self.function.module.yields and not self.is_module
        if may_yield and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in syntax.own_nodes(node)):
            env[YIELDED] = SeqOf(at_of(node), "iterator", ())
        self.env = env
        if isinstance(node, ast.Lambda):
            self.summary.returns.append(self.expr(node.body))
        else:
            self.block(node.body)
        if self.env is not None:
            end = self._end(BEGIN)
            self.exits.append(end)
            if self.returned and self.returned[-1][0].guards and not self.returned[-1][0].uncertain:
                self.returned.append((end, Literal(at_of(node), None)))
        if self.returned:
            self.summary.returns.append(merging.first_reached(self.returned))
        self._finish()
        return self.summary

    def _finish(self) -> None:
        # What a script does in the end is go on: functions see the names of its module as they are then.
        ends = [*(self.endless if self.is_module else ()), *self.exits] or self.stops
        for node in {
            id(n): n for end in ends for v in end.env.values() if isinstance(v, Definition) and (n := v.node)
        }.values():
            there = [e for e in ends if any(isinstance(v, Definition) and v.node is node for v in e.env.values())]
            if len(there) < len(ends):
                self.summary.scopes[node] = merging.merge_ends(there)
        merged = merging.merge_ends(ends)
        self.summary.yielded = merged.pop(YIELDED, None)
        self.summary.filled = [
            Write(root.base, root.name, merged[path], merged[path].at)
            for path, root in self.filled.items()
            if path in merged and not isinstance(merged[path], Attr)
            # A loop around an object that is made here is one of turns, which the body's own names tell.
            if not (_is_made(unchanged(root.base)) and isinstance(merged[path], (Phi, AfterLoop)))
        ]
        parameters = {p.name for p in self.function.parameters}
        for path, value in merged.items():
            root, _, rest = path.partition(".")
            if not rest:
                self.summary.names[path] = value
            if value is self.initial.get(path) or merging.place_read(value) == path:
                continue
            is_outer = root in self.globals or (root not in self.local and root not in parameters)
            if (rest and root in parameters) or is_outer:
                self.summary.exit[path] = value
            elif root in parameters and is_mutated(value, initial := self.initial[root]):
                self.summary.exit[path] = _left_in(value, initial)

    # -- statements ---------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt]) -> None:
        known = self.facts
        for statement in body:
            if self.env is None:
                break
            self.statement(statement)
        self.facts = known

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, "_" + type(node).__name__, None)
        if method is not None:
            method(node)

    def _Expr(self, node: ast.Expr) -> None:
        made = self.expr(node.value)
        if isinstance(made, Call) and isinstance(node.value, ast.Call):
            self._left_in_elements(node.value, made)

    def _left_in_elements(self, node: ast.Call, call: Call) -> None:
        """What a call that is made for its effect alone does to an element of a list, the list holds."""
        if not isinstance(call.func, (Global, Import, Attr)) or terminal(node.func) in MUTATORS | PURE:
            return
        for position, argument in enumerate(node.args):
            if isinstance(argument, ast.Name):
                new = self._env().get(argument.id)
                if isinstance(new, After) and new.call is call and isinstance(new.before, Element):
                    self._edit_container(new.before, new)
            elif isinstance(argument, ast.Subscript) and isinstance(argument.value, ast.Name):
                picked = call.args[position]
                if isinstance(picked, Item) and argument.value.id in self._env():
                    self._replace(argument, picked, After(call.at, call, position, "", picked))

    def _Return(self, node: ast.Return) -> None:
        value = self.expr(node.value) if node.value is not None else Literal(at_of(node), None)
        end = self._end(BEGIN)
        self.returned.append((end, value))
        self.exits.append(end)
        self.env = None

    def _Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.expr(node.exc)
        self.stops.append(self._end(BEGIN))
        self.env = None

    def _Break(self, node: ast.Break) -> None:
        self._end_iteration(leaves=True)

    def _Continue(self, node: ast.Continue) -> None:
        self._end_iteration(leaves=False)

    def _end_iteration(self, leaves: bool) -> None:
        if self.iterations:
            start, ends = self.iterations[-1]
            end = self._end(start)
            self.summary.loops[self.loops[-1]].ends.append(LoopEnd(end.guards, leaves, end.uncertain))
            ends.append(end)
        self.env = None

    def _place(self) -> Place:
        return Place(len(self.guards), len(self.loops), self.tries)

    def _end(self, start: Place) -> End:
        """The way out that control takes here, as seen from ``start``."""
        uncertain = len(self.loops) > start.loops or self.tries > start.tries
        return End(self.guards[start.guards :], uncertain, self._env())

    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, Import(at_of(node), alias.name))
            else:
                top = alias.name.split(".")[0]
                self.bind(top, Import(at_of(node), top))

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parts = self.package.split(".") if self.package else []
            parts = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
            base = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name, Import(at_of(node), ".".join(filter(None, (base, alias.name)))))

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        self.bind(node.name, Definition(at_of(node), node, decorators))

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, Definition(at_of(node), node))

    def _Assign(self, node: ast.Assign) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value)
            if isinstance(target, ast.Name) and target.id in self.function.edited:
                self._alias(node.value, value)

    def _alias(self, node: ast.expr, value: Expr) -> None:
        """What a name changes in place changes under the path, too, that it was bound to."""
        path = syntax.dotted_path(node) if isinstance(value, (Attr, Global, Free)) else None
        if path is not None:
            self._env().setdefault(path, value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expr(node.value))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        old = self.expr(node.target)
        value = self.expr(node.value)
        self.assign(node.target, Binary(at_of(node), OPERATORS.get(type(node.op), "?"), old, value))

    def _Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                op, args = self._deletion(target)
                self.update(target.value, op, args, at_of(node))

    def _deletion(self, target: ast.Subscript) -> tuple[str, tuple[Expr, ...]]:
        if isinstance(target.slice, ast.Slice):
            bounds = [
                self.expr(b) if b else Literal(at_of(target), None) for b in (target.slice.lower, target.slice.upper)
            ]
            return "delslice", tuple(bounds)
        return "delitem", (self.expr(target.slice),)

    def _If(self, node: ast.If) -> None:
        test = self.expr(node.test)
        before = self._env()
        outer = self.guards
        self.guards = (*outer, Guard(test, error=self._tells_of_error(test)))
        self.env = dict(before)
        self.block(node.body)
        yes = self.env
        self.guards = (*outer, Guard(test, sense=False))
        self.env = dict(before)
        self.block(node.orelse)
        no = self.env
        self.guards = outer
        if yes is None or no is None:
            # The rest of the block runs on one of the ways only.
            self.facts = (*self.facts, Guard(test, sense=no is None))
        self.env = merging.merge(test, yes, no)

    def _tells_of_error(self, test: Expr) -> bool:
        """Whether a test holds only where an except clause, which is over, has run: ``if failed:``."""
        if isinstance(test, Test) and test.op == "is not" and is_none(test.parts[1]):
            test = test.parts[0]
        values = test.options if isinstance(test, Either) else (test,)
        true = [v.at.lineno for v in values if not (isinstance(v, Literal) and not v.value)]
        return bool(true) and all(any(h.lineno <= n <= (h.end_lineno or 0) for h in self.handlers) for n in true)

    def _Match(self, node: ast.Match) -> None:
        subject = self.expr(node.subject)
        before, outer = self._env(), self.guards
        ends: list[Env] = []
        for case in node.cases:
            self.env = dict(before)
            self.guards = (*outer, Guard(Test(at_of(case.pattern), "match", (subject,))))
            for name in syntax.pattern_names(case.pattern):
                self.bind(name, Unknown(at_of(case.pattern), "match", (subject,)))
            self.block(case.body)
            if self.env is not None:
                ends.append(self.env)
        self.guards = outer
        ends.append(before)
        self.env = merging.merge_all(ends, Test(at_of(node), "match", (subject,)))

    def _Try(self, node: ast.Try | ast.TryStar) -> None:
        before = dict(self._env())
        self.tries += bool(node.handlers)
        self.block(node.body)
        after = self.env
        self.block(node.orelse)
        self.tries -= bool(node.handlers)
        ends = [self.env] if self.env is not None else []
        outer = self.guards
        for handler in node.handlers:
            self.guards = (*outer, Guard(None, error=True))
            self.env = dict(merging.merge(None, before, after) or before)
            if handler.name:
                self.bind(handler.name, Unknown(at_of(handler), "exception"))
            self.block(handler.body)
            if self.env is not None:
                ends.append(self.env)
        self.handlers += node.handlers
        self.guards = outer
        # What the normal path leaves comes first: an error path only adds alternatives.
        self.env = merging.merge_all(ends) if ends else None
        if node.finalbody:
            saved = self.env
            self.env = dict(saved if saved is not None else before)
            self.block(node.finalbody)
            if saved is None:
                self.env = None

    _TryStar = _Try

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                enter = "__aenter__" if isinstance(node, ast.AsyncWith) else "__enter__"
                entered = Call(value.at, Attr(value.at, value, enter), (), (), self.loops, self.guards)
                self.assign(item.optional_vars, entered)
        self.block(node.body)

    _AsyncWith = _With

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        target, over = node.target, node.iter
        if (walked := syntax.walked(node)) is not None:
            taken, element = walked
            over = ast.copy_location(ast.Call(ast.Name("enumerate", ast.Load()), [taken], []), over)
            target = ast.copy_location(ast.Tuple([target, element], ast.Store()), target)
            ast.fix_missing_locations(over)
        loop = LoopState(next(loop_ids), at_of(node), self.expr(over))
        self._loop(loop, target, node.body, node.orelse)

    _AsyncFor = _For

    def _While(self, node: ast.While) -> None:
        taken, element = syntax.walked(node) or (None, None)
        if element is not None and not self._starts_at_front(element.id):
            taken = element = None
        loop = LoopState(next(loop_ids), at_of(node), self.expr(taken) if taken is not None else None)
        self._loop(loop, element, node.body, node.orelse, node.test)

    def _starts_at_front(self, element: str) -> bool:
        """Whether a loop that takes ``element`` by an index leaves nothing out, as one within another does not."""
        over, _, index = element.rstrip("]").rpartition("[")
        return isinstance(self._env().get(index), Literal) or any(name.startswith(f"{over}[") for name in self._env())

    def _loop(
        self,
        loop: LoopState,
        target: ast.expr | None,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        test: ast.expr | None = None,
    ) -> None:
        self.summary.loops[loop.id] = loop
        loop.around = (*self.loops, loop.id)
        loop.guards = (*self.facts, *self.guards)
        loop.retry = syntax.is_retry(body, target)
        env = self._env()
        before = dict(env)
        phis: dict[str, Phi] = {}
        changed = syntax.changed_paths(body)
        if any(isinstance(value, Definition) for value in env.values()):
            calls = (inner for part in body for inner in ast.walk(part) if isinstance(inner, ast.Call))
            changed.update(name for call in calls for name in self._changed_by(call))
        if buffers := {name for name, v in env.items() if not isinstance(v, Param) and is_buffer(v)}:
            changed |= buffers & syntax.written_to(body)
        for path in list(env):
            if path in changed or path.split(".")[0] in changed:
                phis[path] = Phi(env[path].at, path, loop.id, env[path], loop)
        for path in changed:
            if path not in env and "." in path and path.split(".")[0] in env:
                phis[path] = Phi(NOWHERE, path, loop.id, self._entry_value(path), loop)
        for name in self.function.edited & phis.keys():
            phis |= {path: phis[name] for path, value in before.items() if value is before.get(name)}
        env.update(phis)
        self.loops = (*self.loops, loop.id)
        start = self._place()
        self.iterations.append((start, []))
        if target is not None and loop.iterable is not None:
            self.assign(target, Element(at_of(target), loop.iterable, loop.id))
        if test is not None:
            loop.test = self.expr(test)
        self.block(body)
        _, ends = self.iterations.pop()
        if self.env is not None:
            ends.append(self._end(start))
        self.loops = self.loops[:-1]
        end = merging.merge_ends(ends)
        for path, phi in phis.items():
            step = end.get(path)
            if step is None:
                root = path.split(".")[0]
                made = "." in path and root in end and end[root] is not phis.get(root, end[root])
                # When the object itself was replaced: the path below the one that took its place.
                step = merging.older_value(path, end[root].at, (end,)) if made else phi
            if step is not None and step is not phi:
                loop.before[path] = phi.before
                loop.steps[path] = step
        after: Env = {}
        for path, value in {**before, **end}.items():
            if path in loop.steps:
                # What had no place ahead of the loop stands where the loop changes it.
                place = phis[path].at if phis[path].at != NOWHERE else loop.steps[path].at
                after[path] = AfterLoop(place, phis[path])
            elif path in phis:
                after[path] = phis[path].before
            else:
                after[path] = value
        self.env = after
        infinite = isinstance(test, ast.Constant) and bool(test.value) and not syntax.has_break(body)
        if infinite:
            self.endless.append(self._end(BEGIN))
            self.stops.append(self.endless[-1])
            self.env = None
        else:
            self.block(orelse)

    def _entry_value(self, path: str) -> Expr:
        parts = path.split(".")
        value: Expr = self._env().get(parts[0]) or self.name(parts[0], NOWHERE)
        for part in parts[1:]:
            value = Attr(NOWHERE, value, part)
        return value

    def _Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)
        self.local = self.local.difference(node.names)

    def _Nonlocal(self, node: ast.Nonlocal) -> None:
        self.local = self.local.difference(node.names)

    def _Assert(self, node: ast.Assert) -> None:
        self.expr(node.test)


def is_mutated(value: Expr, initial: Expr | None) -> bool:
    """Whether ``value`` is the parameter's own object after in-place changes (and not another value in its name)."""
    stack = [value]
    for node in each_once(stack):
        if node is initial:
            continue
        before = earlier(node)
        if isinstance(node, (Mutate, After)):
            if any(rooted(one, initial) for one in before):
                return True
            continue
        stack.extend(before)
        if isinstance(node, AfterLoop) and node.phi.name in node.phi.state.steps:
            stack.append(node.phi.state.steps[node.phi.name])
    return False


def _left_in(value: Expr, initial: Expr) -> Expr:
    """What is left in the object a parameter was given; where its name has come to mean another value, nothing new."""
    changes: list[Mutate | After] = []
    node = value
    while isinstance(node, (Mutate, After)):
        changes.append(node)
        node = node.base if isinstance(node, Mutate) else node.before
    if not isinstance(node, Either) or all(rooted(option, initial) for option in node.options):
        return value
    left = []
    for option in node.options:
        own = rooted(option, initial)
        made = _left_in(option, initial) if own else initial
        for change in reversed(changes) if own else ():
            made = replace(change, base=made) if isinstance(change, Mutate) else replace(change, before=made)
        left.append(made)
    return replace(node, options=tuple(left))
