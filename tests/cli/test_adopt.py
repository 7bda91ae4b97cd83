"""Starting on an old code base: a baseline, comments for what is known, and changed lines only."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from promptlint import cli, output
from promptlint.answers import changes, ignores
from promptlint.files.source import Unreadable, read
from promptlint.span import Span, Step
from tests.cli.conftest import Run
from tests.cli.samples import finding

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "chat_service"


@pytest.fixture
def service(folder: Path) -> Path:
    """A project with findings of many kinds, in the working directory."""
    return Path(shutil.copytree(EXAMPLE, folder / "chat_service", ignore=shutil.ignore_patterns("__pycache__")))


def rules(run: Run, *options: str) -> list[str]:
    done = run("check", "--output-format", "json", *options)
    assert done.err == ""
    return [found["rule"] for found in json.loads(done.out)["findings"]]


# -- baseline ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["sarif", "json", "jsonl"])
def test_a_baseline_hides_what_it_knows_wherever_it_has_moved(run: Run, service: Path, format: str) -> None:
    known = len(rules(run))
    assert run("check", "--output-format", format, "--output-file", "old", "--exit-zero").status == 0
    for file in service.rglob("*.py"):
        file.write_text("\n" * 100 + file.read_text("utf-8"), "utf-8")
    done = run("check", "--baseline", "old")
    assert (done.status, done.err) == (0, "")
    assert f" {known} findings of the baseline old." in done.out


def test_a_new_finding_is_shown_beside_a_baseline(run: Run, service: Path) -> None:
    run("check", "--output-format", "sarif", "--output-file", "old", "--ignore", "ttl-order", "--exit-zero")
    assert rules(run, "--baseline", "old") == ["ttl-order"]


def test_an_empty_report_is_a_baseline(run: Run, service: Path) -> None:
    for format in ("sarif", "json", "jsonl"):
        run("check", "--output-format", format, "--output-file", "old", "--select", "syntax-error")
        assert rules(run, "--baseline", "old") == rules(run)


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "3",
        '{"version": 2, "findings": []}',
        '{"runs": [{"tool": {"driver": {"name": "other"}}, "results": []}]}',
        '{"runs": [{"tool": {"driver": {"name": "promptlint"}}, "results": [{"ruleId": "x"}]}]}',
        '{"version": 1, "findings": [{"fingerprint": null}]}',
        '{"fingerprint": "a"}\n{"other": 1}',
    ],
)
def test_what_is_no_report_of_ours_is_no_baseline(run: Run, service: Path, text: str) -> None:
    Path("old").write_text(text)
    done = run("check", "--baseline", "old")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("promptlint: error: the baseline old is no report of promptlint: write one with")


def test_a_missing_baseline_is_named(run: Run, service: Path) -> None:
    assert run("check", "--baseline", "gone") == (
        2,
        "",
        "promptlint: error: cannot read the baseline gone: No such file or directory\n",
    )


# -- comments ---------------------------------------------------------------------------------------------------


def test_every_finding_can_be_answered_by_a_comment(run: Run, service: Path) -> None:
    found = rules(run)
    done = run("check", "--add-ignore=not before the release")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{len(found)} findings answered by a comment in ")
    again = json.loads(run("check", "--output-format", "json").out)["findings"]
    assert sorted(f["rule"] for f in again) == sorted(found) and all(f["suppressed"] for f in again)
    assert run("check").status == 0
    before = {file: file.read_bytes() for file in service.rglob("*.py")}
    assert run("check", "--add-ignore").out == "0 findings answered by a comment.\n"
    assert {file: file.read_bytes() for file in service.rglob("*.py")} == before


def test_a_path_behind_a_bare_add_ignore_is_a_path(run: Run, service: Path) -> None:
    assert "answered by a comment" in run("check", "--add-ignore", "chat_service").out
    assert "ignore[ttl-order]\n" in (service / "llm.py").read_text("utf-8")


@pytest.mark.parametrize("reason", ["see # 5", "two\nlines"])
def test_a_reason_that_would_not_be_read_is_refused(run: Run, service: Path, reason: str) -> None:
    done = run("check", f"--add-ignore={reason}")
    assert done.status == 2 and "the reason is one line without #" in done.err


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("x = now()\n", 1, "x = now()  # promptlint: ignore[volatile-time] why\n"),
        ("x = now()", 1, "x = now()  # promptlint: ignore[volatile-time] why"),
        (
            "x = now()  # noqa\r\ny = 1\r\n",
            1,
            "x = now()  # noqa  # promptlint: ignore[volatile-time] why\r\ny = 1\r\n",
        ),
        (
            "x = now()  # promptlint: ignore[volatile-user] known\n",
            1,
            "x = now()  # promptlint: ignore[volatile-user, volatile-time] known\n",
        ),
        (
            "# promptlint: ignore[volatile-user] known\nx = now()\n",
            2,
            "# promptlint: ignore[volatile-user, volatile-time] known\nx = now()\n",
        ),
        (
            'def f():\n    return ask(f"""\né 日本 {now()}\n""", 1)\n',
            3,
            'def f():\n    return ask(f"""\né 日本 {now()}\n""", 1)  # promptlint: ignore[volatile-time] why\n',
        ),
        (
            'def f():\n    x = """\na\n""" + \\\n        b\n',
            3,
            'def f():\n    # promptlint: ignore[volatile-time] why\n    x = """\na\n""" + \\\n        b\n',
        ),
        (
            'x = """\na\n""" + """\nb\n"""\n',
            3,
            'x = """\na\n""" + """\nb\n"""  # promptlint: ignore[volatile-time] why\n',
        ),
        ("x = 1 + \\\n    now() + \\\n    2\n", 2, None),
        ("def f(:\n", 1, None),
    ],
)
def test_where_a_comment_goes(folder: Path, before: str, line: int, after: str | None) -> None:
    Path("app.py").write_bytes(before.encode())
    here = finding(line=line, site=finding(line=line).site)
    file = read(Path("app.py"))
    assert not isinstance(file, Unreadable)
    change = ignores.insertion(file, here.primary.line, here.rule, "why")
    assert (None if change is None else ignores.inserted(file, change).text) == after


def test_findings_in_one_string_share_a_comment(folder: Path) -> None:
    Path("app.py").write_text('a = f"""\n{x}\n{y}\n"""\nb = 1\n')
    found = [finding(line=2), finding(line=3, rule="volatile-random"), finding(line=5)]
    assert ignores.add(found, "").answered == 3
    assert Path("app.py").read_text() == (
        'a = f"""\n{x}\n{y}\n"""  # promptlint: ignore[volatile-time, volatile-random]\n'
        "b = 1  # promptlint: ignore[volatile-time]\n"
    )


def test_lines_put_in_move_the_findings_below(folder: Path) -> None:
    text = 'a = """\nx\n""" + \\\n    b\nc = """\ny\n""" + \\\n    d\n'
    Path("app.py").write_text(text)
    assert ignores.add([finding(line=2), finding(line=6)], "").answered == 2
    comment = "# promptlint: ignore[volatile-time]\n"
    assert Path("app.py").read_text() == comment + text.replace("c = ", comment + "c = ")


def test_an_encoding_is_kept_or_the_reason_refused(folder: Path) -> None:
    data = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    Path("app.py").write_bytes(data)
    ignores.add([finding(line=2)], "déjà vu")
    assert Path("app.py").read_bytes() == data[:-1] + "  # promptlint: ignore[volatile-time] déjà vu\n".encode(
        "latin-1"
    )
    with pytest.raises(ignores.IgnoreError, match="cannot hold the reason"):
        ignores.add([finding(line=1)], "日本")


def test_syntax_errors_cannot_be_answered(folder: Path) -> None:
    Path("app.py").write_text("def f(:\n")
    broken = finding(rule="syntax-error")
    assert ignores.add([broken], "").left == (broken,)


# -- changed lines ----------------------------------------------------------------------------------------------


def git(*args: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(("git", *identity, *args), check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(service: Path) -> Path:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    return service


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_nothing_is_shown_where_nothing_changed(run: Run, repository: Path) -> None:
    done = run("check", "--changed-since", "HEAD")
    assert done.status == 0
    assert "findings off the lines changed since HEAD" in done.out


def test_a_change_at_the_origin_shows_the_finding_in_another_file(run: Run, repository: Path) -> None:
    found = {f["rule"]: f for f in json.loads(run("check", "--output-format", "json").out)["findings"]}
    origin = found["unordered-tools"]["origin"]
    file = Path(origin["path"])
    lines = file.read_text("utf-8").splitlines(keepends=True)
    lines[origin["line"] - 1] = lines[origin["line"] - 1].rstrip() + "  # looked at\n"
    file.write_text("".join(lines), "utf-8")
    git("commit", "-qam", "second")
    assert rules(run, "--changed-since", "HEAD~1") == ["unordered-tools"]
    assert rules(run, "--changed-since", "HEAD") == []


def test_changes_of_the_other_branch_do_not_count(run: Run, repository: Path) -> None:
    git("checkout", "-qb", "feature")
    git("checkout", "-q", "main")
    edit(repository / "history.py", "\n", "\n# main went on\n")
    git("commit", "-qam", "on main")
    git("checkout", "-q", "feature")
    assert rules(run, "--changed-since", "main") == []


def test_a_file_that_git_does_not_know_is_new(run: Run, repository: Path) -> None:
    before = (repository / "llm.py").read_text("utf-8")
    git("rm", "-q", "--cached", "chat_service/llm.py")
    git("commit", "-qm", "without")
    assert {"missing-breakpoint", "ttl-order"} <= set(rules(run, "--changed-since", "HEAD"))
    assert (repository / "llm.py").read_text("utf-8") == before


@pytest.mark.parametrize(
    ("line", "last", "touched"), [(4, 4, False), (5, 5, True), (1, 9, True), (6, 6, True), (8, 8, False)]
)
def test_stretches(folder: Path, line: int, last: int, touched: bool) -> None:
    Path("app.py").write_text("\n")
    changed = changes.Changes({os.path.realpath("app.py"): ((5, 7),)})
    far = finding(line=90, site=finding(path="far.py").site)
    span = Span("app.py", line, 1, last, 2)
    assert changed.touch(far) is False
    flow = (Step(span, "here"),)
    for made in (replace(far, primary=span), replace(far, origin=span), replace(far, flow=flow)):
        assert changed.touch(made) is touched


def test_removed_lines_and_odd_names(run: Run, folder: Path) -> None:
    names = ["plain.py", 'quote".py', "tab\t.py", "日本 é.py"]
    for name in names:
        Path(name).write_text("1\n2\n++ 3\n4\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    for name in names:
        Path(name).write_text("1\n2\n4\n++ b/other.py\n")
    found = changes.since("HEAD", Path("."))
    assert dict(found.lines) == {os.path.realpath(name): ((2, 3), (4, 4)) for name in names}


def test_why_changes_cannot_be_told(run: Run, service: Path) -> None:
    assert "not a git repository" in run("check", "--changed-since", "main").err
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    assert 'git knows no revision "gone"' in run("check", "--changed-since", "gone").err
    assert "takes a git revision" in run("check", "--changed-since=--output=x").err
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-qm", "unrelated")
    done = run("check", "--changed-since", "main")
    assert (done.status, done.out) == (2, "")
    assert "no common ancestor of main and HEAD is here: fetch more history" in done.err


# -- the page about it ------------------------------------------------------------------------------------------


def test_the_page_names_every_format_for_programs_and_options_that_exist() -> None:
    page = (EXAMPLE.parents[1] / "docs" / "ci.md").read_text("utf-8")
    assert {name for name in output.FORMATS if f"`{name}`" in page} == set(output.FORMATS) - {"full", "concise", "html"}
    known = {option for parameter in cli.cli.commands["check"].params for option in parameter.opts}
    named = set(re.findall(r"(?<=[\s`])--[a-z-]+", page.replace("-reporter", "")))
    assert named and named <= known
