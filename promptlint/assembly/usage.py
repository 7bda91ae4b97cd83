"""What a program reads of the token counts in a reply."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import At
from promptlint.code.index import Function, Module, terminal
from promptlint.request import Usage
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

PROMPT = frozenset(("input_tokens", "prompt_tokens", "inputTokens", "prompt_token_count", "promptTokenCount"))
CACHED = frozenset(
    (
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
        "cached_tokens",
        "cached_content_token_count",
        "cachedContentTokenCount",
        "total_cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_n",
    )
)
"""Names of the counts in replies of all providers; a test compares them with the facts."""
_USAGE = frozenset(("usage", "usage_metadata", "usageMetadata", "token_usage"))

_ALL = frozenset(("model_dump", "model_dump_json", "dict", "json", "to_dict", "to_json", "items", "copy", "__dict__"))
"""What hands on every count, the cached ones included."""


def usage_of(ev: Evaluator, way: Sequence[Function]) -> Usage | None:
    """The counts that are read of a reply; ``None`` when none are.

    ``way`` are the functions on the way to the request, that which sends it last: the file of that one is looked at as
    a whole, of the others, to which it hands the reply on, only they themselves.
    """
    wholes = []
    for function in reversed(way):
        module = function.module
        if module not in ev.usage_cache:
            ev.usage_cache[module] = _reads(module)
        reads, sums, whole = ev.usage_cache[module]
        wholes.append(whole)
        inside = [n for n in reads if _covers(function.node, n)]
        if inside or (function is way[-1] and (reads or sums)):
            cached = any(wholes) or any(ev.program.project.mentions(word) for word in CACHED)
            return Usage(_spans(module, inside or reads), bool(inside), cached, _spans(module, sums))
    return None


def _spans(module: Module, nodes: Iterable[ast.expr]) -> tuple[Span, ...]:
    return tuple(
        module.span(At(n.lineno, n.col_offset, n.end_lineno or n.lineno, n.end_col_offset or 0)) for n in nodes
    )


def _reads(module: Module) -> tuple[list[ast.expr], list[ast.BinOp], bool]:
    """The reads of a prompt's length, its sums with cached tokens, and whether all counts are handed on at once."""
    if not any(map(module.holds, _USAGE)):
        return [], [], False
    reads: list[ast.expr] = []
    sums: list[ast.BinOp] = []
    parts: set[ast.AST] = set()
    usages: list[ast.expr] = []
    for node in ast.walk(module.tree):
        field, base = _field(node)
        if field is not None and base is not None and (terminal(base) in _USAGE or _field(base)[0] in _USAGE):
            if field not in _ALL:
                parts.add(base)
            if field in PROMPT and isinstance(node, ast.expr):
                reads.append(node)
        if isinstance(node, (ast.Name, ast.Attribute)) and terminal(node) in _USAGE and isinstance(node.ctx, ast.Load):
            usages.append(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            names = {_named(n) for n in ast.walk(node)}
            if names & PROMPT and names & {"cached_tokens", "cached_content_token_count", "prompt_cache_hit_tokens"}:
                sums.append(node)
    inner = {child for s in sums for child in (*ast.walk(s.left), *ast.walk(s.right))}
    tested = {n for node in ast.walk(module.tree) for n in _only_tested(node)}
    whole = any(u not in parts and u not in tested for u in usages)
    return reads, [s for s in sums if s not in inner], whole


def _only_tested(node: ast.AST) -> list[ast.AST]:
    """The expressions of which only whether they are there is asked, or which get a name."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        test = node.test
        return [test, *(test.values if isinstance(test, ast.BoolOp) else [])]
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [node.value] if any(terminal(t) in _USAGE for t in targets) else []
    if isinstance(node, ast.Compare):
        return [node.left]
    return []


def _field(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """``x.name``, ``x["name"]``, ``x.get("name")`` and ``getattr(x, "name")``: the name, and ``x``."""
    if isinstance(node, ast.Attribute):
        return node.attr, node.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value, node.value
    if isinstance(node, ast.Call) and node.args:
        named = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if named and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            return named[0], node.func.value
        if named and terminal(node.func) == "getattr":
            return named[0], node.args[0]
    return None, None


def _named(node: ast.AST) -> str | None:
    return _field(node)[0] or (node.id if isinstance(node, ast.Name) else None)


def _covers(node: ast.AST, inner: ast.expr) -> bool:
    return getattr(node, "lineno", 1) <= inner.lineno <= (getattr(node, "end_lineno", None) or 1 << 30)
