"""Where in the user's project a request is made: the frames of the stack that lie in it.

A task or a thread that a library's function runs in has no frame of the project on its stack. So it is noted where
tasks, threads and jobs of thread pools are made, and those frames follow.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from types import CodeType, FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from promptlint.trace.format import Frame

_DEEPEST = 24
"""Frames of a call site that are kept, innermost first."""

_FOREIGN = ("/site-packages/", "/dist-packages/", "/node_modules/")
_LOOPS = ("/asyncio/events.py", "/asyncio/base_events.py", "/asyncio/runners.py", "/uvloop/__init__.py")
_LOOPING = ("_run", "_run_once", "run_forever", "run_until_complete", "run")
"""Files and functions whose frames separate a task from what happens to be below it on the stack."""

_POOL = "/concurrent/futures/thread.py"
_COMPREHENSIONS = (".<listcomp>", ".<setcomp>", ".<dictcomp>", ".<genexpr>")
_SIGNS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")

Stack = tuple[Frame, ...]

_task_origin: ContextVar[Stack] = ContextVar("promptlint_task_origin", default=())
_origins: WeakKeyDictionary[Any, Stack] = WeakKeyDictionary()
"""Of threads, and of the futures of pools."""

_submitting: dict[int, tuple[Any, Stack]] = {}
"""By thread: the function that it hands to a pool right now, and its origin."""

_projects: list[Project] = []


def project_folder(start: str) -> str:
    """The nearest folder from here upwards that looks like a project's; ``start`` itself when none does."""
    folder = start = os.path.abspath(start)
    while not any(os.path.exists(os.path.join(folder, sign)) for sign in _SIGNS):
        if os.path.dirname(folder) == folder:
            return start
        folder = os.path.dirname(folder)
    return folder


class Project:
    """Tells frames of the user's own code: files below ``root`` that no package manager put there, and ``__main__``."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        installed = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))}
        inside = {path for path in installed if not self._root.startswith(os.path.join(path, ""))}
        self._others = tuple(os.path.join(path, "") for path in (*inside, f"{own}/recorder", f"{own}/trace"))
        self._names: dict[tuple[str, bool], str | None] = {}

    def name(self, file: str, *, main: bool) -> str | None:
        """What a file is called in a trace; ``None`` when it is not the user's. ``main``: it is the program itself."""
        if (file, main) not in self._names:
            self._names[file, main] = self._name(file, main)
        return self._names[file, main]

    def _name(self, file: str, main: bool) -> str | None:
        if file.startswith("<"):
            return file if main and not file.startswith("<frozen ") else None
        path = os.path.realpath(file)
        inside = path.startswith(self._root)
        if not (inside or main) or path.startswith(self._others) or any(part in path for part in _FOREIGN):
            return None
        return (path[len(self._root) :] if inside else path).replace(os.sep, "/")


def stack(project: Project) -> Stack:
    """The call site of what runs now, innermost frame first, with where its task or thread was made behind it."""
    found: list[Frame] = []
    below: list[Frame] = []
    frame: FrameType | None = sys._getframe(1)
    job: Stack = ()
    here = found
    while frame is not None and len(found) + len(below) < _DEEPEST:
        code = frame.f_code
        name = project.name(code.co_filename, main=frame.f_globals.get("__name__") == "__main__")
        if name is not None:
            here.append(Frame(name, frame.f_lineno, _function(code)))
        elif code.co_name in _LOOPING and code.co_filename.endswith(_LOOPS):
            here = below
        elif code.co_filename.endswith(_POOL) and code.co_name == "run":
            job = _job_origin(frame.f_locals.get("self"))
        frame = frame.f_back
    thread = _origins.get(threading.current_thread(), ())
    behind = (f for origin in (job or _task_origin.get(), thread, below) for f in origin)
    return tuple(dict.fromkeys((*found, *behind)))[:_DEEPEST]


def _job_origin(item: Any) -> Stack:
    """Of a work item of a pool, which may run before its submission has returned."""
    found = _origins.get(getattr(item, "future", None), ())
    if found:
        return found
    function = getattr(item, "fn", None) or getattr(item, "task", (None,))[0]  # "task" from 3.14 on
    return next((origin for submitted, origin in list(_submitting.values()) if submitted is function), ())


def _function(code: CodeType) -> str:
    """The function that the code is of: a comprehension is a part of the one around it."""
    name: str = getattr(code, "co_qualname", code.co_name)  # new in 3.11
    while name.endswith(_COMPREHENSIONS):
        name = name.rpartition(".")[0].removesuffix(".<locals>")
    return name


def follow(project: Project) -> None:
    """Notes from now on where tasks, threads and jobs are made, in terms of this project."""
    _projects.append(project)


def forget(project: Project) -> None:
    """Ends what ``follow`` began."""
    _projects.remove(project)


def _origin() -> Stack:
    try:
        return stack(_projects[-1])
    except Exception:  # followed no more, or a stack that cannot be read: the program goes on
        return ()


def watch_threads(module: ModuleType) -> None:
    """Hook for ``threading``."""
    start = module.Thread.start

    @wraps(start)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _projects and not sys._getframe(1).f_code.co_filename.endswith(
            _POOL
        ):  # whose jobs have origins of their own
            found = _origin()
            if found:
                _origins[self] = found
        return start(self, *args, **kwargs)

    module.Thread.start = noted


def watch_pools(module: ModuleType) -> None:
    """Hook for ``concurrent.futures.thread``."""
    submit = module.ThreadPoolExecutor.submit

    @wraps(submit)
    def noted(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        found = _origin() if _projects else ()
        if not found:
            return submit(self, fn, *args, **kwargs)
        thread = threading.get_ident()
        _submitting[thread] = fn, found
        try:
            future = submit(self, fn, *args, **kwargs)
            _origins[future] = found
        finally:
            _submitting.pop(thread, None)
        return future

    module.ThreadPoolExecutor.submit = noted


def watch_tasks(module: ModuleType) -> None:
    """Hook for ``asyncio.base_events``: a task takes over the context in which it is made."""
    create: Callable[..., Any] = module.BaseEventLoop.create_task

    @wraps(create)
    def noted(*args: Any, **kwargs: Any) -> Any:
        found = _origin() if _projects else ()
        if not found:
            return create(*args, **kwargs)
        token = _task_origin.set(found)
        try:
            return create(*args, **kwargs)
        finally:
            _task_origin.reset(token)

    module.BaseEventLoop.create_task = noted
