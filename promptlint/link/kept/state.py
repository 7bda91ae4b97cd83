"""What attributes, module-level names and sessions hold when a request is sent, by everything that writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from promptlint.code.expression import (
    AfterLoop,
    Attr,
    Call,
    Definition,
    Either,
    Expr,
    Global,
    Guard,
    Import,
    Literal,
    LoopState,
    Mutate,
    Param,
    cell,
    unchanged,
)
from promptlint.code.index import CONSTRUCTORS, Class, Function, Module
from promptlint.frozen import replace
from promptlint.link import conditions
from promptlint.link.calling import binding, callers, passing, registered
from promptlint.link.classes import begun, construction
from promptlint.link.joining import by_role, join
from promptlint.link.kept import elements, lent, switches
from promptlint.link.turns import growth
from promptlint.link.values import (
    CALL,
    IMPORT,
    SESSION,
    Const,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Map,
    Routine,
    Seq,
    Type,
    Untouched,
    Value,
    kept_in,
    options,
    owner,
)
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


MAX_WRITERS = 24
SETUP = frozenset(
    [
        "__init__",
        "__post_init__",
        "__new__",
        "__enter__",
        "__aenter__",
        "setup",
        "start",
        "connect",
        "initialize",
        "initialise",
        "init",
        "configure",
        "reset",
        "clear",
        "create",
        "load",
        "open",
        "build",
        "restore",
        "reload",
        "new_session",
        "start_session",
        "on_mount",
        "on_load",
        "setUp",
        "model_post_init",
        "on_chat_start",
        "on_chat_resume",
        "on_settings_update",
    ]
)
"""Methods, and decorators of functions, that begin a session or set it up rather than take a turn."""


def written_later(ev: Evaluator, cls: Class, name: str) -> bool:
    """Whether a method (or code outside) changes a field after construction."""
    key = (cls, name)
    known = ev.written_later.get(key)
    if known is None:
        # While it is looked for, what is found of such objects on the way must not hold what they begin with.
        ev.written_later[key] = bool(ev.program.storing(name, cls.module))
        cycles = ev.cycles
        own = any(m.stores(name) for c in ev.program.mro(cls) for m in c.methods.values())
        outside = (True for _ in changes(ev, Instance(cls, Span("", 0), None), name))
        known = own or next(outside, False)
        if not known and ev.cycles != cycles:
            del ev.written_later[key]  # asked for in the middle of what would tell: not known yet
            return True
        ev.written_later[key] = known
    return known


def state(ev: Evaluator, base: Instance, name: str, span: Span) -> Value:
    """What an attribute may hold when a request is sent: its first value, and what methods and others make of it."""
    before = initial(ev, base, name, span)
    written = list(changes(ev, base, name))
    result: Value = growth.as_list(ev, before, span) if before is not None else Const(None, span)
    if before is None and not written:
        return Hole(f"self.{name}", span)
    if written:
        result = begun.begun(ev, base, name, result)
    for write in (*written[:MAX_WRITERS], *_borrowed(ev, base, name)):
        before, result = result, _apply_step(ev, base, name, result, write)
        if result is not before:
            result = _switched(ev, name, before, result, write)
    return _kept(_one_history(result), f"{base.cls.name}.{name}", span)


def _kept(value: Value, name: str, span: Span) -> Value:
    """What a state holds, as it is read at ``span``."""
    return value.along(kept_in(name, span)) if value.origins() else value


def _switched(ev: Evaluator, name: str, before: Value, after: Value, step: _Written) -> Value:
    """The state after a step, which depends on whether the step was taken where it may be taken between two turns."""
    function, where = step.function, step.where
    if writer_level(ev, function) != CALL or _holds_history(after):
        return after
    own = function.parameters[0].name if where is None else None
    for write in ev.summary(function).writes:
        mine = isinstance(write.base, Param) and write.base.name == own if where is None else write.value is step.expr
        if write.name == name and mine:
            return switches.switched(ev, name, function, write, before, after)
    return after


def _holds_history(value: Value) -> bool:
    return isinstance(value, Seq) and any(isinstance(i, History) for i in value.items)


def initial(ev: Evaluator, base: Instance, name: str, span: Span) -> Value | None:
    program = ev.program
    if base.init is not None and base.init.function is base.cls.body:
        given = base.init.arguments.get(name)
        if isinstance(given, Value):
            return given
    frame = base.init
    for c in program.mro(base.cls):
        for special in CONSTRUCTORS:
            init = c.methods.get(special)
            if init is None or not init.stores(name):
                continue
            summary = ev.summary(init)
            if not init.parameters:
                continue
            expr = summary.exit.get(f"{init.parameters[0].name}.{name}")
            if expr is None:
                continue
            target = frame if frame is not None and frame.function is init else base_init(ev, base, init)
            return ev.eval(expr, target)
    for c in program.mro(base.cls):
        if name in c.fields:
            annotation, value = c.fields[name]
            if value is not None:
                return construction.field_default(ev, c, value, base.level if construction.is_record(ev, c) else IMPORT)
            declared = binding.declared_value(ev, annotation, c.module, span)
            if declared is not None:
                return declared
            if construction.is_record(ev, base.cls):
                return Hole(name, span, root=True)
    return None


def base_init(ev: Evaluator, base: Instance, init: Function) -> Frame:
    """The activation of a base class's constructor, through the ``super().__init__`` call where it can be seen."""
    level = base.level if base.level < CALL else SESSION if base.init is None else base.level
    outer = base.init
    if outer is not None and outer.function is not init:
        for call in ev.summary(outer.function).calls:
            func = call.func
            if isinstance(func, Attr) and func.name == "__init__" and isinstance(func.base, Call):
                target = ev.activation(Routine(init, None, base), call, outer)
                if target is not None:
                    return target
    generic = ev.generic(init, base.cls)
    frame = ev.new_frame(init, level, this=base)
    frame.arguments = {k: v for k, v in generic.arguments.items() if k != init.parameters[0].name}
    return frame


