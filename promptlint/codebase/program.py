"""The program as the linker sees it: modules parsed on demand, classes with their families, callers by name."""

from __future__ import annotations

import ast
import bisect
import builtins
import os
import re
from collections import deque
from collections.abc import Callable, Iterator

from promptlint.code.expression import (
    Attr,
    Call,
    Definition,
    Either,
    Expr,
    Free,
    Global,
    Import,
    Summary,
    each_once,
    is_container,
    unchanged,
)
from promptlint.code.index import Class, Function, Module, dotted, terminal
from promptlint.code.summarise import summarise
from promptlint.codebase.memory import Memory
from promptlint.codebase.shapes import ANY, CODE, Search, bases_named
from promptlint.files.project import Project, SourceRef
from promptlint.files.source import Broken, Unreadable
from promptlint.knowledge.rows import Knowledge
from promptlint.span import Span

MANY_FILES = 300
"""In larger trees, a package that does not name another one makes no use of it."""
MAX_SEARCHED = 250
"""Files that are parsed to find those who use a name; more of them use it for something else."""
MAX_WHOLE = 6_000_000
"""Bytes of Python that are parsed before trees are given up where they can be made again: about 200 MB of memory."""
MAX_WAITING = 1_500_000
"""Bytes of Python of the files parsed last that are whole for a while even then."""
MAX_HELD = 24_000_000
"""Bytes of Python that may be held as parsed between two files with requests: about 700 MB of memory."""
MAX_PARSED = 100_000_000
"""Bytes of Python that are parsed in all, again and again; then a search sees what is parsed and the folder."""
MAX_FAMILY = 8
"""Methods of one name that a receiver of unknown class may mean."""
MAX_FULFILLING = 4
"""Classes that a protocol of one method is taken to mean without being named as their base; else ``MAX_FAMILY``."""

_MADE = ("<default>", "<template>")
"""Functions that linking makes, anew in each run."""

BUILTINS = frozenset(dir(builtins))

_STARS = Search("import", re.compile(rb"\bimport\s*(?:\\\s*)?\*"))
"""A file that takes all names of another one."""


class Found:
    """Calls, each with the function that it stands in; what nobody has come to yet is not looked for."""

    __slots__ = ("_found", "_rest")

    def __init__(self, calls: Iterator[tuple[Function, Call]]) -> None:
        self._found: list[tuple[Function, Call]] = []
        self._rest = calls

    def __iter__(self) -> Iterator[tuple[Function, Call]]:
        number = 0
        while True:
            if number == len(self._found):
                further = next(self._rest, None)
                if further is None:
                    return
                self._found.append(further)
            yield self._found[number]
            number += 1

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


