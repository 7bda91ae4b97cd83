"""Changes that are made to every turn alike, at every send: what was sent before looks the same again.

An adapter that brings each message into the form that an API takes does not rewrite the history. What depends on the
position of a turn, on how many there are, or on what stands beside it does: that differs from one send to the next.
"""

from __future__ import annotations

from collections.abc import Iterable

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Comp,
    Either,
    Element,
    Expr,
    Global,
    Guard,
    Import,
    Item,
    Literal,
    LoopState,
    Mutate,
    Phi,
    Slice,
    Test,
    called_name,
    children,
    each_once,
    earlier,
    is_container,
    unchanged,
)

_WHOLE = frozenset(("enumerate", "reversed", "list"))
"""Builtins that go through all of what they are given."""
_VARYING = frozenset(("datetime", "time", "random", "secrets", "uuid"))
"""Modules whose values are other ones each time."""
_REPLIES = ("assistant", "model", "ai")
"""Roles of what the model said."""
MAX_NODES = 200


def every_element(change: Expr, loops: dict[int, LoopState]) -> bool:
    """Whether a change in place of a loop variable is made to each element, whatever its place."""
    new, guards, values = change, list[Guard](), list[Expr]()
    while isinstance(new, Mutate):
        guards.extend(new.guards)
        values.extend(new.args)
        new = new.base
    element = _element(new)
    if element is None or not _same_for_each(values, guards):
        return False
    return _goes_through(element, loops, 1 if any(map(_of_reply, guards)) else 0)


def every_index(node: Mutate, loops: dict[int, LoopState]) -> bool:
    """Whether ``x[i] = ...`` stands in a loop over all indices of ``x``, and does the same at each."""
    index, value = node.args
    element = index_of(index)
    return element is not None and _goes_through(element, loops) and _same_for_each((value,), node.guards, index)


def tests_of_each(change: Expr, loops: dict[int, LoopState]) -> tuple[Guard, ...] | None:
    """The tests under which a change in place, or a call that makes it, changes the elements of a loop.

    ``None`` where the loop, or one of the tests, may let a few of them through only.
    """
    new, guards, values = change, list[Guard](), list[Expr]()
    while isinstance(new, (Mutate, After)):
        call = new.call if isinstance(new, After) else None
        guards.extend(new.guards if isinstance(new, Mutate) else new.call.tests)
        values.extend(new.args if isinstance(new, Mutate) else new.call.args)
        values.extend(v for _, v in call.keywords) if call is not None else None
        new = new.before if isinstance(new, After) else new.base
    element = _element(new)
    return _tests_within(element, values, guards, loops) if element is not None else None


def tests_of_indices(node: Mutate, places: Expr, loops: dict[int, LoopState]) -> tuple[Guard, ...] | None:
    """The same for ``x[i] = ...`` in a loop over all indices of ``x``, or over ``places``, which a loop looked up."""
    index, value = node.args
    element = index_of(index)
    if element is not None:
        return _tests_within(element, (value,), node.guards, loops, index)
    inside = _tests_within(index, (value,), node.guards, loops, index) if isinstance(index, Element) else None
    looked_up = _tests_of_places(places, loops)
    return (*looked_up, *inside) if inside is not None and looked_up is not None else None


def _tests_of_places(places: Expr, loops: dict[int, LoopState]) -> tuple[Guard, ...] | None:
    """The tests for which the indices of a list were gathered: ``[i for i, m in enumerate(x) if ...]``."""
    if isinstance(places, Comp) and len(places.clauses) == 1:
        (_, _, tests), element = places.clauses[0], index_of(places.element)
        guards = tuple(map(Guard, tests))
        kept = element is not None and _same_for_each((), guards) and all(map(_asks_of_kind, guards))
        return guards if kept else None
    filled = places.phi.state.steps.get(places.phi.name) if isinstance(places, AfterLoop) else None
    while isinstance(filled, Either):
        filled = next((o for o in filled.options if isinstance(o, Mutate)), None)
    if not isinstance(filled, Mutate) or filled.op != "append":
        return None
    element = index_of(filled.args[0])
    return _tests_within(element, (), filled.guards, loops) if element is not None else None


