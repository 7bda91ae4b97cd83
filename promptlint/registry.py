"""Rules: how one is declared, found, chosen and run.

Built-in rules and a user's own (``rule-paths``) are the same thing: a folder of files, each with a module docstring
and one decorated function. Files whose name starts with ``_`` are not rules.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

from promptlint.files.source import display
from promptlint.finding import Finding
from promptlint.report import Problem
from promptlint.request import Conversation, Request, Siblings

_HERE = Path(__file__).resolve().parent
BUILTIN = _HERE / "rules" if (_HERE / "rules").is_dir() else _HERE.parent / "rules"
"""The folder of the rules that come with promptlint: inside the package in a wheel, beside it in a checkout."""

MODULES = "_promptlint_rules_"
"""How the names begin under which rule files are loaded."""

SUBJECTS = (Request, Conversation, Siblings)
_MARK = "__promptlint_rule__"
_CODE = re.compile(r"[A-Z]+[0-9]+")
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

Check = Callable[..., Iterable[Finding]]
_C = typing.TypeVar("_C", bound=Check)


class RuleError(Exception):
    """A rule file that cannot be used; the message names the file, the line where there is one, and what to change."""


class UnknownRule(Exception):
    """A rule name or code prefix that fits no rule; the message suggests the nearest."""


@dataclass(frozen=True, slots=True)
class _Declaration:
    code: str
    kind: str
    since: str
    meta: bool


def rule(code: str, *, kind: str, since: str, meta: bool = False) -> Callable[[_C], _C]:
    """Declares a function as the rule ``code``.

    The annotation of its first parameter (Request, Conversation or Siblings) decides what it is called with; name,
    summary and examples come from the file. ``kind`` is the kind of its findings unless one says otherwise, ``since``
    the version that brought the rule. A ``meta`` rule takes nothing and is never called: its findings come from the
    run itself (broken syntax, unused comments).
    """

    def declare(check: _C) -> _C:
        setattr(check, _MARK, _Declaration(code, kind, since, meta))
        return check

    return declare


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """One rule: what its decorator says, and what follows from its file.

    ``summary`` is the first line of the module docstring and ``doc`` all of it; ``examples`` are its first two code
    blocks, the bad one and the good one. ``subject`` is what ``check`` is called with, ``None`` for a meta rule.
    """

    code: str
    name: str
    kind: str
    since: str
    summary: str
    doc: str
    examples: tuple[str, str] | None
    subject: type[Request] | type[Conversation] | type[Siblings] | None
    check: Check
    path: Path


@dataclass(frozen=True, slots=True)
class Registry:
    """A set of rules in order of their codes."""

    rules: tuple[RuleInfo, ...]

    def __iter__(self) -> Iterator[RuleInfo]:
        return iter(self.rules)

    def matching(self, selector: str) -> tuple[RuleInfo, ...]:
        """The rules that a name or a code prefix (``PL1``; ``ALL`` for all) stands for.

        Raises UnknownRule when there are none.
        """
        if selector == "ALL":
            return self.rules
        found = tuple(info for info in self.rules if _fit(selector, info))
        if not found:
            names = [name for info in self.rules for name in (info.name, info.code)]
            raise UnknownRule(f'unknown rule "{selector}"{did_you_mean(selector, names)}')
        return found

    def select(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Registry:
        """The rules that ``select`` takes in (all when empty) and ``ignore`` does not take out.

        Where both speak of a rule the more specific one wins (``PL101`` over ``PL1``), and ``ignore`` at a draw.
        Raises UnknownRule.
        """
        for selector in (*select, *ignore):
            self.matching(selector)
        wanted = select or ("ALL",)
        return Registry(tuple(r for r in self.rules if _weight(wanted, r) > _weight(ignore, r)))


def _fit(selector: str, info: RuleInfo) -> int:
    """How specifically a selector stands for a rule; 0 when it does not."""
    if selector == "ALL":
        return 1
    if selector == info.name or selector.upper() == info.code:
        return 1000
    return 1 + len(selector) if selector and info.code.startswith(selector.upper()) else 0


def _weight(selectors: Sequence[str], info: RuleInfo) -> int:
    return max((_fit(selector, info) for selector in selectors), default=0)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: ``; did you mean "x"?``, or nothing when no known word is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6) or get_close_matches(word.upper(), list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


@cache
def load(paths: tuple[Path, ...] = ()) -> Registry:
    """The built-in rules and those of the given files and folders (a user's ``rule-paths``).

    Runs the code of the rule files. Raises RuleError for a file that is no sound rule, and for a code or name that two
    files claim.
    """
    by_key: dict[str, RuleInfo] = {}
    for info in sorted(map(_read, files(paths)), key=lambda r: r.code):
        for key in (info.code, info.name):
            if key in by_key:
                raise RuleError(
                    f'{display(info.path)}: "{key}" is also the rule of {display(by_key[key].path)}; rename one of them'
                )
            by_key[key] = info
    return Registry(tuple(sorted({id(r): r for r in by_key.values()}.values(), key=lambda r: r.code)))


def files(paths: Sequence[Path]) -> list[Path]:
    """The files of the built-in rules, and of those in the given files and folders. Raises RuleError."""
    return [file for path in (BUILTIN, *paths) for file in _files(path)]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path.resolve()]
    if not path.is_dir():
        raise RuleError(f"{display(path)}: no such rule file or folder")
    return sorted(file.resolve() for file in path.glob("*.py") if not file.name.startswith("_"))


def _read(path: Path) -> RuleInfo:
    module = _execute(path)
    declared = [value for value in vars(module).values() if hasattr(value, _MARK)]
    if len(declared) != 1:
        raise RuleError(
            f"{display(path)}: a rule file holds one function decorated with @rule(...), this one has {len(declared)}"
        )
    check = declared[0]
    if not isinstance(check, FunctionType):
        raise RuleError(f"{display(path)}: @rule(...) decorates a function, not {type(check).__name__} {check!r}")
    declaration: _Declaration = getattr(check, _MARK)
    where = f"{display(path)}:{check.__code__.co_firstlineno}"
    if not _CODE.fullmatch(declaration.code):
        raise RuleError(
            f'{where}: a rule code is capital letters and digits, such as "PL101", not "{declaration.code}"'
        )
    doc = inspect.cleandoc(module.__doc__ or "")
    if not doc:
        raise RuleError(
            f"{display(path)}: a rule needs a module docstring; its first line is what `promptlint rule` lists"
        )
    blocks = _EXAMPLE.findall(doc)
    return RuleInfo(
        code=declaration.code,
        name=path.stem.replace("_", "-"),
        kind=declaration.kind,
        since=declaration.since,
        summary=doc.splitlines()[0],
        doc=doc,
        examples=(blocks[0], blocks[1]) if len(blocks) > 1 else None,
        subject=None if declaration.meta else _subject(check, where),
        check=check,
        path=path,
    )


def _execute(path: Path) -> ModuleType:
    # The folder is part of the module name, so that equally named files of two folders do not meet in sys.modules.
    folder = hashlib.sha256(str(path.parent).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"{MODULES}{folder}.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise RuleError(f"{display(path)}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise RuleError(f"{display(path)}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise RuleError(f"{_where(error, path)}: {_words(error)}") from error
    return module


def _subject(check: FunctionType, where: str) -> type[Request] | type[Conversation] | type[Siblings]:
    allowed = ", ".join(subject.__name__ for subject in SUBJECTS)
    parameters = list(inspect.signature(check).parameters)
    if len(parameters) != 1:
        raise RuleError(f"{where}: a rule takes one parameter ({allowed}), {check.__name__} takes {len(parameters)}")
    try:
        annotation = typing.get_type_hints(check).get(parameters[0])
    except Exception as error:
        raise RuleError(f"{where}: the annotations of {check.__name__} cannot be read: {_words(error)}") from error
    if annotation in SUBJECTS:
        return SUBJECTS[SUBJECTS.index(annotation)]
    raise RuleError(f'{where}: annotate "{parameters[0]}" with what the rule looks at: one of {allowed}')


def run(
    selection: Registry, requests: Sequence[Request], siblings: Sequence[Siblings]
) -> tuple[tuple[Finding, ...], tuple[Problem, ...]]:
    """Calls each rule with every subject it is for.

    A rule that raises loses its findings for that subject only; the problem says which rule, where, and why.
    """
    findings: list[Finding] = []
    problems: list[Problem] = []
    conversations = [Conversation(request) for request in requests]
    for info in selection:
        subjects: Sequence[Request | Conversation | Siblings] = (
            requests
            if info.subject is Request
            else conversations
            if info.subject is Conversation
            else siblings
            if info.subject is Siblings
            else ()
        )
        for subject in subjects:
            try:
                findings += [found.stamped(info.name, info.code, info.kind) for found in info.check(subject)]
            except Exception as error:
                site = _request_of(subject).site.span
                message = (
                    f"rule {info.name} failed on this request, its findings here are missing: {_words(error)}"
                    f" at {_where(error, info.path)}"
                )
                problems.append(Problem(site.path, message, site.row, site.cell_number, internal=True))
    return tuple(findings), tuple(problems)


def _request_of(subject: Request | Conversation | Siblings) -> Request:
    match subject:
        case Request():
            return subject
        case Conversation():
            return subject.request
        case Siblings():
            return subject.requests[0]


def _where(error: BaseException, path: Path) -> str:
    """The last line of the rule file that an error went through."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == path
    ]
    return f"{display(path)}:{lines[-1]}" if lines else display(path)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
