"""Cache markers: taken off where the API refuses them, moved to the last element, given one lifetime, or set."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from promptlint.finding import Edit
from promptlint.fix.known import is_string, is_text
from promptlint.fix.module import Module
from promptlint.span import Span

MARKER = "cache_control"
Edits = tuple[Edit, ...]


def off(module: Module, marker: Span) -> Edits:
    """The marker taken off the block that it is on: ``"cache_control": {...}``, or the assignment of it.

    A block that is nothing but a marker (``{"cachePoint": ...}``) goes as a whole.
    """
    node = _written(module, marker)
    if node is None:
        return ()
    above = module.parents[node]
    match above:
        case cst.DictElement():
            block = module.parents[above]
            if isinstance(block, cst.Dict) and len(block.elements) > 1:
                return module.without(block.elements, above)
            element = module.parents[block]
            blocks = module.parents[element]
            if isinstance(element, cst.Element) and isinstance(blocks, cst.List) and len(blocks.elements) > 1:
                return module.without(blocks.elements, element)
        case cst.Arg(keyword=cst.Name(value="cache_control")):
            call = module.parents[above]
            return module.without(call.args, above) if isinstance(call, cst.Call) else ()
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]):
            line = module.statement(node)
            edit = module.removed(line) if isinstance(line, cst.SimpleStatementLine) else None
            return (edit,) if edit is not None else ()
    return ()


def on_block(module: Module, marker: Span) -> Edits:
    """A marker on a message object put onto a text block that holds its content, which is known to be a string."""
    node = module.at(marker)
    element = module.parents.get(node) if node is not None else None
    message = module.parents.get(element) if isinstance(element, cst.DictElement) else None
    if node is None or element is None or not isinstance(message, cst.Dict):
        return ()
    for part in message.elements:
        if isinstance(part, cst.DictElement) and _key(part) == "content" and is_string(module, part.value):
            block = f'[{{"type": "text", "text": {module.source(part.value)}, {_entry(module, element)}}}]'
            return (*module.without(message.elements, element), module.replaced(part.value, block))
    return ()


def _entry(module: Module, element: cst.CSTNode) -> str:
    assert isinstance(element, cst.DictElement)
    return f"{module.source(element.key)}: {module.source(element.value)}"


def _key(part: cst.DictElement) -> str | bytes | None:
    return part.key.evaluated_value if isinstance(part.key, cst.SimpleString) else None


def last_only(module: Module, marker: Span) -> Edits:
    """A marker that a loop writes on each element written once, on the last of them."""
    node = _written(module, marker)
    above = module.parents[node] if node is not None else None
    if node is not None and isinstance(above, cst.DictElement):
        return _gathered(module, node, above)
    if node is not None and isinstance(above, cst.Assign):
        return _assigned(module, node, above)
    return ()


def _written(module: Module, marker: Span) -> cst.BaseExpression | None:
    """The expression of a marker, which may be known by the statement that assigns it."""
    node = module.at(marker)
    if node is None:
        node = next((n for n in module.inside(marker) if isinstance(module.parents[n], cst.AssignTarget)), None)
    target = module.parents[node] if node is not None else None
    assign = module.parents[target] if isinstance(target, cst.AssignTarget) else None
    return assign.value if isinstance(assign, cst.Assign) else node


def _gathered(module: Module, node: cst.BaseExpression, element: cst.DictElement) -> Edits:
    """``blocks.append({..., "cache_control": ...})`` in a loop, or a comprehension that is given a name."""
    block = module.parents[element]
    if not isinstance(block, cst.Dict) or not _constant(module, node):
        return ()
    above = module.parents[block]
    if isinstance(above, cst.ListComp) and above.elt is block:
        named = module.parents[above]
        target = named.targets[0].target if isinstance(named, cst.Assign) and len(named.targets) == 1 else None
        target = named.target if isinstance(named, cst.AnnAssign) else target
        line = module.statement(above)
        if isinstance(target, cst.Name) and isinstance(line, cst.SimpleStatementLine):
            return _moved(module, block, element, line, target.value)
        return ()
    if isinstance(above, cst.Assign):
        call = _appended(module, above)
    else:
        call = module.parents[above] if isinstance(above, cst.Arg) else None
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="append"))):
            statement = module.statement(call)
            loop = _loop(module, statement) if isinstance(statement, cst.SimpleStatementLine) else None
            anew = statement is not None and _beside(module, block, statement)
            if loop is not None and anew and _written_by(module, loop, name) == 1:
                return _moved(module, block, element, loop, name)
    return ()


def _appended(module: Module, made: cst.Assign) -> cst.CSTNode | None:
    """The call that a block is passed to, when that is all that is done with the name that it is given."""
    target = made.targets[0].target
    if len(made.targets) != 1 or not isinstance(target, cst.Name):
        return None
    bound = module.bindings(target)
    uses = [access.node for b in bound for access in b.references] if len(bound) == 1 else []
    argument = module.parents.get(uses[0]) if len(uses) == 1 else None
    return module.parents[argument] if isinstance(argument, cst.Arg) else None


def _beside(module: Module, node: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a node is part of a statement, or of another one of the same block."""
    own = module.statement(node)
    return own is not None and module.parents[own] is module.parents[statement]


