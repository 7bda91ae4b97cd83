"""Comments that suppress nothing: the rule taken out of the comment, or the comment out of the file."""

from __future__ import annotations

import re

from promptlint.answers.suppress import IN_VAIN
from promptlint.finding import Edit
from promptlint.fix.module import Module
from promptlint.span import Span

_LISTED = re.compile(r"ignore\[(?P<rules>[^\]]*)\]")


def cleared(module: Module, comment: Span, message: str) -> tuple[Edit, ...]:
    """What ends the complaint ``message`` about a comment; nothing where it is about more than a rule in vain."""
    rule, vain, _ = message.partition(IN_VAIN)
    listed = _LISTED.search(module.between(comment)) if vain else None
    if listed is None:
        return ()
    rules = [part.strip() for part in listed["rules"].split(",")]
    if rules == [rule]:
        return (_whole(module, comment),)
    if rules.count(rule) != 1:
        return ()
    kept = ", ".join(part for part in rules if part != rule)
    start, end = comment.column + listed.start("rules"), comment.column + listed.end("rules")
    return (Edit(Span(comment.path, comment.line, start, comment.line, end), kept),)


def _whole(module: Module, comment: Span) -> Edit:
    """The comment with the white space ahead of it, or with its line where it has one to itself."""
    line = module.lines[comment.line - 1]
    before, behind = line[: comment.column - 1], line[comment.end_column - 1 :]
    if not before.strip() and not behind.strip() and comment.line < len(module.lines):
        return Edit(Span(comment.path, comment.line, 1, comment.line + 1, 1), "")
    if behind.strip():
        end = comment.end_column + len(behind) - len(behind.lstrip())
        return Edit(Span(comment.path, comment.line, comment.column, comment.line, end), "")
    return Edit(Span(comment.path, comment.line, len(before.rstrip()) + 1, comment.line, len(line) + 1), "")
