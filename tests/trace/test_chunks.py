"""Chunks of text: what looks like a clock or an id is told from words, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.trace.chunks import CLOCK, ID, NUMBER, WORD, chunks

KINDS = {
    CLOCK: (
        *("2025-01-02T10:20:30.123456+00:00", "2025-01-02", "2025-01-02 10:20", "20250102T102030Z", "12:30:00"),
        *("3:04 PM", "January 5, 2025", "5 Jan 2025", "Nov 29", "Monday", "05/11/2025", "1764460000", "1764460000.123"),
        "1764460000123",
    ),
    ID: (
        *("0a1b2c3d-1111-2222-3333-444455556666", "settings-0a1b2c3d-1111-2222-3333-444455556666", "deadbeef12"),
        *(
            "toolu_01A09q90qw90lq917835lq9",
            "call_ab12cd34ef56ab12",
            "9f86d081884c7d659a2feaa0c55ad015",
            "a8Bq2Lm9Xz0Pq7Rt",
        ),
    ),
    NUMBER: ("3", "1,200", "1.2.3", "0.75", "192.168.10.20"),
    WORD: ("word", "Word", "snake_case_name", "naïve", "Größe", "a1"),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_kind(kind: str, text: str) -> None:
    assert list(chunks(f"so ({text}) it"))[3] == (text, kind)


@given(st.text() | st.text("0123456789abcdefT:-_ ./,ZJanMo"))
def test_joined_they_are_the_text(text: str) -> None:
    assert "".join(chunk for chunk, _ in chunks(text)) == text
