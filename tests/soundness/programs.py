"""Small random programs that send requests: a plan says what varies and how it is spelled, ``render`` writes the files.

A value that may vary is rendered between ``<s1>`` and ``</s1>``, and the lines that compute it end in ``# s1``; lines
that change the history end in ``# m``, lines that give tools their order in ``# t``. So what is sent and what is
reported can be traced back to the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from hypothesis import strategies as st

SOURCES: dict[str, tuple[str, str]] = {
    "const": ('"alpha"', ""),
    "fixed date": ("date(2024, 5, 1)", "from datetime import date"),
    "number": ("len(NAMES)", ""),
    "seeded": ("random.Random(7).random()", "import random"),
    "uuid5": ('uuid.uuid5(uuid.NAMESPACE_DNS, "lease.example")', "import uuid"),
    "digest": ('hashlib.sha256(b"lease").hexdigest()', "import hashlib"),
    "sorted set": ('", ".join(sorted(set(NAMES)))', ""),
    "dict order": ('", ".join(dict.fromkeys(NAMES))', ""),
    "now": ("datetime.now()", "from datetime import datetime"),
    "iso": ("datetime.now().isoformat()", "from datetime import datetime"),
    "iso minutes": (
        'datetime.now(timezone.utc).isoformat(timespec="minutes")',
        "from datetime import datetime, timezone",
    ),
    "seconds": ('datetime.now().strftime("%Y-%m-%d %H:%M:%S")', "from datetime import datetime"),
    "minutes": ('datetime.now().strftime("%d %B, %H:%M")', "from datetime import datetime"),
    "day": ('datetime.now().strftime("%Y-%m-%d")', "from datetime import datetime"),
    "day cut": ("str(datetime.now())[:10]", "from datetime import datetime"),
    "minute cut": ("datetime.now().isoformat()[:16]", "from datetime import datetime"),
    "date": ("datetime.now().date()", "from datetime import datetime"),
    "today": ("date.today().isoformat()", "from datetime import date"),
    "rounded": ("datetime.now().replace(second=0, microsecond=0)", "from datetime import datetime"),
    "part of day": ('"morning" if datetime.now().hour < 12 else "evening"', "from datetime import datetime"),
    "stamp": ("time.time()", "import time"),
    "whole stamp": ("int(time.time())", "import time"),
    "clock": ('time.strftime("%H:%M:%S")', "import time"),
    "uuid": ("uuid.uuid4()", "import uuid"),
    "short uuid": ("uuid.uuid4().hex[:8]", "import uuid"),
    "random": ("random.random()", "import random"),
    "choice": ("random.choice(range(1_000_000))", "import random"),
    "token": ("secrets.token_hex(4)", "import secrets"),
    "cwd": ("os.getcwd()", "import os"),
    "path": ("Path.cwd()", "from pathlib import Path"),
    "variable": ('os.environ.get("DESK", "none")', "import os"),
    "host": ("socket.gethostname()", "import socket"),
    "pid": ("os.getpid()", "import os"),
    "set": ('", ".join(set(NAMES))', ""),
    "set difference": ('", ".join(set(NAMES) - {"door"})', ""),
    "from set": ('", ".join(name.upper() for name in {*NAMES})', ""),
    "ticket": ("next(TICKETS)", ""),
    "question": ("text", ""),
    "turns": ("len(turns)", ""),
}
ORDERS = frozenset(["set", "set difference", "from set"])
TURN_ONLY = frozenset(["question", "turns"])

PLACES = ("system", "system", "system", "tool", "first", "user", "meta")
WHENS = ("call", "call", "session", "import")
CALL = (
    *("inline", "helper", "module", "lambda", "closure", "method", "property", "nested", "pair", "cell", "attempt"),
    *("table", "match", "walrus", "bound", "record", "yielded", "managed", "awaited", "streamed"),
)
SESSION = ("local", "lazy", "cached", "record")
IMPORT = ("constant", "module", "default", "class", "cache", "memo", "record", "bound")


OBJECTS = ("class", "memory", "record")
"""The shapes in which an object holds the conversation."""


@dataclass(frozen=True)
class Slot:
    """One value that may vary: what it is, where it is rendered, when it is computed, and how that is spelled."""

    source: str = "const"
    place: str = "system"
    when: str = "call"
    how: int = 0


@dataclass(frozen=True)
class Plan:
    """A program. The first choice of each field is the plainest."""

    api: str = "anthropic"
    shape: str = "loop"
    slots: tuple[Slot, ...] = ()
    big: str = "behind"
    text: str = "f-string"
    built: str = "call"
    builder: str = "inline"
    send: str = "direct"
    keep: str = "append"
    sent: str = "turns"
    mutator: str = ""
    marker: str = ""
    blocks: bool = False
    tools: str = ""
    top: bool = False


CHOICES: dict[str, tuple[object, ...]] = {
    "api": ("anthropic", "openai", "responses"),
    "shape": ("loop", "class", "memory", "record", "state", "async", "sessions", "stateless", "batch", "once"),
    "big": ("behind", "ahead", "none"),
    "text": (
        "f-string",
        "concat",
        "join",
        "format",
        "percent",
        "parts",
        "grow",
        "template",
        "replace",
        "object",
        "dict",
        "yields",
        "filtered",
        "buffer",
    ),
    "built": ("call", "call", "session", "import"),
    "builder": ("inline", "function", "module"),
    "send": ("direct", "kwargs", "cells", "function", "module", "partial", "table"),
    "keep": ("append", "grow", "extend", "again", "pairs", "objects"),
    "sent": ("turns", "list", "star", "slice", "deep", "dicts", "fields", "spread", "asked"),
    "mutator": ("", "", "window", "deque", "pop", "delete", "tail", "edit", "insert", "decorate", "reset"),
    "marker": ("", "system", "last", "automatic", "every"),
    "blocks": (False, True),
    "tools": ("", "list", "set", "sorted", "set later"),
    "top": (False, True),
}


def plans() -> st.SearchStrategy[Plan]:
    """Plans with up to three values that may vary."""
    slot = st.builds(
        Slot,
        source=st.sampled_from(list(SOURCES)),
        place=st.sampled_from(PLACES),
        when=st.sampled_from(WHENS),
        how=st.integers(0, len(CALL) - 1),
    )
    rest = {name: st.sampled_from(choices) for name, choices in CHOICES.items()}
    slots = st.lists(slot, max_size=3).map(tuple)
    return st.builds(Plan, slots=slots, **rest).map(sensible)


def sensible(plan: Plan) -> Plan:
    """The plan without combinations that are no program."""
    kept = plan.shape not in ("batch", "once", "stateless")
    changes: dict[str, Any] = {}
    if plan.shape in ("batch", "once", "stateless"):
        changes.update(keep="append", sent="turns", mutator="")
    if plan.keep == "pairs" and plan.mutator not in ("", "window", "reset"):
        changes["mutator"] = ""
    if plan.keep == "objects" and plan.mutator in ("window", "edit", "insert", "decorate"):
        changes["mutator"] = ""
    if plan.shape not in ("loop", "sessions") and plan.mutator in ("deque",):
        changes["mutator"] = "window"
    if plan.mutator == "deque":
        changes.update(keep="append", sent="list")
    if plan.mutator in ("delete", "edit", "tail", "insert", "pop") and plan.keep == "again":
        changes["keep"] = "append"
    if plan.shape != "loop":
        changes["top"] = False
    if plan.shape in ("memory", "record", "state") and plan.keep == "pairs":
        changes["keep"] = "append"
    if plan.shape in ("record", "state") and plan.built == "session":
        changes["built"] = "call"
    if plan.api != "anthropic":
        changes.update(marker="", blocks=False)
    elif plan.marker == "system":
        changes["blocks"] = True
    elif plan.marker == "every":
        changes["mutator"] = ""
    slots = []
    for slot in plan.slots:
        if slot.source in TURN_ONLY:
            slot = replace(slot, when="call", how=0, place="system" if slot.place in ("tool", "first") else slot.place)
            if slot.source == "turns" and (not kept or slot.place == "user"):
                slot = replace(slot, source="question")
        if slot.when == "session" and plan.shape in ("record", "state"):
            slot = replace(slot, when="call")
        if slot.when == "call" and CALL[slot.how % len(CALL)] in ("awaited", "streamed") and plan.shape == "async":
            slot = replace(slot, how=0)
        if slot.place == "first" and plan.shape == "record":
            slot = replace(slot, place="user")
        if slot.place == "first" and not kept:
            slot = replace(slot, place="user")
        if slot.place == "first" and (plan.mutator in ("decorate", "edit") or plan.keep == "pairs"):
            slot = replace(slot, place="system")
        slots.append(slot)
    if any(s.source in TURN_ONLY for s in slots):
        changes["built"] = "call"
    if plan.built == "import" or changes.get("built") == "import":
        slots = [replace(s, when="import") if s.place == "system" and s.when == "session" else s for s in slots]
    return replace(plan, slots=tuple(slots), **changes)


def plainer(plan: Plan) -> list[Plan]:
    """The plans that are a step plainer, for finding out what matters."""
    found = [replace(plan, slots=plan.slots[:i] + plan.slots[i + 1 :]) for i in range(len(plan.slots))]
    for index, slot in enumerate(plan.slots):
        for change in ({"how": 0}, {"when": "call"}, {"source": "const"}, {"place": "system"}):
            other = replace(slot, **change)
            if other != slot:
                found.append(replace(plan, slots=(*plan.slots[:index], other, *plan.slots[index + 1 :])))
    for field in fields(plan):
        if field.name != "slots" and getattr(plan, field.name) != field.default:
            default: dict[str, Any] = {field.name: field.default}
            found.append(replace(plan, **default))
    return [p for p in dict.fromkeys(map(sensible, found)) if p != plan]


class _Writer:
    """The files of one program while they are written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.imports: dict[str, set[str]] = {"main": set(), "parts": set()}
        self.definitions: dict[str, list[str]] = {"main": [], "parts": [], "class": []}
        self.session: list[str] = []
        self.passed: list[tuple[str, str]] = []
        """Names that the text is built from, and how the caller calls them."""
        self.own = "self." if plan.shape in OBJECTS else ""
        self.turns = {"memory": "self.memory.turns", "state": 'state["turns"]'}.get(plan.shape, f"{self.own}turns")

    def define(self, home: str, *lines: str) -> None:
        self.definitions[home] += [*lines, ""]

    def borrow(self, home: str, name: str) -> str:
        """How code in ``home`` calls something that is defined in the module of parts."""
        if home == "parts":
            return name
        self.imports["main"].add("import parts")
        return f"parts.{name}"