class _Written(NamedTuple):
    """A function that writes an attribute, and what it leaves there.

    ``where`` is what code outside the class calls the object; ``inside``: that code changes what the attribute holds.
    """

    function: Function
    expr: Expr
    where: Expr | None = None
    inside: bool = False
    borrowed: bool = False
    """It is what a method handed out, or one cell of that; ``where`` is the same then, where that is another class."""


def changes(ev: Evaluator, base: Instance, name: str, borrowed: bool = False) -> Iterator[_Written]:
    """The methods (and functions outside) that write the attribute."""
    program = ev.program
    classes = list(program.mro(base.cls))
    if not base.exact:
        classes += program.subclasses(base.cls)
    for c in classes:
        for method in c.methods.values():
            if method.name in CONSTRUCTORS or not method.stores(name):
                continue
            if not method.parameters or "staticmethod" in method.decorator_names:
                continue
            path = method.parameters[0].name
            expr = ev.summary(method).exit.get(f"{path}.{name}")
            if expr is not None:
                yield _Written(method, expr, borrowed=borrowed)
    owners = {m for c in classes for m in c.methods.values()}
    seen = 0
    for function in program.storing(name, base.cls.module):
        if function in owners or seen > MAX_WRITERS:
            continue
        seen += 1
        summary = ev.summary(function)
        for write in (*summary.writes, *summary.filled):
            if write.name == name and _is_instance_of(ev, write.base, function, base.cls):
                yield _Written(function, write.value, write.base, write in summary.filled, borrowed)


def _is_part_of_making(ev: Evaluator, method: Function) -> bool:
    """Whether only constructors of its class call a private method: what it writes is there from the start."""
    cls = method.owner
    if cls is None or not method.name.startswith("_") or any(ev.program.handed_over(method.name, method.module)):
        return False
    makes = False
    for function, call in ev.program.calls_named(method.name, method.module):
        own = function.owner if callers.is_on_itself(function, call) else None
        if own is not None and not (ev.program.is_below(own, cls) or ev.program.is_below(cls, own)):
            continue  # a method of another class with that name
        if own is None or function.name not in CONSTRUCTORS:
            return False
        makes = True
    return makes