def _moved(module: Module, block: cst.Dict, element: cst.DictElement, loop: cst.CSTNode, name: str) -> Edits:
    made = f"if {name}:\n    {name}[-1][{module.source(element.key)}] = {module.source(element.value)}"
    return (*module.without(block.elements, element), module.behind(loop, made))


def _loop(module: Module, statement: cst.CSTNode) -> cst.For | None:
    """The loop whose body a statement is directly part of, when that is never left early."""
    block = module.parents[statement]
    loop = module.parents.get(block)
    if not isinstance(block, cst.IndentedBlock) or not isinstance(loop, cst.For) or loop.orelse is not None:
        return None
    reader = _Leaves()
    block.visit(reader)
    return None if reader.found else loop


class _Leaves(cst.CSTVisitor):
    """Whether a block has a way to skip what comes in it."""

    def __init__(self) -> None:
        self.found = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.found |= isinstance(node, cst.Break | cst.Continue | cst.Return | cst.Yield | cst.Raise | cst.Try)
        return True


def _written_by(module: Module, loop: cst.For, name: str) -> int:
    """How often the body of a loop mentions a list."""
    return sum(isinstance(n, cst.Name) and n.value == name for n in module.inside(module.span(loop.body)))


def _assigned(module: Module, node: cst.BaseExpression, assign: cst.Assign) -> Edits:
    """``block["cache_control"] = ...`` in a loop over the blocks of a list."""
    line = module.statement(node)
    loop = _loop(module, line) if isinstance(line, cst.SimpleStatementLine) else None
    if line is None or loop is None or len(assign.targets) != 1 or not _constant(module, node):
        return ()
    target = assign.targets[0].target
    root: cst.BaseExpression = target
    while isinstance(root, cst.Subscript):
        root = root.value
    items = _up_to_the_end(loop.iter)
    if not isinstance(root, cst.Name) or not isinstance(loop.target, cst.Name) or items is None:
        return ()
    if root.value != loop.target.value:
        return ()
    whole, start = module.span(target), module.span(root)
    rest = module.between(Span(module.path, start.end_line, start.end_column, whole.end_line, whole.end_column))
    name = module.source(items)
    made = f"if {name}:\n    {name}[-1]{rest} = {module.source(node)}"
    removed = module.removed(line)
    if removed is not None:
        return (removed, module.behind(loop, made))
    span = module.span(loop)
    indent = module.indent(span.line)
    text = made.replace("\n", f"\n{indent}")
    return (Edit(Span(module.path, span.line, span.column, span.end_line, span.end_column), text),)


def _up_to_the_end(items: cst.BaseExpression) -> cst.BaseExpression | None:
    """The list whose last element is the last one of a loop over ``items``."""
    match items:
        case cst.Name() | cst.Attribute(value=cst.Name()):
            return items
        case cst.Subscript(
            value=cst.Name() | cst.Attribute(value=cst.Name()) as whole,
            slice=[cst.SubscriptElement(slice=cst.Slice(upper=None, step=None))],
        ):
            return whole
    return None