def render(plan: Plan) -> dict[str, str]:
    """The files of a plan."""
    w = _Writer(plan)
    home = "parts" if plan.builder == "module" else "main"
    system = [(f"s{n}", s) for n, s in enumerate(plan.slots, 1) if s.place == "system"]
    values = [_value(w, home, tag, slot) for tag, slot in system]
    make, call = _text(w, home, list(zip([tag for tag, _ in system], values, strict=True)))
    others = {place: _pieces(w, plan, place) for place in ("tool", "first", "user", "meta")}
    tools = _tools(w, others["tool"])
    body = _shape(w, make, call, tools, others)
    return _files(w, body)


def _value(w: _Writer, home: str, tag: str, slot: Slot) -> tuple[str, str]:
    """Defines what computes the value of a slot; the expression that gives it in ``home``, and its comment or ""."""
    code, need = SOURCES[slot.source]
    mark = f"  # {tag}"
    n = tag[1:]
    session = slot.when == "session"
    how = {"call": CALL, "session": SESSION, "import": IMPORT}[slot.when]
    name = how[slot.how % len(how)]
    where = "parts" if name == "module" else "main" if session else home
    w.imports[where].add(need)
    lines: tuple[str, ...]
    match name:
        case "inline":
            if slot.source == "turns" and (slot.place != "system" or w.plan.builder == "inline"):
                code = f"len({w.turns})"
            return f"({code})" if " if " in code else code, mark
        case "helper" | "module" if slot.when == "call":
            w.define(where, f"def show_{n}():", f"    return {code}{mark}", "")
            return (w.borrow(home, f"show_{n}()") if name == "module" else f"show_{n}()"), ""
        case "lambda":
            w.define(where, f"SHOW_{n} = {{'value': lambda: {code}}}{mark}")
            return f"SHOW_{n}['value']()", ""
        case "closure":
            lines = (f"def make_{n}():", "    def show():", f"        return {code}{mark}", "", "    return show", "")
            w.define(where, *lines, f"SHOW_{n} = make_{n}()")
            return f"SHOW_{n}()", ""
        case "method":
            w.define(where, f"class Info{n}:", "    def show(self):", f"        return {code}{mark}", "")
            return f"Info{n}().show()", ""
        case "property":
            lines = (f"class Info{n}:", "    @property", "    def shown(self):", f"        return {code}{mark}", "")
            w.define(where, *lines, f"INFO_{n} = Info{n}()")
            return f"INFO_{n}.shown", ""
        case "nested":
            w.define(where, f"def inner_{n}():", f"    return {code}{mark}", "")
            w.define(where, f"def show_{n}():", f"    value = inner_{n}()", "    return value", "")
            return f"show_{n}()", ""
        case "pair":
            w.define(where, f"def show_{n}():", f"    return 'value', {code}{mark}", "")
            return f"show_{n}()[1]", ""
        case "cell":
            w.define(where, f"def show_{n}():", f"    return {{'kind': 'value', 'value': {code}}}{mark}", "")
            return f"show_{n}()['value']", ""
        case "attempt":
            lines = ("    try:", f"        return {code}{mark}", "    except ValueError:", "        return 'none'", "")
            w.define(where, f"def show_{n}():", *lines)
            return f"show_{n}()", ""
        case "table":
            w.define(where, f"def show_{n}():", f"    return {code}{mark}", "")
            w.define(where, f"SHOWS_{n} = {{'none': lambda: 'none', 'value': show_{n}}}")
            return f"SHOWS_{n}['value']()", ""
        case "match":
            lines = ("        case 'value':", f"            return {code}{mark}", "        case _:")
            w.define(where, f"def show_{n}(kind):", "    match kind:", *lines, "            return 'none'", "")
            return f"show_{n}('value')", ""
        case "walrus":
            lines = (f"    if shown := {code}:{mark}", "        return shown", "    return 0", "")
            w.define(where, f"def show_{n}():", *lines)
            return f"show_{n}()", ""
        case "bound":
            w.imports[where].add("from functools import partial")
            if slot.when == "import":
                w.define(where, f"def shown_{n}(value):", "    return value", "")
                w.define(where, f"show_{n} = partial(shown_{n}, {code}){mark}")
            else:
                w.define(where, f"def shown_{n}(kind):", f"    return {code}{mark}", "")
                w.define(where, f"show_{n} = partial(shown_{n}, 'value')")
            return f"show_{n}()", ""
        case "record" if not session:
            w.imports[where].add("from dataclasses import dataclass, field")
            default = f"    value: object = field(default_factory=lambda: {code}){mark}"
            w.define(where, "@dataclass", f"class Info{n}:", default, "")
            if slot.when == "call":
                return f"Info{n}().value", ""
            w.define(where, f"INFO_{n} = Info{n}()")
            return f"INFO_{n}.value", ""
        case "yielded":
            w.define(where, f"def show_{n}():", f"    yield {code}{mark}", "")
            return f"next(show_{n}())", ""
        case "managed":
            w.imports[where].add("from contextlib import contextmanager")
            w.define(where, "@contextmanager", f"def showing_{n}():", f"    yield {code}{mark}", "")
            w.define(where, f"def show_{n}():", f"    with showing_{n}() as value:", "        return value", "")
            return f"show_{n}()", ""
        case "awaited":
            w.imports[where].add("import asyncio")
            w.define(where, f"async def find_{n}():", f"    return {code}{mark}", "")
            w.define(where, f"def show_{n}():", f"    return asyncio.run(find_{n}())", "")
            return f"show_{n}()", ""
        case "streamed":
            w.imports[where].add("import asyncio")
            w.define(where, f"async def found_{n}():", f"    yield {code}{mark}", "")
            lines = (f"    async for value in found_{n}():", "        return value", "")
            w.define(where, f"async def first_{n}():", *lines)
            w.define(where, f"def show_{n}():", f"    return asyncio.run(first_{n}())", "")
            return f"show_{n}()", ""
        case "local" | "lazy" | "cached" | "record":
            return _session_value(w, home, name, n, code, mark)
        case "constant" | "module":
            w.define(where, f"VALUE_{n} = {code}{mark}")
            return (w.borrow(home, f"VALUE_{n}") if name == "module" else f"VALUE_{n}"), ""
        case "default":
            w.define(where, f"def show_{n}(value={code}):{mark}", "    return value", "")
            return f"show_{n}()", ""
        case "class":
            w.define(where, f"class Info{n}:", f"    value = {code}{mark}", "")
            return f"Info{n}.value", ""
        case "cache":
            w.imports[where].add("from functools import cache")
            w.define(where, "@cache", f"def show_{n}():", f"    return {code}{mark}", "")
            return f"show_{n}()", ""
        case "memo":
            lines = (f"    global memo_{n}", f"    if memo_{n} is None:", f"        memo_{n} = {code}{mark}")
            w.define(where, f"memo_{n} = None", "", "", f"def show_{n}():", *lines, f"    return memo_{n}", "")
            return f"show_{n}()", ""
    raise AssertionError(name)


