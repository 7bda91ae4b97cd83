"""What one analysis leaves to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlint.code.expression import Summary
    from promptlint.code.index import Function, Module
    from promptlint.files.project import SourceRef
    from promptlint.files.source import Source


@dataclass(slots=True)
class Memory:
    """What one analysis leaves to the next one of the same project: files that are as they were are not parsed again.

    An index and a summary follow from nothing but the bytes of one file and the name of its module. What a file has
    become takes the place of what it was.
    """

    modules: dict[str, tuple[bytes, str, Module]] = field(default_factory=dict)
    """Of each path the bytes, the name of the module, and the index."""
    summaries: dict[Function, tuple[str, Summary]] = field(default_factory=dict)
    """Of each function the package that it was summarised in, and the summary."""

    def module(self, ref: SourceRef, source: Source) -> Module | None:
        """The index of a file that has not changed."""
        data, name, module = self.modules.get(ref.path, (b"", "", None))
        same = module is not None and data == source.data and name == ref.module and module.source.cells == source.cells
        return module if same else None

    def keep(self, ref: SourceRef, source: Source, module: Module) -> None:
        """Takes an index in the place of an older one of the same file."""
        known = self.modules.get(ref.path)
        if known is not None and known[2] is not module:
            for function in [f for f in self.summaries if f.module is known[2]]:
                del self.summaries[function]
        self.modules[ref.path] = source.data, ref.module, module

    def forget(self) -> None:
        """Gives up everything: there is more than memory should be spent on."""
        self.modules.clear()
        self.summaries.clear()