class Program:
    """Everything that linking asks of the project; answers are kept, and depend on nothing but the files."""

    def __init__(self, project: Project, knowledge: Knowledge, memory: Memory | None = None) -> None:
        self.project = project
        self.knowledge = knowledge
        self.memory = memory
        self.broken: dict[str, Broken] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self._packages: dict[str, frozenset[str]] = {}
        self._known: dict[str, bool] = {}
        self._using: dict[tuple[str, str], bool] = {}
        self._matching: dict[re.Pattern[bytes], dict[SourceRef, bool]] = {}
        self._bases_named: dict[SourceRef, frozenset[bytes]] = {}
        self._saying: dict[str, frozenset[SourceRef]] = {}
        self._searched_before = memory.searched if memory is not None else {}
        self.searched: dict[Search, dict[SourceRef, bool]] = {}
        """What was looked for in files, those whose text was searched for it, and whether it was found there."""
        if memory is not None:
            memory.searched = self.searched
        self.apart: set[tuple[str, int, int, int]] = set()
        """Lines of one file of which it was asked whether more than a number of lines lie between them."""
        self.stored: set[str] = set()
        """The names of attributes of which it was asked who writes them."""
        self.is_whole = True
        """Nothing that was asked has been forgotten."""
        self.most_held = MAX_HELD
        self._modules: dict[SourceRef, Module | None] = {}
        self._parsed_in_all = 0
        self._begin()

    def _begin(self) -> None:
        self._parsed = 0
        self._whole: deque[Module] = deque()
        self._held_whole = 0
        self._refs: dict[Module, SourceRef] = {}
        self._summaries: dict[Function, Summary] = {}
        self._bases: dict[Class, tuple[Class, ...]] = {}
        self._foreign_bases: dict[Class, tuple[str, ...]] = {}
        self._subclasses: dict[Class, tuple[Class, ...]] = {}
        self._mros: dict[Class, tuple[Class, ...]] = {}
        self._calls: dict[tuple[str, frozenset[str]], Found] = {}
        self._stores: dict[str, list[tuple[str, list[Function]]]] = {}
        self._imports: dict[tuple[SourceRef, str], tuple[SourceRef, str] | None] = {}
        self._around: dict[tuple[str, int], Function] = {}

    @property
    def is_full(self) -> bool:
        """Whether more is held than memory should be spent on."""
        return self._parsed > self.most_held

    def forget(self) -> None:
        """Gives up all that was parsed, and what follows from it; it is made again where it is asked for again."""
        for ref in self._modules:
            if not ref.is_notebook:  # their cells are asked for at the end
                ref.drop()
        self._modules.clear()
        self.is_whole = False
        if self.memory is not None:
            self.memory.forget()
        self._begin()

    def begin_part(self, most_held: int) -> None:
        """Gives up all that was parsed as if nothing had been; what was asked of it is the caller's to note before."""
        for ref in self._modules:
            if not ref.is_notebook:
                ref.drop()
        self._modules.clear()
        self._parsed_in_all = 0
        self.is_whole, self.most_held = True, most_held
        self._begin()

    # -- files --------------------------------------------------------------------------------------------------

    def parse(self, ref: SourceRef) -> Module | None:
        """The index of a file, or ``None`` when it cannot be read or parsed (noted in ``broken`` or ``unreadable``)."""
        if ref in self._modules:
            return self._modules[ref]
        module: Module | None = None
        source = ref.source
        if isinstance(source, Unreadable):
            self.unreadable[ref.path] = source
        elif self.memory is None or (module := self.memory.module(ref, source)) is None:
            tree: ast.Module | Broken | None = source.tree
            if isinstance(tree, Broken):
                self.broken[ref.path] = tree
                tree = source.whole_cells
            if tree is not None:
                module = Module(source, ref.module, ref.is_package, tree)
                source.forget_tree()
                self._parsed += len(source.data)
                self._parsed_in_all += len(source.data)
                if self._parsed > MAX_WHOLE:
                    self._strip_later(module)
        self._modules[ref] = module
        if module is not None:
            self._refs[module] = ref
            for name, functions in module.attribute_stores.items():
                bisect.insort(self._stores.setdefault(name, []), (ref.path, functions), key=_path)
            if self.memory is not None and not isinstance(source, Unreadable) and ref.path not in self.broken:
                self.memory.keep(ref, source, module)
        return module

    def _strip_later(self, module: Module) -> None:
        """Gives up the bodies of functions of a file, once others were parsed: most are asked for at once or never."""
        self._whole.append(module)
        self._held_whole += len(module.source.data)
        while self._held_whole > MAX_WAITING:
            oldest = self._whole.popleft()
            self._held_whole -= len(oldest.source.data)
            oldest.strip()

    def ref(self, module: Module) -> SourceRef:
        return self._refs[module]

    @property
    def parsed(self) -> dict[SourceRef, Module]:
        """What has been parsed so far."""
        return {ref: module for ref, module in self._modules.items() if module is not None}

    @property
    def modules(self) -> Iterator[Module]:
        """What has been parsed so far, in the order of the project's files."""
        return (m for ref in self.project.files if (m := self._modules.get(ref)) is not None)

    def mentioning(
        self,
        name: str,
        how: str | re.Pattern[bytes] | None = "",
        near: Module | None = None,
        noted: str = "",
    ) -> Iterator[Module]:
        """Parsed files in which an identifier occurs (tests left out) and whose text matches ``how``.

        ``None``: it names a base of a class there, or what gets another name.
        Of a file that is parsed already, ``called`` tells faster whether it has what the pattern looks for, by the name
        ``noted``.
        In a tree of thousands of files, only those of the package of ``near`` and of packages that import it; and where
        these are too many, those among them that import it themselves, the nearest first. Once ``MAX_PARSED`` is spent,
        only what is parsed already and what stands in the folder of ``near``.
        """
        related = self._users(near) if near is not None and len(self.project.files) > MANY_FILES else None
        search = None
        if how != "" and name.isascii():
            pattern = re.compile(how.encode()) if isinstance(how, str) else how
            search = Search(name, pattern, noted, CODE)
            self.searched.setdefault(search, {})
        here = self.ref(near).directory if near is not None else None
        wide = self._parsed_in_all <= MAX_PARSED
        possible = [
            ref
            for ref in (self.project.mentions(name) if search is None else self.project.having(name))
            if (wide or ref in self._modules or ref.directory == here)
            and not ref.is_test
            and (related is None or ref.module.partition(".")[0] in related)
        ]
        found = (ref for ref in possible if search is None or self._shows(search, ref))
        for ref in found if near is None or len(possible) <= MAX_SEARCHED else self._nearest(list(found), near):
            module = self.parse(ref)
            if module is not None:
                yield module

    def _shows(self, search: Search, ref: SourceRef) -> bool:
        module = self._modules.get(ref) if search.noted else None
        return search.noted in module.called if module is not None else self.holds(search, ref)

    def holds(self, search: Search, ref: SourceRef) -> bool:
        """Whether the text of a file, in which the word of a search occurs, has what it looks for."""
        known = self.searched.get(search)
        if known is None:
            known = self.searched[search] = {}
        found = known.get(ref)
        if found is None:
            before = self._searched_before.get(search)
            found = before.get(ref) if before is not None else None
            found = known[ref] = self._holds(search, ref) if found is None else found
        return found

    def _holds(self, search: Search, ref: SourceRef) -> bool:
        if search.pattern is not None:
            return self._matches(search.pattern, search.word, ref)
        if ref not in self._bases_named:
            self._bases_named[ref] = frozenset(bases_named(ref.data))
        return search.word.encode() in self._bases_named[ref]

    def _matches(self, pattern: re.Pattern[bytes], word: str, ref: SourceRef) -> bool:
        if word.encode() in pattern.pattern:
            return pattern.search(ref.data) is not None
        # A pattern that does not name the word is looked for with many words.
        known = self._matching.setdefault(pattern, {})
        if ref not in known:
            known[ref] = pattern.search(ref.data) is not None
        return known[ref]

    def is_far(self, one: Span, other: Span, lines: int) -> bool:
        """Whether two places are in different files, or more than a number of lines apart."""
        if one.path != other.path:
            return True
        self.apart.add((one.path, one.line, other.line, lines))
        return abs(one.line - other.line) > lines

    def _nearest(self, found: list[SourceRef], near: Module) -> list[SourceRef]:
        """The ``MAX_SEARCHED`` files that have most to do with a module, in their order."""
        if len(found) <= MAX_SEARCHED:
            return found
        package = near.name.partition(".")[0]
        imports = self._importing(package)
        here = self.ref(near).directory.split(os.sep)

        def distance(ref: SourceRef) -> tuple[bool, int]:
            there = ref.directory.split(os.sep)
            shared = next((i for i, (x, y) in enumerate(zip(here, there, strict=False)) if x != y), len(there))
            return ref.module.partition(".")[0] != package and not self.holds(imports, ref), -shared

        nearest = set(sorted(found, key=distance)[:MAX_SEARCHED])
        return [ref for ref in found if ref in nearest]

    def _users(self, near: Module) -> frozenset[str]:
        """The package of a module, and those that import something of that name."""
        return self._naming(near.name.partition(".")[0])

    def _naming(self, package: str) -> frozenset[str]:
        if package not in self._packages:
            imports = self._importing(package)
            self.searched.setdefault(imports, {})
            naming = {r.module.partition(".")[0] for r in self.project.having(package) if self.holds(imports, r)}
            self._packages[package] = frozenset({package, *naming})
        return self._packages[package]

    def _importing(self, package: str) -> Search:
        """What a file says that imports something of this package, also by the folders above it."""
        folders = "|".join(map(re.escape, sorted(self.project.folders_above(package)))) or "(?!)"
        name = re.escape(package)
        by_path = _imports(rf"(?:(?:[\w.]*\.)?(?:{folders})\.)?{name}\b")
        by_name = rf"(?m:^)[ \t]*from[ \t]+(?:[\w.]*\.)?(?:{folders})[ \t]+import[ \t][^\n]*\b{name}\b"
        return Search(package, re.compile(f"{by_path}|{by_name}".encode()))

    def may_use(self, library: str, near: Module) -> bool:
        """Whether a module may meet objects of a library.

        In a tree of thousands of files, only where its package imports it, names one that does, or is named by one.
        """
        if not self.knows(library) or len(self.project.files) <= MANY_FILES:
            return self.knows(library)
        package = near.name.partition(".")[0]
        if (library, package) not in self._using:
            users = self._naming(package)
            self._using[library, package] = any(
                other in users or package in self._naming(other) for other in self._naming(library)
            )
        return self._using[library, package]

    def knows(self, library: str) -> bool:
        """Whether a file of the project imports a library, or is part of it."""
        if library not in self._known:
            pattern = _imports(rf"{re.escape(library)}\b")
            imports = Search(library, re.compile(pattern.encode()), among=ANY)
            self.searched.setdefault(imports, {})
            found = library in self.project.packages or any(
                self.holds(imports, ref) for ref in self.project.having(library)
            )
            self._known[library] = found
        return self._known[library]

    def find_module(self, name: str, near: Module) -> Module | None:
        ref = self.project.module(name, self.ref(near))
        return self.parse(ref) if ref is not None else None

    def star(self, module: Module, level: int, target: str | None, name: str) -> Module | None:
        """The project module behind a star import, if a name may come from there: parsed only where the word occurs."""
        here = self.ref(module)
        full = self.project.relative(here, level, target) if level else target
        ref = self.project.module(full, here) if full else None
        if ref is None or not (ref in self._modules or self._says(ref, name) or self.holds(_STARS, ref)):
            return None
        return self.parse(ref)

    def _says(self, ref: SourceRef, name: str) -> bool:
        """Whether an identifier occurs in a file."""
        if name not in self._saying:
            self._saying[name] = frozenset(self.project.mentions(name))
        return ref in self._saying[name]

    def resolve(self, name: str, near: Module) -> tuple[Module, str] | None:
        """The project module that a dotted import means, and the attribute path left over."""
        ref = self.ref(near)
        key = (ref, name)
        if key not in self._imports:
            self._imports[key] = self.project.resolve_import(ref, name)
        found = self._imports[key]
        if found is None:
            return None
        module = self.parse(found[0])
        return (module, found[1]) if module is not None else None

    def summary(self, function: Function) -> Summary:
        known = self._summaries.get(function)
        if known is None:
            ref = self.ref(function.module)
            package = self.project.relative(ref, 1, None) or ""
            before = self.memory.summaries.get(function) if self.memory is not None else None
            if before is not None and before[0] == package:
                known = before[1]
            else:
                if function.stripped:
                    function.module.restore(function)
                function.seen = True
                try:
                    known = summarise(function, package)
                except RecursionError:
                    known = Summary()
                if self.memory is not None and function.name not in _MADE:
                    self.memory.summaries[function] = package, known
                if self._parsed > MAX_WHOLE:
                    function.module.shed(function)
            self._summaries[function] = known
        return known

    # -- classes ------------------------------------------------------------------------------------------------

    def class_named(self, node: ast.expr, module: Module, depth: int = 0) -> Class | None:
        """The project class that a name, string annotation or ``X | None`` refers to."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.class_named(ast.parse(node.value, mode="eval").body, module, depth)
            except SyntaxError:
                return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.class_named(node.left, module, depth) or self.class_named(node.right, module, depth)
        if isinstance(node, ast.Subscript):
            outer = terminal(node.value)
            if outer in ("Optional", "Annotated", "Type", "type", "Union", "ClassVar", "Final"):
                inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return next((c for i in inner if (c := self.class_named(i, module, depth)) is not None), None)
            return self.class_named(node.value, module, depth)
        name = dotted(node)
        return self.class_of(name, module, depth) if name else None

    def class_of(self, name: str, module: Module, depth: int = 0) -> Class | None:
        """The project class that a dotted name means at the top level of ``module``."""
        if depth > 8:
            return None
        if name in module.classes:
            return module.classes[name]
        head, _, rest = name.partition(".")
        target = self.imported(head, module)
        if target is None:
            return None
        full = f"{target}.{rest}" if rest else target
        found = self.resolve(full, module)
        if found is None or not found[1]:
            return None
        return self.class_of(found[1], found[0], depth + 1)

    def imported(self, name: str, module: Module) -> str | None:
        """The absolute dotted name that ``name`` was imported as in ``module``."""
        value = self.summary(module.body).names.get(name)
        return value.dotted if isinstance(value, Import) else None

    def qualified(self, node: ast.expr, module: Module) -> str | None:
        """A dotted expression with its first name replaced by what it was imported as."""
        name = dotted(node)
        if name is None:
            return None
        head, _, rest = name.partition(".")
        target = self.imported(head, module) or head
        return f"{target}.{rest}" if rest else target

    def bases(self, cls: Class) -> tuple[Class, ...]:
        """Direct base classes that the project defines."""
        if cls not in self._bases:
            self._bases[cls] = ()
            found = [self.class_named(b, cls.module) for b in cls.bases]
            self._bases[cls] = tuple(c for c in found if c is not None and c is not cls)
            self._foreign_bases[cls] = tuple(
                q
                for b, c in zip(cls.bases, found, strict=True)
                if c is None and (q := self.qualified(b.value if isinstance(b, ast.Subscript) else b, cls.module))
            )
        return self._bases[cls]

    def foreign_bases(self, cls: Class) -> frozenset[str]:
        """Qualified names of all base classes that lie outside the project, also of the bases."""
        names: set[str] = set()
        for c in self.mro(cls):
            self.bases(c)
            names.update(self._foreign_bases.get(c, ()))
        return frozenset(names)

    def mro(self, cls: Class) -> tuple[Class, ...]:
        """The class and its project bases, nearest first (depth first, each once)."""
        known = self._mros.get(cls)
        if known is not None:
            return known
        order: list[Class] = []
        stack = [cls]
        while stack and len(order) < 40:
            current = stack.pop(0)
            if current not in order:
                order.append(current)
                stack = [*self.bases(current), *stack]
        self._mros[cls] = tuple(order)
        return self._mros[cls]

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """All classes that derive from ``cls``, found by its name, or fulfil it when it is a protocol."""
        if cls not in self._subclasses:
            self._subclasses[cls] = ()
            fulfilling = list(self._fulfilling(cls))
            limit = MAX_FULFILLING if len(cls.methods) == 1 else MAX_FAMILY
            first = fulfilling if len(fulfilling) <= limit else []
            derived = self._derived(cls)
            rest = [c for c in derived if c not in first]
            places = {c: i for m in {c.module for c in rest} for i, c in enumerate(m.classes.values())}
            self._subclasses[cls] = (*first, *sorted(rest, key=lambda c: (c.module.path, places.get(c, 0))))
        return self._subclasses[cls]

    def _derived(self, cls: Class) -> Iterator[Class]:
        """The classes below ``cls``, each once, found by the names of their bases."""
        waiting, seen = [cls], {cls}
        while waiting:
            base = waiting.pop()
            for module in self.mentioning(base.name, None, base.module):
                for other in module.classes.values():
                    if other not in seen and base in self.bases(other):
                        seen.add(other)
                        waiting.append(other)
                        yield other

    def _is_protocol(self, cls: Class) -> bool:
        self.bases(cls)
        return any(base.endswith("Protocol") for base in self._foreign_bases.get(cls, ()))

    def _fulfilling(self, cls: Class) -> Iterator[Class]:
        """The classes that have every method of a protocol."""
        wanted = [name for name in cls.methods if not name.startswith("__")]
        if not wanted or not self._is_protocol(cls):
            return
        rarest = max(wanted, key=len)
        for module in self.mentioning(rarest, rf"def\s+{rarest}\b"):
            for other in module.classes.values():
                if other is not cls and all(self.method(other, name) is not None for name in wanted):
                    yield other

    def is_below(self, cls: Class, base: Class) -> bool:
        """Whether ``cls`` derives from ``base``, or fulfils it when it is a protocol."""
        return base in self.mro(cls) or (self._is_protocol(base) and cls in self.subclasses(base))

    def method(self, cls: Class, name: str) -> Function | None:
        """The method that an instance of exactly ``cls`` has."""
        return next((m for c in self.mro(cls) if (m := c.methods.get(name)) is not None), None)

    def overrides(self, cls: Class, name: str) -> list[Function]:
        """What a call of ``name`` on an instance of ``cls`` or of a subclass may run, at most ``MAX_FAMILY``."""
        found: list[Function] = []
        own = self.method(cls, name)
        if own is not None:
            found.append(own)
        concrete = 0
        for other in self._overriding(cls, name):
            if other not in found:
                found.append(other)
                concrete += not is_abstract(other)
            if concrete >= MAX_FAMILY:
                break
        return ([f for f in found if not is_abstract(f)] or found)[:MAX_FAMILY]

    def _overriding(self, cls: Class, name: str) -> Iterator[Function]:
        """The methods of a name in the classes below ``cls``, in their order; files without one are not parsed."""
        if cls in self._subclasses or self._is_protocol(cls):
            yield from (c.methods[name] for c in self.subclasses(cls) if name in c.methods)
            return
        for module in self.mentioning(name, rf"def\s+{name}\b", cls.module):
            for other in module.classes.values():
                if other is not cls and name in other.methods and cls in self.mro(other):
                    yield other.methods[name]

    def methods_named(self, name: str) -> Iterator[Function]:
        """The methods of this name in the project, one after the other: most who ask need no more than two."""
        for module in self.mentioning(name, rf"def\s+{name}\b"):
            yield from (f for f in module.functions if f.name == name and f.owner is not None)

    def storing(self, name: str, near: Module) -> tuple[Function, ...]:
        """The functions parsed so far that may write an attribute of this name, of a class of ``near``."""
        self.stored.add(name)
        found = (f for _, functions in self._stores.get(name, ()) for f in functions)
        if len(self.project.files) <= MANY_FILES:
            return tuple(found)
        related = self._users(near)
        return tuple(f for f in found if f.module.name.partition(".")[0] in related)

    def root_class(self, function: Function) -> Class | None:
        """The topmost class that declares the method, which names its family."""
        if function.owner is None:
            return None
        return next((c for c in reversed(self.mro(function.owner)) if function.name in c.methods), function.owner)

    def function_at(self, place: Span) -> Function | None:
        """The innermost function around a place in a file that was parsed."""
        known = self._around.get((place.path, place.line))
        if known is not None:
            return known
        module = next((m for m in self.modules if m.path == place.path), None)
        around = [f for f in module.functions if _covers(f.node, place.line)] if module is not None else []
        found = max(around, key=lambda f: getattr(f.node, "lineno", 0), default=None)
        if found is not None:
            self._around[place.path, place.line] = found
        return found

    def body_at(self, place: Span) -> Function | None:
        """The innermost function around a place, or the body of the module for what stands outside of all functions."""
        found = self.function_at(place)
        return found or next((m.body for m in self.modules if m.path == place.path), None)

    # -- calls --------------------------------------------------------------------------------------------------

    def calls_named(self, name: str, near: Module) -> Found:
        """Every call of something called ``name`` that may be the project's, with the function it stands in."""
        key = (name, self._users(near))
        known = self._calls.get(key)
        if known is not None:
            return known

        def fits(call: Call) -> bool:
            return called_name(call) == name and not (isinstance(call.func, Attr) and is_container(call.func.base))

        return self._noted(key, name, rf"{name}(?<!\w{name})(?<!def {name})\s*\(", near, fits)

    def base_constructor_calls(self, cls: Class) -> Iterator[tuple[Function, Call]]:
        """Every call of ``__init__`` in the classes below ``cls``, and in files that call that of ``cls`` by name."""
        below = set(self.subclasses(cls))
        naming = set(self.mentioning(cls.name, rf"{cls.name}\.__init__\s*\(", cls.module))
        for module in sorted({c.module for c in below} | naming, key=lambda m: m.path):
            for function in module.called.get("__init__", ()):
                if function.owner in below or module in naming:
                    for call in self.summary(function).calls:
                        if called_name(call) == "__init__":
                            yield function, call

    def handed_over(self, name: str, near: Module) -> Found:
        """Every call that gets something called ``name`` as an argument."""
        key = (f"&{name}", self._users(near))
        known = self._calls.get(key)
        if known is not None:
            return known

        def fits(call: Call) -> bool:
            return any(reference_name(a) == name for a in (*call.args, *(v for _, v in call.keywords)))

        return self._noted(key, name, rf"{name}(?<!\w{name})\s*[,)#]", near, fits)

    def _noted(
        self, key: tuple[str, frozenset[str]], name: str, how: str, near: Module, fits: Callable[[Call], bool]
    ) -> Found:
        """The calls that fit, in the functions that ``Module.called`` lists under ``key``; searched for once."""
        noted = key[0]
        found = self._calls[key] = Found(
            (function, call)
            for module in self.mentioning(name, how, near, noted)
            for function in module.called.get(noted, ())
            for call in self.summary(function).calls
            if fits(call)
        )
        return found


