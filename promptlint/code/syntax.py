"""What the syntax of a body says by itself: the names it binds, the paths it changes, how its loops end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from promptlint.code.index import ATOMS, MUTATORS, Function, push_children, terminal

YIELDED = "<yielded>"
HANDED_STORES = frozenset(("user_data", "chat_data", "bot_data"))
"""Names of dicts of a context that is handed to each handler (python-telegram-bot)."""
SESSION_STORES = frozenset(("session_state", "user_session")) | HANDED_STORES
"""Names of objects that keep what one user's session holds, by attribute or by key (Streamlit, Chainlit)."""


def dotted_path(node: ast.expr) -> str | None:
    """``self.client.system`` as a path when every step is a plain name; ``session_state["messages"]`` is one, too."""
    parts: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        step = node.attr if isinstance(node, ast.Attribute) else session_key(node)
        if step is None:
            return None
        parts.append(step)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def session_key(node: ast.expr) -> str | None:
    """The constant key that an expression reads in a store of the user's session, or the name of such a constant."""
    if not isinstance(node, ast.Subscript):
        return None
    owner, key = node.value, node.slice
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else None
    if name not in SESSION_STORES:
        return None
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value if key.value.isidentifier() else None
    named = key.attr if isinstance(key, ast.Attribute) else key.id if isinstance(key, ast.Name) else ""
    return named if named.isupper() and name in HANDED_STORES else None


def session_call(node: ast.Call) -> ast.Attribute | None:
    """``user_session.get("x")`` or ``.set("x", value)`` as the attribute that it reads or writes."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "set") and node.args):
        return None
    subscript = ast.Subscript(node.func.value, node.args[0], ast.Load())
    key = session_key(subscript)
    return ast.copy_location(ast.Attribute(node.func.value, key, ast.Load()), node) if key is not None else None


def is_place(node: ast.expr) -> bool:
    """Whether ``node`` names a container that code can change in place."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("setdefault", "get"):
        return is_place(node.func.value)
    return isinstance(node, ast.Name)


@lru_cache(maxsize=1024)  # asked again for each function inside
def local_names(node: ast.AST) -> frozenset[str]:
    """Names that are local to a function: its parameters and what its own body binds."""
    names: set[str] = set()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            names.add(a.arg)
        names.update(a.arg for a in (arguments.vararg, arguments.kwarg) if a)
    body = getattr(node, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    declared: set[str] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Name):
            if not isinstance(item.ctx, ast.Load):
                names.add(item.id)
            continue
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(item.name)
            continue
        if isinstance(item, ast.Lambda):
            continue
        if isinstance(item, (ast.Global, ast.Nonlocal)):
            declared.update(item.names)
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name.split(".")[0]) for a in item.names)
        elif isinstance(item, ast.ExceptHandler) and item.name:
            names.add(item.name)
        push_children(item, stack, ATOMS)
    return frozenset(names - declared)


def changed_outside(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names of the functions around a nested one that its body rebinds, or whose inside it changes (a superset)."""
    return frozenset({path for path in changed_paths(node.body) if path.isidentifier()} - local_names(node))


def enclosing_names(function: Function) -> frozenset[str]:
    names: set[str] = set()
    parent = function.parent
    while parent is not None and not isinstance(parent.node, ast.Module):
        names |= local_names(parent.node) if parent.bound is None else parent.bound
        parent = parent.parent
    return frozenset(names)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a body without leaves and those of functions and classes defined in it."""
    body = getattr(node, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        item = stack.pop()
        yield item
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            push_children(item, stack)


def pattern_names(pattern: ast.pattern) -> list[str]:
    return [
        name
        for node in ast.walk(pattern)
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping))
        and (name := getattr(node, "name", None) or getattr(node, "rest", None))
    ]


def changed_paths(body: list[ast.stmt]) -> set[str]:
    """Paths that a loop body may rebind or change in place (a superset)."""
    changed: set[str] = set()

    def add(target: ast.expr) -> None:
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                add(element)
            return
        if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
            add(target.func.value)
            return
        path = dotted_path(target)
        if path is not None:
            changed.add(path)

    loop_sources: dict[str, ast.expr] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Assign):
            for t in node.targets:
                add(t)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            add(node.target)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            add(node.target)
            if isinstance(node.target, ast.Name):
                loop_sources[node.target.id] = node.iter
        elif isinstance(node, ast.Delete):
            for t in node.targets:
                add(t)
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            changed.add(YIELDED)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            add(node.optional_vars)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                if node.func.attr in MUTATORS:
                    add(node.func.value)
            for a in [*node.args, *(k.value for k in node.keywords)]:
                if isinstance(a, (ast.Name, ast.Attribute)):
                    add(a)
        push_children(node, stack)
    # A change to a loop variable is a change to what it iterates over.
    for name, source in loop_sources.items():
        if name in changed:
            add(source)
    return changed


