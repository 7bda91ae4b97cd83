"""Python newer than the running interpreter: the syntax tree that an older ``ast`` can hold.

What it knows (source: the grammar of CPython 3.12 to 3.15): type parameters and ``type`` aliases (PEP 695, 696),
f-strings that hold their own quotes, backslashes, comments and line ends (PEP 701), template strings (PEP 750),
``except`` without parentheses (PEP 758), lazy imports (PEP 810).

How: every such construct is overwritten in place, byte for byte, by older syntax, so that everything around it keeps
its line and column. What older syntax cannot say at all becomes a hole: a placeholder of the same extent, whose own
tree is read apart and put where the placeholder was parsed.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from bisect import bisect_right
from itertools import groupby
from typing import NamedTuple, TypeVar

_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_NO_BREAK = re.compile(rb"[^\r\n]")
_TOKEN = re.compile(
    rb"(?P<skip>[ \t\f]+|\\(?:\r\n|\r|\n)|\#[^\r\n]*)"
    rb"|(?P<newline>\r\n|\r|\n)"
    rb"|(?P<prefix>(?:[bB][rR]?|[rR][bBfFtT]?|[uU]|[fFtT][rR]?)?)(?P<string>\"\"\"|'''|\"|')"
    rb"|(?P<word>[\w\x80-\xff]+)"
    rb"|(?P<operator>[!=<>]=|.)",
    re.DOTALL,
)
_STRING_REST = {
    b'"': re.compile(rb'[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"', re.DOTALL),
    b"'": re.compile(rb"[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'", re.DOTALL),
    b'"""': re.compile(rb'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""', re.DOTALL),
    b"'''": re.compile(rb"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
}
"""Without possessive quantifiers, which Python 3.11.0 to 3.11.4 get wrong (gh-106052)."""
_PLAIN = re.compile(rb"[^\\{}\"'\r\n]*")
_NAMED_ESCAPE = re.compile(rb"\\N\{[^{}\r\n]*\}")
_ESCAPE = re.compile(rb"\\(?:\r\n|[^{}])?", re.DOTALL)
_REESCAPE = re.compile(r'\\.|"|\n', re.DOTALL)
_REESCAPED = {'"': '\\"', "\n": "\\n"}
_CONVERSION = re.compile(rb"!([sra])[ \t\f\r\n]*")
_DEBUG = re.compile(rb"=(?:[ \t\f\r\n]|#[^\r\n]*)*")
_COMMENT = re.compile(rb"#[^\r\n]*")
_LAZY = re.compile(rb"lazy[ \t]+(import|from)\b")
_CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}
_DEEPEST = 20
"""Fields inside fields; every level is parsed once more as part of the level around it."""

_Node = TypeVar("_Node", bound=ast.expr)


class _Token(NamedTuple):
    """A token of code; the text of a string is its opening quote."""

    start: int
    end: int
    text: bytes