def _borrowed(ev: Evaluator, base: Instance, name: str) -> Iterator[_Written]:
    """The functions that change what a method hands out of the attribute."""
    classes = ev.program.mro(base.cls)
    methods = (m for c in classes for m in c.methods.values() if m.is_method)
    for lender in lent.lenders(ev, methods, f"{{this}}.{name}", name):
        if "property" in lender.decorator_names:
            yield from changes(ev, base, lender.name, borrowed=True)
        else:
            for function, expr in lent.borrowers(ev, lender):
                own = function.owner is not None and base.cls in ev.program.mro(function.owner)
                yield _Written(function, expr, None if own else expr, inside=True, borrowed=True)


def writers(ev: Evaluator, root: object) -> Iterator[Function]:
    """The functions that change the attribute or the module-level name which is the root of a history."""
    match owner(root):
        case (Class() as cls, str(name)):
            base = Instance(cls, Span("", 0), None)
            yield from (step.function for step in (*changes(ev, base, name), *_borrowed(ev, base, name)))
        case ("global", Module() as module, str(name)):
            yield from (function for function, _, _ in _global_changes(ev, module, name))


def _global_changes(ev: Evaluator, module: Module, name: str) -> Iterator[tuple[Function, Expr, bool]]:
    """The functions that change what a module-level name holds, and what they leave there.

    The last part says that this is what a function handed out, or one cell of it.
    """
    for function in module.functions:
        if function.stores(name) and function.parameter(name) is None:
            step = ev.summary(function).exit.get(name)
            if step is not None:
                yield function, step, False
    called = module.name.rpartition(".")[2]
    for function in ev.program.storing(name, module):
        if function.module is not module and function.module.holds(called):
            for path, step in ev.summary(function).exit.items():
                if path.endswith(name) and _is_name_of(ev, path, function, module, name):
                    yield function, step, False
    outer = (f for f in module.functions if f.parameter(name) is None)
    for lender in lent.lenders(ev, outer, name, name):
        yield from ((function, expr, True) for function, expr in lent.borrowers(ev, lender))


def _is_name_of(ev: Evaluator, path: str, function: Function, module: Module, name: str) -> bool:
    """Whether ``path``, in a function of another module, is what a name at the top level of ``module`` holds."""
    head, _, rest = path.partition(".")
    target = ev.program.imported(head, function.module) if function.parameter(head) is None else None
    if target is None:
        return False
    return ev.program.resolve(f"{target}.{rest}" if rest else target, function.module) == (module, name)


def _is_instance_of(ev: Evaluator, node: Expr, function: Function, cls: Class) -> bool:
    held = elements.class_of(ev, node, function)
    if held is not None:
        return held is cls or held in ev.program.mro(cls) or cls in ev.program.mro(held)
    made = unchanged(node)
    if isinstance(made, Call) and (ev.joining <= 2 or isinstance(made.func, (Definition, Global, Import))):
        # The class that is called tells enough; the object itself may be asked for right now.
        types = options(ev.resolve(made.func, ev.generic(function)))
        known = [o.cls for o in types if isinstance(o, Type)]
        if known:
            return any(k is cls or cls in ev.program.mro(k) or k in ev.program.mro(cls) for k in known)
    if ev.joining > 2:
        return False
    ev.joining += 1
    try:
        value = ev.resolve(node, ev.generic(function))
    finally:
        ev.joining -= 1
    return any(
        isinstance(o, Instance) and (o.cls is cls or cls in ev.program.mro(o.cls) or o.cls in ev.program.mro(cls))
        for o in options(value)
    )