def _imports(path: str) -> str:
    """A pattern of what imports something whose dotted name begins with what ``path`` matches."""
    statement = rf"(?m:^)[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w. \t]+,[ \t]*)*){path}"
    return rf"{statement}|import(?:_module|__)\(\s*[\"']{path}"


def _path(entry: tuple[str, list[Function]]) -> str:
    return entry[0]


def _covers(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", None) or 0)


def called_name(call: Call) -> str | None:
    return reference_name(call.func)


def reference_name(value: Expr) -> str | None:
    """The last name of an expression that refers to something by name."""
    value = unchanged(value)
    if not isinstance(value, Either):
        return _own_name(value)
    names: set[str | None] = set()
    waiting: list[Expr] = [value]
    for node in each_once(waiting):  # branch upon branch meets the same nodes again and again
        if isinstance(node, Either):  # the same on each branch: what a call on one of them may have done to it
            waiting += map(unchanged, node.options)
        else:
            names.add(_own_name(node))
    return names.pop() if len(names) == 1 else None


def _own_name(value: object) -> str | None:
    if isinstance(value, (Attr, Global, Free)):
        return value.name
    if isinstance(value, Import):
        return value.dotted.rpartition(".")[2]
    if isinstance(value, Definition):
        return getattr(value.node, "name", None)
    return None


def is_abstract(function: Function) -> bool:
    """A body that only declares: ``...``, ``pass``, a docstring, or ``raise NotImplementedError``."""
    if function.decorator_names & {"abstractmethod", "abstractproperty"}:
        return True
    return function.is_declaration
