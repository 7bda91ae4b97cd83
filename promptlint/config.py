"""Settings: ``[tool.promptlint]`` of the nearest pyproject.toml, overridden by the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlint.finding import Confidence, Severity

if TYPE_CHECKING:
    from promptlint.registry import Registry

Rows = Mapping[str, tuple[Mapping[str, object], ...]]

SECTIONS = {
    "wrapper": "sink",
    "clock": "source",
    "source": "source",
    "entry": "entry",
    "provider-facts": "provider",
}
"""Tables that teach promptlint about a project, and the section of ``promptlint.knowledge`` that each belongs to."""


class ConfigError(Exception):
    """A setting that cannot be used; the message names the file, the key and what is expected."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is asked to do.

    ``root`` is the folder that globs and rule paths of the file are relative to. ``gap`` is the typical time between
    two turns of a conversation in seconds; ``traffic`` the number of requests an hour that could share a prefix, where
    known. ``cache_dir`` is where findings are kept for the next run, by default beside the file. ``rows`` are the
    user's own knowledge by section, as ``promptlint.knowledge.load`` takes them.
    ``origins`` says for each setting that is not the default where it was set.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    include_tests: bool = False
    min_severity: Severity = Severity.WARNING
    min_confidence: Confidence = Confidence.MEDIUM
    rule_paths: tuple[Path, ...] = ()
    provider: str | None = None
    default_model: str | None = None
    gap: float = 60.0
    traffic: float | None = None
    cache_dir: Path | None = None
    rows: Rows = field(default_factory=dict)
    root: Path = Path()
    file: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


