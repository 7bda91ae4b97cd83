"""Rows out of TOML documents, field by field, with errors that name the file, the row and the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from promptlint.knowledge.rows import (
    AXES,
    DOES,
    GRAINS,
    KINDS,
    PARTS,
    ClientRow,
    EntryRow,
    KnowledgeError,
    MemoRow,
    PipeRow,
    SinkRow,
    SourceRow,
    TemplateRow,
    WindowRow,
)

_FILLS = ("mapping", "keywords")
_HOW = ("decorator", "base", "function", "register", "module")
_QUALIFIED = re.compile(r"(?:\*|@?[A-Za-z_][\w-]*)(?:\.[A-Za-z_][\w-]*)*")
_SAME: Mapping[str, str] = {}


class _Row:
    """One table of a file, read field by field so that what is left over is a mistake."""

    def __init__(self, table: object, where: str, *names: str) -> None:
        if not isinstance(table, Mapping):
            raise KnowledgeError(f"{where}: expected a table, got {table!r}")
        self._left = dict(table)
        name = next((self._left[n] for n in names if isinstance(self._left.get(n), str)), None)
        self.where = f'{where} ("{name}")' if name else where

    def fail(self, name: str, problem: str) -> KnowledgeError:
        return KnowledgeError(f'{self.where}, field "{name}": {problem}')

    def text(self, name: str, default: str | None = None) -> str:
        value = self._left.pop(name, default)
        if value is None:
            raise self.fail(name, "missing")
        if not isinstance(value, str) or (not value and default != ""):
            raise self.fail(name, f"expected text, got {value!r}")
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in allowed:
            raise self.fail(name, _unknown(value, allowed))
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise self.fail(name, f"expected true or false, got {value!r}")
        return value

    def number(self, name: str) -> int | None:
        value = self._left.pop(name, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self.fail(name, f"expected a number, got {value!r}")
        return value

    def texts(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of texts; one text alone stands for a list of one."""
        value = self._left.pop(name, default)
        if value is None:
            raise self.fail(name, "missing")
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) and v for v in values):
            raise self.fail(name, f"expected a list of names, got {value!r}")
        return tuple(values)

    def names(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of dotted names."""
        values = self.texts(name, default)
        for value in values:
            if not _QUALIFIED.fullmatch(value):
                raise self.fail(name, f'"{value}" is no dotted name')
        return values

    def table(self, name: str) -> dict[str, object]:
        value = self._left.pop(name, {})
        if not isinstance(value, Mapping):
            raise self.fail(name, f"expected a table, got {value!r}")
        return dict(value)

    def mapping(self, name: str) -> dict[str, str]:
        table = self.table(name)
        for key, value in table.items():
            if not isinstance(value, str):
                raise self.fail(f"{name}.{key}", f"expected text, got {value!r}")
        return {key: str(value) for key, value in table.items()}

    def parts(self, name: str, value: object, groups: Mapping[str, object], ignore: Sequence[str]) -> dict[str, str]:
        """Argument names with their parts: a table, or the name of one of the file's groups."""
        if isinstance(value, str):
            if value not in groups:
                raise self.fail(name, f'no group of parts is called "{value}"')
            value = groups[value]
        if not isinstance(value, Mapping):
            raise self.fail(name, f"expected a table of argument = part, got {value!r}")
        for key, part in value.items():
            if not isinstance(part, str) or part not in PARTS:
                raise self.fail(f"{name}.{key}", _unknown(part, tuple(PARTS)))
        return dict.fromkeys(ignore, "ignore") | dict(value)

    def take(self, name: str, default: object) -> object:
        return self._left.pop(name, default)

    def done(self, known: Sequence[str] = ()) -> None:
        for name in self._left:
            raise self.fail(name, "no such field" + _suggestion(name, known))


def _unknown(value: object, allowed: Sequence[str]) -> str:
    return f'"{value}" is none of {", ".join(sorted(allowed))}' + _suggestion(str(value), allowed)


def _suggestion(value: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(value, allowed, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


class Rows:
    """The rows of any number of files, in reading order."""

    def __init__(self) -> None:
        self.sinks: list[SinkRow] = []
        self.clients: list[ClientRow] = []
        self.sources: list[SourceRow] = []
        self.entries: list[EntryRow] = []
        self.memoisers: list[MemoRow] = []
        self.windows: list[WindowRow] = []
        self.templates: list[TemplateRow] = []
        self.pipes: list[PipeRow] = []

    def read(self, document: dict[str, object], file: str, words: Mapping[str, str] = _SAME) -> None:
        """Adds the rows of one document; ``file`` and ``words`` for sections are how messages call these."""
        sections: dict[str, Callable[[object, str, _Header], None]] = {
            "sink": self._sink,
            "client": self._client,
            "source": self._source,
            "entry": self._entry,
            "memoiser": self._memoiser,
            "window": self._window,
            "template": self._template,
            "pipe": self._pipe,
        }
        header = _Header(_Row({k: v for k, v in document.items() if k not in sections}, file), file)
        for section, read in sections.items():
            rows = document.get(section, ())
            if isinstance(rows, str) or not isinstance(rows, Sequence):
                raise KnowledgeError(f"{file}: {section} must be a list of tables, written [[{section}]]")
            for number, row in enumerate(rows, 1):
                read(row, f"{file}, {words.get(section, section)} {number}", header)

    def _sink(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "call")
        types = header.expand(row, row.names("types", ()))
        calls = row.names("call")
        through = row.names("through", ())
        provider, positional = row.text("provider", "unknown"), row.texts("positional", ())
        requires, distinctive = row.texts("requires", ()), row.flag("distinctive")
        confidence, stateful = row.choice("confidence", ("high", "medium"), "high"), row.flag("stateful")
        keeper, returns, continues = row.texts("keeper", ()), row.mapping("returns"), row.texts("continues", ())
        decorates, takes = row.flag("decorates"), row.texts("takes", ())
        parts, nested = header.parts(row, "parts")
        row.done(("call", "types", "parts", "nested", "positional", "requires", "provider"))
        if not set(parts.values()) - {"ignore"} and not nested:
            raise row.fail("parts", "missing: no argument is part of a request")
        if unknown := set(returns.values()) - parts.keys():
            raise row.fail("returns", f"no argument of the call is named {', '.join(sorted(unknown))}")
        sink = SinkRow(
            id="",
            call="",
            because="",
            provider=provider,
            types=types,
            parts=parts,
            nested=nested,
            positional=positional,
            requires=requires,
            distinctive=distinctive,
            confidence=confidence,
            stateful=stateful,
            keeper=keeper,
            returns=returns,
            decorates=decorates,
            continues=continues,
            takes=takes,
        )
        for call in calls:
            label = f"{types[0].rpartition('.')[0]}.{call}" if types else call
            head, _, last = call.rpartition(".")
            for path in (call, *(f"{head}.{name}.{last}" for name in through)):
                self.sinks.append(replace(sink, id=label, call=path, because=f"{header.file}: {call}"))

    def _client(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "type", "makers")
        makers = header.expand(row, row.names("makers"))
        made, provider = row.text("type", ""), row.text("provider", "unknown")
        base_url, when, positional = row.text("base_url", "") or None, row.mapping("when"), row.texts("positional", ())
        parts, nested = header.parts(row, "constructor_parts")
        decorators = row.parts("decorators", row.take("decorators", {}), {}, ())
        once = row.mapping("once")
        for name in once.keys() - decorators.keys():
            raise row.fail(f"once.{name}", "no such decorator" + _suggestion(name, tuple(decorators)))
        kept, always, result = row.mapping("kept"), row.texts("always", ()), row.text("result", "") or None
        for name in (*always, *([result] if result else [])):
            if name not in PARTS:
                raise row.fail("always" if name in always else "result", _unknown(name, tuple(PARTS)))
        returns = row.mapping("returns")
        if unknown := set(returns.values()) - parts.keys():
            raise row.fail("returns", f"no argument of the constructor is named {', '.join(sorted(unknown))}")
        known = ("makers", "type", "provider", "base_url", "when", "constructor_parts", "nested", "positional")
        row.done((*known, "decorators", "once", "kept", "always", "result", "returns"))
        self.clients += [
            ClientRow(
                maker=maker,
                type=made or maker,
                provider=provider,
                base_url=base_url,
                when=when,
                constructor_parts=parts,
                nested=nested,
                positional=positional,
                because=f"{header.file}: {maker}",
                decorators=decorators,
                once=once,
                kept=kept,
                always=always,
                result=result,
                returns=returns,
            )
            for maker in makers
        ]

    def _source(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names, kind = row.names("name"), row.choice("kind", tuple(KINDS))
        axis, words = KINDS[kind]
        axes, what = row.texts("axes", (axis,)), row.text("what", words)
        grain = GRAINS[row.choice("grain", tuple(GRAINS), "second")] if kind == "time" else None
        at_most, attribute = row.number("at_most"), row.flag("attribute", False)
        starts_with = row.text("starts_with", "")
        row.done(("name", "kind", "axes", "grain", "what", "at_most", "attribute", "starts_with"))
        for value in axes:
            if value not in AXES:
                raise row.fail("axes", _unknown(value, tuple(AXES)))
        self.sources += [
            SourceRow(n, kind, axes, grain, what, at_most, attribute, f"{header.file}: {n}", starts_with) for n in names
        ]

    def _entry(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "pattern")
        how, patterns = row.choice("how", _HOW, "decorator"), row.names("pattern")
        evidence, repeats = row.text("evidence"), row.flag("repeats", True)
        methods, argument = row.texts("methods", ()), row.text("argument", "")
        row.done(("how", "pattern", "evidence", "repeats", "methods", "argument"))
        for p in patterns:
            self.entries.append(EntryRow(how, p, evidence, repeats, methods, argument, f"{header.file}: {p}"))

    def _memoiser(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names = row.names("name")
        row.done(("name",))
        self.memoisers += [MemoRow(n, f"{header.file}: {n}") for n in names]

    def _window(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "name")
        names, messages, limit = row.names("name"), row.text("messages", ""), row.text("limit", "")
        unit, positional = row.choice("unit", ("messages", "tokens"), "messages"), row.texts("positional", ())
        counter = row.text("counter", "")
        row.done(("name", "messages", "limit", "unit", "counter", "positional"))
        self.windows += [WindowRow(n, messages, limit, unit, counter, positional, f"{header.file}: {n}") for n in names]

    def _template(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "makers")
        makers = header.expand(row, row.names("makers"))
        made, messages, text = row.text("type", ""), row.text("messages", ""), row.text("text", "")
        role, positional, fills = row.text("role", ""), row.texts("positional", ()), row.mapping("fills")
        partial = row.texts("partial", ())
        row.done(("makers", "type", "messages", "text", "role", "positional", "fills", "partial"))
        if bool(messages) == bool(text):
            raise row.fail("messages", 'either "messages" or "text" must name an argument')
        for how in fills.values():
            if how not in _FILLS:
                raise row.fail("fills", _unknown(how, _FILLS))
        self.templates += [
            TemplateRow(m, made or m, messages, text, role, positional, fills, partial, f"{header.file}: {m}")
            for m in makers
        ]

    def _pipe(self, table: object, where: str, header: _Header) -> None:
        row = _Row(table, where, "makers")
        makers = header.expand(row, row.names("makers"))
        made, does = row.text("type", ""), row.choice("does", DOES, "chain")
        steps, positional, joins = row.texts("steps", ()), row.texts("positional", ()), row.names("joins", ())
        row.done(("makers", "type", "does", "steps", "positional", "joins"))
        self.pipes += [PipeRow(m, made or m, does, steps, positional, joins, f"{header.file}: {m}") for m in makers]


class _Header:
    """The top of a file: groups that its rows share."""

    def __init__(self, row: _Row, file: str) -> None:
        self.file = file
        row.texts("package", ())
        row.text("reference", "")
        row.text("as-of", "")
        self._ignore = row.texts("ignore", ())
        self._types, self._parts = row.table("types"), row.table("parts")
        sections = ("sink", "client", "source", "entry", "memoiser", "window", "template", "pipe")
        row.done((*sections, "ignore", "types", "parts"))

    def expand(self, row: _Row, names: Sequence[str]) -> tuple[str, ...]:
        """Names with the file's groups of types replaced by their members: "@client", and "@client.copy"."""
        return tuple(member for name in names for member in self._members(row, name))

    def _members(self, row: _Row, name: str) -> Iterator[str]:
        if not name.startswith("@"):
            yield name
            return
        group, dot, path = name[1:].partition(".")
        members = self._types.get(group)
        if members is None:
            raise row.fail("types", f'no group of types is called "{group}"')
        if not isinstance(members, list) or not all(isinstance(m, str) and _QUALIFIED.fullmatch(m) for m in members):
            raise row.fail("types", f'the group "{group}" must be a list of dotted names')
        yield from (inner + dot + path for member in members for inner in self._members(row, member))

    def parts(self, row: _Row, name: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """The parts of a row and of the objects nested in its arguments, with the names that the file ignores."""
        value = row.take(name, {})
        parts = row.parts(name, value, self._parts, self._ignore if value else ())
        nested = {
            key: row.parts(f"nested.{key}", inner, self._parts, self._ignore)
            for key, inner in row.table("nested").items()
        }
        for key in nested:
            if parts.get(key) not in ("config", "body", "requests"):
                raise row.fail(f"nested.{key}", f'parts.{key} must be "config", "body" or "requests"')
        return parts, nested
