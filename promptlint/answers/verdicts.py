"""Verdicts of ``promptlint probe`` beside the findings: a file that ``check`` reads to say what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from promptlint.finding import Measured
from promptlint.report import Report

FILE = "promptlint-verdicts.json"
"""In the folder of the project's configuration; worth a place in version control."""

_VERSION = 1
_RULINGS = ("confirmed", "refuted", "inconclusive")


class VerdictError(Exception):
    """A file of verdicts that cannot be used; the message names it and what is wrong with it."""


def read(file: Path) -> dict[str, Measured]:
    """The verdicts by the fingerprints of their findings; none where there is no file. Raises VerdictError."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise VerdictError(f"cannot read the verdicts in {file}: {error}") from error
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ValueError("another version")
        return dict(_entry(name, row) for name, row in document["verdicts"].items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise VerdictError(f"{file} is no file of verdicts: `promptlint probe --save` writes one ({error})") from error


def _entry(name: str, row: Mapping[str, str]) -> tuple[str, Measured]:
    if row["verdict"] not in _RULINGS or not isinstance(row["reason"], str):
        raise ValueError(f"no verdict: {row!r}")
    return name, Measured(row["verdict"], date.fromisoformat(row["on"]), row["reason"])


def beside(report: Report, folder: Path) -> Report:
    """The report with what the file of verdicts in this folder says about its findings. Raises VerdictError."""
    known = read(folder / FILE)
    if not known:
        return report
    findings = tuple(replace(finding, measured=known.get(finding.fingerprint)) for finding in report.findings)
    return replace(report, findings=findings)


def write(file: Path, new: Mapping[str, Measured], known: Iterable[str]) -> None:
    """Adds verdicts to a file, and drops those on findings that are not ``known`` any more.

    An inconclusive one does not replace one that was measured. Raises VerdictError.
    """
    kept = {name: measured for name, measured in read(file).items() if name in {*known}}
    for name, measured in new.items():
        if measured.ruling != "inconclusive" or name not in kept:
            kept[name] = measured
    rows = {
        name: {"verdict": measured.ruling, "on": measured.on.isoformat(), "reason": measured.reason}
        for name, measured in sorted(kept.items())
    }
    try:
        file.write_text(json.dumps({"version": _VERSION, "verdicts": rows}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise VerdictError(f"cannot write the verdicts to {file}: {error.strerror or error}") from error
