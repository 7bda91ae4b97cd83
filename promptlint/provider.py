"""What a provider does with a prefix: the facts that rules and gates need, from ``knowledge/providers.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from promptlint.knowledge import schema
from promptlint.knowledge.rows import KnowledgeError

UNKNOWN = "unknown"
"""The provider of a request of which nothing tells where it goes."""

_FILE = "knowledge/providers.toml"
_REGIONS = ("tools", "system", "messages")
_TRIGGERS = ("explicit", "automatic", "unknown")
_CONFIDENCES = ("high", "med", "low")
POLICIES = ("markers", "window", "blocks", "slots", "units", "none")
"""How a provider keeps and finds prefixes, as the header of the file explains; "none" also where nobody says it."""


@dataclass(frozen=True, slots=True)
class Invalidation:
    """A change of request parameters and the regions whose cached prefix it costs.

    ``may_drop`` lists regions for which it depends on the model: to be treated as lost. ``default`` are the values
    that say what leaving the parameter out says, so that no cache is lost between them.
    """

    change: str
    parameters: tuple[str, ...]
    drops: tuple[str, ...]
    may_drop: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    as_of: date | None = None
    confidence: str = "high"


_OTHER_MODEL = Invalidation("another model", ("model",), _REGIONS)


@dataclass(frozen=True, slots=True)
class Facts:
    """Cache facts of one provider for one model (``model`` may be unknown).

    ``trigger`` is "explicit" (nothing is cached without a marker), "automatic" or "unknown". ``minimum`` is the
    smallest cacheable prefix in tokens for the model, or the smallest plausible one when the model is unknown.
    ``order`` lists the regions in wire order. ``max_breakpoints`` is ``None`` where there are no markers, or no limit
    is known. ``caches`` is false when the named model is known not to cache at all. ``forgets_thinking``: its
    server takes the thinking of earlier turns out by itself. ``source`` names the row in the
    form that ``Step.because`` has.

    ``marker`` is the key of a marker on a block, ``converse_marker`` what it is in Bedrock's Converse API,
    ``request_marker`` the same wish for the whole request; empty where the model takes none. ``too_many`` says what
    becomes of surplus markers: "error", "dropped" or "" (not known). ``lookback`` counts the blocks ahead of a
    marker in which an earlier write is found. ``unmarkable`` lists types of block that cannot carry a marker,
    ``prewarm_refuses`` what a request for no output ("max_tokens" 0) must not set ("stream=true"). ``ttls`` are the
    lifetimes a marker can ask for, ``ttl_seconds`` the lifetime without a choice (0 = no promise). ``granularity``
    is the number of tokens by which a cached prefix grows. ``routing`` names the parameter that keeps requests with
    one prefix together. ``refuses`` are cache fields answered with an error ("request cache_control": the one of
    the whole request), and ``retentions`` the values of ``prompt_cache_retention`` that are not.
    ``object_conflicts`` are parameters that cannot stand beside a cache object.

    ``policy`` is one of ``POLICIES``. ``read`` is the price of a cached token in prices of an uncached one, ``None``
    when not known; ``write`` the same for written tokens, by lifetime. ``read_unmarked`` is the price of reading for
    requests without a marker, where the provider caches those by itself and charges nothing for writing them;
    ``storage`` that of keeping a token in a cache object for an hour. ``window`` counts the breakpoints among which an
    earlier write is found. ``concurrent``: a request can read from one that is still running.
    ``input_includes_cached`` says whether the usage counts cached tokens as input, too; ``usage_input``,
    ``usage_read`` and ``usage_write`` are paths in the response. ``prices`` is the provider's name in the package
    genai-prices. ``diagnostics`` says how the provider itself explains a miss, ``isolation`` who shares a cache,
    ``pitfalls`` what surprises, and ``disputed`` what sources say differently, with the side that was taken.
    """

    provider: str
    model: str | None
    trigger: str
    minimum: int
    minimum_known: bool
    order: tuple[str, ...] = _REGIONS
    max_breakpoints: int | None = None
    longer_ttl_first: bool = False
    caches: bool = True
    forgets_thinking: bool = False
    source: str = ""
    marker: str = ""
    converse_marker: str = ""
    request_marker: str = ""
    too_many: str = ""
    lookback: int | None = None
    unmarkable: tuple[str, ...] = ()
    prewarm_refuses: tuple[str, ...] = ()
    ttls: tuple[str, ...] = ()
    default_ttl: str | None = None
    ttl_seconds: int | None = None
    granularity: int = 1
    routing: str = ""
    refuses: tuple[str, ...] = ()
    retentions: tuple[str, ...] = ()
    object_conflicts: tuple[str, ...] = ()
    policy: str = "none"
    read: float | None = None
    read_unmarked: float | None = None
    write: tuple[tuple[str, float], ...] = ()
    storage: float | None = None
    window: int | None = None
    concurrent: bool = False
    input_includes_cached: bool | None = None
    usage_input: tuple[str, ...] = ()
    usage_read: tuple[str, ...] = ()
    usage_write: tuple[str, ...] = ()
    prices: str = ""
    diagnostics: str = ""
    isolation: str = ""
    pitfalls: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    invalidation: tuple[Invalidation, ...] = ()
    as_of: date | None = None
    confidence: str = "low"
    sources: tuple[str, ...] = ()

    def invalidates(self, parameter: str) -> Invalidation | None:
        """What a change of this request parameter costs, or ``None`` when it is not known to cost anything.

        A field ("thinking.budget_tokens") that has no row of its own costs what its parameter does. Another model has
        another cache with every provider.
        """
        while parameter:
            row = next((row for row in self.invalidation if parameter in row.parameters), None)
            if row is not None:
                return row
            if parameter == "model":
                return _OTHER_MODEL
            parameter = parameter.rpartition(".")[0]
        return None

    def write_price(self, ttl: str | None = None) -> float:
        """Price of a written token in prices of an uncached one, for the lifetime asked for or the usual one."""
        return dict(self.write).get(ttl or self.default_ttl or "", 1.0)

    def lifetime(self, ttl: str | None = None) -> float | None:
        """Seconds that an entry lives after its last use, for the lifetime asked for; ``None``: no promise."""
        return _SECONDS.get(ttl or "", self.ttl_seconds) or None


_SECONDS: dict[str, float] = {"5m": 300, "30m": 1800, "1h": 3600, "12h": 43_200, "24h": 86_400}
"""Lifetimes by the names that requests use."""


@cache
def facts(provider: str, model: str | None) -> Facts:
    """The facts of ``provider`` for ``model``; of ``UNKNOWN`` for a provider that has no row.

    Without a matching row the minimum is the smallest plausible one and ``minimum_known`` is false. Raises
    ``KnowledgeError`` when the file is not as its header says.
    """
    return _table().facts(provider, model)


def fewest_markers(marker: str) -> int | None:
    """The smallest limit of the providers that take markers of this name; ``None`` when none has one."""
    rows = (p.table for p in _table().rows.values())
    limits = (r["max_breakpoints"] for r in rows if r.get("marker") == marker and "max_breakpoints" in r)
    return min(limits, default=None)


def identify(*, api: str | None, base_url: str | None, model: str | None) -> str:
    """The provider that a request goes to: a name that ``facts`` knows, ``UNKNOWN`` when nothing tells.

    ``api`` names the client: the id of its knowledge row, the provider that the row states, or best both, joined by a
    blank ("anthropic.messages.create vertex"); ``None`` or "structural" when it is not known. A known host in
    ``base_url`` decides first, then a client bound to one platform, then the prefix or the name of the model, then,
    without a ``base_url``, the client's own vendor.
    """
    return _table().identify(api, base_url, model)


def meant(name: str, model: str | None) -> str | None:
    """The provider that a person means by a name: a provider's own, or a platform that serves several ("azure",
    "vertex"), of which the model decides; ``None`` when nobody is called so.
    """
    table = _table()
    if name in table.rows and not (name in table.channels and model):
        return name
    return table.identify(name, None, model) if name in table.channels else None


def family(provider: str) -> str:
    """The vendor whose rules apply: "anthropic" for Claude on Bedrock, Vertex or Foundry, "openai" on Azure ..."""
    return _table().family(provider)


def providers() -> tuple[str, ...]:
    """The names of all providers, in the order of the file."""
    return tuple(_table().rows)


def model_rows(provider: str) -> tuple[Mapping[str, Any], ...]:
    """What a provider's own rows state for some models, each with the ``pattern`` of their names."""
    return tuple(row for _, row in _table().rows[provider].models)


