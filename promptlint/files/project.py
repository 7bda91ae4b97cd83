"""The Python files under the given paths, the modules they are, and what their imports mean."""

from __future__ import annotations

import os
import sys
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from promptlint.files import disk, gitignore, renamed, walk
from promptlint.files.notebook import SUFFIX
from promptlint.files.source import Source, Unreadable, display, from_bytes, read_bytes

_MARKERS = (".git", ".hg", "pyproject.toml", "setup.py")
_NOT_IDENTIFIER = bytes(c if c >= 128 or chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))


def identifiers(data: bytes) -> set[bytes]:
    """The identifiers in a text, be they in code, text or comments."""
    return set(data.translate(_NOT_IDENTIFIER).split())


class NoPython(Exception):
    """A given path that yields no Python; the message names the path and says why."""


@dataclass(frozen=True)
class Options:
    """What to leave out, and which names are libraries.

    ``exclude`` holds patterns as in ``.gitignore``, relative to ``root`` (by default the working directory).
    ``foreign`` names top-level packages that are published libraries: a file of that name is taken for that module only
    where an import root is declared, so that ``import openai`` does not mean ``providers/openai.py``.
    """

    exclude: tuple[str, ...] = ()
    include_tests: bool = False
    root: Path | None = None
    foreign: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True)
class SourceRef:
    """One Python file of the project. Its bytes are read when first asked for, and kept until ``drop``.

    ``unsaved`` bytes stand in for what is on the disk, which is never read then.
    """

    path: str
    """As the user is shown it."""
    file: Path
    module: str
    is_test: bool
    directory: str = field(repr=False)
    """Absolute path of the directory."""
    top: str = field(repr=False)
    """The directory above the project of the file; module names grow no further."""
    unsaved: bytes | None = field(default=None, repr=False)
    _bytes: bytes | Unreadable | None = field(default=None, repr=False)
    _source: Source | Unreadable | None = field(default=None, repr=False)

    @property
    def is_package(self) -> bool:
        return self.file.name == "__init__.py"

    @property
    def is_notebook(self) -> bool:
        return self.file.suffix == SUFFIX

    @property
    def package_folder(self) -> str:
        """The folder of the outermost package that the file is part of, or its own folder."""
        above = self.module.count(".") - (0 if self.is_package else 1)
        directory = self.directory
        for _ in range(max(0, above)):
            directory = os.path.dirname(directory)
        return directory

    @property
    def data(self) -> bytes:
        """The bytes, for a notebook those of its Python; empty when the file cannot be read (``source`` says why)."""
        data = self._read()
        return b"" if isinstance(data, Unreadable) else data

    @property
    def source(self) -> Source | Unreadable:
        """The file as Python text."""
        data = self._read()
        if self._source is None:
            self._source = data if isinstance(data, Unreadable) else from_bytes(self.path, self.file, data)
        return self._source

    @property
    def problem(self) -> Unreadable | None:
        """Why the bytes could not be read, if that was tried."""
        return self._bytes if isinstance(self._bytes, Unreadable) else None

    @property
    def is_loaded(self) -> bool:
        return self._bytes is not None

    def drop(self) -> None:
        """Forget the bytes and what was made of them, but not that the file could not be read."""
        if not isinstance(self._bytes, Unreadable):
            self._bytes = self._source = None

    def _read(self) -> bytes | Unreadable:
        if self._bytes is None:
            self.take(read_bytes(self.file, self.path) if self.unsaved is None else self.unsaved)
            assert self._bytes is not None
        return self._bytes

    def renew(self, data: bytes, unsaved: bool) -> None:
        """Take other bytes than those that were read before."""
        self.unsaved = data if unsaved else None
        self._source = None
        self.take(data)

    def take(self, data: bytes | Unreadable) -> None:
        """Take the bytes of the file; those of a notebook are read at once, for what it shows can be megabytes."""
        if self.is_notebook and not isinstance(data, Unreadable):
            self._source = from_bytes(self.path, self.file, data)
            data = self._source if isinstance(self._source, Unreadable) else self._source.data
        self._bytes = data


@dataclass(slots=True)
class _Roots:
    """What is known of directories, as absolute paths."""

    packages: set[str] = field(default_factory=set)
    """Those with an ``__init__.py``."""
    declared: set[str] = field(default_factory=set)
    """Import roots for a better reason than holding a file: given, with a project file, or ``src`` or ``lib`` there."""

    def of(self, directory: str, top: str) -> str:
        """The import root that names the files of a directory."""
        if directory in self.packages or self.is_inside_package(directory):
            outside = (a for a in _upwards(directory, top) if a not in self.packages and not self.is_inside_package(a))
            return next(outside, top)
        return next((above for above in _upwards(directory, top) if above in self.declared), directory)

    def declare(self, *directories: str) -> None:
        """Make directories import roots, and their ``src`` and ``lib`` where these are no packages."""
        for directory in directories:
            self.declared.add(directory)
            for name in ("src", "lib"):
                inner = os.path.join(directory, name)
                if disk.is_folder(inner) and not _has(inner, "__init__.py"):
                    self.declared.add(inner)

    def is_inside_package(self, root: str) -> bool:
        return root not in self.declared and not self.packages.isdisjoint(_upwards(root, os.sep))