def _apply_step(ev: Evaluator, base: Instance, name: str, before: Value, step: _Written) -> Value:
    function, expr, where, inside, borrowed = step
    grows = _step_level(ev, base, function)
    made = where is not None and isinstance(place := unchanged(where), Call) and cell(place) is None
    if made:
        grows = max(grows, base.level)
    # What sets an object up runs as often as that is made.
    level = max(grows, base.level) if where is None and base.exact else grows
    root = (base.cls, name)
    key = ("step", function, name, base.cls)
    if key in ev.attributes_active:
        ev.cycles += 1
        return before
    ev.attributes_active.add(key)
    try:
        marker = growth.base_marker(before, root)
        this = replace(base, overrides={**base.overrides, name: marker})
        if where is None:
            frame = ev.new_frame(function, level, this=this, depth=len(ev.running))
        elif where is expr:
            frame = ev.new_frame(function, level, this=ev.generic(function).this, depth=len(ev.running))
        else:
            frame = _seen_from(ev, function, where, this, level)
        if where is not None:
            ev.filling[root] = marker
        value = ev.eval(expr, frame)
    finally:
        ev.attributes_active.discard(key)
        ev.filling.pop(root, None)
    if borrowed:
        changed = lent.inside(value, root, function.module.span(expr.at))
        if changed is None:
            return before
        value = changed
    elif inside and not any(growth.holds_base(o, root) for o in options(value)):
        return before  # emptied: another conversation begins
    before = _placed(before, value)
    # What is filled where it is made is new each time: it keeps nothing.
    passes = passing.is_passing(ev, base)
    keeps = not (made or passes or (where is None and _is_part_of_making(ev, function)))
    changed_at = function.module.span(_changed(expr).at)
    result = growth.grown(ev, before, value, root, changed_at, grows, history=keeps)
    if passes and isinstance(result, Seq):  # what is inserted ahead stands there in each of them
        result = replace(result, edits=tuple(e for e in result.edits if e.kind != "prepend"))
    if where is None:
        result = conditions.under(result, before, _always_under(ev, function))
    return conditions.commanded(result, before) if switches.only_on_command(ev, function) else result


def _changed(left: Expr) -> Expr:
    """Where what a function leaves was changed, behind the calls that got it since and the ways that leave it alone."""
    node = unchanged(left)
    while isinstance(node, Either) and (other := [o for o in node.options if not isinstance(unchanged(o), Attr)]):
        node = unchanged(other[0])
    return node if isinstance(node, Mutate) else left


def _placed(before: Value, value: Value) -> Value:
    """``before`` without the paths that ``value`` says what they are relative to."""
    places = [o.path.parts for o in options(value) if isinstance(o, FilePath)]
    if not places:
        return before

    def is_placed(option: Value) -> bool:
        below = option.path.parts if isinstance(option, FilePath) else ()
        return bool(below) and any(p[-len(below) :] == below for p in places)

    kept = [o for o in options(before) if not is_placed(o)]
    return join(kept) if kept else value


def _always_under(ev: Evaluator, function: Function) -> tuple[Guard, ...]:
    """The tests under which a method is called, when every call of it has some."""
    found = callers.of(ev, function)
    return found[0].call.guards if found and all(c.call.guards for c in found) else ()


def _seen_from(ev: Evaluator, function: Function, where: Expr, this: Instance, level: int) -> Frame:
    """An activation of a function outside the class in which ``where``, a parameter or ``self.x``, is the object."""
    generic = ev.generic(function)
    frame = ev.new_frame(function, level, this=generic.this, depth=len(ev.running))
    if isinstance(where, Param):
        frame.arguments[where.name] = this
    elif isinstance(where, Attr) and isinstance(where.base, Param) and isinstance(generic.this, Instance):
        frame.this = replace(generic.this, overrides={**generic.this.overrides, where.name: this})
    elif elements.class_of(ev, made := unchanged(where), function) is not None:
        frame.memo[made] = this  # one of those that a dict holds; what else it holds is not asked for here
    elif isinstance(made, Call):
        maker = this.init.maker if this.init is not None else None
        if maker is None or maker.function is not function or ev.span(maker, made) != this.span:
            return generic
        # The call that made the object changes it before it hands it out.
        frame.arguments, frame.this, frame.parent = maker.arguments, maker.this, maker.parent
        frame.path_loops, frame.bindings = maker.path_loops, maker.bindings
        frame.memo[made] = this
    else:
        return generic
    return frame


def makes_objects(function: Function) -> bool:
    """Whether a function stands in for a constructor: a static or class method that says so by its name."""
    return function.name in SETUP and bool(function.decorator_names & {"staticmethod", "classmethod"})