def walked(loop: ast.For | ast.AsyncFor | ast.While) -> tuple[ast.expr, ast.Name] | None:
    """A list that a loop goes through by its index (``for i in range(len(x))``, ``while i < len(x)``), and a name for
    the element at hand; ``None`` for a loop that does something else than to read the list and to move on.
    """
    match loop:
        case ast.For(target=ast.Name() as index, iter=ast.Call(func=ast.Name(id="range"), args=[size])):
            pass
        case ast.While(test=ast.BoolOp(op=ast.And(), values=[ast.Compare() as test, *_]) | (ast.Compare() as test)):
            if not isinstance(test.left, ast.Name) or not isinstance(test.ops[0], ast.Lt) or len(test.ops) > 1:
                return None
            index, size = test.left, test.comparators[0]
        case _:
            return None
    match size:
        case ast.Call(func=ast.Name(id="len"), args=[over]) if (path := dotted_path(over)) is not None:
            pass
        case _:
            return None
    element = f"{path}[{index.id}]"
    read = False
    for node in (n for statement in loop.body for n in ast.walk(statement)):
        read = read or (isinstance(node, ast.Subscript) and element_name(node) == element)
        if isinstance(node, (ast.Assign, ast.AugAssign)) and _sets_back(node, index.id):
            return None
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            changed: ast.expr | None = node
        else:
            method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            changed = method.value if method is not None and method.attr in MUTATORS else None
        if changed is not None and _is_within(changed, path):
            return None
    return (over, ast.copy_location(ast.Name(element, ast.Store()), loop.body[0])) if read else None


def element_name(node: ast.Subscript) -> str:
    """What stands for an element that is taken by a variable (``"x.y[i]"``); empty for any other one."""
    if not isinstance(node.slice, ast.Name) or (path := dotted_path(node.value)) is None:
        return ""
    return f"{path}[{node.slice.id}]"


def _sets_back(node: ast.Assign | ast.AugAssign, index: str) -> bool:
    """Whether an assignment may give an index a lower value: it neither adds to it nor takes another one over."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not any(isinstance(n, ast.Name) and n.id == index for t in targets for n in ast.walk(t)):
        return False
    added = node if isinstance(node, ast.AugAssign) else node.value
    return not isinstance(added, ast.Name) and not (
        isinstance(added, (ast.AugAssign, ast.BinOp)) and isinstance(added.op, ast.Add)
    )


def _is_within(node: ast.expr, path: str) -> bool:
    """Whether an expression is what ``path`` names, or a part of it."""
    while dotted_path(node) != path:
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return False
        node = node.value
    return True


def written_to(body: list[ast.stmt]) -> set[str]:
    """The names on which statements call ``write`` or ``writelines``."""
    calls = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    funcs = (c.func for c in calls)
    writes = (f for f in funcs if isinstance(f, ast.Attribute) and f.attr in ("write", "writelines"))
    return {f.value.id for f in writes if isinstance(f.value, ast.Name)}


def has_break(body: list[ast.stmt]) -> bool:
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            stack.extend(node.orelse)
            continue
        push_children(node, stack)
    return False


def is_retry(body: list[ast.stmt], target: ast.expr | None) -> bool:
    """A loop that only an error repeats: its last normal step returns or breaks, and an except clause goes on."""
    for statement in body:
        if isinstance(statement, ast.Try) and statement.handlers:
            normal = [*statement.body, *statement.orelse]
            rest = body[body.index(statement) + 1 :]
            leaves = any(isinstance(s, (ast.Return, ast.Break)) for s in [*normal, *rest])
            leaves = leaves or any(isinstance(s, (ast.With, ast.AsyncWith)) and always_returns(s.body) for s in normal)
            if leaves:
                return True
    name = terminal(target) if target is not None and isinstance(target, ast.Name) else None
    return name is not None and ("attempt" in name or "retry" in name or "retries" in name)


def always_returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(s, (ast.Return, ast.Break)) for s in body)


def in_handler(node: ast.AST, line: int) -> bool:
    """Whether a line stands in an ``except`` clause within ``node``."""
    return any(
        isinstance(n, ast.ExceptHandler) and n.body[0].lineno <= line <= (n.end_lineno or 0) for n in ast.walk(node)
    )
