"""Rules are found by path, checked when they are loaded, chosen by name or prefix, and cannot end a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import registry
from promptlint.registry import Registry, RuleError, UnknownRule
from promptlint.request import Conversation, Request, Siblings
from tests.cli.samples import RULES, request

RULE = '''r"""Something is wrong here.

## Example
```python
bad = "\\n"
```

Use instead:
```python
good = 1
```
"""

from collections.abc import Iterator

from promptlint.api import Confidence, Finding, Region, {subject}, Scope, Severity, Span, rule


@rule("{code}", kind="other", since="1.2")
def check(subject: {subject}) -> Iterator[Finding]:
    {body}
'''


def write(file: Path, code: str = "ACME1", subject: str = "Request", body: str = "yield from ()") -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(RULE.format(code=code, subject=subject, body=body))
    return file


@pytest.fixture(autouse=True)
def no_builtin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "builtin").mkdir()
    monkeypatch.setattr(registry, "BUILTIN", folder / "builtin")


def test_a_rule_is_described_by_its_file(folder: Path) -> None:
    write(folder / "lint" / "odd_prompt.py")
    (folder / "lint" / "_helper.py").write_text("raise RuntimeError")
    (info,) = registry.load((folder / "lint",))
    assert (info.code, info.name, info.kind, info.since) == ("ACME1", "odd-prompt", "other", "1.2")
    assert info.summary == "Something is wrong here."
    assert info.examples == ('bad = "\\n"\n', "good = 1\n")
    assert info.subject is Request


@pytest.mark.parametrize(("word", "subject"), [("Conversation", Conversation), ("Siblings", Siblings)])
def test_the_annotation_decides_the_subject(folder: Path, word: str, subject: type) -> None:
    write(folder / "lint" / "odd.py", subject=word)
    (info,) = registry.load((folder / "lint",))
    assert info.subject is subject


def test_equal_file_names_in_two_folders_do_not_meet(folder: Path) -> None:
    first = write(folder / "a" / "odd_prompt.py", "ACME1")
    second = write(folder / "b" / "odd_prompt.py", "ACME2")
    with pytest.raises(RuleError, match='"odd-prompt" is also the rule of'):
        registry.load((first.parent, second.parent))
    second.rename(second.with_name("other.py"))
    codes = {info.code for info in registry.load((first.parent, second.parent))}
    assert {"ACME1", "ACME2"} <= codes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def check(:\n", r"odd\.py:1: "),
        ("import nothing_of_this_name\n", r"odd\.py:1: ModuleNotFoundError"),
        ("import sys\n\nsys.exit(3)\n", r"odd\.py:3: SystemExit"),
        ("'''Doc.'''\n", r"odd\.py: .*this one has 0"),
        (RULE.format(code="acme", subject="Request", body="..."), r"odd\.py:19: a rule code is capital letters"),
        (RULE.format(code="A1", subject="Span", body="..."), r'odd\.py:19: annotate "subject" .*Request, Conversation'),
        (
            RULE.format(code="A1", subject="Request", body="...").replace("subject:", "a, subject:"),
            r"odd\.py:19: a rule takes one parameter .*takes 2",
        ),
        (
            RULE.format(code="A1", subject="Request", body="...").replace(": Request)", ': "Requests")'),
            r"odd\.py:19: the annotations of check cannot be read: NameError",
        ),
        (
            RULE.format(code="A1", subject="Request", body="...").replace('r"""', 'DOC = """', 1),
            r"odd\.py: a rule needs a module docstring",
        ),
    ],
)
def test_a_broken_rule_names_its_file(folder: Path, text: str, message: str) -> None:
    (folder / "odd.py").write_text(text)
    with pytest.raises(RuleError, match=message):
        registry.load((folder / "odd.py",))


def test_a_missing_rule_path_is_an_error(folder: Path) -> None:
    with pytest.raises(RuleError, match="no such rule file or folder"):
        registry.load((folder / "nowhere",))


def names(selected: Registry) -> list[str]:
    return [info.code for info in selected]


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        ((), (), ["PL101", "PL102", "PL201", "PL901"]),
        (("PL1",), (), ["PL101", "PL102"]),
        (("volatile-time", "pl2"), (), ["PL101", "PL201"]),
        ((), ("PL1", "PL901"), ["PL201"]),
        (("PL1",), ("volatile-time",), ["PL102"]),
        (("PL101",), ("PL1",), ["PL101"]),
        (("PL101",), ("ALL",), ["PL101"]),
        (("PL101",), ("PL101",), []),
    ],
)
def test_the_more_specific_selector_wins(select: tuple[str, ...], ignore: tuple[str, ...], codes: list[str]) -> None:
    assert names(RULES.select(select, ignore)) == codes


@pytest.mark.parametrize(("word", "near"), [("volatile-tme", "volatile-time"), ("pl111", "PL1"), ("xyz", None)])
def test_an_unknown_rule_gets_a_suggestion(word: str, near: str | None) -> None:
    with pytest.raises(UnknownRule) as caught:
        RULES.select([word])
    assert f'unknown rule "{word}"' in str(caught.value)
    assert ("did you mean" in str(caught.value)) == bool(near)
    assert near is None or near in str(caught.value)


FOUND = (
    'yield Finding("odd", Span("a.py", 1), Severity.INFO, Confidence.LOW, Scope.TURN,'
    ' Region.TOOLS, {site}, kind="{kind}")'
)


def test_findings_are_signed_and_a_rule_that_raises_only_loses_its_own(folder: Path) -> None:
    write(folder / "lint" / "sound.py", "ACME1", body=FOUND.format(site="subject.site", kind=""))
    write(folder / "lint" / "own_kind.py", "ACME2", "Conversation", FOUND.format(site="subject.request.site", kind="x"))
    write(folder / "lint" / "failing.py", "ACME3", body='raise KeyError("model")')
    write(folder / "lint" / "siblings.py", "ACME4", "Siblings", FOUND.format(site="subject.requests[1].site", kind=""))
    write(folder / "lint" / "nothing.py", "ACME5", body="return None")
    group = Siblings((request(line=50), request(line=60)))
    findings, problems = registry.run(registry.load((folder / "lint",)), [request()], [group])
    assert [(found.rule, found.code, found.kind, found.site.span.line) for found in findings] == [
        ("sound", "ACME1", "other", 50),
        ("own-kind", "ACME2", "x", 50),
        ("siblings", "ACME4", "other", 60),
    ]
    assert [(problem.path, problem.line) for problem in problems] == [("app.py", 50), ("app.py", 50)]
    assert "rule failing failed on this request" in problems[0].message
    assert "KeyError: 'model' at " in problems[0].message
    assert problems[0].message.endswith("failing.py:21")
    assert "rule nothing failed" in problems[1].message