def load(paths: Sequence[Path] = (), overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings for a run on ``paths``: the file nearest to the first of them, then the command line.

    ``overrides`` maps field names to values; ``None`` means that the option was not given. Giving ``select`` drops the
    file's ``ignore``; giving ``ignore`` adds to it. Raises ConfigError.
    """
    given = {key: value for key, value in (overrides or {}).items() if value not in (None, ())}
    file, table = _nearest(Path(paths[0] if paths else ".").resolve())
    settings = Settings() if file is None else _parse(file, table)
    ignore = () if "select" in given else settings.ignore
    origins = {key: where for key, where in settings.origins.items() if key != "ignore" or ignore}
    if "ignore" in given:
        added = given["ignore"]
        assert isinstance(added, tuple)
        ignore, origins["ignore"] = (*ignore, *added), "command line"
    changes: dict[str, Any] = {**given, "ignore": ignore}
    return replace(settings, **changes, origins={**origins, **dict.fromkeys(given, "command line")})


def validate(settings: Settings, registry: Registry) -> None:
    """Checks that every rule that the settings name exists, and that the user's rows make sense. Raises ConfigError."""
    from promptlint import knowledge, provider  # what answers from the cache needs neither them nor the rules
    from promptlint.knowledge.rows import KnowledgeError
    from promptlint.registry import UnknownRule, did_you_mean

    selectors = [("select", settings.select), ("ignore", settings.ignore)]
    selectors += [(f'per-file-ignores."{glob}"', rules) for glob, rules in settings.per_file_ignores.items()]
    for key, names in selectors:
        for name in names:
            try:
                registry.matching(name)
            except UnknownRule as error:
                origin = settings.origins.get(key.split(".")[0].replace("-", "_"), "")
                place = f"--{key}" if origin == "command line" else f"{origin}: {key}"
                raise ConfigError(f"{place}: {error}") from error
    try:
        known = knowledge.load(settings.rows)
        provider.extend(settings.rows.get(knowledge.PROVIDER, ()))
    except KnowledgeError as error:
        raise ConfigError(f"{settings.origins['rows']}: {error}") from error
    named = [("provider", settings.provider, settings.origins.get("provider"))] if settings.provider else []
    named += [(f'provider of "{row.call}"', row.provider, settings.origins["rows"]) for row in known.own_sinks.values()]
    for key, name, where in named:
        if provider.meant(name, None) is None and name not in {row.provider for row in known.sinks if not row.own}:
            hint = did_you_mean(name, provider.providers())
            raise ConfigError(f'{where}: {key}: nothing is known of a provider "{name}"{hint}')


def _nearest(start: Path) -> tuple[Path | None, Mapping[str, object]]:
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        try:
            text = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ConfigError(f"{_shown(file)}: cannot be read: {error.strerror}") from error
        if b"promptlint" not in text:
            continue
        import tomllib

        try:
            tool = tomllib.loads(text.decode()).get("tool", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{_shown(file)}: not valid TOML: {error}") from error
        table = tool.get("promptlint") if isinstance(tool, dict) else None
        if isinstance(table, dict):
            return file, table
        if table is not None:
            raise ConfigError(f"{_shown(file)}: tool.promptlint must be a table, not {_described(table)}")
    return None, {}


def _shown(file: Path) -> str:
    """The path as a user would type it: relative when that is shorter."""
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)


def _parse(file: Path, table: Mapping[str, object]) -> Settings:
    readers = _readers(file.parent)
    values: dict[str, Any] = {}
    rows: dict[str, tuple[Mapping[str, object], ...]] = {}
    known = (*readers, *SECTIONS)
    for key, value in table.items():
        place = f"{_shown(file)}: {key}"
        if key in SECTIONS:
            section = SECTIONS[key]
            rows[section] = (*rows.get(section, ()), *(_row(key, row, place) for row in _tables(value, place)))
        elif key in readers:
            values[key.replace("-", "_")] = readers[key](value, place)
        else:
            from promptlint.registry import did_you_mean

            raise ConfigError(f'{_shown(file)}: unknown key "{key}" in [tool.promptlint]{did_you_mean(key, known)}')
    origins = dict.fromkeys([*values, *(("rows",) if rows else ())], _shown(file))
    return Settings(**values, rows=rows, root=file.parent, file=file, origins=origins)


def _readers(root: Path) -> dict[str, Callable[[object, str], object]]:
    return {
        "select": _strings,
        "ignore": _strings,
        "per-file-ignores": _string_lists,
        "exclude": _strings,
        "include-tests": _boolean,
        "min-severity": lambda value, place: Severity[_choice(value, place, Severity.__members__)],
        "min-confidence": lambda value, place: Confidence[_choice(value, place, Confidence.__members__)],
        "rule-paths": lambda value, place: tuple(root / path for path in _strings(value, place)),
        "provider": _string,
        "default-model": _string,
        "gap": _positive,
        "traffic": _positive,
        "cache-dir": lambda value, place: root / _string(value, place),
    }


def _wrong(place: str, expected: str, value: object) -> ConfigError:
    return ConfigError(f"{place} must be {expected}, not {_described(value)}")


def _described(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'the string "{value}"'
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case dict():
            return "a table"
    return f"a {type(value).__name__}"


def _string(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(place, "a string", value)
    return value


def _strings(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(place, "a list of strings", value)
    for item in value:
        if not isinstance(item, str):
            raise _wrong(place, "a list of strings", item)
    return tuple(value)


def _string_lists(value: object, place: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _wrong(place, 'a table of globs and rules, such as {"scripts/*" = ["volatile-time"]}', value)
    return {glob: _strings(rules, f'{place}."{glob}"') for glob, rules in value.items()}


def _boolean(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, "true or false", value)
    return value


def _positive(value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _wrong(place, "a number above 0", value)
    return float(value)


def _choice(value: object, place: str, members: Iterable[str]) -> str:
    choices = [member.lower() for member in members]
    if value not in choices:
        raise _wrong(place, "one of " + ", ".join(f'"{choice}"' for choice in choices), value)
    assert isinstance(value, str)
    return value.upper()


def _tables(value: object, place: str) -> tuple[Mapping[str, object], ...]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        kind = place.rpartition(" ")[2]
        raise _wrong(place, f"a list of tables, written [[tool.promptlint.{kind}]]", value)
    return tuple(value)


def _row(kind: str, row: Mapping[str, object], place: str) -> Mapping[str, object]:
    """A row as the knowledge loader spells it: users say ``call``, ``decorator`` and ``function``."""
    if kind in ("wrapper", "provider-facts"):
        return row
    if kind == "entry":
        how = next((how for how in ("decorator", "function") if how in row), None)
        if how is None:
            raise ConfigError(f'{place} needs "decorator" or "function": the dotted name of what makes an entry')
        rest = {key: value for key, value in row.items() if key != how}
        return {"evidence": "an entry of this project", **rest, "how": how, "pattern": row[how]}
    if "call" not in row:
        raise ConfigError(f'{place} needs "call": the dotted name of a function')
    rest = {key: value for key, value in row.items() if key != "call"}
    return {**rest, "name": row["call"], **({"kind": "time"} if kind == "clock" else {})}


def described(settings: Settings) -> list[tuple[str, object, str]]:
    """Every setting as (key in the file, value, where it was set), in the order of the documentation."""
    internal = {"root", "file", "origins", "rows"}
    lines: list[tuple[str, object, str]] = [
        (item.name.replace("_", "-"), getattr(settings, item.name), settings.origins.get(item.name, "default"))
        for item in fields(settings)
        if item.name not in internal
    ]
    return lines + [(section, rows, settings.origins["rows"]) for section, rows in settings.rows.items()]
