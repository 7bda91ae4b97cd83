"""What promptlint says of real faults before and after the commit that fixed them.

usage: python benchmarks/before_after.py MIRRORS [--only WORD] [--show] [--write]

``MIRRORS`` is a folder with a git repository (a clone or a bare mirror) for each ``owner/name`` of
``before_after.tsv``: at ``owner/name``, ``owner+name`` or ``owner+name/repo``. Nothing of them is run. For each row the
tree of the commit before the fix and that of the fix are written to a temporary folder and checked
with ``--min-severity info --min-confidence low``. The version before must have a finding of the row's kind at the
faulty place (its primary, its origin, a step of its flow, or the call it is about, on that line); the version after
must have none at the place that took its place: the same line where the fix left it alone, else the lines that
replaced it.

``result`` is then one of

- ``found, fixed``: a finding before, none after;
- ``found, remark``: one before, and nothing but a remark (info) after: a time that was cut down to a date;
- ``found, still``: a finding before and one as loud after;
- ``missed``: none before.

``level`` is the severity and confidence of the finding before. ``--write`` puts both into the table, ``--show`` prints
the findings that were looked at.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Finding
from promptlint.span import Span

TABLE = Path(__file__).with_suffix(".tsv")
SIZE = 2_000_000  # bytes; larger files are data
SUFFIXES = (".py", ".ipynb", ".toml", ".md", ".txt", ".j2", ".jinja", ".jinja2", ".prompt", ".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Row:
    """One fix. ``root`` is the folder of the repository that is checked, ``line`` the faulty one before the fix.

    ``kinds`` are the acceptable kinds or rule names of the finding, with "|" between them.
    """

    repository: str
    commit: str
    root: str
    path: str
    line: str
    kinds: str
    expected: str
    result: str
    level: str
    cause: str


@dataclass(frozen=True)
class Outcome:
    """What was found at the faulty place, before and after."""

    before: tuple[Finding, ...]
    after: tuple[Finding, ...]

    @property
    def result(self) -> str:
        if not self.before:
            return "missed"
        if not self.after:
            return "found, fixed"
        quieter = max(f.severity for f in self.after) < max(f.severity for f in self.before)
        return "found, remark" if quieter else "found, still"

    @property
    def level(self) -> str:
        loudest = max(self.before, key=lambda f: (f.severity, f.confidence), default=None)
        return f"{loudest.severity.name.lower()}, {loudest.confidence.name.lower()}" if loudest else "-"


def read() -> list[Row]:
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Row(**{k: v or "" for k, v in line.items()}) for line in csv.DictReader(file, dialect="excel-tab")]


def write(rows: Iterable[Row]) -> None:
    """Writes the table anew."""
    names = list(Row.__dataclass_fields__)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, names, dialect="excel-tab", lineterminator="\n")
        out.writeheader()
        out.writerows({name: getattr(row, name) for name in names} for row in rows)


def mirror(folder: Path, repository: str) -> Path | None:
    """Where the repository of a row is."""
    flat = repository.replace("/", "+")
    places = (folder / repository, folder / flat / "repo", folder / flat, folder / f"{flat}.git")
    return next((p for p in places if (p / "HEAD").is_file() or (p / ".git").exists()), None)


def unpack(repository: Path, commit: str, root: str, target: Path) -> None:
    """Writes the source and prompt files of a commit below ``root`` to ``target``, as far as the mirror has them."""
    git = ["git", "-C", str(repository)]
    listing = subprocess.run([*git, "ls-tree", "-r", "-z", commit, "--", root], check=True, capture_output=True).stdout
    named = [entry.split("\t", 1) for entry in listing.decode(errors="replace").split("\0") if entry]
    files = [(meta.split()[2], path) for meta, path in named if path.endswith((*SUFFIXES, "ignore"))]
    asked = "".join(f"{oid}\n" for oid, _ in files).encode()
    lazy = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    reply = io.BytesIO(
        subprocess.run([*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True, env=lazy).stdout
    )
    for _, path in files:
        head = reply.readline().split()
        if head[1] == b"missing":
            continue
        data = reply.read(int(head[2]) + 1)[:-1]
        if len(data) < SIZE:
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def findings(tree: Path) -> tuple[Finding, ...]:
    """Everything that the engine reports of a tree, before thresholds."""
    return engine.check([tree], Settings()).findings


def spans(finding: Finding) -> Iterator[Span]:
    """The places that a finding names."""
    yield finding.primary
    if finding.origin is not None:
        yield finding.origin
    yield finding.site.span
    yield from (step.span for step in finding.flow)
    yield from (span for span, _ in finding.related)


def at(found: Iterable[Finding], kinds: set[str], file: Path, lines: range) -> tuple[Finding, ...]:
    """The findings of these kinds that name one of the lines of the file."""

    def names(finding: Finding) -> bool:
        return any(
            s.line < lines.stop and s.end_line >= lines.start and Path(s.path).resolve() == file.resolve()
            for s in spans(finding)
        )

    return tuple(f for f in found if kinds & {f.kind, f.rule} and names(f))


def replaced(before: Path, after: Path, line: int) -> range:
    """The lines of ``after`` that stand for ``line`` of ``before``."""
    if not after.is_file():
        return range(0)
    old, new = (p.read_text(encoding="utf-8", errors="replace").splitlines() for p in (before, after))
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if i1 < line <= i2:
            return range(j1 + line - i1, j1 + line - i1 + 1) if tag == "equal" else range(j1 + 1, j2 + 1)
    return range(0)


def judge(repository: Path, row: Row, show: bool) -> Outcome:
    """Checks the versions before and after the fix of a row."""
    kinds = set(row.kinds.split("|"))
    line = int(row.line)
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "before", Path(folder) / "after"
        for commit, tree in ((f"{row.commit}^", old), (row.commit, new)):
            unpack(repository, commit, row.root, tree)
        if not (old / row.path).is_file():
            sys.exit(f"{row.repository}: no {row.path} before {row.commit}")
        found = [findings(tree / row.root) for tree in (old, new)]
        place = replaced(old / row.path, new / row.path, line)
        outcome = Outcome(
            at(found[0], kinds, old / row.path, range(line, line + 1)), at(found[1], kinds, new / row.path, place)
        )
        if show:
            print(f"  after: lines {place.start} to {place.stop - 1}")
            for when, those in zip(("before", "after"), found, strict=True):
                for f in those:
                    near = any(Path(s.path).name == Path(row.path).name for s in spans(f))
                    mark = "*" if f in (outcome.before if when == "before" else outcome.after) else " "
                    if near or kinds & {f.kind, f.rule}:
                        where = f"{f.primary.path.removeprefix(folder)}:{f.primary.line}"
                        print(f"  {when}{mark} {f.severity.name.lower()} {f.rule} {where} {f.message}")
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--only", default="", help="rows whose repository or commit holds this word")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the results into the table")
    arguments = parser.parse_args()
    rows = read()
    missing = []
    for number, row in enumerate(rows):
        if arguments.only not in f"{row.repository} {row.commit}":
            continue
        repository = mirror(arguments.mirrors, row.repository)
        if repository is None:
            missing.append(row.repository)
            continue
        outcome = judge(repository, row, arguments.show)
        unlike = "" if outcome.result == row.expected else f" (expected {row.expected})"
        place = f"{row.repository} {row.commit} {row.path}:{row.line}"
        print(f"{place}: {outcome.result}{unlike}, {outcome.level}", flush=True)
        rows[number] = replace(row, result=outcome.result, level=outcome.level)
    if missing:
        print("no mirror of " + ", ".join(sorted(set(missing))), file=sys.stderr)
    if arguments.write:
        write(rows)
    done = [row for row in rows if row.result]
    silent = sum(r.result in ("found, fixed", "found, remark") for r in done)
    print(f"{silent} of {len(done)} found before, and after the fix silent or reduced to a remark")


if __name__ == "__main__":
    main()
