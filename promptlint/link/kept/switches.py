"""State that is switched while a conversation goes on: by a command of the user, or by a tool that the model calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Attr,
    Call,
    Definition,
    Either,
    Expr,
    Global,
    Guard,
    Import,
    Literal,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Test,
    Write,
    called_name,
    is_none,
    unchanged,
)
from promptlint.code.index import Function, Module, terminal
from promptlint.frozen import replace
from promptlint.link.calling import callers
from promptlint.link.values import CALL, Choice, Const, Hole, Instance, One, Origin, Seq, Text, Value, options, union
from promptlint.request import Axis
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

SWITCHED = "switched"
"""Feature of what depends on state that code outside the way to the sink switches."""

_MAX_HOPS = 3
_HANDLER = re.compile(r"^_?(cmd|command|slash)_|_(command|cmd)$")
_PICKS = re.compile(
    r"action_(toggle|cycle|switch|set|select|change|choose|next|prev(ious)?)_\w+"
    r"|on_(?!input_changed|text_area_changed)\w+_(changed|selected|toggled)"
)
"""Methods of a terminal interface (Textual) that a key, a menu or a switch leads to, and the typed text does not."""
_KEYS = frozenset(("kb", "bindings", "key_bindings", "keybindings"))
"""What a table of keys (prompt_toolkit) is called, whose ``add`` decorates what a key does."""
_COMMAND = re.compile(r"/\w[\w -]*|/")
_TABLE = re.compile(rb"""["']/[\w -]*["']\s*:""")
_AGAIN = re.compile(r"/re(fresh|init|load|read|scan)\b")
"""Commands that look at files again: the user wants to have told what changed there."""
_ADDRESSES = re.compile(r"(path|url|uri|route|endpoint)s?$", re.IGNORECASE)
_CLOSES = frozenset(
    ("close", "aclose", "disconnect", "shutdown", "stop", "teardown", "dispose", "cleanup", "__exit__", "__aexit__")
)
"""Functions that end something: what they leave behind is no state of a conversation that goes on."""
_STORES = re.compile(r"^(append|add|insert|put|set|update|push)|store|save|register|setdefault")
_ANEW = re.compile(
    r"_?(reset|clear|new|start_new|restart)(_(all|chat|context|conversation|history|memory|messages|session|thread))?"
)


# -- commands ------------------------------------------------------------------------------------------------------


def asks_for_command(guard: Guard) -> bool:
    """Whether a piece of code runs when the user typed a command: ``text == "/plan"``, ``text.startswith("/")``."""
    return guard.test is not None and _asks(guard.test, guard.sense)


def _asks(test: Expr, sense: bool) -> bool:
    if isinstance(test, Test):
        if test.op == "not":
            return _asks(test.parts[0], not sense)
        positive = sense is (test.op not in ("!=", "not in", "is not"))
        if test.op in ("in", "not in") and isinstance(test.parts[0], Literal) and test.parts[0].value == "/":
            return False  # whether something is a path
        return positive and any(_is_command(p) for p in test.parts) and not any(_is_address(p) for p in test.parts)
    if isinstance(test, Either):
        return sense and any(_asks(option, sense) for option in test.options)
    if isinstance(test, Call) and isinstance(test.func, Attr) and test.func.name == "startswith" and test.args:
        return sense and _is_command(test.args[0]) and not _is_address(test.func.base)
    return False


def _is_command(node: Expr) -> bool:
    if isinstance(node, SeqOf):
        return any(_is_command(item) for item in node.items)
    return isinstance(node, Literal) and isinstance(node.value, str) and _COMMAND.fullmatch(node.value) is not None


def _is_address(node: Expr) -> bool:
    return isinstance(node, (Attr, Global, Param, Phi)) and _ADDRESSES.search(node.name) is not None


def _handles(ev: Evaluator, function: Function) -> bool:
    """Whether a function answers a command of the user, or is a tool of the model."""
    if _HANDLER.search(function.name) or is_tool(function) or _is_picked(ev, function):
        return True
    for decorator in function.decorators:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        name, owner = terminal(node), terminal(node.value) if isinstance(node, ast.Attribute) else None
        if name in ("slash_command", "hybrid_command"):
            return True
        if name == "command" and owner in ("bot", "tree", "dp", "router"):
            return True
        if name == "add" and owner in _KEYS:
            return True
    return any(function.name in _listed(ev, module) for module in ev.program.mentioning(function.name, _TABLE))


def _is_picked(ev: Evaluator, function: Function) -> bool:
    """Whether a terminal interface calls a function when the user picks something or hits a key."""
    if function.owner is None or _PICKS.fullmatch(function.name) is None:
        return False
    return any(base.startswith("textual.") for base in ev.program.foreign_bases(function.owner))


def is_tool(function: Function) -> bool:
    """Whether a decorator, or what its class says of itself, makes a function a tool of the model."""
    called = (d.func if isinstance(d, ast.Call) else d for d in function.decorators)
    if any(terminal(node) in ("tool", "tool_plain", "function_tool") for node in called):
        return True
    told = function.owner.fields if function.owner is not None and function.name in _RUNS else {}
    return {"name", "description"} <= told.keys() and not _PARAMETERS.isdisjoint(told)


_RUNS = frozenset(("execute", "run", "_run", "_arun", "arun", "call", "invoke", "__call__"))
"""Methods by which a tool that is a class is called."""
_PARAMETERS = frozenset(("parameters", "input_schema", "args_schema", "schema", "inputs"))
"""Attributes of such a class that say what the model may hand it."""


def _listed(ev: Evaluator, module: Module) -> frozenset[str]:
    """The functions that a module lists under the names of commands: ``{"/plan": plan, ...}``."""
    known = ev.command_tables.get(module)
    if known is None:
        tables = (n for n in ast.walk(module.tree) if isinstance(n, ast.Dict))
        names = {
            name
            for table in tables
            for key, value in zip(table.keys, table.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _COMMAND.fullmatch(key.value)
            if (name := terminal(value)) is not None
        }
        known = ev.command_tables[module] = frozenset(names)
    return known


def on_command(
    ev: Evaluator,
    function: Function,
    kept: frozenset[str] = frozenset(),
    under: tuple[Guard, ...] = (),
    hops: int = 0,
) -> bool:
    """Whether a command or a tool leads to the code ``under`` these tests without starting a conversation anew.

    ``kept`` names the lists that hold the turns.
    """
    key = (function, kept, under)
    known = ev.on_command.get(key)
    if known is None:
        ev.on_command[key] = False
        known = ev.on_command[key] = not starts_anew(ev, function, kept, under) and (
            _handles(ev, function)
            or (
                hops < _MAX_HOPS
                and any(
                    any(map(asks_for_command, c.call.tests)) or on_command(ev, c.function, kept, c.call.tests, hops + 1)
                    for c in callers.of(ev, function)
                    if not _empties(ev, c)
                )
            )
        )
    return known


def _empties(ev: Evaluator, caller: callers.Caller) -> bool:
    """Whether the caller clears the object of which it then calls a method: what that writes begins anew."""
    on = _receiver(caller.call)
    return on is not None and any(
        isinstance(c.func, Attr) and c.func.name == "clear" and _receiver(c) == on
        for c in ev.summary(caller.function).calls
    )


def _receiver(call: Call) -> str | None:
    """The last name of the object of which a method is called, whatever was done to it since."""
    if not isinstance(call.func, Attr):
        return None
    node = unchanged(call.func.base)
    while isinstance(node, Mutate):
        node = unchanged(node.base)
    return getattr(node, "name", None)


def only_on_command(ev: Evaluator, function: Function, below: tuple[Function, ...] = ()) -> bool:
    """Whether nothing but commands, and calls under some other test, lead to ``function``."""
    if function in below or len(below) > _MAX_HOPS:
        return True
    if not on_command(ev, function):
        return False
    return _handles(ev, function) or all(
        any(g.sense for g in c.call.guards) or only_on_command(ev, c.function, (*below, function))
        for c in callers.of(ev, function)
    )


def starts_anew(ev: Evaluator, function: Function, kept: frozenset[str], under: tuple[Guard, ...] = ()) -> bool:
    """Whether a function drops the turns, which ``kept`` names, so that another conversation begins.

    What it does in branches that never run together with the code ``under`` these tests does not count.
    """
    methods = (c for c in ev.summary(function).calls if isinstance(c.func, Attr))
    named = (c for c in methods if _ANEW.fullmatch(called_name(c)) and called_name(c) != "clear")
    steps = (*_emptying(ev, function, kept), *named)
    tests = (step.tests if isinstance(step, Call) else step.guards for step in steps)
    return not all(_excludes(t, under) for t in tests) or makes_anew(ev, function, kept)


def _emptying(ev: Evaluator, function: Function, kept: frozenset[str]) -> Iterator[Write | Call]:
    """What a function does that empties the list of the turns, or puts a new one in its place."""
    summary = ev.summary(function)
    yield from (w for w in summary.writes if w.name in kept and isinstance(w.value, SeqOf))
    cleared = (c for c in summary.calls if isinstance(c.func, Attr) and c.func.name == "clear")
    yield from (c for c in cleared if _receiver(c) in kept)


def _excludes(guards: tuple[Guard, ...], others: tuple[Guard, ...]) -> bool:
    """Whether code under some tests never runs together with code under others: they are branches of one ``if``."""
    return any(g.test is o.test and g.sense is not o.sense for g in guards for o in others if g.test is not None)


def makes_anew(ev: Evaluator, function: Function, kept: frozenset[str]) -> bool:
    """Whether a function, each time, empties the list of the turns, or puts a new one or a new holder in its place.

    ``kept`` names those lists, and the classes of those objects.
    """
    writes = (w for w in ev.summary(function).writes if not w.guards)
    made = any(_called(unchanged(w.value)) & kept for w in writes)
    return made or any(not step.guards for step in _emptying(ev, function, kept))


def _called(node: Expr) -> frozenset[str]:
    """The last names in what is called: ``{"Session", "restore"}`` for ``chat.Session.restore()``."""
    func = node.func if isinstance(node, Call) else None
    names = {func.name, *_last_name(func.base)} if isinstance(func, Attr) else _last_name(func)
    return frozenset(names)


def _last_name(node: Expr | None) -> set[str]:
    if isinstance(node, Import):
        return {node.dotted.rpartition(".")[2]}
    if isinstance(node, Definition):
        return {getattr(node.node, "name", "")}
    return {node.name} if isinstance(node, (Global, Attr)) else set()


def makes_for_itself(function: Function, classes: frozenset[str]) -> bool:
    """Whether a function makes one object of these classes, without a test, and hands it on to calls only.

    The turns that the object holds are then those of one activation of the function.
    """
    made = [
        n.targets[0].id
        for n in _without_test(getattr(function.syntax, "body", []))
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and terminal(n.value.func) in classes
        if isinstance(n.targets[0], ast.Name)
    ]
    return len(made) == 1 and not any(_lets_out(n, made[0]) for n in ast.walk(function.syntax))


def _without_test(body: list[ast.stmt] | ast.expr) -> Iterator[ast.stmt]:
    """The statements that run whenever a function does; the body of a lambda is an expression."""
    for statement in body if isinstance(body, list) else []:
        yield statement
        if isinstance(statement, (ast.Try, ast.With, ast.AsyncWith)):
            yield from _without_test(statement.body)


def in_loop(function: Function, line: int) -> bool:
    """Whether a line of a function lies in one of its loops."""
    loops = (n for n in ast.walk(function.syntax) if isinstance(n, (ast.For, ast.AsyncFor, ast.While)))
    return any(loop.lineno <= line <= (loop.end_lineno or loop.lineno) for loop in loops)


def _lets_out(node: ast.AST, name: str) -> bool:
    """Whether code keeps the object ``name`` for later: in an attribute, a container, a global name, as a result."""
    if isinstance(node, (ast.Return, ast.Yield, ast.Assign)):
        return isinstance(node.value, ast.Name) and node.value.id == name
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _STORES.search(node.func.attr):
        return any(isinstance(a, ast.Name) and a.id == name for a in [*node.args, *(k.value for k in node.keywords)])
    return False


def typed(test: Test, span: Span, level: int) -> tuple[Origin, ...]:
    """The user as the one who decides a test that looks for a command."""
    if not asks_for_command(Guard(test)):
        return ()
    axes = frozenset({Axis.TURN})
    command = next((p.value for p in test.parts if isinstance(p, Literal) and _is_command(p)), "of the user")
    return (Origin("user", f"the command {command}", span, level, axes, features=frozenset({SWITCHED})),)


def begins_anew(module: Module, line: int, kept: frozenset[str]) -> bool:
    """Whether the branch whose test stands at ``line`` drops the turns, so that another conversation begins."""
    branches = (n for n in ast.walk(module.tree) if isinstance(n, ast.If) and n.test.lineno == line)
    for node in (inner for branch in branches for statement in branch.body for inner in ast.walk(statement)):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Call)):
            targets = [t.value if isinstance(t, ast.Subscript) else t for t in node.targets]
            if any(terminal(t) in kept for t in targets):
                return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if (name == "clear" and terminal(node.func.value) in kept) or (name != "clear" and _ANEW.fullmatch(name)):
                return True
    return False


