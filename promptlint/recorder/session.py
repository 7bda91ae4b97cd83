"""Recording a stretch of one's own program."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from promptlint.recorder import hooks
from promptlint.recorder.callsite import project_folder
from promptlint.recorder.flight import Recorder
from promptlint.trace.format import Exchange, Writer


@contextmanager
def record(
    path: str | os.PathLike[str], *, max_bytes: int | None = None, redact_content: bool = False
) -> Iterator[None]:
    """Records the requests to language models that this process makes inside the block, in all its threads.

    They are added to the trace at ``path``, gzip when it ends in ``.gz``, which does not grow beyond ``max_bytes``.
    With ``redact_content``, texts are replaced by hashes. Nothing that goes wrong later reaches the program; raises
    ``OSError`` when the file cannot be opened.
    """
    writer = Writer(path, max_bytes=max_bytes)
    try:
        with listening(writer.write, redact_content=redact_content):
            yield
    finally:
        writer.close()


@contextmanager
def listening(sink: Callable[[Exchange], object], *, redact_content: bool = False) -> Iterator[None]:
    """The same with a function that is called with each exchange when it has ended, in whatever thread that is."""
    hooks.install()
    recorder = Recorder(sink, root=project_folder(os.getcwd()), redact=redact_content)
    recorder.start()
    try:
        yield
    finally:
        recorder.stop()