def _tests_within(
    element: Element,
    values: Iterable[Expr],
    guards: Iterable[Guard],
    loops: dict[int, LoopState],
    index: Expr | None = None,
) -> tuple[Guard, ...] | None:
    """The tests inside of a loop that goes through all elements, when each of them asks for a kind of element."""
    state = loops.get(element.loop)
    if state is None or not _goes_through(element, loops):
        return None
    inside = tuple(g for g in dict.fromkeys(guards) if g not in state.guards)
    return inside if _same_for_each(values, inside, index) and all(map(_asks_of_kind, inside)) else None


def _asks_of_kind(guard: Guard) -> bool:
    """Whether a test asks who speaks, or what type something has; not for a mark that a few elements bear."""
    waiting = [guard.test] if guard.test is not None else []
    for test in each_once(waiting):
        if isinstance(test, Either) or (isinstance(test, Test) and test.op == "not"):
            waiting.extend(test.options if isinstance(test, Either) else test.parts)
        elif isinstance(test, Test):
            if not any(is_part(p) and _key(p) in ("role", "type") for p in test.parts):
                return False
        elif not calls(test, "isinstance") and not (is_part(test) and _key(test) == "content"):
            return False
    return True


def role_asked(guard: Guard) -> str | None:
    """The one role that a test asks an element to have."""
    test = guard.test
    if not isinstance(test, Test) or test.op != ("==" if guard.sense else "!="):
        return None
    said = next((p.value for p in test.parts if isinstance(p, Literal) and isinstance(p.value, str)), None)
    return said if any(is_part(p) and _key(p) == "role" for p in test.parts) else None


def rounded_to(change: Expr) -> Expr | None:
    """To a multiple of what the number is rounded that decides how many elements change: ``n -= n % 10``."""
    waiting = [change]
    for count, node in enumerate(each_once(waiting)):
        if isinstance(node, Binary) and node.op == "%" and not isinstance(node.left, Literal):
            return node.right
        if count > MAX_NODES:
            break
        if isinstance(node, (Phi, AfterLoop)):
            phi = node.phi if isinstance(node, AfterLoop) else node
            waiting.append(phi.before)
            waiting.extend(step for step in (phi.state.steps.get(phi.name),) if step is not None)
        elif isinstance(node, Mutate):
            waiting.extend((*node.args, *(g.test for g in node.guards if g.test is not None)))
            waiting.extend((node.base,) if not is_part(node) else ())
        elif not is_part(node):
            waiting.extend(children(node))
    return None


def is_newest(node: Expr, loops: dict[int, LoopState]) -> bool:
    """Whether an element, or an index, is the one at which a search from the end of a list stopped."""
    if isinstance(node, (AfterLoop, Phi)):
        phi = node.phi if isinstance(node, AfterLoop) else node
        found = phi.state.steps.get(phi.name)
        within = [found, *(children(found) if isinstance(found, Either) else ())] if found is not None else []
        return any(isinstance(n, Element) and is_newest(n, loops) for n in within)
    element = _element(node)
    if element is not None and _is_part_of_newest(element.of):
        return True
    state = loops.get(element.loop) if element is not None else None
    if element is None or state is None or not any(end.leaves for end in state.ends):
        return False
    over = element.of
    while isinstance(over, Call) and isinstance(over.func, Global) and over.func.name in ("list", "enumerate"):
        over = over.args[0] if over.args else Literal(over.at, None)
    return calls(over, "reversed") or _counts_down(over)


def _is_part_of_newest(node: Expr) -> bool:
    """``x[-1]["content"]``: the blocks of the newest message."""
    node = unchanged(node)
    held = unchanged(node.base) if isinstance(node, Item) and isinstance(node.key, Literal) else None
    return isinstance(held, Item) and isinstance(held.key, Literal) and held.key.value == -1