# -- values --------------------------------------------------------------------------------------------------------


def switched(ev: Evaluator, name: str, function: Function, write: Write, before: Value, after: Value) -> Value:
    """What ``after`` adds to ``before``, or has in its place, depends on whether the state ``name`` was switched."""
    after = as_asked(ev, function, write, before, after)
    if isinstance(unchanged(write.base), Call) or not _may_switch(ev, name, function, write):
        return after  # what is made here and now is no state that lasts
    span = function.module.span(write.at)
    ev.switches[span] = (function, write)
    axes = frozenset({Axis.TURN, Axis.CALL})
    origin = Origin(
        "conditional",
        f"{name}, which is switched in between,",
        span,
        CALL,
        axes,
        features=frozenset({SWITCHED}),
        guard="command",
    )
    return _marked(before, after, origin, name, span)


def as_asked(ev: Evaluator, function: Function, write: Write, before: Value, after: Value) -> Value:
    """``after``, where what the user typed for a command stays as it is until another command is typed."""
    if not (any(map(asks_for_command, write.guards)) or on_command(ev, function)):
        return after
    known = {o.key for o in before.origins()}

    def how(origin: Origin) -> Origin:
        said = origin.kind in ("user", "state", "input", "loop") and origin.guard is None and origin.key not in known
        if said and origin.kind == "input":
            # With what code was started that the command does not lead to, is not what was typed now.
            asked = ev.program.function_at(origin.span)
            said = asked is None or asked is function or on_command(ev, asked)
        return replace(origin, guard="command") if said else origin

    changed = tuple(o.change(how) if isinstance(o, (Text, Hole)) else o for o in options(after))
    return Choice(changed) if isinstance(after, Choice) else changed[0]


