"""Comments answer findings on the line of their place, origin or request; comments in vain are findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.answers import suppress
from promptlint.config import Settings
from promptlint.files import comments
from promptlint.finding import Finding
from promptlint.span import Span
from tests.cli.samples import RULES, finding


def apply(text: str, *findings: Finding, select: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    return suppress.apply(findings, {"app.py": text}, RULES, RULES.select(select))


def messages(found: tuple[Finding, ...]) -> list[str]:
    return [f"{f.primary.line}: {f.message}" for f in found if f.rule == "unused-ignore"]


@pytest.mark.parametrize(
    "text",
    [
        "x = now()  # promptlint: ignore[volatile-time] logged only\n",
        "x = now()  # noqa  # promptlint: ignore[PL1] logged only  # more\n",
        "x = now()  #promptlint:ignore[ unordered-tools , volatile-time ] logged only\n",
    ],
)
def test_a_comment_on_the_line(text: str) -> None:
    first = apply(text, finding(line=1))[0]
    assert first.suppressed == "logged only"


def test_a_comment_alone_speaks_of_the_next_line_of_code() -> None:
    text = "# promptlint: ignore[volatile-time]\n# another remark\nx = now()\ny = now()\n"
    on_three, on_four = apply(text, finding(line=3), finding(line=4))
    assert (on_three.suppressed, on_four.suppressed) == ("", None)


def test_a_comment_behind_code_does_not_speak_of_the_next_line() -> None:
    found = apply("x = 1  # promptlint: ignore[volatile-time]\ny = now()\n", finding(line=2))
    assert found[0].suppressed is None
    assert messages(found) == ["1: volatile-time finds nothing here: remove it from the comment"]


def test_origin_and_request_lines_count() -> None:
    text = "\n\nx = now()  # promptlint: ignore[volatile-time] a\n\nsend(x)  # promptlint: ignore[volatile-time] b\n"
    by_origin = finding(line=1, origin=Span("app.py", 3))
    by_request = finding(line=1)
    by_request = replace(by_request, site=replace(by_request.site, span=Span("app.py", 5)))
    assert [found.suppressed for found in apply(text, by_origin, by_request)] == ["a", "b"]


def test_a_string_over_several_lines_is_answered_at_its_ends() -> None:
    text = 'S = f"""a\n{now()}\nb"""  # promptlint: ignore[volatile-time] end\nx = 1\n'
    assert apply(text, finding(line=2))[0].suppressed == "end"
    text = '# promptlint: ignore[volatile-time] above\nS = """a\n{now}\nb""".format(now=now())\n'
    assert apply(text, finding(line=3))[0].suppressed == "above"


def test_a_file_ignore_covers_the_file_and_that_rule_only() -> None:
    text = "x = 1\n\n\n# promptlint: file-ignore[volatile-time] a demo\n"
    time, tools = apply(text, finding(line=1), finding("unordered-tools", line=1))
    assert (time.suppressed, tools.suppressed) == ("a demo", None)


def test_text_in_a_string_is_no_comment() -> None:
    text = 'x = "# promptlint: ignore[volatile-time]"\n'
    found = apply(text, finding(line=1))
    assert [f.suppressed for f in found] == [None]


def test_broken_syntax_is_read_line_by_line() -> None:
    text = "x = (\n  now()  # promptlint: ignore[volatile-time] broken\n'''\n"
    assert apply(text, finding(line=2))[0].suppressed == "broken"


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[volatile-time]", "volatile-time finds nothing here"),
        ("file-ignore[PL2]", "PL2 finds nothing in this file"),
        ("ignore[volatile-tme] x", 'unknown rule "volatile-tme"; did you mean "volatile-time"?'),
        ("ignore", "ignore names no rule"),
        ("ingore[volatile-time]", 'did you mean "ignore"?'),
        ("lifetime[session]", "lifetime takes one of constant, process, conversation, turn, call"),
        ("tokens=many", "tokens takes a number"),
    ],
)
def test_a_comment_in_vain_is_a_finding(comment: str, message: str) -> None:
    (found,) = apply(f"x = 1\ny = 2  # promptlint: {comment}\n")
    assert (found.rule, found.code, found.primary.line, found.primary.column) == ("unused-ignore", "PL901", 2, 8)
    assert message in found.message
    assert found.primary.end_column == len(f"y = 2  # promptlint: {comment}") + 1


def test_only_selected_rules_are_judged() -> None:
    text = "x = 1  # promptlint: ignore[volatile-time, volatile-random]\n"
    assert messages(apply(text, select=("PL101", "PL901"))) == [
        "1: volatile-time finds nothing here: remove it from the comment"
    ]
    assert apply(text, select=("PL101",)) == ()


def test_an_unused_comment_can_itself_be_answered() -> None:
    (found,) = apply("x = 1  # promptlint: ignore[volatile-time, unused-ignore] kept for 3.12\n")
    assert found.suppressed == "kept for 3.12"


def test_hints_are_read() -> None:
    text = (
        "a = f()  # promptlint: lifetime[conversation]\n"
        "# promptlint: tokens=6_000\n"
        "b = g()\n"
        "send()  # promptlint: one-shot\n"
    )
    read = comments.read("app.py", text)
    assert [(c.verb, c.arguments, max(c.lines)) for c in read] == [
        ("lifetime", ("conversation",), 1),
        ("tokens", ("6_000",), 3),
        ("one-shot", (), 4),
    ]
    assert apply(text) == ()


def test_several_comments_on_a_line() -> None:
    text = "f()  # noqa # promptlint: ignore[volatile-time] kept # why # promptlint: tokens=9 # promptlint: tokens=x\n"
    read = comments.read("app.py", text)
    assert [(c.verb, c.arguments, c.reason, text[c.span.column - 1 : c.span.end_column - 1]) for c in read] == [
        ("ignore", ("volatile-time",), "kept", "# promptlint: ignore[volatile-time] kept"),
        ("tokens", ("9",), "", "# promptlint: tokens=9"),
        ("tokens", ("x",), "", "# promptlint: tokens=x"),
    ]
    time, wrong = apply(text, finding(line=1))
    assert time.suppressed == "kept" and "tokens takes a number" in wrong.message


def test_per_file_ignores_take_findings_out(folder: Path) -> None:
    settings = Settings(per_file_ignores={"scripts/*": ("PL1",), "demo.py": ("unordered-tools",)}, root=folder)
    found = [
        finding(path="scripts/a.py"),
        finding("unordered-tools", path="scripts/a.py"),
        finding("unordered-tools", path="deep/demo.py"),
        finding(path="app.py"),
    ]
    kept = suppress.drop_per_file(found, settings, RULES)
    assert [(f.rule, f.primary.path) for f in kept] == [
        ("unordered-tools", "scripts/a.py"),
        ("volatile-time", "app.py"),
    ]
