"""The files that fixes are about: as they were analysed, and as they are with the fixes made so far."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from libcst import ParserSyntaxError

from promptlint.files import source
from promptlint.files.source import Broken, Source
from promptlint.finding import Edit
from promptlint.fix.edits import applied
from promptlint.fix.module import Module
from promptlint.fix.write import FixError
from promptlint.report import Report

LARGEST = 250_000
"""Characters of a file above which it gets no fixes: LibCST would take longer to read it than the whole check does."""


class Files:
    """Reads files as they are asked for. ``texts`` stand in for what is on the disk, by absolute path."""

    def __init__(self, report: Report, texts: Mapping[str, str]) -> None:
        self._report = report
        self._given = texts
        self._modules: dict[str, Module | None] = {}
        self.originals: dict[str, Source] = {}
        self.texts: dict[str, str] = {}
        """The files that fixes have changed, by path."""

    def get(self, path: str) -> Module | None:
        """A file, parsed; ``None`` for a notebook and for what LibCST cannot read in time, which get no fixes.

        Raises FixError when it is no longer what was analysed.
        """
        if path not in self._modules:
            self._modules[path] = self._parsed(path)
        return self._modules[path]

    def _parsed(self, path: str) -> Module | None:
        original = self._original(path)
        if original.cells or len(original.text) > LARGEST:
            return None
        module = Module(path, self.texts.get(path, original.text))
        try:
            module.parse()
        except (ParserSyntaxError, RecursionError):
            return None
        return module

    def _original(self, path: str) -> Source:
        if path not in self.originals:
            given = self._given.get(os.path.abspath(path))
            read = source.read(Path(path)) if given is None else Source(path, Path(path), source.to_bytes(given))
            if not isinstance(read, Source):
                raise FixError(f"{path} cannot be fixed: {read.message}; nothing was changed")
            if self._report.sources.get(path, read.text) != read.text:
                raise FixError(f"{path} was changed while it was analysed; nothing was fixed, run it again")
            self.originals[path] = read
        return self.originals[path]

    def changed(self, edits: Iterable[Edit]) -> dict[str, str]:
        """The texts with edits; a file that would be no valid Python stays as it is, so that its fixes fail."""
        by_path: dict[str, set[Edit]] = {}
        for edit in edits:
            by_path.setdefault(edit.span.path, set()).add(edit)
        texts: dict[str, str] = {}
        for path, some in by_path.items():
            before = self.texts.get(path, self.originals[path].text)
            text = applied(before, some)
            texts[path] = text if _valid(text) else before
        return texts

    def stay_valid(self, edits: Iterable[Edit]) -> bool:
        """Whether edits leave valid Python in each file that they change."""
        changed = self.changed(edits)
        return all(text != self.texts.get(path, self.originals[path].text) for path, text in changed.items())

    def overlay(self, texts: Mapping[str, str]) -> dict[Path, str]:
        """What stands in for files when the project is analysed with these texts."""
        return {self.originals[path].file: text for path, text in {**self.texts, **texts}.items()}

    def keep(self, texts: Mapping[str, str], report: Report) -> None:
        """Takes texts over, and the report on them."""
        self.texts |= texts
        self._modules = {path: module for path, module in self._modules.items() if path not in texts}
        self._report = report


def _valid(text: str) -> bool:
    return not isinstance(Source("", Path(), source.to_bytes(text)).tree, Broken)
