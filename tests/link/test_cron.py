"""Times between two runs of a cron expression."""

from __future__ import annotations

import pytest

from promptlint.assembly import cron


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("* * * * *", 60),
        ("*/10 * * * *", 600),
        ("5/20 * * * *", 1_200),
        ("0 * * * *", 3_600),
        ("0,50 * * * *", 600),
        ("30 */6 * * *", 21_600),
        ("0 9 * * 1-5", 86_400),
        ("0 9,17 * * *", 28_800),
        ("*/5 9-17 * * *", 300),
        ("0 0 */2 * * *", 7_200),
        ("@hourly", None),
        ("MON * * * *", None),
        ("*/0 * * * *", None),
    ],
)
def test_shortest_time_between_two_runs(expression: str, seconds: float | None) -> None:
    assert cron.of_text(expression) == seconds
