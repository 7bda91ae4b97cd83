"""How a program gets its recorder: through two environment variables, which its child processes inherit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from promptlint.recorder import hooks
from promptlint.recorder.flight import Recorder
from promptlint.trace.format import Writer

VARIABLE = "PROMPTLINT_RECORD"
"""Holds the settings as JSON. The key in them never leaves the memory of the processes."""

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
"""A folder with a ``sitecustomize``, which Python imports when it starts."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``trace`` is the absolute path of the file, ``root`` the folder of the user's project, ``key`` in hexadecimal."""

    trace: str
    root: str
    key: str
    max_bytes: int | None = None
    redact: bool = False


def environment(settings: Settings, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that is to be recorded."""
    path = given.get("PYTHONPATH")
    return {
        **given,
        VARIABLE: json.dumps(asdict(settings)),
        "PYTHONPATH": f"{BOOTSTRAP}{os.pathsep}{path}" if path else BOOTSTRAP,
    }


def start(settings: str) -> None:
    """Begins to record in this process. Raises ``OSError`` when the trace cannot be written."""
    given = Settings(**json.loads(settings))
    writer = Writer(given.trace, max_bytes=given.max_bytes)
    Recorder(writer.write, root=given.root, key=bytes.fromhex(given.key), redact=given.redact).start()
    hooks.install()