def writer_level(ev: Evaluator, function: Function) -> int:
    """How often a method that writes state runs: once a session when only set-up code calls it."""
    known = ev.writer_levels.get(function)
    if known is not None:
        return known
    ev.writer_levels[function] = CALL
    level = CALL
    if (
        function.name in SETUP
        or SETUP & function.decorator_names
        or function.name.startswith(("load_", "init_", "_init", "setup_", "_setup", "reset_", "clear_", "_load"))
    ):
        level = SESSION
    else:
        calling = (f for f, _ in ev.program.calls_named(function.name, function.module) if f is not function)
        sets_up = (
            f.owner is not None and f.owner is function.owner and writer_level(ev, f) == SESSION for f in calling
        )
        if next(sets_up, False) and all(sets_up):
            level = SESSION
    ev.writer_levels[function] = level
    return level


def _step_level(ev: Evaluator, base: Instance, function: Function) -> int:
    """How often a method runs that writes the state of ``base``; an object of the module is filled while it is made.

    That is so unless code in a function calls the method, or a decorator hands it on.
    """
    level = writer_level(ev, function)
    if base.level >= SESSION:
        return level
    calls = ev.program.calls_named(function.name, function.module)
    later = bool(function.decorators) or any(f is not f.module.body and f is not function for f, _ in calls)
    return level if level == CALL and later else base.level


def _one_history(value: Value) -> Value:
    """Several writers of one list make one history."""
    if not isinstance(value, Seq):
        return value
    kept = [i for i in value.items if isinstance(i, History)]
    if len(kept) < 2:
        return value
    values = Lazy(lambda: by_role(k.value for k in kept))
    merged = replace(kept[0], held=values, edits=tuple(dict.fromkeys(e for k in kept for e in k.edits)))
    items: list[Item] = []
    for item in value.items:
        if item is kept[0]:
            items.append(merged)
        elif item not in kept:
            items.append(item)
    return replace(value, items=tuple(items))


def global_state(ev: Evaluator, module: Module, name: str, expr: Expr, frame: Frame, span: Span) -> Value:
    """A module-level name that is read at ``span``: its value after import, and what functions make of it later."""
    before = _while_running(ev, expr, frame)
    if isinstance(before, (Routine, Type)) or (isinstance(before, External) and not before.instance):
        return before
    key = ("global", module, name)
    cached = ev.attribute_cache.get(key)
    if cached is not None:
        return _kept(cached, name, span)
    if key in ev.attributes_active:
        return before
    changing = list(_global_changes(ev, module, name))
    if not changing:
        return before
    ev.attributes_active.add(key)
    result = before
    try:
        for function, step, borrowed in changing[:MAX_WRITERS]:
            if (frames := registered.activations(ev, function, step)) and not borrowed:
                for made in frames:
                    result = _registered(ev, (module, name), result, step, made)
                continue
            marker = growth.base_marker(result, key)
            ev.global_overrides[(module, name)] = marker
            try:
                target = ev.new_frame(function, writer_level(ev, function), depth=len(ev.running))
                value = ev.eval(step, target)
                _settle(value)
            finally:
                del ev.global_overrides[(module, name)]
            if borrowed:
                changed = lent.inside(value, key, function.module.span(step.at))
                if changed is None:
                    continue
                value = changed
            level = writer_level(ev, function)
            known = result
            result = growth.grown(ev, result, value, key, function.module.span(step.at), level, history=True)
            if result is not known and not _holds_history(result):
                for write in (w for w in ev.summary(function).rebound if w.name == name):
                    if level == CALL:
                        result = switches.switched(ev, name, function, write, known, result)
                    else:  # what sets the state up may be run again by a command
                        result = switches.as_asked(ev, function, write, known, result)
    finally:
        ev.attributes_active.discard(key)
    result = ev.attribute_cache[key] = _one_history(result)
    return _kept(result, name, span)


def _registered(ev: Evaluator, where: tuple[Module, str], before: Value, step: Expr, frame: Frame) -> Value:
    """A table at the top level of a module once a decorator has put one more definition into it."""
    key = ("global", *where)
    ev.global_overrides[where] = growth.base_marker(before, key)
    try:
        value = ev.eval(step, frame)
        _settle(value)
    finally:
        del ev.global_overrides[where]
    return growth.grown(ev, before, value, key, frame.module.span(step.at), IMPORT, history=False)