def source(tag: str) -> str:
    """What a tag in ``Facts.sources`` stands for."""
    return str(_table().sources[tag])


_Row = Mapping[str, Any]
"""A validated table or row, its lists turned into tuples."""


@dataclass(frozen=True, slots=True)
class _Provider:
    name: str
    table: _Row
    models: tuple[tuple[re.Pattern[str], _Row], ...]
    invalidation: tuple[Invalidation, ...]

    def match(self, model: str | None) -> _Row:
        """The first row for this model; empty when there is none."""
        if model is None:
            return {}
        return next((row for pattern, row in self.models if pattern.search(model.lower())), {})


@dataclass(frozen=True, slots=True)
class Table:
    """The whole file, checked. Use ``facts`` and ``identify``; tests make their own with ``parse``."""

    rows: Mapping[str, _Provider]
    patterns: Mapping[str, tuple[tuple[re.Pattern[str], str], ...]]
    """Of the sections of ``identify`` whose keys are patterns: what each stands for, in order."""
    prefixes: Mapping[str, str]
    channels: Mapping[str, tuple[tuple[re.Pattern[str], str], ...]]
    sources: Mapping[str, Any]

    def facts(self, provider: str, model: str | None) -> Facts:
        name = provider if provider in self.rows else UNKNOWN
        line = self._line(self.rows[name].match(model).get("use", name))
        matches = [p.match(model) for p in line]
        layers = [*matches, *(p.table for p in line)]

        def look(field: str, default: Any = None) -> Any:
            return next((layer[field] for layer in layers if field in layer), default)

        minimum = look("min_tokens")
        named = next(
            (f"{p.name} '{row['pattern']}'" for p, row in zip(line, matches, strict=True) if row), line[0].name
        )
        found = {field: value for field in _LOOKED_UP if (value := look(field)) is not None}
        found |= {field: _joined(p.table.get(field, ()) for p in line) for field in _NOTES}
        if not found.get("marker"):
            found |= {"max_breakpoints": None, "too_many": ""}
        if not found.get("ttls"):
            found["default_ttl"] = None
        return Facts(
            provider=provider,
            model=model,
            minimum=self._plausible(line) if minimum is None else minimum,
            minimum_known=minimum is not None,
            source=f"{_FILE}: {named}",
            invalidation=next((p.invalidation for p in line if p.invalidation), ()),
            **found,
        )

    def identify(self, api: str | None, base_url: str | None, model: str | None) -> str:
        name = (model or "").strip().lower()
        for found in self._signs((api or "").lower(), (base_url or "").strip().lower(), name):
            if found in self.channels:
                return next(target for pattern, target in self.channels[found] if pattern.search(name))
            return found
        return UNKNOWN

    def _signs(self, api: str, base_url: str, model: str) -> Iterator[str]:
        """What tells the provider or channel, surest first."""
        host = self._search("hosts", _host(base_url)) if base_url else None
        if host and host != "local":
            yield host
        own = api in self.rows and api not in (UNKNOWN, *(vendor for _, vendor in self.patterns["vendors"]))
        if platform := api if own else self._search("platforms", api):
            yield platform
        prefix = re.match(r"[\w-]+(?=[/:])", model)
        if prefix and prefix[0] in self.prefixes:
            yield self.prefixes[prefix[0]]
        if named := self._search("models", model):
            yield named
        if host:  # a proxy on this machine passes a vendor's model on; anything else there is an engine
            yield host
        if not base_url and (vendor := self._search("vendors", api)):
            yield vendor

    def family(self, provider: str) -> str:
        return self._line(provider)[-1].name if provider in self.rows else UNKNOWN

    def _line(self, name: str) -> list[_Provider]:
        """The provider and those it inherits from, nearest first."""
        line = [self.rows[name]]
        while (parent := line[-1].table.get("inherits")) is not None:
            line.append(self.rows[parent])
        return line

    def _plausible(self, line: list[_Provider]) -> int:
        for provider in line:
            if "assumed_min_tokens" in provider.table:
                return int(provider.table["assumed_min_tokens"])
        return min(int(row["min_tokens"]) for provider in line for _, row in provider.models if "min_tokens" in row)

    def _search(self, section: str, text: str) -> str | None:
        return next((target for pattern, target in self.patterns[section] if pattern.search(text)), None)