def _session_value(w: _Writer, home: str, name: str, n: str, code: str, mark: str) -> tuple[str, str]:
    """A value that is computed when a conversation begins."""
    if w.own and name == "lazy":
        w.session.append(f"self.held_{n} = None")
        lines = (f"    if self.held_{n} is None:", f"        self.held_{n} = {code}{mark}", f"    return self.held_{n}")
        w.define("class", f"def value_{n}(self):", *lines)
        caller = f"self.value_{n}()"
    elif w.own and name == "cached":
        w.imports["main"].add("from functools import cached_property")
        w.define("class", "@cached_property", f"def value_{n}(self):", f"    return {code}{mark}")
        caller = f"self.value_{n}"
    elif name == "record":
        w.imports["main"].add("from dataclasses import dataclass, field")
        default = f"    value: object = field(default_factory=lambda: {code}){mark}"
        w.define("main", "@dataclass", f"class Info{n}:", default, "")
        w.session.append(f"{w.own}value_{n} = Info{n}().value")
        caller = f"{w.own}value_{n}"
    else:
        w.session.append(f"{w.own}value_{n} = {code}{mark}")
        caller = f"{w.own}value_{n}"
    if w.plan.builder == "inline":
        return caller, ""
    w.passed.append((f"value_{n}", caller))
    return f"value_{n}", ""


