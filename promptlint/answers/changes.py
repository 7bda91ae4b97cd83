"""Lines that changed since a revision, and the findings whose way they touch: ``--changed-since``."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from promptlint.files import notebook
from promptlint.finding import Finding
from promptlint.span import Span

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}

Stretch = tuple[int, int]


class ChangesError(Exception):
    """What changed cannot be told; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed stretches of lines (first and last) by the real path of their file; ``None`` stands for all lines."""

    lines: Mapping[str, tuple[Stretch, ...] | None]

    def touch(self, finding: Finding) -> bool:
        """Whether a changed line is on the way of the finding: its place, its origin, its flow, or a call it hits."""
        spans = [finding.primary, finding.site.span, *(step.span for step in finding.flow)]
        spans += [site.span for site in finding.also]
        if finding.origin is not None:
            spans.append(finding.origin)
        return any(map(self._touched, spans))

    def _touched(self, span: Span) -> bool:
        file = os.path.realpath(span.path)
        if file not in self.lines:
            return False
        stretches = self.lines[file]
        last = max(span.line, span.end_line)
        return stretches is None or any(start <= last and span.line <= end for start, end in stretches)


def since(revision: str, place: Path) -> Changes:
    """What changed, committed or not, since the current branch left ``revision``, in the git repository of ``place``.

    Where lines were taken out, the lines around count as changed. Files that git does not know yet are new in all
    lines. Nothing that the repository configures (external diff, file system monitor) is run. Raises ChangesError.
    """
    folder = place if place.is_dir() else place.parent
    if revision.startswith("-"):
        raise ChangesError(f'--changed-since takes a git revision, such as origin/main, not "{revision}"')
    top = _git(folder, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
    try:
        base = _git(folder, "merge-base", revision, "HEAD").decode().strip()
    except ChangesError as error:
        if "Not a valid" in str(error) or "unknown revision" in str(error) or "not a commit" in str(error):
            hint = f'--changed-since: git knows no revision "{revision}" (a shallow clone? fetch it first)'
            raise ChangesError(hint) from error
        hint = f"--changed-since: no common ancestor of {revision} and HEAD is here: fetch more history"
        raise ChangesError(f"{hint} (actions/checkout: fetch-depth: 0)") from error
    options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "--find-renames")
    diff = _git(folder, "diff", *options, "--src-prefix=a/", "--dst-prefix=b/", base, "--")
    changed: defaultdict[str, list[Stretch]] = defaultdict(list)
    for name, stretch in _stretches(diff):
        changed[_real(top, name)].append(stretch)
    lines: dict[str, tuple[Stretch, ...] | None] = {file: tuple(found) for file, found in changed.items()}
    listed = _git(folder, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
    whole = [_real(top, name) for name in listed.split(b"\0") if name]
    whole += [file for file in lines if file.endswith(notebook.SUFFIX)]  # whose lines are not those of its code
    return Changes({**lines, **dict.fromkeys(whole)})


def _git(folder: Path, *args: str) -> bytes:
    safe = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
    try:
        done = subprocess.run(("git", *safe, *args), cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise ChangesError(f"--changed-since asks git, which cannot be run: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip() or "no answer"
        raise ChangesError(f"--changed-since: git {args[0]}: {' '.join(said.split())}")
    return done.stdout


def _real(top: str, name: bytes) -> str:
    return os.path.realpath(os.path.join(top, os.fsdecode(name)))


def _stretches(diff: bytes) -> Iterator[tuple[bytes, Stretch]]:
    """For each hunk the file as it is now and the lines concerned."""
    name = b""
    skip = 0
    for line in diff.split(b"\n"):
        if skip:
            skip -= not line.startswith(b"\\")  # "\ No newline at end of file" is counted nowhere
        elif line.startswith(b"+++ "):
            name = _unquoted(line[4:])[2:]
        elif hunk := _HUNK.match(line):
            removed, start, added = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            skip = removed + added
            # Without added lines, "start" is the line before the gap.
            yield name, (start, start + added - 1 if added else start + 1)


def _unquoted(name: bytes) -> bytes:
    """A name as git prints it: in quotes with escapes when it holds special characters, with a tab behind spaces."""
    if not name.startswith(b'"'):
        return name.removesuffix(b"\t")

    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes((int(code, 8),)) if len(code) == 3 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(plain, name[1 : name.rindex(b'"')])
