"""The Python in a Jupyter notebook: its code cells in order as one text, with the cell of each line.

What only IPython understands is replaced in place, so that lines keep their numbers and code keeps its columns: cells
of another language are emptied, magics and shell lines become ``pass`` or an unknown call, and a statement that is
timed stays. Sources: the Jupyter notebook format 4 (nbformat, ``notebook_format/v4``); IPython's
``core/inputtransformer2.py``; the list of magics that hold Python is that of ruff (``ruff_notebook/src/cell.rs``).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping

from promptlint.span import Cell

SUFFIX = ".ipynb"

_PYTHON_MAGICS = frozenset(("capture", "prun", "pypy", "python", "python3", "time", "timeit"))
_TIMERS = re.compile(r"%(?:time|timeit|prun|memit|mprun|lprun)[ \t]+(?:-\w+[ \t]*\d*[ \t]+)*")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_AUTOMATIC = r"(?:pip3?|conda|mamba|cat|cd|cp|ls|mkdir|mv|rm)[ \t]+[\w./~-]"
_SUSPECT = re.compile(rf"^[ \t]*(?:[%!?,;/]|{_AUTOMATIC})|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)
_COMMAND = re.compile(rf"([ \t]*){_AUTOMATIC}.*")
_ESCAPED = re.compile(r"([ \t]*)([%!?,;/].*)")
_ASSIGNED = re.compile(r"([ \t]*[\w.,\[\] \t]+=[ \t]*)([%!].*)")
_HELP = re.compile(r"([ \t]*)%*[\w.*]+\?{1,2}[ \t]*")
_TOKEN = re.compile(
    r"(?P<comment>\#[^\r\n]*)"
    r'|(?P<string>"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\r\n]|\\.)*+"?|\'(?:[^\'\\\r\n]|\\.)*+\'?)'
    r"|(?P<joined>\\(?:\r\n|\r|\n))"
    r"|(?P<newline>\r\n|\r|\n)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|[^\#\"'\\\r\n()\[\]{}]+|.",
    re.DOTALL,
)


class NotANotebook(ValueError):
    """A file that is no notebook, or one of a format that nobody writes any more; the message says which."""


def code(data: bytes) -> tuple[str, tuple[Cell, ...]]:
    """The Python of a notebook and its code cells; both are empty for a notebook of another language.

    :raises NotANotebook: when the bytes are no notebook of format 4
    """
    if not data.strip():
        return "", ()  # as editors make it
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotANotebook(f"not a notebook: not UTF-8 (byte 0x{data[error.start]:02x})") from None
    except json.JSONDecodeError as error:
        raise NotANotebook(f"not a notebook: no valid JSON ({error.msg} at line {error.lineno})") from None
    except (RecursionError, ValueError):
        raise NotANotebook("not a notebook: no valid JSON") from None
    if not isinstance(book, Mapping) or not isinstance(book.get("cells"), list):
        old = isinstance(book, Mapping) and "worksheets" in book
        raise NotANotebook(
            "a notebook of format 3; open and save it in a current Jupyter"
            if old
            else 'not a notebook: there is no list "cells" in it'
        )
    texts: list[str] = []
    cells: list[Cell] = []
    line = 1
    for number, cell in enumerate(book["cells"] if _is_python(book) else (), 1):
        source = _source(cell)
        if source is None:
            continue
        text = _plain(source)
        length = len(_LINE_BREAK.split(text))
        texts.append(text)
        cells.append(Cell(number, line, line + length - 1))
        line += length
    return "\n".join(texts), tuple(cells)


def _is_python(book: Mapping[str, object]) -> bool:
    """Whether the kernel runs Python, or what it takes for Python (Coconut), as it does where a notebook is silent."""
    told = book.get("metadata")
    kind = _item(_item(told, "language_info"), "mimetype")
    if isinstance(kind, str) and kind.startswith("text/x-python"):
        return True
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        named = _item(_item(told, table), key)
        if isinstance(named, str):
            return named.lower().startswith(("python", "ipython"))
    return True


def _item(table: object, key: str) -> object:
    return table.get(key) if isinstance(table, Mapping) else None


def _source(cell: object) -> str | None:
    """The text of a code cell."""
    if _item(cell, "cell_type") != "code":
        return None
    language = _item(_item(_item(cell, "metadata"), "vscode"), "languageId")
    if isinstance(language, str) and language != "python":
        return None
    source = _item(cell, "source")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    # A lone surrogate can be written in JSON, and nowhere else.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else None


def _plain(text: str) -> str:
    """A cell as Python that has the same lines."""
    first = text.lstrip()
    if first.startswith("%%"):
        magic = re.match(r"%%(\w*)", first)
        assert magic is not None
        if magic[1] not in _PYTHON_MAGICS:
            return re.sub(r"[^\r\n]+", "", text)
        head = len(text) - len(first)
        end = _LINE_BREAK.search(text, head)
        text = text[:head] + (text[end.start() :] if end else "")
    if _SUSPECT.search(text) is None:
        return text
    return "".join(_statements(text))


def _statements(text: str) -> Iterator[str]:
    """The text piece by piece; at the start of each statement, what is IPython's own is replaced."""
    at, depth, begins = 0, 0, True
    while at < len(text):
        if begins and depth == 0:
            end = _end_of_line(text, at)
            line = text[at:end]
            replaced = _python(line)
            if replaced is not None:
                breaks = _LINE_BREAK.findall(line)
                yield replaced + "".join(breaks)
                at = end
                begins = False
                continue
        token = _TOKEN.match(text, at)
        assert token is not None
        depth = max(0, depth + (token.lastgroup == "open") - (token.lastgroup == "close"))
        begins = token.lastgroup == "newline"
        yield token[0]
        at = token.end()


def _end_of_line(text: str, at: int) -> int:
    """Where a line ends, and the lines that it is continued on; IPython joins lines before it reads an escape."""
    while True:
        found = _LINE_BREAK.search(text, at)
        if found is None:
            return len(text)
        if not text[at : found.start()].endswith("\\"):
            return found.start()
        at = found.end()


def _python(line: str) -> str | None:
    """What stands in for a line that is no Python, without its line breaks."""
    joined = re.sub(r"\\(?:\r\n|\r|\n)", " ", line)
    if found := _ASSIGNED.fullmatch(joined):
        how = "getoutput" if found[2][0] == "!" else "run_magic"
        return f"{found[1]}get_ipython().{how}({found[2][1:]!r})"
    if found := _ESCAPED.fullmatch(joined):
        timer = _TIMERS.match(found[2])
        if timer is not None and _parses(found[2][timer.end() :]):
            return found[1] + "0;" + " " * (timer.end() - 2) + found[2][timer.end() :]
        return f"{found[1]}pass"
    found = _HELP.fullmatch(joined) or _COMMAND.fullmatch(joined)
    return f"{found[1]}pass" if found and not _parses(joined) else None


def _parses(statement: str) -> bool:
    """Whether a text is one simple statement."""
    try:
        body = ast.parse(statement.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return len(body) == 1 and not hasattr(body[0], "body")
