"""The shortest time between two runs that a cron expression asks for."""

from __future__ import annotations

import re

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


def seconds_between(minute: str, hour: str) -> float | None:
    """Seconds between the two nearest runs of one day, by the fields for minutes and hours of a cron expression.

    ``None`` for a field that is not written in digits, stars, steps, lists and ranges.
    """
    minutes, hours = _times(minute, 60), _times(hour, 24)
    if not minutes or not hours:
        return None
    runs = [60 * h + m for h in hours for m in minutes]
    return MINUTE * min((later - sooner for sooner, later in zip(runs, [*runs[1:], runs[0] + 24 * 60], strict=True)))


def of_text(expression: str) -> float | None:
    """The same of a whole expression: "*/10 * * * *"; five fields, or six with one for seconds ahead."""
    fields = expression.split()
    if len(fields) not in (5, 6):
        return None
    return seconds_between(*fields[-5:-3])


def _times(field: str, size: int) -> list[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = re.fullmatch(r"(\*|\d+)(?:-(\d+))?(?:/(\d+))?", part.strip())
        if match is None:
            return []
        first, last, step = match[1], match[2], int(match[3] or 1)
        start = 0 if first == "*" else int(first)
        end = int(last) if last else size - 1 if first == "*" or match[3] else start
        if step == 0:
            return []
        found.update(n for n in range(start, end + 1, step) if n < size)
    return sorted(found)