def _pieces(w: _Writer, plan: Plan, place: str) -> tuple[str, str]:
    """The values rendered in a place other than the system text: the inside of an f-string, and its comment."""
    parts, marks = [], ""
    for number, slot in enumerate(plan.slots, 1):
        if slot.place != place:
            continue
        passed = list(w.passed)
        value, mark = _value(w, "main", f"s{number}", slot)
        if len(w.passed) > len(passed):
            value = w.passed.pop()[1]
        parts.append(f"<s{number}>{{{_double(value)}}}</s{number}>")
        marks += f" s{number}" if mark else ""
    return " ".join(parts), f"  #{marks}" if marks else ""


def _double(code: str) -> str:
    """The expression as it can stand in an f-string with double quotes."""
    return code.replace('"', "'")


def _text(w: _Writer, home: str, values: list[tuple[str, tuple[str, str]]]) -> tuple[list[str], str]:
    """The lines that build the system text where it is needed, and the expression for it after them."""
    plan = w.plan
    big = "RULES"
    w.define(home, 'RULES = "Quote the paragraph of the lease that an answer rests on. " * 400')
    pieces: list[tuple[str, str]] = [("You answer for the landlord.", "")]
    for tag, (value, mark) in values:
        pieces.append((f"<{tag}>\0{value}\0</{tag}>", mark))
    if plan.big == "behind":
        pieces.append((f"\0{big}\0", ""))
    elif plan.big == "ahead":
        pieces.insert(0, (f"\0{big}\0", ""))
    lines, expression = _composed(w, home, pieces)
    if plan.builder == "inline":
        if home == "main" and plan.built == "import":
            w.define("main", *lines, f"SYSTEM = {expression}")
            return [], "SYSTEM"
        return [*lines, f"system = {expression}"], "system"
    names = [n for n, _ in w.passed]
    given = [c for _, c in w.passed]
    for name in ("text", "turns"):
        if any(s.source == {"text": "question", "turns": "turns"}[name] and s.place == "system" for s in plan.slots):
            names.append(name)
            given.append(w.turns if name == "turns" else name)
    w.define(
        home, f"def build_system({', '.join(names)}):", *(f"    {x}" for x in lines), f"    return {expression}", ""
    )
    call = w.borrow("main", "build_system") if home == "parts" else "build_system"
    built = f"{call}({', '.join(f'{n}={g}' for n, g in zip(names, given, strict=True))})"
    w.passed.clear()
    if plan.built == "import" and not names:
        w.define("main", f"SYSTEM = {built}")
        return [], "SYSTEM"
    return [f"system = {built}"], "system"


