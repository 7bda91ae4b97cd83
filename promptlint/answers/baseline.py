"""Findings that an earlier report knows: ``--baseline``, for a code base that starts from where it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FINGERPRINT = "promptlint/v1"
"""The name of our fingerprint in a SARIF log."""


class BaselineError(Exception):
    """A baseline that cannot be used; the message names the file and what is wrong with it."""


def read(file: Path) -> frozenset[str]:
    """The fingerprints of the findings in an earlier report, in one of the formats ``sarif``, ``json`` and ``jsonl``.

    They survive moved lines, so what they leave over is new. Raises BaselineError.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"the baseline {file} is not UTF-8 text") from error
    try:
        return frozenset(_fingerprints(_documents(text)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BaselineError(
            f"the baseline {file} is no report of promptlint: write one with `promptlint check --exit-zero"
            f" --output-format sarif --output-file {file}` (json and jsonl do as well)"
        ) from error


def _documents(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _fingerprints(documents: list[Any]) -> Iterator[str]:
    """Raises one of the errors that wrong types and missing keys raise where a document is no report of ours."""
    match documents:
        case [{"runs": list(runs)}]:
            own = [run for run in runs if run["tool"]["driver"]["name"] == "promptlint"]
            if runs and not own:
                raise ValueError("another tool's log")
            yield from (_text(result["partialFingerprints"][FINGERPRINT]) for run in own for result in run["results"])
        case [{"version": 1, "findings": list(findings)}]:
            yield from (_text(finding["fingerprint"]) for finding in findings)
        case _:
            yield from (_text(line["fingerprint"]) for line in documents if "error" not in line)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a fingerprint is text")
    return value
