"""The parts of a large tree that are linked apart from each other: programs that stand beside each other in one tree.

What a part gives follows from the tree alone, so it is the same in whatever process and order the parts are linked.
A request is looked at with all that it reaches, in whatever part that is; only what one part has found out, and what
work it has spent, is of no use to another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.files.project import SourceRef

MOST = 4
LEAST = 20
"""Files with requests of a package that is worth a part of its own. Counted, not measured in bytes: an edit that leaves
the answers of a file as they were (``questions``) does not change the parts."""


@dataclass(frozen=True, slots=True)
class Part:
    """Files with requests; ``share`` is the part of all such files that these are."""

    refs: tuple[SourceRef, ...]
    share: float


def of(sending: Sequence[SourceRef]) -> list[Part]:
    """The parts of a tree, each with its files in their order; one of all where a second would be too small."""
    packages: defaultdict[str, list[SourceRef]] = defaultdict(list)
    for ref in sending:
        packages[ref.package_folder].append(ref)
    sizes = {name: len(refs) for name, refs in packages.items()}
    number = min(MOST, sum(size >= LEAST for size in sizes.values()))
    if number < 2:
        return [Part(tuple(sending), 1.0)]
    bins: list[set[str]] = [set() for _ in range(number)]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        min(bins, key=lambda names: sum(map(sizes.__getitem__, names))).add(name)
    chosen = [tuple(ref for ref in sending if ref.package_folder in names) for names in bins]
    return [Part(refs, len(refs) / len(sending)) for refs in chosen]