def _composed(w: _Writer, home: str, pieces: list[tuple[str, str]]) -> tuple[list[str], str]:
    """Setup lines and an expression for the pieces; ``\\0`` stands around code in them."""
    marks = "".join(m.replace("  #", "") for _, m in pieces)
    end = f"  #{marks}" if marks else ""

    def split(piece: str) -> list[tuple[bool, str]]:
        return [(bool(i % 2), part) for i, part in enumerate(piece.split("\0")) if part]

    def display(piece: str) -> str:
        return "".join(f"{{{_double(p)}}}" if code else p for code, p in split(piece))

    def added(piece: str) -> str:
        return " + ".join(f"str({p})" if code else repr(p) for code, p in split(piece))

    codes = [p for piece, _ in pieces for code, p in split(piece) if code]
    names = [f"p{i}" for i in range(len(codes))]
    match w.plan.text:
        case "f-string":
            whole = "\\n".join(display(p) for p, _ in pieces)
            return ([f'text_ = f"{whole}"{end}'], "text_") if end else ([], f'f"{whole}"')
        case "concat":
            return [f"text_ = {_sum(pieces, added)}{end}"], "text_"
        case "join":
            listed = ", ".join(f'f"{display(p)}"' for p, _ in pieces)
            return [f"listed = [{listed}]{end}"], r'"\n".join(listed)'
        case "format" | "template" | "percent" | "replace":
            return _filled(w, home, pieces, split, codes, names, end)
        case "parts":
            lines = ["listed = []", *(f'listed.append(f"{display(p)}"){m}' for p, m in pieces)]
            return lines, r'"\n".join(listed)'
        case "grow":
            first, *rest = pieces
            lines = [f'text_ = f"{display(first[0])}"{first[1]}']
            return [*lines, *(f'text_ += f"\\n{display(p)}"{m}' for p, m in rest)], "text_"
        case "object":
            w.define(
                home,
                *("class Prompt:", "    def __init__(self):", "        self.parts = []", ""),
                *("    def add(self, part):", "        self.parts.append(part)", ""),
                *("    def build(self):", r'        return "\n".join(self.parts)', ""),
            )
            lines = ["prompt = Prompt()", *(f'prompt.add(f"{display(p)}"){m}' for p, m in pieces)]
            return lines, "prompt.build()"
        case "yields":
            lines = ["def pieces():", *(f'    yield f"{display(p)}"{m}' for p, m in pieces), ""]
            return lines, r'"\n".join(pieces())'
        case "filtered":
            listed = ", ".join(f'f"{display(p)}"' for p, _ in pieces)
            return [f"listed = ({listed},){end}"], r'"\n".join(part for part in listed if part)'
        case "buffer":
            w.imports[home].add("import io")
            lines = ["buffer = io.StringIO()", *(f'buffer.write(f"{display(p)}\\n"){m}' for p, m in pieces)]
            return lines, "buffer.getvalue()"
        case "dict":
            lines = ["sections = {}"]
            lines += [f'sections["part {i}"] = f"{display(p)}"{m}' for i, (p, m) in enumerate(pieces)]
            return lines, r'"\n".join(f"{title}: {section}" for title, section in sections.items())'
    raise AssertionError(w.plan.text)


def _sum(pieces: list[tuple[str, str]], added: Callable[[str], str]) -> str:
    return r' + "\n" + '.join(added(p) for p, _ in pieces)


def _filled(
    w: _Writer,
    home: str,
    pieces: list[tuple[str, str]],
    split: Callable[[str], list[tuple[bool, str]]],
    codes: list[str],
    names: list[str],
    end: str,
) -> tuple[list[str], str]:
    """A template with holes that are filled in one step."""
    counter = iter(names)
    form = w.plan.text
    shape = {"format": "{{{}}}", "percent": "%({})s", "replace": "@@{}@@", "template": "${{{}}}"}[form]
    whole = r"\n".join(
        "".join(shape.format(next(counter)) if code else p for code, p in split(piece)) for piece, _ in pieces
    )
    w.define(home, f'TEMPLATE = "{whole}"')
    given = ", ".join(f"{n}={c}" for n, c in zip(names, codes, strict=True))
    match form:
        case "format":
            return [f"text_ = TEMPLATE.format({given}){end}"], "text_"
        case "percent":
            cells = ", ".join(f'"{n}": {c}' for n, c in zip(names, codes, strict=True))
            return [f"text_ = TEMPLATE % {{{cells}}}{end}"], "text_"
        case "template":
            w.imports[home].add("from string import Template")
            return [f"text_ = Template(TEMPLATE).substitute({given}){end}"], "text_"
    replaced = "".join(f'.replace("@@{n}@@", str({c}))' for n, c in zip(names, codes, strict=True))
    return [f"text_ = TEMPLATE{replaced}{end}"], "text_"