def downlevel(text: str) -> ast.Module | SyntaxError | None:
    """The tree of a text that ``ast.parse`` refuses, if newer syntax is all that is wrong with it.

    Type parameters are left out, ``type X = Y`` reads as ``X = Y``, a template string as an f-string. Positions are
    those of the text. ``None``: the text holds nothing newer. A ``SyntaxError``: what is wrong with the text besides.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = _Reader(text.encode())
            reader.read()
            return reader.module()
    except (ValueError, RecursionError, MemoryError):
        return None


class _Reader:
    """Reads a text once, from left to right; ``out`` is its older form so far. All offsets count bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.out = bytearray(data)
        self.lines = [0, *(match.end() for match in _LINE_BREAK.finditer(data))]
        self.holes: dict[int, ast.expr] = {}
        self.aliases: set[int] = set()
        self.depth = 0
        self.sure = 0

    def read(self) -> None:
        """Put older forms for newer ones, as far as the text can be read; ``ast.parse`` tells what is wrong there."""
        try:
            self.code(0, inside=False)
        except SyntaxError:
            self.out[self.sure :] = self.data[self.sure :]

    def module(self) -> ast.Module | SyntaxError | None:
        """The tree of what ``out`` became."""
        if self.out == self.data:
            return None
        try:
            tree = ast.parse(self.out.decode())
        except SyntaxError as error:
            return self._moved(error)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and self._offset(node) in self.aliases:
                _, target = node.targets
                name = target.value if isinstance(target, ast.Subscript) else target
                assert isinstance(name, ast.Name)
                name.ctx = ast.Store()
                node.targets = [name]
        self._fill(tree)
        return tree

    def code(self, at: int, *, inside: bool) -> int:
        """Read code to its end, or ``inside`` braces to where the expression ends; returns that offset."""
        closers: list[bytes] = []
        line: list[_Token] = []
        strings: list[tuple[_Token, list[ast.expr] | None]] = []
        while match := _TOKEN.match(self.data, at):
            start, at, kind, text = at, match.end(), match.lastgroup, match[0]
            if not inside:
                self.sure = start
            if kind == "skip" or (kind == "newline" and (closers or inside)):
                continue
            if kind == "string":
                values, at = self._string(match)
                line.append(_Token(start, at, match["string"]))
                strings.append((line[-1], values))
                continue
            self._join(strings)
            strings = []
            if inside and not closers and text in (b"}", b"!", b":", b"="):
                return start
            if kind == "newline":
                self._statement(line)
                line = []
                continue
            if text in _CLOSING:
                closers.append(_CLOSING[text])
            elif text in (b")", b"]", b"}"):
                if not closers or closers.pop() != text:
                    raise SyntaxError("unbalanced bracket")
            line.append(_Token(start, at, text))
        if inside:
            raise SyntaxError("unexpected end of file")
        self._join(strings)
        self._statement(line)
        return at

    # Strings

    def _string(self, match: re.Match[bytes]) -> tuple[list[ast.expr] | None, int]:
        """The parts of an f-string, ``None`` for other strings, and the end."""
        prefix, quote = match["prefix"].lower(), match["string"]
        if b"f" not in prefix and b"t" not in prefix:
            rest = _STRING_REST[quote].match(self.data, match.end())
            if rest is None:
                raise SyntaxError("unterminated string")
            return None, rest.end()
        values, end = self._literal(match.end(), quote, raw=b"r" in prefix, spec=False)
        return values, end + len(quote)

    def _literal(self, at: int, quote: bytes, *, raw: bool, spec: bool) -> tuple[list[ast.expr], int]:
        """The parts of an f-string up to its closing quote, or of a format specification up to its brace."""
        data, begin = self.data, at
        values: list[ast.expr] = []
        while True:
            plain = _PLAIN.match(data, at)
            at = plain.end() if plain else at
            here, pair = data[at : at + 1], data[at : at + 2]
            ends = here == b"}" if spec else data.startswith(quote, at)
            if ends or (here == b"{" and (spec or pair != b"{{")):
                if begin < at:
                    values.append(self._at(ast.Constant(_decoded(_unpaired(data[begin:at]), raw=raw)), begin, at))
                if ends:
                    return values, at
                field, at = self._field(at, quote, raw)
                values += field
                begin = at
            elif here == b"\\":
                escape = None if raw else _NAMED_ESCAPE.match(data, at)
                escape = escape or _ESCAPE.match(data, at)
                at = escape.end() if escape else at + 1
            elif pair in (b"{{", b"}}"):
                at += 2
            elif not here or here == b"}" or (len(quote) == 1 and here in b"\r\n") or data.startswith(quote, at):
                raise SyntaxError("f-string without end")
            else:
                at += 1

    def _field(self, start: int, quote: bytes, raw: bool) -> tuple[list[ast.expr], int]:
        """A replacement field with the text that ``=`` asks for; ``start`` is at its brace."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SyntaxError("f-string nested too deeply")
        at = self.code(start + 1, inside=True)
        value = self._expression(start + 1, at)
        values: list[ast.expr] = []
        if debug := _DEBUG.match(self.data, at):
            text = self.data[start + 1 : at] + _COMMENT.sub(b"", debug[0])
            at = debug.end()
            values.append(self._at(ast.Constant(_decoded(text, raw=True)), start + 1, at))
        conversion, spec = -1, None
        if asked := _CONVERSION.match(self.data, at):
            conversion, at = asked[1][0], asked.end()
        if self.data.startswith(b":", at):
            parts, end = self._literal(at + 1, quote, raw=raw, spec=True)
            spec, at = self._at(ast.JoinedStr(_merged(parts)), at, end), end
        if not self.data.startswith(b"}", at):
            raise SyntaxError("field without end")
        if debug and conversion == -1 and spec is None:
            conversion = ord("r")
        self.depth -= 1
        return [*values, self._at(ast.FormattedValue(value, conversion, spec), start, at + 1)], at + 1

    def _join(self, strings: list[tuple[_Token, list[ast.expr] | None]]) -> None:
        """Adjacent strings, if an f-string is among them, are one f-string: one hole."""
        if all(values is None for _, values in strings):
            return
        parts: list[ast.expr] = []
        for token, values in strings:
            if values is None:
                value = ast.literal_eval(self.data[token.start : token.end].decode())
                if not isinstance(value, str):
                    raise SyntaxError("bytes beside an f-string")
                values = [self._at(ast.Constant(value), token.start, token.end)]
            parts += values
        start, end = strings[0][0].start, strings[-1][0].end
        whole = self._at(ast.JoinedStr(_merged(parts)), start, end)
        newer = [token for token, values in strings if values is not None]
        if any(len(token.text) == 1 and _LINE_BREAK.search(self.data, token.start, token.end) for token in newer):
            self._hole(start, end, whole)
            return
        # Plain strings are valid in the same places and join their neighbours.
        for token in newer:
            self._blank(token.start, token.end)
            self.out[token.start : token.start + 1 + len(token.text)] = b"u" + token.text
            self.out[token.end - len(token.text) : token.end] = token.text
        self.holes[start] = whole

    # Statements

    def _statement(self, line: list[_Token]) -> None:
        """Put older forms for the newer ones in a logical line."""
        depth, begins = 0, True
        for index, (start, _, text) in enumerate(line):
            depth += text in _CLOSING
            depth -= text in _CLOSING.values()
            if depth:
                continue
            following = _text(line, index + 2)
            if text in (b"def", b"class") and following == b"[":
                self._type_parameters(line, index + 2)
            elif begins and text == b"type" and following in (b"=", b"["):
                self._alias(line, index)
            elif begins and text == b"except":
                self._except(line, index + 1)
            elif begins and (lazy := _LAZY.match(self.data, start)):
                self.out[start : lazy.end()] = lazy[1].ljust(lazy.end() - start)
            begins = text in (b":", b";")

    def _type_parameters(self, line: list[_Token], index: int) -> None:
        """``def f[T](x)`` becomes ``def f(   x)``, and ``class C[T]:`` becomes ``class C( ):``."""
        last = _closing(line, index)
        if _text(line, last + 1) == b"(":
            self._blank(line[index].start, line[last + 1].end)
        elif line[index - 2].text == b"def":
            return
        else:
            self._blank(line[index].start, line[last].end)
            self.out[line[last].start] = ord(")")
        self.out[line[index].start] = ord("(")

    def _alias(self, line: list[_Token], index: int) -> None:
        """``type X[T] = Y`` becomes ``type=X[0] = Y``; the target too many is dropped from the tree."""
        word, name, after = line[index : index + 3]
        if not name.text.decode().isidentifier() or keyword.iskeyword(name.text.decode()):
            return
        if after.text == b"[":
            last = _closing(line, index + 2)
            if last == index + 3 or _text(line, last + 1) != b"=":
                return
            self._blank(after.end, line[last].start)
            self.out[line[index + 3].start] = ord("0")
        self.out[word.end] = ord("=")
        self.aliases.add(word.start)

    def _except(self, line: list[_Token], index: int) -> None:
        """``except A, B:`` becomes ``except (0 ):`` with a hole."""
        index += _text(line, index) == b"*"
        depth, last, several = 0, index, False
        while last < len(line) and (depth or line[last].text not in (b":", b";")):
            text = line[last].text
            depth += text in _CLOSING
            depth -= text in _CLOSING.values()
            several |= not depth and text == b","
            last += 1
        if not several or last == len(line):
            return
        start, end = line[index].start, line[last - 1].end
        if end - start < len("(0)"):
            return
        self._hole(start, end, self._expression(start, end))

    # Trees

    def _expression(self, start: int, end: int) -> ast.expr:
        """The tree of an expression, with the positions it has in the text."""
        tree = ast.parse(f"({self.out[start:end].decode()}\n)", mode="eval")
        body = tree.body
        bare = body.lineno == 1 and body.col_offset == 0  # it took the added parentheses for its own
        if bare and not (isinstance(body, ast.Tuple) and body.elts):
            raise SyntaxError("no expression")
        line, column = self._place(start)
        for node in ast.walk(body):
            if isinstance(node, ast.expr | ast.keyword | ast.arg):
                end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
                node.col_offset += column - 1 if node.lineno == 1 else 0
                node.end_col_offset = end_column + (column - 1 if end_line == 1 else 0)
                node.lineno += line - 1
                node.end_lineno = end_line + line - 1
        if bare:
            text = self.data[start:end]
            self._at(body, end - len(text.lstrip()), start + len(text.rstrip()))
        self._fill(tree)
        return tree.body

    def _fill(self, tree: ast.AST) -> None:
        """Put the trees of the holes where their placeholders are."""
        for node in ast.walk(tree):
            for name, value in ast.iter_fields(node):
                if isinstance(value, list):
                    value[:] = [self._filled(item) for item in value]
                elif isinstance(value, ast.Constant):
                    setattr(node, name, self._filled(value))

    def _filled(self, item: object) -> object:
        return self.holes.get(self._offset(item), item) if isinstance(item, ast.Constant) else item

    def _offset(self, node: ast.expr | ast.stmt) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def _place(self, offset: int) -> tuple[int, int]:
        """Line from 1 and column in bytes from 0."""
        line = bisect_right(self.lines, offset)
        return line, offset - self.lines[line - 1]

    def _at(self, node: _Node, start: int, end: int) -> _Node:
        node.lineno, node.col_offset = self._place(start)
        node.end_lineno, node.end_col_offset = self._place(end)
        return node

    def _hole(self, start: int, end: int, tree: ast.expr) -> None:
        """Put ``(0 )`` over a range that does not start or end with a line break; for at least three bytes."""
        self._blank(start, end)
        self.out[start : start + 2], self.out[end - 1] = b"(0", ord(")")
        self.holes[start + 1] = tree

    def _blank(self, start: int, end: int) -> None:
        self.out[start:end] = _NO_BREAK.sub(b" ", self.data[start:end])

    def _moved(self, error: SyntaxError) -> SyntaxError:
        """The error with its column, in code points, as it is in the text: what was masked may have fewer of them."""
        line = min(max(error.lineno or 1, 1), len(self.lines))
        start, end = self.lines[line - 1], (*self.lines, len(self.data))[line]
        masked = self.out[start:end].decode()[: max(error.offset or 1, 1) - 1].encode()
        error.offset = len(self.data[start : start + len(masked)].decode(errors="ignore")) + 1
        return error


def _text(line: list[_Token], index: int) -> bytes:
    """The text of a token; empty behind the last one."""
    return line[index].text if index < len(line) else b""


def _closing(line: list[_Token], index: int) -> int:
    """The index of the bracket that closes the one at an index; brackets are known to match."""
    depth = 0
    for last in range(index, len(line)):
        depth += line[last].text in _CLOSING
        depth -= line[last].text in _CLOSING.values()
        if not depth:
            return last
    raise SyntaxError("unbalanced bracket")


def _decoded(chunk: bytes, *, raw: bool) -> str:
    """The value of literal text of an f-string."""
    text = chunk.decode().replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        return text
    value = ast.literal_eval('"' + _REESCAPE.sub(lambda match: _REESCAPED.get(match[0], match[0]), text) + '"')
    assert isinstance(value, str)
    return value


def _unpaired(chunk: bytes) -> bytes:
    """Literal text of an f-string, where a doubled brace means one."""
    return chunk.replace(b"{{", b"{").replace(b"}}", b"}")


def _merged(parts: list[ast.expr]) -> list[ast.expr]:
    """The same parts with constants side by side as one, and none that is empty."""
    merged: list[ast.expr] = []
    for kind, run in groupby(parts, type):
        same = list(run)
        if kind is not ast.Constant:
            merged += same
            continue
        constants = [part for part in same if isinstance(part, ast.Constant) and part.value]
        if constants:
            first, last = constants[0], constants[-1]
            first.value = "".join(str(part.value) for part in constants)
            first.end_lineno, first.end_col_offset = last.end_lineno, last.end_col_offset
            merged.append(first)
    return merged
