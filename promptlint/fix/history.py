"""Changes to kept turns: messages appended instead of put in front, and old turns dropped in bulk."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from promptlint.finding import Edit
from promptlint.fix.module import Module
from promptlint.link.turns.guards import LARGE_MESSAGES
from promptlint.span import Span


@dataclass(frozen=True, slots=True)
class Bulk:
    """A cut that comes rarely: when the history is longer than ``above`` messages, of which it leaves ``keeps``."""

    edits: tuple[Edit, ...]
    keeps: int
    above: int


def appended(module: Module, mutator: Span) -> tuple[Edit, ...]:
    """``history.insert(position, message)`` as ``history.append(message)``."""
    call = module.at(mutator)
    match call:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="insert") as method),
            args=[cst.Arg(keyword=None, star=""), cst.Arg(keyword=None, star="")],
        ):
            return (module.replaced(method, "append"), *module.without(call.args, call.args[0]))
    return ()


def in_bulk(module: Module, mutator: Span, keeps: int | None) -> Bulk | None:
    """A history that loses its oldest turn with each new one, cut in bulk instead; ``keeps`` is what a cut leaves."""
    node = module.at(mutator)
    match node:
        case cst.Subscript() if keeps and _is_place(node.value):
            return _sliced(module, node, keeps)
        case cst.Call(
            func=cst.Attribute(value=history, attr=cst.Name(value="pop")), args=[cst.Arg(value=cst.Integer(value="0"))]
        ):
            return _popped(module, node, module.source(history))
    return None


def in_steps(module: Module, mutator: Span, keeps: int | None) -> tuple[Edit, ...]:
    """``history[-N:]`` in a request, whose start moves on by N messages at a time."""
    node = module.at(mutator)
    if not keeps or not isinstance(node, cst.Subscript) or not _is_place(node.value):
        return ()
    size, history = _size(module, node), module.source(node.value)
    if size is None or _stores(module, node, history):
        return ()
    text = f"{history}[max(0, len({history}) - {size}) // {size} * {size} :]"
    return (module.replaced(node, text),)


def _stores(module: Module, node: cst.BaseExpression, history: str) -> bool:
    """Whether what an expression is part of takes the place of the history, which is shorter from then on.

    A shortened copy with a name of its own may do so later.
    """
    if isinstance(module.parents[node], cst.Assign | cst.AnnAssign):
        return True
    for above, _ in module.around(node):
        if isinstance(above, cst.Assign):
            return any(module.source(target.target) == history for target in above.targets)
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement):
            return isinstance(above, cst.AnnAssign)
    return False


def _is_place(node: cst.BaseExpression) -> bool:
    """Whether an expression only says where a list is: a name, an attribute, an element by name or constant."""
    match node:
        case cst.Name():
            return True
        case cst.Attribute(value=inner):
            return _is_place(inner)
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            return _is_place(inner) and (_is_place(key) or isinstance(key, cst.SimpleString | cst.Integer))
    return False


def _size(module: Module, cut: cst.Subscript) -> str | None:
    """How the size of ``history[-N:]`` is written."""
    match cut.slice:
        case [
            cst.SubscriptElement(
                slice=cst.Slice(lower=cst.UnaryOperation(operator=cst.Minus(), expression=size), upper=None, step=None)
            )
        ]:
            return module.source(size)
    return None


def _number(module: Module, node: cst.BaseExpression) -> int | None:
    value = module.value(node) if isinstance(node, cst.Name) else node
    return value.evaluated_value if isinstance(value, cst.Integer) else None


def _above(keeps: int) -> int:
    return max(2 * keeps, 3 * LARGE_MESSAGES // 2)


def _bound(size: str, keeps: int) -> tuple[str, int]:
    """The number of messages above which to cut, as it is written: a multiple of what a name stands for."""
    above = _above(keeps)
    if size.isdigit():
        return str(above), above
    times = -(-above // keeps)
    return f"{times} * {size}", times * keeps


def _sliced(module: Module, cut: cst.Subscript, keeps: int) -> Bulk | None:
    """``history = history[-N:]``, with or without a test of the length around it or ahead of it."""
    assign, line = module.parents[cut], module.statement(cut)
    history, size = module.source(cut.value), _size(module, cut)
    if size is None or not isinstance(assign, cst.Assign) or not isinstance(line, cst.SimpleStatementLine):
        return None
    if len(assign.targets) != 1 or module.source(assign.targets[0].target) != history:
        return None
    bound, above = _bound(size, keeps)
    test = _test(module, line, history) or _left_early(module, line, history)
    if test is not None:
        return Bulk((module.replaced(test, bound),), keeps, above)
    span = module.span(line)
    text = module.between(span).replace("\n", "\n    ")
    made = f"if len({history}) > {bound}:\n{module.indent(span.line)}    {text}"
    return Bulk((Edit(span, made),), keeps, above)


def _test(module: Module, line: cst.CSTNode, history: str) -> cst.BaseExpression | None:
    """The number in ``if len(history) > N:`` right around a statement that is all it decides about."""
    block = module.parents[line]
    around = module.parents.get(block)
    if not isinstance(block, cst.IndentedBlock) or not isinstance(around, cst.If | cst.While) or around.orelse:
        return None
    return _compared(module, around.test, history, cst.GreaterThan, cst.GreaterThanEqual)


def _left_early(module: Module, line: cst.CSTNode, history: str) -> cst.BaseExpression | None:
    """The number in ``if len(history) <= N: return`` ahead of a statement in the same block."""
    block = module.parents[line]
    for node in block.body if isinstance(block, cst.IndentedBlock) else ():
        if node is line:
            break
        if isinstance(node, cst.If) and node.orelse is None and _only_returns(node.body):
            most = _compared(module, node.test, history, cst.LessThan, cst.LessThanEqual)
            if most is not None:
                return most
    return None


def _only_returns(body: cst.BaseSuite) -> bool:
    match body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Return()])]):
            return True
        case cst.SimpleStatementSuite(body=[cst.Return()]):
            return True
    return False


def _compared(
    module: Module, test: cst.BaseExpression, history: str, *operators: type[cst.BaseCompOp]
) -> cst.BaseExpression | None:
    """What the length of a history is compared with."""
    match test:
        case cst.Comparison(
            left=cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=counted)]),
            comparisons=[cst.ComparisonTarget(operator=operator, comparator=most)],
        ) if module.source(counted) == history and isinstance(operator, operators):
            return most
    return None


def _popped(module: Module, call: cst.Call, history: str) -> Bulk | None:
    """``while len(history) > N: history.pop(0)``"""
    line = module.statement(call)
    most = _test(module, line, history) if isinstance(line, cst.SimpleStatementLine) else None
    keeps = _number(module, most) if most is not None else None
    if line is None or most is None or not keeps or not isinstance(module.parents[call], cst.Expr):
        return None
    loop = module.parents[module.parents[line]]
    if not isinstance(loop, cst.If | cst.While) or len(loop.body.body) != 1:
        return None
    if isinstance(loop, cst.If) and isinstance(module.parents[loop], cst.If):  # elif
        return None
    size = module.source(most)
    bound, above = _bound(size, keeps)
    start, end = module.span(loop), module.span(most)
    head = Edit(
        Span(module.path, start.line, start.column, end.end_line, end.end_column), f"if len({history}) > {bound}"
    )
    return Bulk((head, module.replaced(call, f"del {history}[:-{size}]")), keeps, above)