def _tools(w: _Writer, told: tuple[str, str]) -> str:
    """Defines the tools; the expression for them, or "" without any."""
    plan = w.plan
    inside, mark = told
    if not plan.tools and not inside:
        return ""
    key = {"anthropic": "input_schema", "openai": "parameters", "responses": "parameters"}[plan.api]
    inner = f"'name': name, 'description': f\"Looks up a {{name}}. {inside}\", '{key}': {{'type': 'object'}}"
    tool = f"{{'type': 'function', 'function': {{{inner}}}}}" if plan.api == "openai" else f"{{{inner}}}"
    turn = any(s.source == "question" and s.place == "tool" for s in plan.slots)
    assert not turn
    order = {"": "NAMES", "list": "NAMES", "sorted": "sorted(set(NAMES))"}.get(plan.tools, "set(NAMES)")
    t = "  # t" if plan.tools.startswith("set") else ""
    if plan.tools == "set later":
        w.define("main", f"CHOSEN = set(NAMES){t}")
        order = "CHOSEN"
    params = ", ".join(f"value_{n}" for n, s in enumerate(plan.slots, 1) if s.place == "tool" and s.when == "session")
    lines = [f"def tools({params}):", "    made = []", f"    for name in {order}:{t}"]
    inner_code = tool
    if w.own:
        for n, _ in enumerate(plan.slots, 1):
            inner_code = inner_code.replace(f"self.value_{n}()", f"value_{n}").replace(f"self.value_{n}", f"value_{n}")
    w.define("main", *lines, f"        made.append({inner_code}){mark}", "    return made", "")
    calls = []
    for n, s in enumerate(plan.slots, 1):
        if s.place == "tool" and s.when == "session":
            name = SESSION[s.how % len(SESSION)]
            calls.append(f"self.value_{n}()" if w.own and name == "lazy" else f"{w.own}value_{n}")
    return f"tools({', '.join(calls)})"


def _request(w: _Writer, tools: str, meta: str, sent: str) -> list[str]:
    """The lines that send ``system`` and ``sent`` and leave the answer in ``answer``."""
    plan = w.plan
    client = "self.client" if w.own else "client"
    method = {"anthropic": "messages.create", "openai": "chat.completions.create", "responses": "responses.create"}
    arguments: list[tuple[str, str]] = []
    before: list[str] = []
    match plan.api:
        case "anthropic":
            arguments += [("model", '"claude-sonnet-4-5"'), ("max_tokens", "512")]
            ephemeral = '{"type": "ephemeral"}'
            marker = f', "cache_control": {ephemeral}' if plan.marker == "system" else ""
            arguments.append(("system", f'[{{"type": "text", "text": system{marker}}}]' if plan.blocks else "system"))
            if plan.marker in ("last", "every"):
                block = f'[{{"type": "text", "text": m["content"], "cache_control": {ephemeral}}}]'
                old = '{"role": m["role"], "content": m["content"]}'
                new = f'{{"role": m["role"], "content": {block}}}'
                if plan.marker == "every":
                    before.append(f"marked = [{new} for m in {sent}]")
                else:
                    before += [
                        f"marked = [{old} for m in {sent}]",
                        f'marked[-1]["content"] = {block.replace("m[", "marked[-1][")}',
                    ]
                sent = "marked"
            arguments.append(("messages", sent))
            if plan.marker == "automatic":
                arguments.append(("cache_control", ephemeral))
        case "openai":
            arguments.append(("model", '"gpt-4.1"'))
            arguments.append(("messages", f'[{{"role": "system", "content": system}}, *{sent}]'))
        case "responses":
            arguments += [("model", '"gpt-4.1"'), ("instructions", "system"), ("input", sent)]
    if tools:
        arguments.append(("tools", tools))
    if meta:
        arguments.append(
            ("metadata", f'{{"user_id": f"{meta}"}}') if plan.api == "anthropic" else ("user", f'f"{meta}"')
        )
    shown = ", ".join(f"{n}={v}" for n, v in arguments)
    target = f"{client}.{method[plan.api]}"
    wait = "await " if plan.shape == "async" else ""
    read = {
        "anthropic": "reply.content[0].text",
        "openai": "reply.choices[0].message.content",
        "responses": "reply.output_text",
    }[plan.api]
    match plan.send:
        case "direct":
            lines = [f"reply = {wait}{target}({shown})"]
        case "kwargs":
            cells = ", ".join(f'"{n}": {v}' for n, v in arguments)
            lines = [f"request = {{{cells}}}", f"reply = {wait}{target}(**request)"]
        case "cells":
            first, *rest = arguments
            lines = [f"request = dict({first[0]}={first[1]})", *(f'request["{n}"] = {v}' for n, v in rest)]
            lines.append(f"reply = {wait}{target}(**request)")
        case "function" | "module" | "table":
            names = ", ".join(n for n, _ in arguments)
            passed = ", ".join(f"{n}={n}" for n, _ in arguments)
            home = "parts" if plan.send == "module" else "main"
            made = f"client.{method[plan.api]}({passed})"
            kind = "async def" if wait else "def"
            w.define(home, f"{kind} send(client, {names}):", f"    return {wait}{made}", "")
            called = w.borrow("main", "send") if home == "parts" else "send"
            if plan.send == "table":
                w.define("main", "SENDERS = {'none': print, 'desk': send}")
                called = "SENDERS['desk']"
            lines = [f"reply = {wait}{called}({client}, {shown})"]
        case "partial":
            w.imports["main"].add("from functools import partial")
            first, *rest = arguments
            lines = [f"ask = partial({target}, {first[0]}={first[1]})"]
            lines.append(f"reply = {wait}ask({', '.join(f'{n}={v}' for n, v in rest)})")
    return [*before, *lines, f"answer = {read}"]


