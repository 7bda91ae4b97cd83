"""Each verdict here is what ``git check-ignore`` says of the path once its directories are not ignored."""

from __future__ import annotations

import os

import pytest

from promptlint.files import gitignore


@pytest.mark.parametrize(
    ("pattern", "ignores", "keeps"),
    [
        ("a.py", "a.py x/a.py", "ba.py a.py/x"),
        ("/a.py", "a.py", "x/a.py"),
        ("x/a.py", "x/a.py", "y/x/a.py"),
        ("x/", "x/ y/x/", "x"),
        ("*.py", "a.py x/a.py .py", "a.pyc"),
        ("/*.py", "a.py", "x/a.py"),
        ("x/*", "x/a x/a/", "x/ x/a/b"),
        ("x/**", "x/a x/a/b", "x/"),
        ("**/x", "x y/x y/z/x", "xy"),
        ("y/**/x", "y/x y/a/x y/a/b/x", "z/y/x"),
        ("y/a**x", "y/ax y/abx", "y/a/x"),
        ("a?c", "abc x/a-c", "a/c ac"),
        ("a[0-9b]c", "a7c abc", "axc a/c"),
        ("a[!b]c", "axc", "abc a/c"),
        ("a[^b]c", "axc", "abc"),
        ("a[]x]c", "a]c axc", "ac"),
        ("a[[:digit:]_]c", "a7c a_c", "abc"),
        (r"\#a", "#a", "a"),
        (r"\!a", "!a", "a"),
        (r"a\*", "a*", "ab"),
        ("a  ", "a", "a  "),
        (r"a\ ", "a\N{SPACE}", "a"),
        ("a\r", "a", "b"),
        ("a.b+(c)", "a.b+(c)", "axb+(c) a.bb(c)"),
    ],
)
def test_pattern(pattern: str, ignores: str, keeps: str) -> None:
    read = gitignore.parse("/r", [pattern])

    def verdict(path: str) -> bool | None:
        return read.verdict("/r/" + path.removesuffix("/"), path.endswith("/"))

    ignored = [ignores] if ignores.endswith(" ") else ignores.split(" ")
    kept = [keeps] if keeps.endswith(" ") else keeps.split(" ")
    assert {path: verdict(path) for path in ignored} == dict.fromkeys(ignored, True)
    assert {path: verdict(path) for path in kept} == dict.fromkeys(kept)


@pytest.mark.parametrize("line", ["", "   ", "# a", "!", "/", "//", "a[b", "[[:nosuch:]]", "[z-a]", "\\"])
def test_what_is_no_pattern_ignores_nothing(line: str) -> None:
    assert gitignore.parse("/r", [line]).verdict("/r/a", False) is None


@pytest.mark.parametrize(
    ("pattern", "covered", "kept"),
    [
        ("scripts", "scripts/a.py x/scripts/deep/a.py", "a.py scripts.py"),
        ("scripts/", "scripts/a.py x/scripts/a.py", "scripts x/scripts"),
        ("/x/scripts", "x/scripts/deep/a.py", "y/x/scripts/a.py x/a.py"),
        ("a.py", "a.py x/a.py ../a.py", "x/b.py"),
        (".", "", "a.py x/a.py /x/a.py"),
        ("!a.py", "", "a.py x/a.py"),
    ],
)
def test_a_file_is_covered_by_the_directories_above_it(pattern: str, covered: str, kept: str) -> None:
    read = gitignore.parse("", [pattern])
    assert {path: read.covers(path) for path in covered.split()} == dict.fromkeys(covered.split(), True)
    assert {path: read.covers(path) for path in kept.split()} == dict.fromkeys(kept.split(), False)


def test_the_last_pattern_that_matches_decides_and_the_nearest_file_before_it() -> None:
    outer = gitignore.parse("/r", ["*", "!*/", "!*.py", "b.py"])
    inner = gitignore.parse("/r/x", ["!b.py"])
    assert outer.verdict("/r/x", True) is False
    assert outer.verdict("/r/x/a.py", False) is False
    assert outer.verdict("/r/x/a.txt", False) is True
    assert gitignore.ignored("/r/b.py", False, (inner, outer))
    assert not gitignore.ignored("/r/x/b.py", False, (inner, outer))
    assert inner.verdict("/r/y/b.py", False) is None


def test_a_mark_at_the_start_of_the_file_and_broken_text_are_no_obstacle(tmp_path: os.PathLike[str]) -> None:
    with open(os.path.join(tmp_path, ".gitignore"), "wb") as stream:
        stream.write(b"\xef\xbb\xbfa.py\r\ncaf\xe9.py\n")
    [ignore] = gitignore.read(os.fspath(tmp_path))
    assert ignore.verdict(os.path.join(tmp_path, "a.py"), False)
    assert ignore.verdict(os.path.join(tmp_path, os.fsdecode(b"caf\xe9.py")), False)
    assert gitignore.read(os.path.join(tmp_path, "gone")) == ()
