"""How much of a time is left once it was cut, split, divided or printed with other formats than those of strftime."""

from __future__ import annotations

import re

from promptlint.frozen import replace
from promptlint.link.texts.strings import DAY, HOUR, MICROSECOND, MINUTE, MONTH, SECOND, YEAR, coarsened, strftime_grain
from promptlint.link.values import Const, Hole, One, Seq, Text, Value, literal
from promptlint.span import Span

_ISO = "iso"
"""Feature of a hole."""
_TOKENS = re.compile(
    r"\[[^\]]*\]|YYYY|YY|MMMM|MMM|MM|M|Do|DDDD|DDD|DD|D|dddd|ddd|dd|d|E|W|Q|HH|H|hh|h|kk|mm|m|ss|s|S+|ZZZ|ZZ|Z|A|a|[\W_]"
)
_FINEST = (("S", MICROSECOND), ("s", SECOND), ("m", MINUTE), ("HhkAa", HOUR), ("DdEW", DAY), ("MQ", MONTH), ("Y", YEAR))
"""First letters of the tokens of arrow and pendulum, the finest first."""
_UNITS = {"d": DAY, "day": DAY, "h": HOUR, "hour": HOUR, "min": MINUTE, "t": MINUTE, "minute": MINUTE, "s": SECOND}
"""What times are rounded to, by pandas, arrow and pendulum."""
STEPS = {"Y": YEAR, "M": MONTH, "W": DAY, "D": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": SECOND / 1_000}
"""Units of numpy's times."""
_SEPARATORS = {"T": DAY, " ": DAY, ":": HOUR, ".": SECOND, "+": MICROSECOND, "-": YEAR}
"""What is in front of a separator in a time as ISO 8601 writes it."""


def told_by(spec: str) -> float | None:
    """The granularity of a format, be it of strftime or made of tokens (``YYYY-MM-DD``); ``None``: of no kind known."""
    if "%" in spec:
        return strftime_grain(spec)
    if not spec or "".join(_TOKENS.findall(spec)) != spec:
        return None
    found = {t[0] for t in _TOKENS.findall(spec)}
    return next((grain for letters, grain in _FINEST if found & set(letters)), None)


def unit(name: str) -> float | None:
    """What is left of a time that is rounded to a unit."""
    return _UNITS.get(name.lower())


def printed(value: Value) -> Value:
    """A time as ISO text, which can be cut and split."""
    return replace(value, features=value.features | {_ISO}) if isinstance(value, Hole) else value


def is_printed(value: Value) -> bool:
    """Whether a value is a time as ISO text and nothing else."""
    if isinstance(value, Hole):
        return _ISO in value.features
    return (
        isinstance(value, Text)
        and len(value.pieces) == 1
        and value.pieces[0].text is None
        and {o.kind for o in value.origins()} == {"time"}
    )


def in_front(value: Value, separator: str | None) -> Value | None:
    """What stands ahead of a separator (``None``: of white space) in a time as text."""
    grain = DAY if separator is None else _SEPARATORS.get(separator)
    return coarsened(value, grain) if grain is not None and is_printed(value) else None


def parts(value: Value, name: str, separator: Value | None, span: Span) -> Seq | None:
    """A time as text, split or partitioned: only its first part is coarser."""
    if name not in ("split", "partition") or (separator is not None and literal(separator) is None):
        return None
    first = in_front(value, literal(separator) if separator is not None else None)
    return Seq("list", (One(first, span), One(value, span), One(value, span)), span) if first is not None else None


def divided(op: str, left: Value, right: Value) -> float | None:
    """The grain of ``time.time() // seconds``."""
    number = right.value if op == "//" and isinstance(right, Const) else None
    timed = isinstance(left, Hole) and {o.kind for o in left.deps} == {"time"}
    return float(number) if timed and isinstance(number, (int, float)) and number >= 1 else None