def _shape(w: _Writer, make: list[str], call: str, tools: str, others: dict[str, tuple[str, str]]) -> list[str]:
    """The body of the program: where text is built, requests are sent, and turns are kept."""
    plan = w.plan
    turns = w.turns
    first, first_mark = others["first"]
    user, user_mark = others["user"]
    meta, _ = others["meta"]
    tags = " ".join(f"s{n}" for n, s in enumerate(plan.slots, 1) if s.source == "question")
    asked = f"  # {tags}" if tags else ""
    meta = re.sub(r"</?s\d>", "", meta)
    content = f'f"{{text}} {user}"' if user else "text"
    opening = f'Message("user", f"{first}")' if plan.keep == "objects" else f'{{"role": "user", "content": f"{first}"}}'
    start = [f"{turns} = [{opening}]{first_mark}" if first else f"{turns} = []"]
    if plan.mutator == "deque":
        w.imports["main"].add("from collections import deque")
        given = f'[{{"role": "user", "content": f"{first}"}}], ' if first else ""
        start = [f"{turns} = deque({given}maxlen=6)  # m{first_mark.removeprefix('  #')}"]
    named = "" if call == "system" else f"system = {call}"
    build_now = plan.built == "call" or any(s.source in TURN_ONLY and s.place == "system" for s in plan.slots)
    at_start = [*make, *([named] if named else [])] if not build_now else []
    each = [*make, *([named] if named else [])] if build_now else []
    if w.own:
        at_start = [x.replace("system = ", "self.system_text = ") if x.startswith("system = ") else x for x in at_start]
        if not build_now:
            each = ["system = self.system_text"]
    turn, sent = _turn(w, turns, content, user_mark)
    request = _request(w, tools, meta, sent)
    match plan.shape:
        case "loop" | "sessions":
            loop = ["while True:", f"    text = input(){asked}", '    if text == "quit":', "        break"]
            inner = [*turn[0], *each, *turn[1], *request, *turn[2], "print(answer)"]
            body = [*w.session, *start, *at_start, *loop, *(f"    {x}" for x in inner)]
            if plan.shape == "sessions":
                w.define("main", "def chat():", *(f"    {x}" for x in body), "")
                return ["for _ in range(2):", "    chat()"]
            if plan.top:
                return body
            w.define("main", "def main():", *(f"    {x}" for x in body), "")
            return ['if __name__ == "__main__":', "    main()"]
        case "async":
            w.imports["main"].add("import asyncio")
            loop = ["while True:", f"    text = input(){asked}", '    if text == "quit":', "        break"]
            inner = [*turn[0], *each, *turn[1], *request, *turn[2], "print(answer)"]
            body = [*w.session, *start, *at_start, *loop, *(f"    {x}" for x in inner)]
            w.define("main", "async def main():", *(f"    {x}" for x in body), "")
            return ["asyncio.run(main())"]
        case "state":
            w.imports["main"].add("from typing import TypedDict")
            w.define("main", "class State(TypedDict):", "    turns: list", "    asked: int", "")
            step = [*turn[0], *at_start, *each, *turn[1], *request, *turn[2], 'state["asked"] += 1', "return answer"]
            w.define("main", "def step(state: State, text: str):", *(f"    {x}" for x in step), "")
            loop = ["while True:", f"    text = input(){asked}", '    if text == "quit":', "        break"]
            loop = [*(f"    {x}" for x in loop), "        print(step(state, text))"]
            opened = ['    state: State = {"turns": [], "asked": 0}', *(f"    {x}" for x in start if first)]
            w.define("main", "def main():", *opened, *loop, "")
            return ["main()"]
        case "class" | "memory" | "record":
            made = {"anthropic": "Anthropic()", "openai": "OpenAI()", "responses": "OpenAI()"}[plan.api]
            init = [f"self.client = {made}", *w.session, *start, *at_start]
            head = ["class Desk:", "    def __init__(self):"]
            if plan.shape == "memory":
                w.define("main", "class Memory:", "    def __init__(self):", "        self.turns = []", "")
                init.insert(1, "self.memory = Memory()")
            elif plan.shape == "record":
                w.imports["main"].add("from dataclasses import dataclass, field")
                head = ["@dataclass", "class Desk:", "    turns: list = field(default_factory=list)", ""]
                head += ["    def __post_init__(self):"]
                init = [x for x in init if x not in start]
            say = [*turn[0], *each, *turn[1], *request, *turn[2], "return answer"]
            w.define(
                "main",
                *(*head, *(f"        {x}" for x in init), ""),
                *(f"    {x}" for x in w.definitions.pop("class", [])),
                *("    def say(self, text):", *(f"        {x}" for x in say), ""),
            )
            loop = [
                "    while True:",
                f"        text = input(){asked}",
                '        if text == "quit":',
                "            break",
            ]
            w.define("main", "def main():", "    desk = Desk()", *loop, "        print(desk.say(text))", "")
            return ["main()"]
        case "stateless":
            loop = ["while True:", f"    text = input(){asked}", '    if text == "quit":', "        break"]
            inner = [*turn[1], *each, *request, "print(answer)"]
            w.define(
                "main",
                "def main():",
                *(f"    {x}" for x in [*w.session, *at_start, *loop]),
                *(f"        {x}" for x in inner),
                "",
            )
            return ["main()"]
        case "batch":
            inner = [*turn[1], *each, *request, "print(answer)"]
            body = [*w.session, *at_start, f"for text in QUESTIONS:{asked}", *(f"    {x}" for x in inner)]
            w.define("main", "def main():", *(f"    {x}" for x in body), "")
            return ["main()"]
        case "once":
            body = [
                *w.session,
                *at_start,
                'text = "How long is the lease?"',
                *turn[1],
                *each,
                *request,
                "print(answer)",
            ]
            w.define("main", "def main():", *(f"    {x}" for x in body), "")
            return ["main()"]
    raise AssertionError(plan.shape)


