"""What one analysis leaves to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.files.tree import Tree

if TYPE_CHECKING:
    from promptlint.code.expression import Summary
    from promptlint.code.index import Function, Module
    from promptlint.codebase.shapes import Search, Shape
    from promptlint.files.project import Options, Project, SourceRef
    from promptlint.files.source import Source


@dataclass(slots=True)
class Memory:
    """What one analysis leaves to the next one of the same project: files that are as they were are not read again.

    Which words occur in a file, and what its text matches, follows from nothing but its bytes; an index and a summary
    also from the name of its module. What a file has become takes the place of what it was.
    """

    tree: Tree | None = None
    """The project."""
    searched: dict[Search, dict[SourceRef, bool]] = field(default_factory=dict)
    """What the last analysis looked for in the text of files, and whether it was found."""
    shapes: tuple[Shape, ...] = ()
    """The shapes of calls that send requests."""
    sending: dict[SourceRef, bool] = field(default_factory=dict)
    """Of each file whether one of these shows in it."""
    modules: dict[str, tuple[bytes, str, Module]] = field(default_factory=dict)
    """Of each path the bytes, the name of the module, and the index."""
    summaries: dict[Function, tuple[str, Summary]] = field(default_factory=dict)
    """Of each function the package that it was summarised in, and the summary."""

    def project(self, paths: Sequence[Path], options: Options, overlay: Mapping[Path, bytes]) -> Project:
        """The project under some paths, as ``project.discover`` finds it. Raises as that does."""
        tree, self.tree = self.tree, None  # of a run that is broken off, nothing half done may be left
        changed = tree.renewed(paths, options, overlay) if tree is not None else None
        if tree is None or changed is None:
            self.searched, self.sending = {}, {}
            tree = Tree.found(paths, options, overlay)
        else:
            for ref in changed:
                self.sending.pop(ref, None)
                for answers in self.searched.values():
                    answers.pop(ref, None)
        self.tree = tree
        return tree.project

    def shown(self, shapes: tuple[Shape, ...]) -> dict[SourceRef, bool]:
        """Of files that have not changed whether one of some shapes shows in them; to be added to."""
        if shapes != self.shapes:
            self.shapes, self.sending = shapes, {}
        return self.sending

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
        self.tree = None
        self.modules.clear()
        self.summaries.clear()