def _counts_down(node: Expr) -> bool:
    """``range(len(x) - 1, -1, -1)``."""
    step = node.args[2] if isinstance(node, Call) and calls(node, "range") and len(node.args) == 3 else None
    return isinstance(step, Literal) and isinstance(step.value, int) and step.value < 0


def _goes_through(element: Element, loops: dict[int, LoopState], spared: int = 0) -> bool:
    """Whether a loop, and those around it that its list comes from, takes all elements, to the last one.

    It may leave out the same ones at the beginning each time, and as many as are ``spared`` at the end.
    """
    state = loops.get(element.loop)
    if state is None or any(end.leaves for end in state.ends):
        return False
    over = element.of
    while isinstance(over, Call) and isinstance(over.func, Global) and over.func.name in (*_WHOLE, "range", "len"):
        if len(over.args) != 1:
            return False
        over = over.args[0]
    if isinstance(over, Slice) and over.step is None and _ends(over, spared) and _begins(over.lower):
        over = over.base
    outer = _element(over)
    return not isinstance(over, Slice) and (outer is None or _goes_through(outer, loops, spared))


def _begins(lower: Expr | None) -> bool:
    """Whether a slice begins at the same element each time."""
    return lower is None or (isinstance(lower, Literal) and isinstance(lower.value, int) and lower.value >= 0)


def _ends(over: Slice, spared: int) -> bool:
    """Whether a slice leaves out no more than so many elements at the end."""
    upper = over.upper
    return upper is None or (isinstance(upper, Literal) and isinstance(upper.value, int) and -spared <= upper.value < 0)


def _of_reply(guard: Guard) -> bool:
    """Whether what is done under a test is done to replies of the model only: none is the newest when it is sent."""
    return role_asked(guard) in _REPLIES


def _key(node: Expr) -> object:
    """The name of what is taken from an element: ``m["role"]``, ``m.get("role")``, ``m.role``."""
    if isinstance(node, Call):
        return node.args[0].value if node.args and isinstance(node.args[0], Literal) else None
    key = node.key if isinstance(node, Item) else None
    return key.value if isinstance(key, Literal) else getattr(node, "name", None)


def _element(node: Expr) -> Element | None:
    """The loop variable that an expression is, or is a part of."""
    while True:
        if isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name == "get":
            node = node.func.base
        elif isinstance(node, (Item, Attr, Mutate)) and index_of(node) is None:
            node = node.base
        else:
            break
    return node if isinstance(node, Element) else None


def index_of(node: Expr) -> Element | None:
    """The loop whose index an expression is: ``i`` of ``enumerate(x)`` or of ``range(len(x))``."""
    if isinstance(node, Item) and isinstance(node.key, Literal) and node.key.value == 0:
        return node.base if isinstance(node.base, Element) and calls(node.base.of, "enumerate") else None
    if isinstance(node, Element) and isinstance(node.of, Call) and calls(node.of, "range") and len(node.of.args) == 1:
        return node if calls(node.of.args[0], "len") else None
    return None


def calls(node: Expr, name: str) -> bool:
    return isinstance(node, Call) and isinstance(node.func, Global) and node.func.name == name


def _same_for_each(values: Iterable[Expr], guards: Iterable[Guard], index: Expr | None = None) -> bool:
    """Whether nothing of the values and tests tells one place in the list, or one moment, from another.

    What stands at ``index`` is an element, too.
    """
    guards = tuple(guards)
    waiting = [*values, *(g.test for g in guards if g.test is not None)]
    if any(g.error for g in guards):
        return False
    seen: set[Expr] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or is_part(node) or (index is not None and isinstance(node, Item) and node.key is index):
            continue
        seen.add(node)
        if len(seen) > MAX_NODES:
            return False
        phi = node.phi if isinstance(node, AfterLoop) else node
        if isinstance(phi, Phi) and _found_in_part(phi):
            waiting.extend((phi.before, phi.state.steps.get(phi.name, phi)))
        elif _tells(node):
            return False
        else:
            waiting.extend(children(node))
    return True