def _while_running(ev: Evaluator, expr: Expr, frame: Frame) -> Value:
    """What a module-level name holds when a function reads it: while an endless loop of a script is running."""
    if isinstance(expr, Either) and any(isinstance(o, AfterLoop) for o in expr.options):
        return join(_while_running(ev, o, frame) for o in expr.options)
    if isinstance(expr, AfterLoop) and _goes_on(ev, expr.phi.state, frame):
        return ev.eval(expr.phi, ev.module_frame(frame.module, expr.phi.state.around))
    return ev.eval(expr, frame)


def _goes_on(ev: Evaluator, loop: LoopState, frame: Frame) -> bool:
    """Whether a loop of a module is what a script does: nothing ends it, or it asks for input."""
    if loop.iterable is not None:
        return False
    endless = isinstance(loop.test, Literal) and bool(loop.test.value)
    return endless or any(
        loop.id in call.loops and isinstance(call.func, Global) and call.func.name == "input"
        for call in ev.summary(frame.function).calls
    )


def _settle(value: Value) -> None:
    """Looks at what a step puts into a dict while the old content is still marked as such."""
    for option in options(value):
        if isinstance(option, Map):
            for entry in option.entries.values():
                if not isinstance(entry.held, Untouched):
                    _settle(entry.value)
            for held in option.rest:
                _settle(held)


def session_value(ev: Evaluator, store: str, name: str, frame: Frame, span: Span) -> Value:
    """What a user's session keeps under a name, by everything that writes it."""
    key = (store, name)
    override = ev.session_overrides.get(key)
    if override is not None:
        return override
    cached = ev.attribute_cache.get(("session", *key, frame.module))
    if cached is not None:
        return cached
    root = ("session", *key)
    before = Seq("list", (), span)
    grows: Value = before
    stored: list[Value] = []
    ev.session_overrides[key] = growth.base_marker(before, root)
    try:
        for function, expr in _session_writers(ev, store, name, frame.module):
            target = ev.new_frame(function, CALL, this=ev.generic(function).this, depth=len(ev.running))
            value = ev.eval(expr, target)
            lists = [
                o for o in options(value) if isinstance(o, Seq) and any(growth.contains_base(i, root) for i in o.items)
            ]
            if lists and writer_level(ev, function) < CALL:
                continue  # what is done to the turns so far where a session is set up begins another conversation
            grows = (
                growth.grown(ev, grows, join(lists), root, function.module.span(expr.at), CALL, history=True)
                if lists
                else grows
            )
            stored += [o for o in options(value) if o not in lists and not (isinstance(o, Seq) and not o.items)]
    finally:
        del ev.session_overrides[key]
    grows = _one_history(grows)
    if isinstance(grows, Seq) and any(isinstance(i, History) for i in grows.items):
        stored = [o for o in stored if not isinstance(o, Const)]
        first = [o for o in stored if isinstance(o, Seq)]
        grows = replace(grows, items=(*(join(first).items if first else ()), *grows.items))  # type: ignore[attr-defined]
        result: Value = grows
    else:
        result = join(stored) if stored else Hole(f"{store.rpartition('.')[2]}.{name}", span)
    ev.attribute_cache["session", *key, frame.module] = result
    return result


def _session_writers(ev: Evaluator, store: str, name: str, reader: Module) -> Iterator[tuple[Function, Expr]]:
    """The bodies that leave something in a session store under ``name``, in the program that ``reader`` is part of."""
    count = 0
    near = _imported(ev, reader)
    for module in list(ev.program.mentioning(name)):
        if module is not reader and not near & {module, *_imported(ev, module)} and reader not in _imported(ev, module):
            continue
        for function in (module.body, *module.functions):
            for path, expr in ev.summary(function).exit.items():
                prefix, _, last = path.rpartition(".")
                head, _, rest = prefix.partition(".")
                if last != name or not head or count >= MAX_WRITERS:
                    continue
                target = ev.program.imported(head, module) or head
                full = f"{target}.{rest}" if rest else target
                if full == store or (store[:2] == "*." and full.endswith(store[1:])):
                    count += 1
                    yield function, expr


def _imported(ev: Evaluator, module: Module) -> frozenset[Module]:
    """The modules of the project that a module imports."""
    names = ev.summary(module.body).names.values()
    found = (ev.program.resolve(v.dotted, module) for v in names if isinstance(v, Import))
    return frozenset(f[0] for f in found if f is not None)
