"""Code frames: carets stand below their text, whatever characters the line holds and wherever it is cut."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from promptlint.output.frame import Mark, draw, pieces, window
from promptlint.output.paint import Paint
from promptlint.span import Span

PLAIN = Paint(color=False)


def underlined(line: str, start: int, end: int, width: int = 100) -> str:
    """The text above the carets, cut out of the printed line by terminal cells."""
    span = Span("a.py", 1, start + 1, 1, end + 1)
    rows = draw([Mark(span, "", "red", primary=True)], {"a.py": line}, width, PLAIN).lines
    text, carets = rows[1], rows[2]
    found = re.search(r"\^+", carets)
    assert found is not None
    first, last = cell_len(carets[: found.start()]), cell_len(carets[: found.end()])
    return "".join(
        character
        for index, character in enumerate(text)
        if first <= cell_len(text[:index]) and cell_len(text[: index + 1]) <= last
    )


@pytest.mark.parametrize("ahead", ["", "é = ", "e\u0301 = ", "日本 = ", "😀 + ", "⚠️ + ", "\t", "x\t日\t", "👨‍👩‍👧 "])
def test_carets_stand_below_their_text(ahead: str) -> None:
    line = f"{ahead}clock() + é日本😀"
    assert underlined(line, len(ahead), len(ahead) + 7) == "clock()"


@pytest.mark.parametrize("text", ["é", "日本", "😀", "a日b"])
def test_carets_are_as_wide_as_their_text(text: str) -> None:
    assert underlined(f"f({text})", 2, 2 + len(text)) == text


@pytest.mark.parametrize("ahead", [0, 30, 60, 500])
@pytest.mark.parametrize("behind", [0, 30, 500])
def test_a_long_line_is_cut_around_the_span(ahead: int, behind: int) -> None:
    line = "日" * ahead + "clock()" + "é" * behind
    assert underlined(line, ahead, ahead + 7, width=60) == "clock()"


@given(
    line=st.text(st.sampled_from("ab\t日é😀\u0301\u200d️"), max_size=80),
    start=st.integers(0, 80),
    length=st.integers(0, 80),
    room=st.integers(20, 60),
)
def test_a_cut_line_fits_and_holds_the_start_of_the_span(line: str, start: int, length: int, room: int) -> None:
    shown = pieces(line)
    start = min(start, len(line))
    left, right = window(shown, start, min(start + length, len(line)), room)
    assert cell_len("".join(shown[left:right])) + (left > 0) + (right < len(shown)) <= room
    assert left <= start <= right


def test_control_characters_do_not_reach_the_terminal() -> None:
    line = "x = '\x1b[31m\u202e\x07' # \x00"
    rows = draw([Mark(Span("a.py", 1, 1, 1, 2), "", "red", primary=True)], {"a.py": line}, 100, PLAIN).lines
    assert not set("\x1b\u202e\x07\x00") & set("".join(rows))


def test_context_ends_at_blank_lines_and_at_the_file() -> None:
    source = "one\n\nthree = clock()\nfour\n\n"
    rows = draw([Mark(Span("a.py", 3, 9, 3, 16), "here", "red", primary=True)], {"a.py": source}, 100, PLAIN).lines
    assert rows == (
        "  |",
        "1 | one",
        "2 |",
        "3 | three = clock()",
        "  |         ^^^^^^^ here",
        "4 | four",
    )


def test_other_spans_share_the_frame_of_their_file() -> None:
    source = "a = clock()\n" + "x\n" * 8 + "send(a)\n"
    marks = [
        Mark(Span("a.py", 1, 5, 1, 12), "changes", "red", primary=True),
        Mark(Span("a.py", 10, 1, 10, 8), "sent", "cyan"),
    ]
    assert draw(marks, {"a.py": source}, 100, PLAIN).lines == (
        "   |",
        " 1 | a = clock()",
        "   |     ^^^^^^^ changes",
        " 2 | x",
        " 3 | x",
        "...",
        "10 | send(a)",
        "   | ------- sent",
    )


@pytest.mark.parametrize("span", [Span("b.py", 1), Span("a.py", 9), Span("a.py", 0)])
def test_spans_without_a_line_to_show_are_left_out(span: Span) -> None:
    assert draw([Mark(span, "gone", "red", primary=True)], {"a.py": "x\n"}, 100, PLAIN).lines == ()


def test_lines_are_counted_as_python_counts_them() -> None:
    rows = draw(
        [Mark(Span("a.py", 3, 1, 3, 2), "", "red", primary=True)], {"a.py": "a\r\nb\rc\x0cd\n"}, 100, PLAIN
    ).lines
    assert rows[3] == "3 | c\ufffdd"


def test_a_key_in_the_code_is_not_printed() -> None:
    text = 'client = OpenAI(api_key="sk-proj-0123456789abcdefghij", model=clock())\n'
    start = text.index("clock") + 1
    mark = Mark(Span("app.py", 1, start, 1, start + 7), "here", "red", primary=True)
    shown = "\n".join(draw([mark], {"app.py": text}, 100, PLAIN).lines)
    assert "0123456789" not in shown and "sk-proj***" in shown and "clock()" in shown
