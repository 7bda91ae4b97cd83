"""Findings that the user has answered: by a comment, or by ``per-file-ignores``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from promptlint.config import Settings
from promptlint.files import comments, gitignore
from promptlint.files.comments import Comment
from promptlint.finding import Confidence, Finding, Region, Scope, Severity, Site
from promptlint.registry import Registry, RuleInfo, UnknownRule, did_you_mean
from promptlint.span import Span

UNUSED = "unused-ignore"
IN_VAIN = " finds nothing "
"""Stands behind the name of a rule in the message about a comment that suppresses nothing."""


def apply(
    findings: Sequence[Finding], sources: Mapping[str, str], registry: Registry, selection: Registry
) -> tuple[Finding, ...]:
    """The findings, those that a comment answers marked with its reason, and one more for each comment in vain.

    A comment answers a finding from the line (or the line above) of its primary place, its origin or its request;
    ``file-ignore`` from anywhere in the file of one of these. ``sources`` is the text of every analysed file by path.
    ``registry`` holds all rules: a comment is judged only for those among them that were selected.
    """
    written = {path: comments.read(path, text) for path, text in sources.items()}
    used: set[tuple[Span, str]] = set()
    answered = [_answered(finding, written, registry, used) for finding in findings]
    unused = next((info for info in selection if info.name == UNUSED), None)
    if unused is not None:
        for comment in (c for found in written.values() for c in found):
            for message in _complaints(comment, registry, selection, used):
                answered.append(_answered(_vain(comment, message, unused), written, registry, used))
    return tuple(answered)


def drop_per_file(findings: Sequence[Finding], settings: Settings, registry: Registry) -> tuple[Finding, ...]:
    """The findings without those that ``per-file-ignores`` takes out for the file of their primary place."""
    globs = [
        (gitignore.parse("", [glob]), {info.name for rule in rules for info in registry.matching(rule)})
        for glob, rules in settings.per_file_ignores.items()
    ]
    root = settings.root.resolve()

    @cache
    def dropped(path: str) -> frozenset[str]:
        file = Path(path).absolute()
        relative = file.relative_to(root).as_posix() if file.is_relative_to(root) else path
        return frozenset(name for spec, names in globs if spec.covers(relative) for name in names)

    return tuple(finding for finding in findings if finding.rule not in dropped(finding.primary.path))


def _answered(
    finding: Finding, written: Mapping[str, Sequence[Comment]], registry: Registry, used: set[tuple[Span, str]]
) -> Finding:
    reason: str | None = finding.suppressed
    for span in (finding.primary, finding.origin, finding.site.span):
        if span is None:
            continue
        for comment in written.get(span.path, ()):
            here = comment.verb == "ignore" and not comment.lines.isdisjoint((span.line, span.end_line))
            if not here and comment.verb != "file-ignore":
                continue
            for selector in comment.arguments:
                if any(info.name == finding.rule for info in _rules(selector, registry)):
                    used.add((comment.span, selector))
                    reason = reason or comment.reason
    return finding if reason is None else replace(finding, suppressed=reason)


def _rules(selector: str, registry: Registry) -> tuple[RuleInfo, ...]:
    try:
        return registry.matching(selector)
    except UnknownRule:
        return ()


def _complaints(
    comment: Comment, registry: Registry, selection: Registry, used: set[tuple[Span, str]]
) -> Iterator[str]:
    mistake = comments.mistake(comment)
    if mistake is not None:
        yield mistake + (did_you_mean(comment.verb, comments.VERBS) if comment.verb not in comments.VERBS else "")
    if comment.verb not in ("ignore", "file-ignore"):
        return
    selected = {info.name for info in selection}
    for selector in comment.arguments:
        try:
            names = {info.name for info in registry.matching(selector)}
        except UnknownRule as error:
            yield str(error)
            continue
        if names <= selected and UNUSED not in names and (comment.span, selector) not in used:
            where = "in this file" if comment.verb == "file-ignore" else "here"
            yield f"{selector}{IN_VAIN}{where}: remove it from the comment"


def _vain(comment: Comment, message: str, unused: RuleInfo) -> Finding:
    return Finding(
        message=message,
        primary=comment.span,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        scope=Scope.REQUEST,
        region=Region.PARAMETERS,
        site=Site(comment.span, "unknown"),
    ).stamped(unused.name, unused.code, unused.kind)