class Project:
    """Files and modules. Answers depend on the files found, never on the order of the questions."""

    def __init__(
        self,
        files: Sequence[SourceRef],
        given: Sequence[str],
        roots: _Roots,
        foreign: frozenset[str],
        unreadable: Sequence[Unreadable],
        links: Mapping[str, SourceRef],
    ) -> None:
        self.files = tuple(files)
        self.unreadable = tuple(unreadable)
        """Directories that could not be listed."""
        self._given = given
        self._roots = roots
        self._foreign = foreign
        self._links = links
        """Other paths of files: links, and names that a build gives to folders."""
        self.words: set[str] = set()
        """The identifiers of which it was asked where they occur."""

    def module(self, dotted: str, near: SourceRef | None = None) -> SourceRef | None:
        """The file that ``import dotted`` means in ``near``, or None for what lies outside the project.

        Any directory may be the import root of what stands below it. Roots above ``near`` win, the deepest first.
        A root elsewhere must be declared or hold a regular package of that name; there the nearest to ``near`` wins.
        Directories inside a regular package are roots only for scripts in them or if given, where no other root fits;
        and for files below them that name a module inside of a package there (``chat.agent``), as programs that put
        such a directory on ``sys.path`` do.
        Names of the standard library are never the project's; that of a known library is where a root is declared, or
        for a module inside of it (``agents.planner``) that stands below a root above ``near``.
        """
        candidates = self._modules.get(dotted)
        head = dotted.partition(".")[0]
        if candidates is None or head in sys.stdlib_module_names:
            return None
        ranked = []
        for root, ref in candidates:
            rank = self._rank(root, dotted, near)
            # No file imports itself by its bare name: there it means a library.
            itself = ref is near and dotted == head and not ref.is_package
            if rank is not None and not itself:
                ranked.append((rank, ref.path, ref))
        return min(ranked, key=lambda entry: entry[:2])[2] if ranked else None

    def _rank(self, root: str, dotted: str, near: SourceRef | None) -> tuple[int, int, int] | None:
        """How well a root fits an import of ``dotted`` in ``near`` (less is better), or None if it does not."""
        head, _, inner = dotted.partition(".")
        declared = root in self._roots.declared
        inside = self._roots.is_inside_package(root)
        own = inner and not inside and near is not None and _within(near.directory, root)
        if head in self._foreign and not (declared or own):
            return None
        depth = root.count(os.sep)
        if near is None:
            return (2 * inside + (not declared), 0, depth)
        if inside:
            runs_here = root == near.directory or (root in self._given and _within(near.directory, root))
            named = inner and os.path.join(root, head) in self._roots.packages and _within(near.directory, root)
            return (2, -depth, 0) if runs_here or named else None
        if _within(near.directory, root):
            return (0, -depth, 0)
        if declared or os.path.join(root, head) in self._roots.packages:
            pairs = zip(near.directory.split(os.sep), root.split(os.sep), strict=False)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            return (1, -shared, depth)
        return None

    def relative(self, of: SourceRef, level: int, name: str | None) -> str | None:
        """The dotted name that ``from <level dots>name import x`` means in ``of``; None when it leaves the project."""
        directory = of.directory
        for _ in range(level - 1):
            directory = os.path.dirname(directory)
        if not _within(directory, of.top) or directory == of.top:
            return None
        root = self._roots.of(directory, of.top)
        if root == directory:
            root = os.path.dirname(root)
        # An absolute name must not be taken for a library's: logging/setup.py in app/ is app.logging.setup.
        while root != of.top and self._is_library(_dotted(directory, root).partition(".")[0]):
            root = os.path.dirname(root)
        package = _dotted(directory, root)
        return f"{package}.{name}" if name else package

    def _is_library(self, head: str) -> bool:
        return head in sys.stdlib_module_names or head in self._foreign

    def resolve_import(self, of: SourceRef, dotted: str) -> tuple[SourceRef, str] | None:
        """The longest prefix of ``dotted`` that is a module, and the attribute path behind it (may be empty)."""
        prefix, rest = dotted, ""
        while prefix:
            ref = self.module(prefix, of)
            if ref is not None:
                return ref, rest
            prefix, _, last = prefix.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return None

    def prompt_file(self, of: SourceRef, relative: str) -> Path | None:
        """The data file that ``of`` opens as ``relative``, or None.

        Looked for beside it, in the directories above, and in the working directory; never outside the given paths,
        wherever ``..`` or symbolic links lead.
        """
        for directory in (*_upwards(of.directory, of.top), os.getcwd()):
            file = os.path.join(directory, relative)
            if disk.is_file(file) and any(_within(os.path.realpath(file), bound) for bound in self._bounds):
                return Path(os.path.normpath(file))
        return None

    @cached_property
    def _bounds(self) -> tuple[str, ...]:
        directories = (path if os.path.isdir(path) else os.path.dirname(path) for path in self._given)
        return tuple(sorted({os.path.realpath(directory) for directory in directories}))

    def folders_above(self, package: str) -> frozenset[str]:
        """The names of the folders in which outermost packages of this name stand."""
        return self._folders_above.get(package, frozenset())

    @cached_property
    def _folders_above(self) -> dict[str, frozenset[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for ref in self.files:
            found[ref.module.partition(".")[0]].add(os.path.basename(os.path.dirname(ref.package_folder)))
        return {package: frozenset(names) for package, names in found.items()}

    def mentions(self, name: str) -> list[SourceRef]:
        """The files in which the identifier occurs, be it in code, text or a comment."""
        self.words.add(name)
        return self.having(name)

    def mentioned(self, words: Iterable[str]) -> list[list[str]]:
        """Of each file those of some identifiers that occur in it, in order."""
        found: list[list[str]] = [[] for _ in self.files]
        for word in sorted(words):
            for number in self._identifiers.get(word.encode("utf-8", "replace"), ()):
                found[number].append(word)
        return found

    def having(self, name: str) -> list[SourceRef]:
        """As ``mentions``, for who notes what he asked himself."""
        return [self.files[number] for number in self._identifiers.get(name.encode("utf-8", "replace"), ())]

    @cached_property
    def _identifiers(self) -> defaultdict[bytes, list[int]]:
        # Built once: on 15,000 files (144 MB) it costs about as much as searching them for fifty names one by one.
        index: defaultdict[bytes, list[int]] = defaultdict(list)
        for number, ref in enumerate(self.files):
            keep = ref.is_loaded
            for word in identifiers(ref.data):
                index[word].append(number)
            if not keep:
                ref.drop()
        return index

    def replace(self, number: int, data: bytes, unsaved: bool) -> None:
        """Puts other bytes in the place of those of a file."""
        ref, index = self.files[number], self._identifiers
        if ref.unsaved is not None:
            old = identifiers(ref.data)
        else:  # what is on the disk now may be another text than the one that was read
            old = {word for word, numbers in index.items() if _has_number(numbers, number)}
        ref.renew(data, unsaved)
        new = identifiers(ref.data)
        for word in old - new:
            index[word].remove(number)
            if not index[word]:
                del index[word]  # every word that was ever typed would stay
        for word in new - old:
            insort(index[word], number)

    @cached_property
    def packages(self) -> frozenset[str]:
        """The first names of all modules."""
        return frozenset(ref.module.partition(".")[0] for ref in self.files)

    @cached_property
    def _modules(self) -> Mapping[str, Sequence[tuple[str, SourceRef]]]:
        """For each dotted name the files that bear it and the import root from which they do."""
        index: defaultdict[str, list[tuple[str, SourceRef]]] = defaultdict(list)
        places = [(os.path.join(ref.directory, ref.file.name), ref) for ref in self.files]
        for file, ref in (*places, *self._links.items()):
            directory, name = os.path.split(file)
            if ref.is_notebook:
                continue  # nothing imports it
            dotted = "" if name == "__init__.py" else os.path.splitext(name)[0]
            for root in _upwards(directory, ref.top):
                if dotted:
                    index[dotted].append((root, ref))
                dotted = ".".join(filter(None, (os.path.basename(root), dotted)))
        return index


def _has_number(numbers: Sequence[int], number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


def discover(paths: Sequence[Path], options: Options, overlay: Mapping[Path, bytes] | None = None) -> Project:
    """Find the Python files under the given paths; ``overlay`` holds texts that stand in for what is on the disk.

    :raises NoPython: a given path does not exist or yields no Python
    """
    texts = {os.path.abspath(file): data for file, data in (overlay or {}).items()}
    exclude = gitignore.parse(os.path.abspath(options.root or "."), options.exclude)
    roots = _Roots()
    found: dict[str, SourceRef] = {}
    homes: dict[str, _Home] = {}
    unreadable: dict[str, Unreadable] = {}
    given = [os.path.abspath(path) for path in paths]
    listed: list[tuple[_Home, str, list[str]]] = []
    linked: list[tuple[_Home, str, str]] = []
    for path in given:
        single = path in texts or not disk.is_folder(path)
        start = os.path.dirname(path) if single else path
        home = homes.get(start)
        if home is None:
            home = homes[start] = _home(start, roots)
        if single:
            if path not in texts:
                _check_file(path)
            listed.append((home, path, [path]))
            continue
        listing = walk.walk(path, exclude, keep_tests=options.include_tests or home.in_tests)
        links = [link for link in listing.links if disk.is_file(link)]
        if not listing.files and not links:
            raise NoPython(_nothing_under(path, listing))
        roots.packages |= listing.packages
        roots.declare(*listing.projects)
        unreadable.update((problem.path, problem) for problem in listing.unreadable)
        listed.append((home, path, listing.files))
        linked.extend((home, path, link) for link in links)
    for home, path, files in listed:
        real = os.path.realpath(path)
        for file in files:
            key = real + file[len(path) :]
            if key not in found or path == file:
                found[key] = _ref(file, path, home, roots, texts)
    aliases: dict[str, SourceRef] = {}
    for home, path, link in linked:
        key = os.path.realpath(link)
        if key in found:
            aliases[link] = found[key]
        else:
            found[key] = _ref(link, path, home, roots, texts)
    refs = sorted(found.values(), key=lambda ref: ref.path)
    aliases |= _renamed(refs, roots)
    problems = [unreadable[path] for path in sorted(unreadable)]
    return Project(refs, given, roots, options.foreign, problems, aliases)


def _renamed(refs: Sequence[SourceRef], roots: _Roots) -> dict[str, SourceRef]:
    """The files of packages that a build renames, by where they would lie under the new name."""
    folders = {old: new for project in sorted(roots.declared) for old, new in renamed.folders(project).items()}
    return {
        os.path.join(new + ref.directory[len(old) :], ref.file.name): ref
        for old, new in folders.items()
        for ref in refs
        if _within(ref.directory, old)
    }


@dataclass(frozen=True, slots=True)
class _Home:
    """The project around a directory that was given, or whose file was."""

    top: str
    in_tests: bool
    """The directory is one of tests, or in one: whoever names it asks for them."""


def _home(start: str, roots: _Roots) -> _Home:
    marked = next((path for path in _upwards(start, os.sep) if _has(path, *_MARKERS)), None)
    for path in _upwards(start, marked or os.sep):
        if _has(path, "__init__.py"):
            roots.packages.add(path)
        elif marked is None:
            break
    project = marked or path
    roots.declare(project, *([start] if start not in roots.packages else []))
    top = os.path.dirname(project)
    return _Home(top, walk.is_test((*_parts(start, project if marked else top), "")))


def _ref(file: str, given: str, home: _Home, roots: _Roots, texts: Mapping[str, bytes]) -> SourceRef:
    directory, name = os.path.split(file)
    module = _dotted(directory, roots.of(directory, home.top))
    if name != "__init__.py":
        module = ".".join(filter(None, (module, os.path.splitext(name)[0])))
    return SourceRef(
        path=display(file),
        file=Path(file),
        module=module,
        is_test=not home.in_tests and file != given and walk.is_test(_parts(file, given)),
        directory=directory,
        top=home.top,
        unsaved=texts.get(file),
    )


def _check_file(path: str) -> None:
    name = os.path.basename(path)
    if not disk.exists(path):
        raise NoPython(f"{display(path)}: no such file or directory")
    if not name.endswith(walk.SUFFIXES) and "." in name:
        raise NoPython(f"{display(path)}: not a Python file (.py) or notebook (.ipynb)")


def _nothing_under(path: str, listing: walk.Listing) -> str:
    shown = display(path)
    if any(problem.path == shown for problem in listing.unreadable):
        return f"{shown}: {listing.unreadable[0].message}"
    if listing.tests:
        return f"{shown}: no Python files but tests; name their directory or set include-tests to check them"
    if listing.ignored:
        return f"{shown}: every Python file is ignored by .gitignore or exclude; name a file or directory to check it"
    return f"{shown}: no Python files"


def _has(directory: str, *names: str) -> bool:
    return any(disk.exists(os.path.join(directory, name)) for name in names)


def _upwards(directory: str, top: str) -> Iterator[str]:
    """A directory and those above it, up to and including ``top`` (or the root of the file system)."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if directory == top or above == directory:
            return
        directory = above


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(os.path.join(directory, ""))


def _parts(path: str, base: str) -> list[str]:
    return path[len(os.path.join(base, "")) :].split(os.sep) if path != base else []


def _dotted(directory: str, root: str) -> str:
    return ".".join(_parts(directory, root))
