"""Hooks are put into libraries when the program has imported them; nothing is imported on their account."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from weakref import WeakSet

from promptlint.recorder import callsite, lazy
from promptlint.recorder.clients import aiohttp, botocore, httpx, requests, urllib, urllib3
from promptlint.recorder.flight import quietly

HOOKS: Mapping[str, Callable[[ModuleType], None]] = {
    "httpx": httpx.hook,
    "httpx2": httpx.hook,
    "requests.sessions": requests.hook,
    "urllib3.connectionpool": urllib3.hook,
    "urllib.request": urllib.hook,
    "aiohttp.client": aiohttp.hook,
    "botocore.httpsession": botocore.hook,
    "threading": callsite.watch_threads,
    "concurrent.futures.thread": callsite.watch_pools,
    "asyncio.base_events": callsite.watch_tasks,
}
_hooked: WeakSet[ModuleType] = WeakSet()
_watching = False


@quietly
def apply(name: str, module: ModuleType) -> None:
    """Puts its hook into a module that was imported, once."""
    if module not in _hooked:
        _hooked.add(module)
        HOOKS[name](module)


def install() -> None:
    """Puts the hooks into what is imported now and into what will be. To call it again does nothing."""
    global _watching
    if not _watching:
        _watching = True
        lazy.watch(HOOKS, apply)
    for name in HOOKS:
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            apply(name, module)