def _may_switch(ev: Evaluator, name: str, function: Function, write: Write) -> bool:
    if function.name in _CLOSES or any(g.error or _fills(g, name) or _looks_again(g) for g in write.guards):
        return False
    if any(map(asks_for_command, write.guards)) or on_command(ev, function):
        return True
    tests = [write.guards] if write.loops else []
    tests += [c.call.guards for c in callers.of(ev, function) if c.call.loops]
    return any(any(g.sense for g in guards) and not any(_asks_about(g, name) for g in guards) for guards in tests)


def _looks_again(guard: Guard) -> bool:
    parts = guard.test.parts if isinstance(guard.test, Test) and asks_for_command(guard) else ()
    return any(isinstance(p, Literal) and isinstance(p.value, str) and _AGAIN.match(p.value) for p in parts)


def _fills(guard: Guard, name: str) -> bool:
    """Whether a test finds that the state is missing: what is put there then is no other one."""
    test, missing = guard.test, not guard.sense
    asked = test
    if isinstance(test, Test) and test.op == "not":
        asked, missing = test.parts[0], not missing
    elif isinstance(test, Test) and test.op in ("is", "==", "is not", "!=") and is_none(test.parts[1]):
        asked, missing = test.parts[0], missing is (test.op in ("is not", "!="))
    return missing and isinstance(asked, (Attr, Global)) and asked.name == name