def _joined(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All texts in order, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))


def _host(base_url: str) -> str:
    """Host, port and path of a URL, also of one without a scheme."""
    try:
        url = urlsplit(base_url if "//" in base_url else f"//{base_url}")
    except ValueError:  # not a URL: a template with brackets, for instance
        return base_url
    return url.netloc.rpartition("@")[2] + url.path


_own: tuple[_Row, ...] = ()


def extend(rows: Sequence[_Row]) -> None:
    """Sets a project's own rows, in place of those that were set before.

    Each has the ``name`` of a provider, and fields as in ``knowledge/providers.toml``: they add to or replace those of
    a known provider, with model rows ahead of its own, or make a new one. ``hosts`` are patterns of base URLs. Raises
    ``KnowledgeError``, and changes nothing then.
    """
    global _own
    if tuple(rows) == _own:
        return
    parse((files("promptlint") / _FILE).read_text("utf-8"), _FILE, rows)
    _own = tuple(rows)
    _table.cache_clear()
    facts.cache_clear()


@cache
def _table() -> Table:
    return parse((files("promptlint") / _FILE).read_text("utf-8"), _FILE, _own)


_OWN = "[[tool.promptlint.provider-facts]]"


def _with_own(document: dict[str, Any], rows: Sequence[_Row]) -> dict[str, Any]:
    """The document with a project's rows in it."""
    tables = dict(document.get("providers", {}))
    hosts: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        name = row.get("name")
        if not isinstance(name, str) or not name:
            wrong = "missing" if name is None else f"must be a name, is {name!r}"
            raise KnowledgeError(f'{_OWN} {number}, field "name": {wrong}')
        given = {key: value for key, value in row.items() if key not in ("name", "hosts")}
        stamp = {"sources": [_USER], "as_of": document.get("as_of"), "confidence": "med"}
        known = tables.get(name, stamp)
        lists = {
            key: [*({**stamp, **row} for row in schema.rows(given, key, f'{_OWN} "{name}"')), *known.get(key, [])]
            for key in ("models", "invalidation")
            if key in given or key in known
        }
        tables[name] = {**known, **given, **lists}
        patterns = row.get("hosts", [])
        if not schema.TEXTS[1](patterns):
            raise KnowledgeError(f'{_OWN} "{name}", field "hosts": must be {schema.TEXTS[0]}, is {patterns!r}')
        hosts |= dict.fromkeys(patterns, name)
    identify = dict(document.get("identify", {}))
    identify["hosts"] = {**hosts, **identify.get("hosts", {})}
    sources = {**document.get("sources", {}), _USER: "this project's own configuration"}
    return {**document, "providers": tables, "identify": identify, "sources": sources}


