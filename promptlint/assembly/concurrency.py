"""Calls that are started together: in a gathered list, a group of tasks, or a pool of threads."""

from __future__ import annotations

import ast
from functools import lru_cache

from promptlint.code.expression import Call
from promptlint.code.index import MAPS, Function, terminal
from promptlint.span import Span

_TOGETHER = frozenset(("gather", "as_completed", "wait"))
_START = frozenset(("create_task", "ensure_future", "submit", "start_soon", "run_in_executor", "apply_async", "Thread"))
_POOLS = frozenset(("ThreadPoolExecutor", "ProcessPoolExecutor", "ThreadPool", "Pool"))
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@lru_cache(maxsize=16)  # the requests of one call, in each of its contexts, come one after the other
def fanned_out(function: Function, call: Call) -> Span | None:
    """Where ``function`` starts ``call`` several times at once; ``None`` when it waits for each, or sends one ahead."""
    parents: dict[ast.AST, ast.AST] = {}
    found: ast.Call | None = None
    body = function.module.syntax(function)
    for node in ast.walk(body):
        for child in ast.iter_child_nodes(node):
            parents[child] = node
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == call.at[:2]:
            if (node.end_lineno, node.end_col_offset) == call.at[2:]:
                found = node
    if found is None or _one_at_a_time(body) or not _starts_many(found, parents, body):
        return None
    if _warmed_up(found, parents, body):
        return None
    return function.module.span(call.at)


def _starts_many(node: ast.Call, parents: dict[ast.AST, ast.AST], body: ast.AST) -> bool:
    if terminal(node.func) in MAPS:
        return isinstance(node.func, ast.Attribute) and _is_pool(node.func.value, body)
    awaited = isinstance(parents.get(node), ast.Await)
    started, looped = terminal(node.func) in _START, False
    at: ast.AST | None = node
    while at is not None and at is not body:
        above = parents.get(at)
        if isinstance(above, _LOOPS):
            looped = True
        elif isinstance(above, ast.Call) and at is not above.func:
            name = terminal(above.func)
            if name in _TOGETHER:
                return not awaited and (looped or len(above.args) > 1)
            started = started or name in _START
        elif isinstance(above, _BODIES) and above is not body:
            return False
        at = above
    if awaited or not looped:
        return False
    return started or any(terminal(n.func) in _TOGETHER for n in ast.walk(body) if isinstance(n, ast.Call))


def _is_pool(receiver: ast.expr, body: ast.AST) -> bool:
    """Whether something is a pool of threads or processes that the body makes."""
    if isinstance(receiver, ast.Call):
        return terminal(receiver.func) in _POOLS
    name = terminal(receiver)
    for node in ast.walk(body):
        made: ast.expr | None = None
        target: ast.expr | None = None
        if isinstance(node, ast.withitem):
            made, target = node.context_expr, node.optional_vars
        elif isinstance(node, ast.Assign):
            made, target = node.value, node.targets[0]
        if isinstance(made, ast.Call) and terminal(made.func) in _POOLS and target is not None:
            if terminal(target) == name:
                return True
    return False


def _one_at_a_time(body: ast.AST) -> bool:
    """Whether a pool or a semaphore of one lets only one call run."""
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and terminal(node.func) in (*_POOLS, "Semaphore", "BoundedSemaphore"):
            sizes = [
                *node.args[:1],
                *(k.value for k in node.keywords if k.arg in ("max_workers", "processes", "value")),
            ]
            if any(isinstance(s, ast.Constant) and s.value == 1 for s in sizes):
                return True
    return False


def _warmed_up(node: ast.Call, parents: dict[ast.AST, ast.AST], body: ast.AST) -> bool:
    """Whether the same is called, and waited for, ahead of the many calls."""
    names = {terminal(node.func), *(terminal(a) for a in node.args)} - {None}
    for other in ast.walk(body):
        if isinstance(other, ast.Call) and other is not node and other.lineno < node.lineno:
            if terminal(other.func) in names and not any(isinstance(a, _LOOPS) for a in _above(other, parents)):
                return True
    return False


def _above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> list[ast.AST]:
    chain: list[ast.AST] = []
    at = parents.get(node)
    while at is not None:
        chain.append(at)
        at = parents.get(at)
    return chain