def _asks_about(guard: Guard, name: str) -> bool:
    """Whether a test looks at the state itself: it is filled when it is missing, not switched."""
    stack = [guard.test] if guard.test is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, (Attr, Global)) and node.name == name:
            return True
        if isinstance(node, (Test, Either)):
            stack.extend(node.parts if isinstance(node, Test) else node.options)
    return guard.error


def _marked(before: Value, after: Value, origin: Origin, name: str, span: Span) -> Value:
    if isinstance(after, Text):
        old = {p.text for p in before.pieces if p.text is not None} if isinstance(before, Text) else set()
        holes = {(p.span, p.name) for p in before.pieces} if isinstance(before, Text) else set()
        return Text(
            tuple(
                p.with_deps(union(p.deps, (origin,)))
                if p.optional and p.text not in old and (p.span, p.name) not in holes
                else p
                for p in after.pieces
            )
        )
    if isinstance(after, Seq):
        from promptlint.link.conditions import item_with_condition

        by = (origin,)
        items = (i if isinstance(i, One) and not i.optional else item_with_condition(i, by) for i in after.items)
        return replace(after, items=tuple(items))
    if isinstance(after, Hole):
        return replace(after, deps=union(after.deps, (origin,)))
    if isinstance(after, Instance) and after.is_member:
        return Hole(name, span, (origin,))
    if isinstance(after, Choice) and all(isinstance(o, (Const, Hole)) for o in options(after)):
        return Hole(name, span, union(*(o.origins() for o in options(after)), (origin,)))
    if isinstance(after, Choice) and all(isinstance(o, (Text, Hole)) for o in options(after)):
        return Choice(tuple(_marked(before, o, origin, name, span) for o in options(after)))
    return after