def _turn(w: _Writer, turns: str, content: str, mark: str) -> tuple[tuple[list[str], list[str], list[str]], str]:
    """Lines ahead of the system text, between it and the request, and behind the request; and what is sent."""
    plan = w.plan
    question = f'{{"role": "user", "content": {content}}}'
    if plan.shape in ("batch", "once", "stateless"):
        return ([], [f"messages = [{question}]{mark}"], []), "messages"
    reply = '{"role": "assistant", "content": answer}'
    if plan.keep == "objects":
        w.imports["main"].add("from dataclasses import dataclass, field")
        w.define("main", "@dataclass", "class Message:", "    role: str", "    content: str", "")
        question, reply = f'Message("user", {content})', 'Message("assistant", answer)'
    if plan.keep == "pairs":
        ahead = ["messages = []", f"for asked, answered in {turns}:"]
        if plan.mutator == "window":
            ahead[1] = f"for asked, answered in {turns}[-2:]:  # m"
        ahead += ['    messages.append({"role": "user", "content": asked})']
        ahead += ['    messages.append({"role": "assistant", "content": answered})']
        ahead += [f"asked = {content}{mark}", 'messages.append({"role": "user", "content": asked})']
        reset = ['if text == "Is there a deposit?":', f"    {turns} = []"] if plan.mutator == "reset" else []
        return ([*reset, *ahead], [], [f"{turns}.append((asked, answer))"]), "messages"

    def kept(element: str, note: str = "") -> str:
        match plan.keep:
            case "grow":
                return f"{turns} += [{element}]{note}"
            case "extend":
                return f"{turns}.extend([{element}]){note}"
            case "again":
                return f"{turns} = [*{turns}, {element}]{note}"
        return f"{turns}.append({element}){note}"

    ahead = [kept(question, mark)]
    between: list[str] = []
    sent = {
        "turns": turns,
        "list": f"list({turns})",
        "star": f"[*{turns}]",
        "slice": f"{turns}[:]",
        "deep": f"copy.deepcopy({turns})",
        "dicts": f"[dict(m) for m in {turns}]",
        "fields": f'[{{"role": m["role"], "content": m["content"]}} for m in {turns}]',
        "objects": f'[{{"role": m.role, "content": m.content}} for m in {turns}]',
        "spread": f"[{{**m}} for m in {turns}]",
        "asked": f'[m for m in {turns} if m["content"]]',
    }["objects" if plan.keep == "objects" else plan.sent]
    if plan.sent == "deep":
        w.imports["main"].add("import copy")
    match plan.mutator:
        case "window":
            between = [f"recent = {turns}[-5:]  # m"]
            sent = "recent"
        case "pop":
            between = [f"while len({turns}) > 5:", f"    {turns}.pop(0)  # m"]
        case "delete":
            between = [f"if len({turns}) > 5:", f"    del {turns}[:2]  # m"]
        case "tail":
            between = [f"{turns} = {turns}[-5:]  # m"]
        case "edit":
            between = [f"for old in {turns}[:-1]:", '    old["content"] = old["content"][:7]  # m']
        case "insert":
            between = [f'{turns}.insert(0, {{"role": "user", "content": "Be polite."}})  # m']
        case "decorate":
            w.imports["main"].add("import time")
            between = [f'sent = [*{turns}[:-1], {{"role": "user", "content": f"{{time.time()}} {{text}}"}}]  # m']
            sent = "sent"
        case "reset":
            ahead = ['if text == "Is there a deposit?":', f"    {turns} = []", *ahead]
    return (ahead, between, [kept(reply)]), sent


def _files(w: _Writer, body: list[str]) -> dict[str, str]:
    plan = w.plan
    client = {"anthropic": "Anthropic"}.get(plan.api, "OpenAI")
    client = f"Async{client}" if plan.shape == "async" else client
    w.imports["main"].add(f"from {'anthropic' if plan.api == 'anthropic' else 'openai'} import {client}")
    shared = ['NAMES = ["door", "lift", "roof", "meter", "cellar", "balcony", "heating", "parking"]']
    counted = any(s.source == "ticket" for s in plan.slots)
    if counted:
        for home in ("main", "parts"):
            w.imports[home].add("import itertools")
        shared.append("TICKETS = itertools.count(1)")
    files = {}
    for home, name in (("main", "main.py"), ("parts", "parts.py")):
        definitions = w.definitions[home]
        if home == "parts" and not definitions:
            continue
        lines = [*sorted(x for x in w.imports[home] if x), "", *shared]
        if home == "main":
            lines += ['QUESTIONS = ["How long is the lease?", "Who pays?", "Is there a deposit?", "May I keep a dog?"]']
            if plan.shape not in OBJECTS:
                lines.append(f"client = {client}()")
        lines += ["", *definitions, *(body if home == "main" else [])]
        files[name] = "\n".join(lines) + "\n"
    return files
