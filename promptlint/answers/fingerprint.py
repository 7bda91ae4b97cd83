"""Fingerprints: a name for a finding that survives changes elsewhere in the file."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from promptlint.files.source import Broken, Source
from promptlint.finding import Finding
from promptlint.span import Span


def with_fingerprints(findings: Sequence[Finding], sources: Mapping[str, str]) -> tuple[Finding, ...]:
    """The same findings with their fingerprints.

    A fingerprint hashes the rule, the path, the qualified name of the enclosing scope, and the text of the primary and
    origin lines without its spacing. Findings that agree in all of these are told apart by their order. ``sources`` is
    the text of files by path; a file that is missing there counts as empty.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    signed = []
    for finding in findings:
        place, origin = finding.primary, finding.origin or finding.primary
        key = (
            finding.rule,
            place.path,
            _scope(sources.get(place.path, ""), place.line),
            _line(sources, place),
            _line(sources, origin),
        )
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass"))
        seen[key] += 1
        signed.append(replace(finding, fingerprint=digest.hexdigest()[:24]))
    return tuple(signed)


def _line(sources: Mapping[str, str], span: Span) -> str:
    lines = _source(sources.get(span.path, "")).lines
    return "".join(lines[span.line - 1].split()) if 0 < span.line <= len(lines) else ""


def _scope(text: str, line: int) -> str:
    """The qualified name of the innermost function or class around a line; empty at module level."""
    return ".".join(name for first, last, name in _scopes(text) if first <= line <= last)


@lru_cache(maxsize=64)
def _source(text: str) -> Source:
    return Source("", Path(), text.encode("utf-8", "replace"))


@lru_cache(maxsize=64)
def _scopes(text: str) -> tuple[tuple[int, int, str], ...]:
    """Functions and classes as (first line, last line, name), outer ones first."""
    tree = _source(text).tree
    if isinstance(tree, Broken):
        return ()
    scopes = [
        (node.lineno, node.end_lineno or node.lineno, node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return tuple(sorted(scopes, key=lambda scope: (scope[0], -scope[1])))
