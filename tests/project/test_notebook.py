"""Notebooks: cells are read in order, places count in the cell, and what is IPython's own does no harm."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli
from promptlint.files.notebook import NotANotebook, code

TEXT = {"cell_type": "markdown", "metadata": {}, "source": ["# About it\n"]}
SETUP = "%pip install anthropic\n!ls -la | grep it's\nfrom datetime import datetime\nfrom anthropic import Anthropic\n"
PROMPT = (
    'MANUAL = "Keep the chain clean and oil it once a month. " * 300\n\nsystem = f"It is {datetime.now()}. {MANUAL}"'
)
ASK = """client = Anthropic()
history = []
while True:
    history.append({"role": "user", "content": input()})
    system = f"It is {datetime.now()}. {MANUAL}"
    reply = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=100, system=[{"type": "text", "text": system,
        "cache_control": {"type": "ephemeral"}}], messages=history)
    history.append({"role": "assistant", "content": reply.content})
"""


def book(*cells: str | dict[str, Any], **metadata: Any) -> bytes:
    made = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": c.splitlines(True)}
        if isinstance(c, str)
        else c
        for c in cells
    ]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def python(*cells: str) -> str:
    text, _ = code(book(*cells))
    ast.parse(text)
    return text


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.run(args)
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lines_and_columns_stay() -> None:
    text, cells = code(book("%matplotlib inline\nx = 1\n", TEXT, "y = 2"))
    assert text == "pass\nx = 1\n\ny = 2"
    assert [(c.number, c.first, c.last) for c in cells] == [(1, 1, 3), (3, 4, 4)]


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("%time reply = ask(\n    1)", None),
        ("%time reply = ask(1)", "0;    reply = ask(1)"),
        ("%timeit -n 1 -r1 ask()", "0;               ask()"),
        ("%%time\nask()", "\nask()"),
        ("%%bash\necho $HOME\n", "\n\n"),
        ("files = !ls *.md", "files = get_ipython().getoutput('ls *.md')"),
        ("out = %sql select 1", "out = get_ipython().run_magic('sql select 1')"),
        ("for f in x:\n    !cat {f}\n", "for f in x:\n    pass\n"),
        ("!curl -s \\\n  -o a.txt \\\n  b\nx = 1", "pass\n\n\nx = 1"),
        ("client.messages.create?\n?client\nclient??", "pass\npass\npass"),
        ("%cd 'it is\nx = 1", "pass\nx = 1"),
        ('text = """\n%d files\n!important\nwhat?\n"""', None),
        ("total = (10\n% 3)", None),
        ('name = f"{a = !r}"\nb = a \\\n% 2', None),
        ("await ask()", None),
        ("pip install anthropic --quiet\ncd ../data\nls -l", "pass\npass\nls -l"),
        ("pip = install(1)\ncat .name", "pip = install(1)\ncat .name"),
        ("x = 1  # is it = !so or\ny = 'why?'", None),
    ],
)
def test_what_is_no_python(cell: str, meant: str | None) -> None:
    if meant is None and cell.startswith("%"):  # a magic speaks of its own line only
        assert code(book(cell))[0].startswith("pass\n")
        return
    assert python(cell) == (cell if meant is None else meant)


def test_finding_counts_in_its_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.ipynb").write_bytes(book(TEXT, SETUP, TEXT, PROMPT, ASK))
    status, out, err = run(capsys, "check", ".", "--output-format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (status, err, finding["rule"]) == (1, "", "volatile-time")
    assert (finding["path"], finding["cell"], finding["line"], finding["column"]) == ("notes.ipynb", 5, 5, 23)
    assert (finding["end_line"], finding["origin"]["line"], finding["request"]["line"]) == (5, 5, 6)
    assert {place["cell"] for place in (finding["origin"], finding["request"], *finding["flow"])} == {5}
    _, out, _ = run(capsys, "check", "--output-format", "concise")
    assert out.startswith("notes.ipynb:cell 5:5:23: PL101 volatile-time [error]")
    _, out, _ = run(capsys, "check")
    assert "notes.ipynb:cell 5:5:23 error[volatile-time]" in out
    assert '5 |     system = f"It is {datetime.now()}. {MANUAL}"' in out
    assert "sent at: notes.ipynb:cell 5:6" in out
    assert "1 | client = " not in out
    _, out, _ = run(capsys, "check", "--output-format", "github")
    assert out.startswith(
        "::error file=notes.ipynb,line=1,col=1,endLine=1,endColumn=1,title=volatile-time::cell 5, line 5: "
    )
    _, out, _ = run(capsys, "check", "--output-format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert "In notes.ipynb:cell 5:5." in result["message"]["text"]
    _, out, _ = run(capsys, "check", "--output-format", "gitlab")
    (issue,) = json.loads(out)
    assert issue["location"] == {"path": "notes.ipynb", "lines": {"begin": 1, "end": 1}}
    assert issue["description"].startswith("cell 5, line 5: ")
    _, out, _ = run(capsys, "check", "--output-format", "rdjson")
    (diagnostic,) = json.loads(out)["diagnostics"]
    assert diagnostic["location"]["range"] == {"start": {"line": 1}}
    _, out, _ = run(capsys, "check", "--output-format", "junit")
    assert 'name="volatile-time at cell 5:5:23" classname="notes.ipynb" file="notes.ipynb" line="1"' in out
    _, out, _ = run(capsys, "map")
    assert "notes.ipynb:cell 5:6 anthropic" in out


def test_kernel_of_a_language_that_python_is_part_of(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coconut = {"name": "coconut", "mimetype": "text/x-python3", "file_extension": ".coco"}
    (here / "notes.ipynb").write_bytes(book(SETUP, "range(3) |> list |> print", PROMPT, ASK, language_info=coconut))
    _, out, _ = run(capsys, "check", ".", "--output-format", "json")
    assert [(f["rule"], f["cell"]) for f in json.loads(out)["findings"]] == [("syntax-error", 2), ("volatile-time", 4)]


def test_frame_of_several_cells(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ASK.replace('    system = f"It is {datetime.now()}. {MANUAL}"\n', "    system = build()\n")
    build = 'def build():\n    now = datetime.now()\n    return f"It is {now}. {MANUAL}"\n'
    (here / "notes.ipynb").write_bytes(book(SETUP + PROMPT, build, ask))
    _, out, _ = run(capsys, "check")
    assert "notes.ipynb:cell 2:3:" in out
    assert "notes.ipynb:cell 2:2: " in out
    assert "| now = datetime.now()" in out
    assert "notes.ipynb:cell 3:" in out


def test_comments_answer_in_their_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ignored = ASK.replace('{MANUAL}"\n', '{MANUAL}"  # promptlint: ignore[volatile-time] shown on purpose\n')
    (here / "notes.ipynb").write_bytes(book(SETUP, PROMPT, ignored))
    assert run(capsys, "check")[0] == 0
    (here / "notes.ipynb").write_bytes(book(SETUP, TEXT, "x = 1\ny = 2  # promptlint: ignore[volatile-time] no"))
    _, out, _ = run(capsys, "check", "--output-format", "concise")
    assert out.startswith("notes.ipynb:cell 3:2:8: PL901 unused-ignore")


def test_broken_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.ipynb").write_bytes(book("x = 1\n", TEXT, "y = 2\ndef f(:\n    pass"))
    status, out, _ = run(capsys, "check", "notes.ipynb", "--output-format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (status, finding["code"], finding["cell"], finding["line"]) == (1, "PL900", 3, 2)


@pytest.mark.parametrize("broken", ["sudo apt-get install ffmpeg", 'text = """never closed', "print((1, 2)"])
def test_other_cells_count_without_a_broken_one(here: Path, capsys: pytest.CaptureFixture[str], broken: str) -> None:
    (here / "notes.ipynb").write_bytes(book(SETUP, broken, TEXT, PROMPT, ASK))
    _, out, err = run(capsys, "check", "notes.ipynb", "--output-format", "json")
    found = [(f["rule"], f["cell"], f["line"]) for f in json.loads(out)["findings"]]
    assert (err, found) == ("", [("syntax-error", 2, 1), ("volatile-time", 5, 5)])
    _, out, _ = run(capsys, "check", "notes.ipynb")
    assert "the other cells are analysed without it" in out
    assert "2 problems" in out
    (here / "notes.ipynb").write_bytes(book(broken))
    _, out, _ = run(capsys, "check", "notes.ipynb", "--output-format", "json")
    assert [f["rule"] for f in json.loads(out)["findings"]] == ["syntax-error"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{not json", "not a notebook: no valid JSON (Expecting property name"),
        (b"[]", 'not a notebook: there is no list "cells" in it'),
        (b'{"cells": 1}', 'not a notebook: there is no list "cells" in it'),
        (b'{"worksheets": []}', "a notebook of format 3"),
        (b"\xff\xfe{}", "not UTF-8 (byte 0xff)"),
        (b"[" * 100_000, "not a notebook: no valid JSON"),
    ],
)
def test_no_notebook(here: Path, capsys: pytest.CaptureFixture[str], data: bytes, said: str) -> None:
    with pytest.raises(NotANotebook):
        code(data)
    (here / "bad.ipynb").write_bytes(data)
    status, out, err = run(capsys, "check", "bad.ipynb", "--output-format", "concise")
    assert status == 2
    assert out.startswith("bad.ipynb: not checked: ")
    assert said in out
    assert err == "promptlint: error: none of the given files could be read\n"
    (here / "good.py").write_text("x = 1\n")
    status, out, _ = run(capsys, "check", "--output-format", "json")
    assert status == 0
    assert [(e["path"], e["line"]) for e in json.loads(out)["errors"]] == [("bad.ipynb", None)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        book(),
        book("library(x) <- 1", language_info={"name": "R"}),
        book("x <- 1", kernelspec={"language": "julia"}),
        book({"cell_type": "code", "metadata": {"vscode": {"languageId": "sql"}}, "source": "select 1"}),
        book({"cell_type": "code", "source": None}, {"cell_type": "code"}, {}),
        b'\xef\xbb\xbf{"cells": []}',
        b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}, 3, null], "metadata": []}',
    ],
)
def test_nothing_to_report(here: Path, capsys: pytest.CaptureFixture[str], data: bytes) -> None:
    (here / "notes.ipynb").write_bytes(data)
    assert run(capsys, "check", "notes.ipynb", "--output-format", "concise") == (0, "", "")