_USER = "user"


def parse(text: str, where: str, own: Sequence[_Row] = ()) -> Table:
    """The table in a TOML document of the form that ``knowledge/providers.toml`` explains, with a project's own rows.

    Raises ``KnowledgeError``, which names ``where``, the row and the field.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError(f"{where}: not valid TOML: {error}") from None
    if own:
        document = _with_own(document, own)
    sources = schema.mapping(document, "sources", where)
    mine = {row.get("name") for row in own}
    tables = schema.mapping(document, "providers", where)
    labels = {name: f'{_OWN if name in mine else where}, provider "{name}"' for name in tables}
    rows = {name: _provider(name, table, labels[name], frozenset(sources)) for name, table in tables.items()}
    if UNKNOWN not in rows:
        raise KnowledgeError(f'{where}, provider "{UNKNOWN}": missing')
    _references(rows, labels)
    identify = schema.mapping(document, "identify", where)
    channels = {
        name: _patterns(targets, f'{where}, channel "{name}"', rows)
        for name, targets in schema.mapping(identify, "channels", f"{where}, identify").items()
    }
    for name, targets in channels.items():
        if not targets or targets[-1][0].pattern:
            raise KnowledgeError(f'{where}, channel "{name}", field "": missing, and must come last: any other model')
    known = rows | channels
    sections = {
        s: schema.mapping(identify, s, f"{where}, identify") for s in ("hosts", "platforms", "models", "vendors")
    }
    prefixes = schema.mapping(identify, "prefixes", f"{where}, identify")
    for prefix, target in prefixes.items():
        _target(prefix, target, f"{where}, identify.prefixes", known)
    patterns = {name: _patterns(section, f"{where}, identify.{name}", known) for name, section in sections.items()}
    return Table(rows, patterns, prefixes, channels, sources)


def _provider(name: str, table: object, where: str, tags: frozenset[str]) -> _Provider:
    if not isinstance(table, Mapping):
        raise KnowledgeError(f"{where}: must be a table, is {table!r}")
    models = []
    for number, row in enumerate(schema.rows(table, "models", where), 1):
        label = f"{where}, model row {number} ({row.get('pattern', '?')!r})"
        fields = schema.checked(row, label, _MODEL_FIELDS, ("pattern", *_STAMP), tags)
        models.append((schema.regex(fields["pattern"], f'{label}, field "pattern"'), fields))
    changes = []
    for number, row in enumerate(schema.rows(table, "invalidation", where), 1):
        label = f"{where}, invalidation row {number} ({row.get('change', '?')!r})"
        needed = ("change", "parameters", "drops", *_STAMP)
        changes.append(Invalidation(**schema.checked(row, label, _CHANGE_FIELDS, needed, tags)))
    rest = {key: value for key, value in table.items() if key not in ("models", "invalidation")}
    own = schema.checked(rest, where, _TABLE_FIELDS, (*_STAMP, *(() if "inherits" in rest else ("trigger",))), tags)
    return _Provider(name, own, tuple(models), tuple(changes))


_STAMP = ("sources", "as_of", "confidence")
"""What every row says of itself."""


def _references(rows: Mapping[str, _Provider], labels: Mapping[str, str]) -> None:
    """Checks what a look-up relies on: names that exist, no circles, a minimum for every provider."""
    for name, provider in rows.items():
        label = labels[name]
        for row in (provider.table, *(row for _, row in provider.models)):
            for field in ("inherits", "use"):
                if field in row and row[field] not in rows:
                    raise KnowledgeError(f'{label}, field "{field}": no provider "{row[field]}"')
        seen, at = [name], provider
        while (parent := at.table.get("inherits")) is not None:
            if parent in seen:
                raise KnowledgeError(
                    f'{label}, field "inherits": goes round in a circle ({" > ".join([*seen, parent])})'
                )
            seen.append(parent)
            at = rows[parent]
        line = [rows[n] for n in seen]
        if not any(
            {"min_tokens", "assumed_min_tokens"} & row.keys()
            for p in line
            for row in (p.table, *(r for _, r in p.models))
        ):
            raise KnowledgeError(f'{label}, field "assumed_min_tokens": missing, and no row states a minimum')


_COMMON_FIELDS: dict[str, schema.Check] = {
    "trigger": schema.one_of(*_TRIGGERS),
    "min_tokens": schema.COUNT,
    "marker": schema.TEXT,
    "converse_marker": schema.TEXT,
    "request_marker": schema.TEXT,
    "max_breakpoints": schema.COUNT,
    "ttls": schema.TEXTS,
    "ttl_seconds": schema.COUNT,
    "granularity": schema.COUNT,
    "refuses": schema.TEXTS,
    "retentions": schema.TEXTS,
    "policy": schema.one_of(*POLICIES),
    "read": schema.FACTOR,
    "read_unmarked": schema.FACTOR,
    "storage": schema.FACTOR,
    "write": schema.factors(*_SECONDS),
    "forgets_thinking": schema.FLAG,
    "sources": schema.TEXTS,
    "as_of": schema.DATE,
    "confidence": schema.one_of(*_CONFIDENCES),
}
_TABLE_FIELDS: dict[str, schema.Check] = _COMMON_FIELDS | {
    "inherits": schema.TEXT,
    "order": schema.subset(*_REGIONS),
    "assumed_min_tokens": schema.COUNT,
    "too_many": schema.one_of("error", "dropped"),
    "lookback": schema.COUNT,
    "unmarkable": schema.TEXTS,
    "prewarm_refuses": schema.TEXTS,
    "default_ttl": schema.TEXT,
    "longer_ttl_first": schema.FLAG,
    "routing": schema.TEXT,
    "object_conflicts": schema.TEXTS,
    "window": schema.COUNT,
    "concurrent": schema.FLAG,
    "input_includes_cached": schema.FLAG,
    "usage_input": schema.TEXTS,
    "usage_read": schema.TEXTS,
    "usage_write": schema.TEXTS,
    "prices": schema.TEXT,
    "diagnostics": schema.TEXT,
    "isolation": schema.TEXT,
    "pitfalls": schema.TEXTS,
    "disputed": schema.TEXTS,
}
_MODEL_FIELDS: dict[str, schema.Check] = _COMMON_FIELDS | {
    "pattern": schema.TEXT,
    "use": schema.TEXT,
    "caches": schema.FLAG,
}
_CHANGE_FIELDS: dict[str, schema.Check] = {
    "change": schema.TEXT,
    "parameters": schema.TEXTS,
    "drops": schema.subset(*_REGIONS),
    "may_drop": schema.subset(*_REGIONS),
    "default": schema.TEXTS,
    "sources": schema.TEXTS,
    "as_of": schema.DATE,
    "confidence": schema.one_of(*_CONFIDENCES),
}
_NOTES = ("pitfalls", "disputed")
"""Fields whose texts add up over the providers that one inherits from."""
_LOOKED_UP = tuple(f.name for f in fields(Facts) if f.name in _TABLE_FIELDS | _MODEL_FIELDS)


def _patterns(section: object, where: str, known: Mapping[str, object]) -> tuple[tuple[re.Pattern[str], str], ...]:
    if not isinstance(section, Mapping):
        raise KnowledgeError(f"{where}: must be a table, is {section!r}")
    return tuple((schema.regex(key, where), _target(key, value, where, known)) for key, value in section.items())


def _target(key: str, value: object, where: str, known: Mapping[str, object]) -> str:
    if not isinstance(value, str) or value not in known:
        raise KnowledgeError(f'{where}, field "{key}": no provider or channel {value!r}')
    return value
