"""Executed at the start of a Python program below ``promptlint record``: waits for it to import a library of interest.

The interpreter may be that of another environment: the recorder is loaded by path, and only then, and its modules are
not left where the program could find them.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(_HERE)
_loaded: dict[str, Any] = {}


def _load() -> None:
    """Loads the recorder."""
    import importlib
    import importlib.util

    def ours(name: str) -> bool:
        return name == "promptlint" or name.startswith("promptlint.")

    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if ours(name)}
    try:
        spec = importlib.util.spec_from_file_location(
            "promptlint", os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["promptlint"] = module
        spec.loader.exec_module(module)
        for name in ("launch", "hooks"):
            _loaded[name] = importlib.import_module(f"promptlint.recorder.{name}")
    finally:
        for name in [name for name in sys.modules if ours(name)]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _imported(name: str, module: ModuleType) -> None:
    try:
        if not _loaded:
            _loaded["settings"] = os.environ["PROMPTLINT_RECORD"]
            _load()
            _loaded["launch"].start(_loaded["settings"])
            _loaded["started"] = True
        if "started" in _loaded:
            _loaded["hooks"].apply(name, module)
    except Exception:
        _complain()


def _complain() -> None:
    """Shows the exception that is handled now, if the user wants to see what goes wrong in here."""
    if os.environ.get("PROMPTLINT_DEBUG") == "1":
        import traceback

        traceback.print_exc()


def wait() -> None:
    """Begins to look at what is imported."""
    path = os.path.join(_HERE, "lazy.py")
    namespace: dict[str, Any] = {"__name__": "promptlint.recorder.lazy"}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), namespace)
    namespace["watch"](namespace["LIBRARIES"], _imported)