def test_walk(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a/one.ipynb", "b/two.ipynb", ".ipynb_checkpoints/one-checkpoint.ipynb", "ignored/three.ipynb"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(book(SETUP, PROMPT, ASK))
    (here / ".git").mkdir()
    (here / ".gitignore").write_text("ignored\n")
    (here / "pyproject.toml").write_text('[tool.promptlint]\nexclude = ["b/*.ipynb"]\n')

    def seen(*args: str) -> list[str]:
        _, out, _ = run(capsys, "check", "--output-format", "json", *args)
        return [f["path"] for f in json.loads(out)["findings"]]

    assert seen() == ["a/one.ipynb"]
    assert seen("b/two.ipynb") == ["b/two.ipynb"]


def test_standard_input(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return run(capsys, "check", "-", "--stdin-filename", "notes.ipynb", "--output-format", "concise")

    status, out, _ = piped(book(SETUP, PROMPT, ASK))
    assert (status, out[:24]) == (1, "notes.ipynb:cell 3:5:23:")
    status, _, err = piped(b"{")
    assert (status, err[:62]) == (2, "promptlint: error: notes.ipynb: not a notebook: no valid JSON ")


def test_why_not_takes_a_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.ipynb").write_bytes(book(SETUP, TEXT, PROMPT, ASK))
    status, out, _ = run(capsys, "map", "--why-not", "notes.ipynb:cell 4:6")
    assert status == 0
    assert out.startswith("notes.ipynb:cell 4:6: a request to anthropic")
    _, out, _ = run(capsys, "map", "--why-not", "notes.ipynb:3:1")
    assert "notes.ipynb:cell 3:1: no request is known here: there is no call on this line" in out
    assert "requests in this file start on line cell 4:6" in out
    for place in ("notes.ipynb:6", "notes.ipynb:cell 2:1", "notes.ipynb:cell 4:99", "notes.ipynb:cell x:1"):
        status, _, err = run(capsys, "map", "--why-not", place)
        assert (status, err) == (
            2,
            "promptlint: error: --why-not takes a code cell and a line in it of a notebook,"
            ' such as "notes.ipynb:cell 4:1"\n',
        )


def test_a_notebook_is_no_module(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "prompts.ipynb").write_bytes(book("from datetime import datetime\nMANUAL = 'It is ' * 3"))
    (here / "prompts.py").write_text('MANUAL = "Keep the chain clean and oil it once a month. " * 300\n')
    start = "from datetime import datetime\nfrom anthropic import Anthropic\nfrom prompts import MANUAL\n"
    (here / "notes.ipynb").write_bytes(book(start, ASK))
    _, out, _ = run(capsys, "check", "--output-format", "json")
    (finding,) = json.loads(out)["findings"]
    assert finding["tokens_lost"]["low"] > 2000


def test_columns_count_code_points(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.ipynb").write_bytes(book("# é", SETUP, PROMPT, ASK.replace("It is {", "Às {")))
    _, out, _ = run(capsys, "check", "--output-format", "concise")
    assert out.startswith("notes.ipynb:cell 4:5:20:")
