"""How far apart the requests of one context are sent, where the code says so: a sleep in their loop, a schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlint.assembly import cron
from promptlint.assembly.chains import Chain
from promptlint.code.expression import At
from promptlint.code.index import Function, Module, terminal
from promptlint.link.values import Const
from promptlint.request import Pace

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
_EVERY = ("run_every", "interval", "every", "period")
"""Keywords of schedulers whose number counts seconds."""
_REGISTER = ("do", "add_job", "run_repeating", "add_periodic_task")


def of(ev: Evaluator, chain: Chain) -> Pace | None:
    """The shortest time between two requests, in seconds; ``None`` where nothing tells."""
    if chain.loops:
        return _of_loop(ev, chain)
    if chain.entry is not None and chain.entry[0].evidence == "a scheduler":
        return next((p for p in _of_schedule(_entry_function(chain))), None)
    return None


def _of_loop(ev: Evaluator, chain: Chain) -> Pace | None:
    """The sleeps in the innermost loop that every iteration comes past."""
    loop = chain.loops[-1]
    frame = next((f for f in chain.frames if loop.state.id in f.path_loops), None)
    if frame is None:
        return None
    place = (loop.state.at.lineno, loop.state.at.col_offset)
    for node in ast.walk(frame.module.syntax(frame.function)):
        if isinstance(node, ast.While | ast.For | ast.AsyncFor) and (node.lineno, node.col_offset) == place:
            sleeps = [(call, s) for call in _sleeps(node.body) if (s := _slept(ev, frame, call)) is not None]
            seconds = sum(s for _, s in sleeps)
            if seconds > 0:
                return Pace(seconds, "the loop waits", frame.module.span(At.start(sleeps[0][0])))
    return None


def _slept(ev: Evaluator, frame: Frame, call: ast.Call) -> float | None:
    """How long a sleep takes: a number that stands there, or one that comes from elsewhere."""
    written = _number(call.args[0], frame.module)
    if written is not None:
        return written
    place = (call.lineno, call.col_offset)
    calls = (c for c in ev.summary(frame.function).calls if (c.at.lineno, c.at.col_offset) == place)
    values = [ev.eval(found.args[0], frame) for found in calls if found.args]
    numbers = [float(v.value) for v in values if isinstance(v, Const) and isinstance(v.value, int | float)]
    return numbers[0] if numbers and len(numbers) == len(values) else None


def _sleeps(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Calls of a function called sleep that stand under no condition."""
    for statement in body:
        match statement:
            case ast.With() | ast.AsyncWith():
                yield from _sleeps(statement.body)
            case ast.Try():
                yield from _sleeps(statement.body)
                yield from _sleeps(statement.finalbody)
            case ast.Expr(value=ast.Await(value=ast.Call() as call)) | ast.Expr(value=ast.Call() as call):
                if terminal(call.func) == "sleep" and call.args:
                    yield call
            case _:
                pass


def _entry_function(chain: Chain) -> Function:
    """The function that the scheduler runs: the first on the way that is where the entry was found."""
    assert chain.entry is not None
    span = chain.entry[1]
    functions = [frame.function for frame in chain.frames]
    return next((f for f in functions if f.module.span(At.start(f.node)) == span), functions[0])


def _of_schedule(function: Function) -> Iterator[Pace]:
    module = function.module
    registered = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and terminal(node.func) in _REGISTER
        and any(
            isinstance(a, ast.Name) and a.id == function.name for a in (*node.args, *(k.value for k in node.keywords))
        )
    ]
    for call in [*(d for d in function.decorators if isinstance(d, ast.Call)), *registered]:
        seconds = _interval(call, module) or _by_calendar(call)
        if seconds > 0:
            yield Pace(seconds, "the schedule waits", module.span(At.start(call)))


def _interval(call: ast.Call, module: Module) -> float:
    """Seconds that a call of a scheduler names: ``minutes=10``, ``interval=600``, ``every(10).minutes``."""
    seconds = 0.0
    for keyword in call.keywords:
        unit = 1.0 if keyword.arg in _EVERY else _UNITS.get((keyword.arg or "").removesuffix("s"), 0.0)
        seconds += unit * (_number(keyword.value, module) or 0.0)
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Attribute):  # every(10).minutes.do
        unit, every = _UNITS.get(call.func.value.attr.removesuffix("s"), 0.0), call.func.value.value
        if isinstance(every, ast.Call) and terminal(every.func) == "every":
            number = _number(every.args[0], module) if every.args else 1.0
            seconds += unit * (number or 0.0)
    if terminal(call.func) == "add_periodic_task" and call.args:
        seconds += _number(call.args[0], module) or 0.0
    return seconds


def _by_calendar(call: ast.Call) -> float:
    """Seconds between two runs at fixed times: ``scheduled_job("cron", hour="*/2")``, ``crontab(minute="*/10")``."""
    for inner in (call, *(a for a in (*call.args, *(k.value for k in call.keywords)) if isinstance(a, ast.Call))):
        texts = [a.value for a in inner.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        name = terminal(inner.func)
        fields = {k.arg: str(k.value.value) for k in inner.keywords if isinstance(k.value, ast.Constant)}
        if name in ("CronTrigger", "crontab", "cron") or "cron" in texts or fields.get("trigger") == "cron":
            # Unless told otherwise, Celery and Huey run at each minute, others at the first one of the hours given.
            minute = fields.get("minute", "0" if "hour" in fields and name != "crontab" else "*")
            seconds = (
                cron.seconds_between(minute, fields.get("hour", "*")) if {"minute", "hour"} & fields.keys() else None
            )
            if seconds is not None:
                return seconds
        for text in (*texts, *fields.values()) if name in ("from_crontab", "cron", "schedule", "crontab") else ():
            seconds = cron.of_text(text)
            if seconds is not None:
                return seconds
    return 0.0


def _number(node: ast.expr, module: Module) -> float | None:
    """A number written as a literal, a product of literals, a ``timedelta`` in seconds, or a name that the module gives
    one such value.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as length, attr="total_seconds"), args=[], keywords=[]):
            return _number(length, module)
        case ast.Call(args=[], keywords=[_, *_] as parts) if terminal(node.func) == "timedelta":
            units = [_UNITS.get((part.arg or "").removesuffix("s")) for part in parts]
            numbers = [_number(part.value, module) for part in parts]
            known = [unit * number for unit, number in zip(units, numbers, strict=True) if unit and number is not None]
            return sum(known) if len(known) == len(parts) else None
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _number(left, module), _number(right, module)
            return None if one is None or other is None else one * other
        case ast.Name(id=name):
            values = [
                statement.value
                for statement in module.tree.body
                if isinstance(statement, ast.Assign | ast.AnnAssign) and name in _targets(statement)
            ]
            only = values[0] if len(values) == 1 else None
            return _number(only, module) if only is not None and not isinstance(only, ast.Name) else None
    return None


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
