"""A fingerprint survives what happens elsewhere in the file, and tells findings apart."""

from __future__ import annotations

from promptlint.answers.fingerprint import with_fingerprints
from tests.cli.samples import finding

CODE = "def ask(q):\n    s = f'{now()}'\n    return send(s)\n"


def prints(text: str, *lines: int, **changes: str) -> list[str]:
    found = [finding(line=line, **changes) for line in lines]
    return [signed.fingerprint for signed in with_fingerprints(found, {"app.py": text})]


def test_moving_and_spacing_do_not_change_it() -> None:
    moved = "import os\n\n\n" + CODE.replace("s = ", "s  =  ")
    assert prints(CODE, 2) == prints(moved, 5)


def test_rule_scope_text_and_order_do() -> None:
    different = {
        *prints(CODE, 2, 2),
        *prints(CODE, 2, rule="volatile-random"),
        *prints(CODE.replace("ask", "tell"), 2),
        *prints(CODE.replace("now", "today"), 2),
    }
    assert len(different) == 5


def test_nested_scopes_have_names_of_their_own() -> None:
    text = "class A:\n    def f(self):\n        x = now()\n\nclass B:\n    def f(self):\n        x = now()\n"
    first, second = prints(text, 3, 7)
    assert first != second
    assert prints(text.replace("class A:\n    def f(self):\n        x = now()\n\n", ""), 3) == [second]


def test_broken_and_missing_files_have_fingerprints_too() -> None:
    assert prints("def f(:\n", 1) != prints("", 1) != [""]