def _constant(module: Module, node: cst.BaseExpression) -> bool:
    """Whether a marker says the same wherever in its function it is written."""
    match node:
        case cst.Dict(elements=elements):
            return all(isinstance(e, cst.DictElement) and is_text(e.key) and is_text(e.value) for e in elements)
        case cst.Name():
            return module.value(node) is not None
    return False


def same_lifetime(module: Module, earlier: Span, ttl: str) -> Edits:
    """The lifetime of a breakpoint that is written out."""
    node = module.at(earlier)
    if not isinstance(node, cst.Dict) or not node.elements:
        return ()
    for part in node.elements:
        if isinstance(part, cst.DictElement) and _key(part) == "ttl":
            return (module.replaced(part.value, f'"{ttl}"'),) if isinstance(part.value, cst.SimpleString) else ()
    if not all(isinstance(part, cst.DictElement) for part in node.elements):
        return ()
    return module.added(node.elements, f'"ttl": "{ttl}"')


def on_request(module: Module, site: Span) -> Edits:
    """A marker for the request, which the API puts on the newest block of each turn."""
    call = module.at(site)
    if not isinstance(call, cst.Call) or not call.args:
        return ()
    made = f'{MARKER}={{"type": "ephemeral"}}'
    if any(arg.keyword is not None and arg.keyword.value == MARKER for arg in call.args):
        return ()
    return module.added(call.args, made)


def on_system(module: Module, site: Span) -> Edits:
    """A marker on the last block of the system text of a call."""
    call = module.at(site)
    system = _system(module, call) if isinstance(call, cst.Call) else None
    block = _last_block(system)
    if block is not None:
        return module.added(block.elements, f'"{MARKER}": {{"type": "ephemeral"}}')
    if system is not None and is_string(module, system):
        made = f'[{{"type": "text", "text": {module.source(system)}, "{MARKER}": {{"type": "ephemeral"}}}}]'
        return (module.replaced(system, made),)
    return ()


def behind_system(module: Module, site: Span) -> Edits:
    """The same for a request to Bedrock Converse, where a marker is a block of its own."""
    call = module.at(site)
    system = _system(module, call) if isinstance(call, cst.Call) else None
    if isinstance(system, cst.List) and _last_block(system) is not None:
        return module.added(system.elements, '{"cachePoint": {"type": "default"}}')
    return ()


def _system(module: Module, call: cst.Call) -> cst.BaseExpression | None:
    """The system text of a call: an argument, or an entry of the dict that is passed as arguments."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "system":
            return arg.value
    found: list[cst.BaseExpression] = []
    for arg in call.args:
        given = arg.value if arg.star == "**" else None
        name = given if isinstance(given, cst.Name) else None
        value = module.value(name) if name is not None else given
        if isinstance(value, cst.Dict):
            parts = (part for part in value.elements if isinstance(part, cst.DictElement))
            found += [part.value for part in parts if _key(part) == "system"]
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "dict":
            found += [part.value for part in value.args if part.keyword is not None and part.keyword.value == "system"]
        found += _entries(module, name) if name is not None else []
    return found[0] if len(found) == 1 else None


def _entries(module: Module, name: cst.Name) -> Iterator[cst.BaseExpression]:
    """What is assigned to the entry for the system text of a dict: ``params["system"] = ...``."""
    for bound in module.bindings(name):
        for access in getattr(bound, "references", ()):
            target = module.parents.get(access.node)
            match target:
                case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
                    assign = module.parents.get(module.parents[target])
                    if key.evaluated_value == "system" and isinstance(assign, cst.Assign) and len(assign.targets) == 1:
                        yield assign.value


def _last_block(system: cst.BaseExpression | None) -> cst.Dict | None:
    match system:
        case cst.List(elements=[*_, cst.Element(value=cst.Dict() as block)]) if block.elements:
            return block
    return None
