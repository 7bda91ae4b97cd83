"""A look at what a program imports, which costs next to nothing until it imports something of interest.

Loaded at the start of every Python process below ``promptlint record``: it imports nothing that is not loaded anyway.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LIBRARIES = (
    *("httpx", "httpx2", "requests.sessions", "urllib3.connectionpool", "urllib.request", "aiohttp.client"),
    "botocore.httpsession",
)
"""Modules through which requests are sent."""


class Finder:
    """Stands in front of Python's finders, lets them find a module, and has it reported when it was executed."""

    def __init__(self, names: Collection[str], imported: Callable[[str, ModuleType], object]) -> None:
        self._names = names
        self._imported = imported
        self._busy: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find."""
        if name not in self._names or name in self._busy:
            return None
        self._busy.add(name)
        try:
            specs = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None and not isinstance(spec.loader, type):
            self._prepare(spec.name, spec.loader)
        return spec

    def _prepare(self, name: str, loader: object) -> None:
        own = getattr(loader, "__dict__", None)
        if own is None:  # a loader that cannot be changed
            return
        execute, before = loader.exec_module, own.get("exec_module")  # type: ignore[attr-defined]

        def executing(module: ModuleType) -> None:
            own.pop("exec_module", None)  # the loader is as it was
            if before is not None:
                own["exec_module"] = before
            execute(module)
            self._imported(name, module)

        own["exec_module"] = executing


def watch(names: Collection[str], imported: Callable[[str, ModuleType], object]) -> None:
    """From now on, ``imported`` is called with the name and module of each of these that has been executed."""
    sys.meta_path.insert(0, Finder(names, imported))