def _found_in_part(phi: Phi) -> bool:
    """Whether a variable is what a loop over the parts of one element makes of it, begun anew for each element."""
    over = phi.state.iterable
    return over is not None and is_part(over) and not isinstance(phi.before, Phi)


def is_part(node: Expr) -> bool:
    """Whether an expression is an element of the list, or taken from one by name."""
    found = _element(node)
    return found is not None and index_of(found) is None


def _tells(node: Expr) -> bool:
    """Whether a value differs from place to place, or from turn to turn."""
    if _is_of_library(node):
        return False
    if isinstance(node, Phi):
        return not _only_handed_on(node)
    if isinstance(node, (AfterLoop, Slice)) or index_of(node) is not None:
        return True
    if isinstance(node, Item):
        return isinstance(node.key, Literal) and isinstance(node.key.value, int)
    if isinstance(node, Import):
        return node.dotted.partition(".")[0] in _VARYING
    if isinstance(node, Test) and node.op in ("<", ">", "<=", ">="):
        return not all(isinstance(p, (Literal, Global)) or is_part(p) or _is_size(p) for p in node.parts)
    return calls(node, "len") and not _is_size(node)


def _is_of_library(node: Expr) -> bool:
    """Whether a value is an attribute of an imported module (``re.S``) which nothing but unknown calls could change."""
    while isinstance(node, (Phi, AfterLoop)):
        node = (node.phi if isinstance(node, AfterLoop) else node).before
    inside = isinstance(node, Attr)
    while isinstance(node, Attr):
        node = node.base
    return inside and isinstance(node, Import) and node.dotted.partition(".")[0] not in _VARYING


def _only_handed_on(phi: Phi) -> bool:
    """Whether a loop does nothing with a variable but to give it to calls that have nothing to write down in it."""
    first = unchanged(phi)
    if is_container(first) or (isinstance(first, Call) and called_name(first)[:1].isupper()):
        return False
    waiting = [phi.state.steps.get(phi.name, phi)]
    for node in each_once(waiting):
        if node is phi:
            continue
        if not isinstance(node, (After, Either)):
            return False
        waiting.extend(earlier(node))
    return True


def _is_size(node: Expr) -> bool:
    """Whether a value is the length of an element or of a part of one."""
    return calls(node, "len") and isinstance(node, Call) and bool(node.args) and is_part(node.args[0])


def runs_backwards(iterable: Expr | None) -> bool:
    """Whether a loop begins with the last element."""
    if isinstance(iterable, Call) and isinstance(iterable.func, Global):
        name, inner = iterable.func.name, iterable.args[0] if iterable.args else None
        if name == "range" and len(iterable.args) == 3:  # range(len(x) - 1, -1, -1)
            return _is_minus_one(iterable.args[2])
        return name == "reversed" or (name in ("list", "enumerate") and runs_backwards(inner))
    return isinstance(iterable, Slice) and _is_minus_one(iterable.step)


def _is_minus_one(step: Expr | None) -> bool:
    return isinstance(step, Literal) and step.value == -1


def same_place(one: Expr, other: Expr) -> bool:
    """Whether two expressions name the same list: a variable, or what stands under the same keys."""
    one, other = unchanged(one), unchanged(other)
    if isinstance(one, Item) and isinstance(other, Item):
        return same_key(one.key, other.key) and same_place(one.base, other.base)
    return one is other


def same_key(one: Expr, other: Expr) -> bool:
    """Whether two keys are the same constant, or the same variable."""
    return one is other or (isinstance(one, Literal) and isinstance(other, Literal) and one.value == other.value)


def reads(node: Expr, key: str) -> bool:
    """``x[key]`` or ``x.get(key)``."""
    if isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name == "get" and node.args:
        return isinstance(node.args[0], Literal) and node.args[0].value == key
    return isinstance(node, Item) and isinstance(node.key, Literal) and node.key.value == key
