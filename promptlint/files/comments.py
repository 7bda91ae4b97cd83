"""Comments that teach promptlint: ``# promptlint: ignore[rule] reason`` and hints about values and requests."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.span import Span

VERBS = ("ignore", "file-ignore", "lifetime", "one-shot", "tokens")
LIFETIMES = ("constant", "process", "conversation", "turn", "call")

_COMMENT = re.compile(r"#\s*promptlint:\s*(?P<body>.*?)(?=\s+#\s|\s*$)")
_BODY = re.compile(r"(?P<verb>[\w-]+)\s*(?:\[(?P<list>[^\]]*)\]|=\s*(?P<value>[\w-]+))?\s*(?P<reason>.*)")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment for promptlint.

    ``arguments`` are the rules of an ignore, or the value of a hint. ``lines`` are the lines it speaks of: its own, or
    the next line of code when it stands alone, and all lines of a string over several lines that starts or ends there
    (inside of which no comment can be written).
    """

    span: Span
    verb: str
    arguments: tuple[str, ...]
    reason: str
    lines: frozenset[int]


def read(path: str, text: str) -> tuple[Comment, ...]:
    """The comments for promptlint in one file, in order, whether or not their words are known.

    A file with broken syntax is read as far as it can be, and line by line after that.
    """
    if "promptlint:" not in text:
        return ()
    lines = list(io.StringIO(text, newline=None))  # unlike splitlines(), ends a line only where Python does
    comments: dict[int, tuple[int, str]] = {}
    strings: list[tuple[int, int]] = []
    done = 0
    try:
        for token in _tokens(text):
            done = token.end[0]
            if token.type == tokenize.COMMENT:
                comments[token.start[0]] = (token.start[1], token.string)
    except (tokenize.TokenError, SyntaxError):
        for number in range(done + 1, len(lines) + 1):
            if (at := lines[number - 1].find("#")) >= 0:
                comments[number] = (at, lines[number - 1][at:])
    else:
        strings = list(long_strings(text))
    alone = {number for number, (column, _) in comments.items() if not lines[number - 1][:column].strip()}
    found = []
    for number, (column, string) in comments.items():
        matches = list(_COMMENT.finditer(string))
        if not matches:
            continue
        target = number
        while target in alone:
            target += 1
        covered = {number, target}
        for first, last in strings:
            if target in (first, last):
                covered.update(range(first, last + 1))
        for match in matches:
            span = Span(path, number, column + match.start() + 1, number, column + match.end() + 1)
            found.append(_comment(span, match["body"], frozenset(covered)))
    return tuple(found)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text, newline=None).readline)


def long_strings(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of every string literal that spans lines."""
    starts: list[int] = []
    for token in _tokens(text):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            starts.append(token.start[0])
        first = starts.pop() if name.endswith("STRING_END") else token.start[0]
        if (name == "STRING" or name.endswith("STRING_END")) and first < token.end[0]:
            yield first, token.end[0]


def _comment(span: Span, body: str, lines: frozenset[int]) -> Comment:
    match = _BODY.fullmatch(body)
    if match is None:
        return Comment(span, body, (), "", lines)
    arguments = match["list"] if match["list"] is not None else match["value"] or ""
    listed = tuple(argument.strip() for argument in arguments.split(",") if argument.strip())
    return Comment(span, match["verb"], listed, match["reason"].strip(), lines)


def mistake(comment: Comment) -> str | None:
    """What is wrong with the words of a comment, or ``None``; whether its rules exist is not looked at."""
    match comment.verb, comment.arguments:
        case (("ignore" | "file-ignore"), ()):
            return f"{comment.verb} names no rule: write {comment.verb}[rule-name]"
        case "lifetime", (value,) if value in LIFETIMES:
            return None
        case "lifetime", _:
            return f"lifetime takes one of {', '.join(LIFETIMES)} in brackets, such as lifetime[conversation]"
        case "tokens", (value,) if value.replace("_", "").isdecimal():
            return None
        case "tokens", _:
            return "tokens takes a number, such as tokens=6000"
        case verb, _ if verb not in VERBS:
            return f'"{verb}" is no word promptlint knows: {", ".join(VERBS)}'
    return None
