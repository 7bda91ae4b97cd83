"""Where text goes: the terminal's colours and width, the report's way out, and the progress bar."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class WriteError(Exception):
    """The report could not be written; the message says where to and why."""


def wants_color(stream: TextIO) -> bool:
    """Whether to colour text for this stream: ``NO_COLOR``, then ``FORCE_COLOR``, then whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def write(text: str, file: Path | None = None) -> None:
    """Writes a report to a file, or to standard output.

    A reader of standard output that has gone away (``| head``) is no error. Raises WriteError.
    """
    if file is not None:
        try:
            file.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise WriteError(f"cannot write the report to {file}: {error.strerror or error}") from error
        return
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _abandon(stream)
    except OSError as error:
        _abandon(stream)
        raise WriteError(f"cannot write the report to standard output: {error.strerror or error}") from error


def _abandon(stream: TextIO) -> None:
    """Points the stream to nowhere, so that the interpreter's own flush at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class ProgressBar:
    """A bar on standard error for runs that take longer than a second; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._wanted = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Shows that ``done`` of ``total`` steps of a phase are over."""
        if not self._wanted or (self._bar is None and time.monotonic() - self._start < 1):
            return
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(phase, total=total)
            self._bar.start()
        self._bar.update(self._task, description=phase, completed=done, total=total)
