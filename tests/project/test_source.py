"""Bytes to text to tree: whatever a file holds, the answer is a source or a reason in words."""

from __future__ import annotations

import ast
import os
import warnings
from pathlib import Path

import pytest

from promptlint.files import source as module
from promptlint.files.source import Broken, Source, Unreadable, from_bytes, read, span


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def source_of(data: bytes) -> Source:
    made = from_bytes("a.py", Path("a.py"), data)
    assert isinstance(made, Source), made
    return made


def refused(data: bytes) -> Unreadable:
    made = from_bytes("a.py", Path("a.py"), data)
    assert isinstance(made, Unreadable), made
    return made


def tree_of(data: bytes) -> ast.Module:
    tree = source_of(data).tree
    assert isinstance(tree, ast.Module), tree
    return tree


def broken(data: bytes) -> Broken:
    tree = source_of(data).tree
    assert isinstance(tree, Broken)
    return tree


def constant_of(tree: ast.Module) -> object:
    statement = tree.body[-1]
    assert isinstance(statement, (ast.Assign, ast.Expr)) and isinstance(statement.value, ast.Constant)
    return statement.value.value


def test_byte_order_mark_is_no_part_of_the_text() -> None:
    source = source_of(b"\xef\xbb\xbfx = '\xc3\xa9'\n")
    assert source.text == "x = 'é'\n"
    assert constant_of(tree_of(source.data)) == "é"


@pytest.mark.parametrize(
    "data",
    [
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\nx = '\xe9'\n",
        b"# coding: latin-1 caf\xe9\r\nx = '\xe9'\r\n",
    ],
)
def test_declared_encoding_is_used(data: bytes) -> None:
    assert constant_of(tree_of(data)) == "é"


def test_encoding_is_not_declared_below_code() -> None:
    assert refused(b"import os\n# coding: latin-1\nx = '\xe9'\n").line == 3


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        (b"a = 1\nb = '\xe9'\n", "not UTF-8 (byte 0xe9)", 2),
        (b"# coding: ascii\r\rb = '\xc3\xa9'", 'declares the encoding "ascii" but', 3),
        (b"# coding: klingon\n", 'Python does not know: "klingon"', 1),
        (b"# coding: rot13\n", 'Python does not know: "rot13"', 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", "byte order mark", 1),
        ("x = 1\n".encode("utf-16"), "UTF-16", 1),
        (b"x = 1\ny = '\0'\n", "NUL", 2),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary", 1),
    ],
)
def test_what_is_no_python_text_says_why_and_where(data: bytes, words: str, line: int) -> None:
    unreadable = refused(data)
    assert words in unreadable.message
    assert unreadable.line == line


def test_empty_file() -> None:
    assert source_of(b"").text == ""
    assert tree_of(b"").body == []


def test_paths_are_shown_relative_to_the_working_directory_or_absolute(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = here / "app"
    inner.mkdir()
    (inner / "a.py").write_text("x = 1\n")
    shown = read(here / "app" / "a.py")
    assert isinstance(shown, Source) and shown.path == "app/a.py"
    monkeypatch.chdir(inner)
    (here / "b.py").write_text("")
    assert read(Path("../b.py")).path == str(here / "b.py")


def test_a_name_that_is_no_text_can_be_shown(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (here / name).write_text("")
    assert read(here / name).path == "caf\N{REPLACEMENT CHARACTER}.py"


def test_a_pipe_is_refused_without_waiting(here: Path) -> None:
    os.mkfifo(here / "pipe.py")
    assert read(here / "pipe.py") == Unreadable("pipe.py", "not a regular file")


def test_a_device_is_refused() -> None:
    assert read(Path(os.devnull)) == Unreadable(os.devnull, "not a regular file")


def test_a_directory_and_a_vanished_file_are_named(here: Path) -> None:
    (here / "d.py").mkdir()
    assert read(here / "d.py") == Unreadable("d.py", "is a directory")
    assert read(here / "gone.py") == Unreadable("gone.py", "no longer exists")


def test_permission_denied(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "locked.py").write_text("x = 1")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert read(here / "locked.py") == Unreadable("locked.py", "permission denied")


def test_an_input_error_keeps_the_words_of_the_system(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", fail)
    assert read(here / "a.py") == Unreadable("a.py", "input/output error")


def test_a_huge_file_is_not_read(here: Path) -> None:
    with open(here / "huge.py", "wb") as stream:
        stream.truncate(module.MAX_BYTES + 1_000_000)
    assert read(here / "huge.py") == Unreadable("huge.py", "too large (9.0 MB; the limit is 8 MB)")


def test_a_long_line_and_many_lines() -> None:
    tree_of(b"x = '" + b"a" * 2_000_000 + b"'\n")
    assert len(tree_of(b"x = 1\n" * 50_000).body) == 50_000


@pytest.mark.parametrize(
    "data",
    [
        b"x = " + b"(" * 5_000 + b"1" + b")" * 5_000,
        b"x = " + b"-" * 50_000 + b"1",
        b"x = " + b"+".join([b"1"] * 50_000),
        b"x = a" + b".b" * 50_000,
    ],
)
def test_deep_expressions_do_not_end_the_run(data: bytes) -> None:
    assert broken(data).message == "too deeply nested to analyse"


def test_syntax_error_tells_the_place() -> None:
    found = broken("x = 1\né = = 2\n".encode())
    assert (found.line, found.column) == (2, 5)
    assert found.message == "invalid syntax"


def test_warnings_of_the_analysed_code_are_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree_of(b"x = '\\d'\nassert (1, 'a')\n")


def text_at(source: Source, node: ast.expr) -> str:
    where = span(source, node)
    lines = source.lines
    if where.line == where.end_line:
        return lines[where.line - 1][where.column - 1 : where.end_column - 1]
    return "\n".join(
        [
            lines[where.line - 1][where.column - 1 :],
            *lines[where.line : where.end_line - 1],
            lines[where.end_line - 1][: where.end_column - 1],
        ]
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = target\n",
        "é = 'ß😀' + target\n",
        "\x0cx = '\u2028' + target  # a form feed and U+2028 end no line\r\ny = 'é'\r\n",
        "x = 1\ry = '\x85é' + target\r",
        "# é\nx = f'ü{target}'\n",
        "x = f'''é\n  ü{target} é\n'''\n",
        "x = ('é'\n     f'{target}')\n",
    ],
)
def test_columns_count_code_points(text: str) -> None:
    source = source_of(text.encode())
    assert isinstance(source.tree, ast.Module)
    [name] = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == "target"]
    assert text_at(source, name) == "target"
    assert span(source, name).path == "a.py"


def test_a_span_over_several_lines() -> None:
    source = source_of("x = call('é',\n  'ü')\n".encode())
    assert isinstance(source.tree, ast.Module)
    [call] = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    assert text_at(source, call) == "call('é',\n  'ü')"
