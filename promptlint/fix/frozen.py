"""Values that are read again and again, read once: ahead of the loop of a conversation, or for the whole process."""

from __future__ import annotations

import re

import libcst as cst
from libcst import metadata as meta

from promptlint.finding import Edit
from promptlint.fix.edits import put_in
from promptlint.fix.known import is_string
from promptlint.fix.module import Module
from promptlint.span import Span

_NAMES = {"getcwd": "cwd", "gethostname": "host", "uuid1": "session_id", "uuid4": "session_id", "listdir": "entries"}
"""What a value is called that had no name, by the function that gives it."""
_ONCE = "functools"


def ahead_of_loop(module: Module, value: Span, turns: Span) -> tuple[Edit, ...]:
    """A call that the loop over the turns makes each time, made ahead of it; ``turns`` is where that loop begins."""
    found = module.at(value)
    node = _whole(module, found) if found is not None else None
    loop = next((above for above, _ in module.around(node) if _begins(module, above, turns)), None) if node else None
    if node is None or not isinstance(found, cst.Call) or not isinstance(loop, cst.For | cst.While):
        return ()
    if any(_may_change(module, name, loop) for name in _read(node)):
        return ()
    start = module.span(loop)
    indent = module.indent(start.line)
    above = module.parents[node]
    line = module.statement(node)
    if isinstance(above, cst.Assign) and line is not None and module.parents[line] is loop.body:
        target = above.targets[0].target
        alone = len(above.targets) == 1 and isinstance(target, cst.Name) and len(module.bindings(target)) == 1
        return _lifted(module, line, loop) if alone else ()
    name = _name(module, found)
    if name is None or not _in_text(module, node):
        return ()
    text = f"{name} = {module.source(node)}\n{indent}"
    return (put_in(module.path, start.line, start.column, text), module.replaced(node, name))


def once(module: Module, value: Span) -> tuple[Edit, ...]:
    """``functools.cache`` on a function without parameters that gives a text, whose parts cannot be changed."""
    node = module.at(value)
    function = module.function(value)
    if node is None or function is None or not isinstance(module.parents[function], cst.Module):
        return ()
    given = function.params
    if function.decorators or function.asynchronous or given.params or given.kwonly_params or given.star_kwarg:
        return ()
    reader = _Returns()
    function.body.visit(reader)
    if any(_is_state(module, name) for name in reader.names):
        return ()
    says = function.returns is not None and module.source(function.returns.annotation) == "str"
    if reader.yields or not reader.values or not (says or all(is_string(module, value) for value in reader.values)):
        return ()
    span = module.span(function)
    if re.search(rf"^import {_ONCE}$", module.text, re.MULTILINE):
        return (put_in(module.path, span.line, span.column, f"@{_ONCE}.cache\n"),)
    imported = _import(module)
    return (imported, put_in(module.path, span.line, span.column, f"@{_ONCE}.cache\n")) if imported else ()


def _whole(module: Module, node: cst.BaseExpression) -> cst.BaseExpression:
    """All that is asked of a value: ``os.popen("git status").read()`` of ``os.popen("git status")``."""
    above = module.parents[node]
    if isinstance(above, cst.Attribute) or (isinstance(above, cst.Call) and above.func is node):
        return _whole(module, above)
    return node


def _lifted(module: Module, line: cst.CSTNode, loop: cst.For | cst.While) -> tuple[Edit, ...]:
    """A statement of a loop with its comments, ahead of that."""
    where, start = module.span(line), module.span(loop)
    if where.line != where.end_line:
        return ()
    first = where.line
    while module.lines[first - 2].lstrip().startswith("#"):
        first -= 1
    removed = module.removed(line)
    if removed is None:
        return ()
    depth = len(module.indent(where.line))
    lines = [text[depth:] for text in module.lines[first - 1 : where.end_line]]
    indent = module.indent(start.line)
    text = "".join(f"{text}\n{indent}" for text in lines)
    gone = Edit(Span(module.path, first, 1, removed.span.end_line, removed.span.end_column), "")
    return (put_in(module.path, start.line, start.column, text), gone)


def _begins(module: Module, node: cst.CSTNode, turns: Span) -> bool:
    return isinstance(node, cst.For | cst.While) and module.span(node).line == turns.line


def _may_change(module: Module, name: cst.Name, loop: cst.For | cst.While) -> bool:
    """Whether a name may mean something else in the next turn of a loop, or stand for something that has changed."""
    where = module.span(loop)
    bound = module.bindings(name)
    if not bound or all(isinstance(one, meta.BuiltinAssignment) for one in bound):
        return not bound
    if len(bound) != 1 or not isinstance(bound[0], meta.Assignment):
        return True
    node = bound[0].node
    if not isinstance(node, cst.Name | cst.Param):
        return False  # an import, a function or a class
    return where.line <= module.span(node).line <= (where.end_line or 0) or not is_string(module, name)


def _read(node: cst.BaseExpression) -> list[cst.Name]:
    reader = _Reads()
    node.visit(reader)
    return reader.names


class _Reads(cst.CSTVisitor):
    """The names in an expression that are no attributes and no keywords."""

    def __init__(self) -> None:
        self.names: list[cst.Name] = []

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names.append(node)


def _is_state(module: Module, name: cst.Name) -> bool:
    """Whether a name is one of the file that stands for neither an import, a function nor a known text."""
    bound = module.bindings(name)
    if not any(isinstance(one.scope, meta.GlobalScope) and isinstance(one, meta.Assignment) for one in bound):
        return False
    if len(bound) == 1 and isinstance(bound[0], meta.Assignment) and not isinstance(bound[0].node, cst.Name):
        return False
    return not is_string(module, name)


class _Returns(_Reads):
    """What a function gives back, and the names that it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[cst.BaseExpression] = []
        self.yields = False

    def visit_Return(self, node: cst.Return) -> None:
        self.values += [node.value] if node.value is not None else []

    def visit_Yield(self, node: cst.Yield) -> None:
        self.yields = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def _name(module: Module, call: cst.Call) -> str | None:
    """A name for what a call gives, which nothing has yet."""
    last = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    name = _NAMES.get(last.value, f"{last.value}_at_start") if isinstance(last, cst.Name) else None
    return name if name is not None and not re.search(rf"\b{name}\b", module.text) else None


def _in_text(module: Module, node: cst.BaseExpression) -> bool:
    """Whether a value is put into text as it is."""
    above = module.parents[node]
    match above:
        case cst.FormattedStringExpression() | cst.BinaryOperation(operator=cst.Add()):
            return True
        case cst.Arg():
            call = module.parents[above]
            return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "str"
    return False


def _import(module: Module) -> Edit | None:
    """The module ``functools`` imported, in the order of the imports where they have one."""
    lines = [line for line in module.top if isinstance(line, cst.SimpleStatementLine)]
    plain = [line for line in lines if isinstance(line.body[0], cst.Import)]
    later = (line for line in plain if module.between(module.span(line)) > f"import {_ONCE}")
    others = (line for line in lines if isinstance(line.body[0], cst.ImportFrom) and not _is_future(line.body[0]))
    place = next(later, None) or next(others, None)
    if place is None:
        return None
    span = module.span(place)
    return put_in(module.path, span.line, span.column, f"import {_ONCE}\n")


def _is_future(line: cst.ImportFrom) -> bool:
    return isinstance(line.module, cst.Name) and line.module.value == "__future__"
