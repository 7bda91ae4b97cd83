"""The language server itself: what the editor says, when to analyse, and whom to tell.

Everything here runs on one event loop but the analysis, which has a thread of its own. A change ends the analysis that
it makes obsolete and starts the next one a moment later.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from promptlint import __version__
from promptlint.codebase.memory import Memory
from promptlint.finding import Confidence, Fix, Severity
from promptlint.server import actions, analysis, diagnostics, views
from promptlint.server.analysis import Buffer, Snapshot
from promptlint.server.places import Places

T = TypeVar("T")

log = logging.getLogger(__name__)

SECTION = "promptlint"
TYPING = 0.3
"""Seconds without a change before a text is analysed."""
SOON = 0.03
"""Seconds after a change in which it is found out whether the last analysis tells all about the text."""
SLOW = 0.7
"""Seconds after which an analysis shows its progress."""
_STACK = 64 * 1024 * 1024
"""Bytes of stack for the analysis: the default of a thread is small on some systems, and expressions nest."""

CHOICES = {"minSeverity": ("min_severity", Severity), "minConfidence": ("min_confidence", Confidence)}
LISTS = {"select": "select", "ignore": "ignore"}
"""The editor's settings by name, and what they are in ours."""
_WATCHED = "**/*.{py,ipynb,toml,md,txt,j2,jinja,jinja2,yaml,yml,json}"
"""What a prompt can be made of, and the settings."""


class _Obsolete(Exception):
    """The analysis is no longer wanted."""


class Worker:
    """A thread that does one thing after the other, and that the end of the process does not wait for."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        before = threading.stack_size(_STACK)
        threading.Thread(target=self._work, name="promptlint", daemon=True).start()
        threading.stack_size(before)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put((future, job))
        return future

    def _work(self) -> None:
        while True:
            future, job = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)


@dataclass(slots=True, eq=False)
class _Root:
    """A folder of the editor (or the project of a file outside of them) and what is known of it."""

    path: Path
    snapshot: Snapshot | None = None
    task: asyncio.Task[None] | None = None
    obsolete: threading.Event = field(default_factory=threading.Event)
    published: set[str] = field(default_factory=set)
    complaint: str = ""
    stale: bool = True
    """More than open documents has changed since the last analysis."""
    took: float = 0.0
    """Seconds of the last analysis."""
    memory: Memory = field(default_factory=Memory)
    """Used by the thread of the analysis only."""
    fixes: tuple[Snapshot, Future[Mapping[str, tuple[Fix, ...]]]] | None = None
    """What ends the findings of a snapshot, once somebody has asked."""

    def holds(self, file: str) -> bool:
        return Path(file).is_relative_to(self.path)


class Server(LanguageServer):
    """The state of one session."""

    def __init__(self) -> None:
        # Whole texts: pygls counts lines differently from the protocol where a text holds form feeds or U+2028.
        super().__init__("promptlint", __version__, types.TextDocumentSyncKind.Full)
        self.buffers: dict[str, Buffer] = {}
        self.overrides: dict[str, object] = {}
        self.pulls = False
        self.alone = False
        """This process is there for the server only."""
        self._roots: dict[Path, _Root] = {}

    @cached_property
    def worker(self) -> Worker:
        return Worker()

    # -- what the editor can do -------------------------------------------------------------------------------

    def offers(self, *names: str) -> bool:
        """Whether the client has a capability, given by the names that lead to it."""
        value: object = self.client_capabilities
        for name in names:
            value = getattr(value, name, None)
        return bool(value)

    # -- folders ------------------------------------------------------------------------------------------------

    def folders(self) -> list[str]:
        """The folders that the editor has open, as absolute paths."""
        named = [path for folder in self.workspace.folders.values() if (path := _path(folder.uri))]
        return named or ([os.path.abspath(self.workspace.root_path)] if self.workspace.root_path else [])

    def fit_roots(self) -> None:
        """Makes the roots those that the folders and the open files want; new ones are analysed."""
        wanted = {Path(folder) for folder in self.folders()}
        for file in self.buffers:
            if not any(Path(file).is_relative_to(root) for root in wanted):
                wanted.add(analysis.project_of(Path(file)))
        for gone in self._roots.keys() - wanted:
            self._leave(self._roots.pop(gone))
        for new in sorted(wanted - self._roots.keys()):
            self._roots[new] = _Root(new)
            self.analyse(self._roots[new])

    def _leave(self, root: _Root) -> None:
        root.obsolete.set()
        if root.task is not None:
            root.task.cancel()
        for file in root.published:
            self._publish(file, [])

    def root_of(self, file: str) -> _Root | None:
        """The innermost root that a file belongs to."""
        holding = [root for root in self._roots.values() if root.holds(file)]
        return max(holding, key=lambda root: len(root.path.parts), default=None)

    def roots_of(self, file: str) -> list[_Root]:
        """All roots whose analysis a file is part of."""
        return [root for root in self._roots.values() if root.holds(file)]

    def knows(self, root: _Root, file: str, text: str) -> bool:
        """Whether this very text of a file was analysed last, and nothing is waiting to be."""
        if root.snapshot is None or (root.task is not None and not root.task.done()):
            return False
        analysed = root.snapshot.texts.get(file)
        if analysed is None and self.offers("workspace", "did_change_watched_files", "dynamic_registration"):
            analysed = analysis.saved(file)  # had it changed since, we would have been told
        return analysed == text

    def analyse_all(self) -> None:
        for root in self._roots.values():
            self.analyse(root)

    def changed_on_disk(self, files: set[str], delay: float) -> None:
        """Analyses the roots of changed files, unless the change is that what was analysed has been saved."""
        for root in self._roots.values():
            for file in filter(root.holds, files):
                buffer = self.buffers.get(file)
                if buffer is None or root.snapshot is None or root.snapshot.texts.get(file) != buffer.text:
                    self.analyse(root, delay)
                    break

    # -- analysis -----------------------------------------------------------------------------------------------

    def analyse(self, root: _Root, delay: float = 0, *, typing: bool = False) -> None:
        """Starts an analysis after a delay in seconds, in place of the one that is waiting or running.

        While someone is ``typing``, it waits for a pause, the longer the more it takes.
        """
        if typing:
            delay = TYPING + root.took / 4
        else:
            root.stale = True
        root.obsolete.set()
        root.obsolete = threading.Event()
        if root.task is not None:
            root.task.cancel()
        root.task = asyncio.get_running_loop().create_task(self._analyse(root, delay, root.obsolete))

    async def _analyse(self, root: _Root, delay: float, obsolete: threading.Event) -> None:
        at_once = min(delay, SOON)
        await asyncio.sleep(at_once)
        texts = {file: buffer.settle(file) for file, buffer in self.buffers.items() if root.holds(file)}
        texts = {file: text for file, text in texts.items() if file.endswith(".py")}
        if not root.stale and root.snapshot is not None and texts == root.snapshot.texts:
            return self.tell(root)  # what was typed is no Python yet, or was taken back
        if root.snapshot is not None and await self._stands(root, root.snapshot, texts):
            return self.tell(root)
        await asyncio.sleep(delay - at_once)
        loop = asyncio.get_running_loop()
        progress = _Progress(self, root, loop, obsolete)
        started = loop.time()
        try:
            job = partial(analysis.run, root.path, dict(self.overrides), texts, progress.step, root.memory)
            root.snapshot = await asyncio.wrap_future(self.worker.submit(job))
            root.complaint, root.stale, root.took = "", False, loop.time() - started
        except _Obsolete:
            return None
        except analysis.FAILURES as error:
            self._complain(root, str(error))
        except Exception as error:
            log.exception("analysis of %s failed", root.path)
            self._complain(root, f"internal error: {type(error).__name__}: {error}; please report it as a bug")
        finally:
            progress.end()
        self.tell(root)
        self.worker.submit(gc.collect)  # an analysis leaves cycles behind, and the engine makes collections rare
        return None

    async def _stands(self, root: _Root, last: Snapshot, texts: Mapping[str, str]) -> bool:
        """Whether these texts change nothing that the last analysis asked for; then what it found moves with them."""
        job = partial(analysis.again, root.path, dict(self.overrides), texts, last)
        try:
            snapshot = await asyncio.wrap_future(self.worker.submit(job))
        except analysis.FAILURES:
            return False  # the analysis says it again, and is heard
        if snapshot is not None:
            root.snapshot, root.complaint, root.stale = snapshot, "", False
        return snapshot is not None

    def _complain(self, root: _Root, message: str) -> None:
        """Says what is wrong, once; what was found before stays."""
        if message != root.complaint:
            root.complaint = message
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"promptlint: {message}"))

    async def settled(self, root: _Root) -> None:
        """Waits for the last analysis that was asked for."""
        while (task := root.task) is not None and not task.done():
            await asyncio.wait({task})

    def places(self, root: _Root) -> Places | None:
        if root.snapshot is None:
            return None
        return Places(root.snapshot, self.buffers, self.workspace.position_codec)

    async def fixes(self, root: _Root, file: str) -> Mapping[str, tuple[Fix, ...]]:
        """What ends the findings of a root, as of the present texts; nothing when they change meanwhile.

        Nothing either when no finding in ``file`` may have a fix: they are tried for all files, which takes a while.
        """
        await self.settled(root)
        snapshot, obsolete = root.snapshot, root.obsolete
        if snapshot is None or not snapshot.may_fix(file):
            return {}

        def step(path: str, done: int, total: int) -> None:
            if obsolete.is_set():
                raise _Obsolete

        if root.fixes is None or root.fixes[0] is not snapshot:
            job = partial(analysis.fixes, root.path, snapshot, step, root.memory)
            root.fixes = snapshot, self.worker.submit(job)
        try:
            return await asyncio.shield(asyncio.wrap_future(root.fixes[1]))
        except _Obsolete:
            return {}
        except Exception:
            log.exception("fixes of %s failed", root.path)
            return {}

    # -- diagnostics --------------------------------------------------------------------------------------------

    def diagnostics(self, root: _Root) -> Mapping[str, list[types.Diagnostic]]:
        """The diagnostics of a root, without files that belong to a root inside of it."""
        places = self.places(root)
        if places is None:
            return {}
        return {file: found for file, found in diagnostics.of(places).items() if self.root_of(file) is root}

    def tell(self, root: _Root) -> None:
        """Brings what the client shows up to date, in every file that has or had a finding."""
        if self.pulls:
            self.workspace_diagnostic_refresh(None)
        else:
            found = self.diagnostics(root)
            for file in sorted(root.published | found.keys()):
                self._publish(file, found.get(file, []))
            root.published = set(found)
        if self.offers("workspace", "inlay_hint", "refresh_support"):
            self.workspace_inlay_hint_refresh(None)

    def _publish(self, file: str, items: list[types.Diagnostic]) -> None:
        if self.pulls:
            return
        buffer = self.buffers.get(file)
        uri, version = (buffer.uri, buffer.version) if buffer is not None else (Path(file).as_uri(), None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, version))

    async def pull(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of one document, as of its present text."""
        file = _path(uri)
        root = self.root_of(file) if file else None
        if file is None or root is None:
            return []
        await self.settled(root)
        return self.diagnostics(root).get(file, [])

    async def pull_all(self) -> dict[str, list[types.Diagnostic]]:
        """The diagnostics of all files, by absolute path."""
        found: dict[str, list[types.Diagnostic]] = {}
        for root in list(self._roots.values()):
            await self.settled(root)
            found |= self.diagnostics(root)
        return found

    # -- settings -----------------------------------------------------------------------------------------------

    def take_settings(self, given: object) -> None:
        """Takes the editor's settings, which go before those of pyproject.toml."""
        if given is not None and not isinstance(given, Mapping):
            return self._mistaken("the settings are an object", given)
        self.overrides = {}
        for key, value in (given or {}).items():
            if value is None or value == []:
                continue
            if key in CHOICES:
                name, choices = CHOICES[key]
                if not isinstance(value, str) or value.upper() not in choices.__members__:
                    self._mistaken(f"{key} is one of {', '.join(map(str, choices))}", value)
                    continue
                self.overrides[name] = choices[value.upper()]
            elif key in LISTS:
                if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                    self._mistaken(f"{key} is a list of rules", value)
                    continue
                self.overrides[LISTS[key]] = tuple(value)
        return None

    def _mistaken(self, rule: str, value: object) -> None:
        message = f"promptlint: {rule}, not {value!r}"
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    async def ask_settings(self) -> None:
        """Takes the settings that the client has now, where it can be asked."""
        if self.offers("workspace", "configuration"):
            item = types.ConfigurationItem(section=SECTION)
            (answer,) = await self.workspace_configuration_async(types.ConfigurationParams([item]))
            if answer is not None:
                self.take_settings(answer)


class _Progress:
    """Tells the editor how far an analysis is, if it takes long, and ends one that is not wanted any more."""

    def __init__(self, server: Server, root: _Root, loop: asyncio.AbstractEventLoop, obsolete: threading.Event) -> None:
        self._server, self._obsolete = server, obsolete
        self._name = root.path.name or str(root.path)
        self._share = 0.0
        self._ended = asyncio.Event()
        if server.offers("window", "work_done_progress"):
            self._task = loop.create_task(self._show())

    def step(self, path: str, done: int, total: int) -> None:
        """Called from the thread of the analysis."""
        if self._obsolete.is_set():
            raise _Obsolete
        self._share = done / max(1, total)

    def end(self) -> None:
        self._ended.set()

    async def _show(self) -> None:
        if await self._ends_within(SLOW):
            return
        token, progress = f"promptlint-{uuid.uuid4()}", self._server.work_done_progress
        try:
            await progress.create_async(token)
        except JsonRpcException:  # the client would rather not
            return
        progress.begin(token, types.WorkDoneProgressBegin(f"promptlint: {self._name}", cancellable=True, percentage=0))
        while not await self._ends_within(0.25):
            if progress.tokens[token].cancelled():
                self._obsolete.set()
                break
            progress.report(token, types.WorkDoneProgressReport(percentage=round(100 * self._share)))
        progress.end(token, types.WorkDoneProgressEnd())

    async def _ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _path(uri: str) -> str | None:
    """The absolute path of a file, ``None`` for documents that are no files."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return os.path.abspath(path) if path else None


def initialize(ls: Server, params: types.InitializeParams) -> None:
    # Clients that pull and cannot be told to pull again would miss what an edit in another file changes.
    ls.pulls = ls.offers("text_document", "diagnostic") and ls.offers("workspace", "diagnostics", "refresh_support")
    if ls.pulls:
        options = types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=True, identifier="promptlint"
        )
        ls.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull_document)
        ls.feature(types.WORKSPACE_DIAGNOSTIC)(pull_workspace)
    ls.take_settings(params.initialization_options)
    first = next(iter(ls.folders()), "")
    if ls.alone and os.path.isdir(first):
        os.chdir(first)  # paths are shown relative to it


async def initialized(ls: Server, params: types.InitializedParams) -> None:
    registrations = []
    if ls.offers("workspace", "did_change_watched_files", "dynamic_registration"):
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        registrations.append(types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if ls.offers("workspace", "did_change_configuration", "dynamic_registration"):
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        registrations.append(types.Registration("settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if registrations:
        with suppress(JsonRpcException):  # a client that refuses goes without
            await ls.client_register_capability_async(types.RegistrationParams(registrations))
    with suppress(JsonRpcException):
        await ls.ask_settings()
    ls.fit_roots()


def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    document = params.text_document
    file = _path(document.uri)
    if file is None:
        return
    ls.buffers[file] = Buffer(document.uri, document.text, document.version)
    ls.fit_roots()
    for root in ls.roots_of(file):
        if ls.knows(root, file, document.text):
            ls.tell(root)
        else:
            ls.analyse(root)


def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    file = _path(params.text_document.uri)
    if file is None or file not in ls.buffers:
        return
    buffer = ls.buffers[file]
    buffer.text = ls.workspace.get_text_document(params.text_document.uri).source
    buffer.version = params.text_document.version
    for root in ls.roots_of(file):
        ls.analyse(root, typing=True)


def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    file = _path(params.text_document.uri)
    if file is not None:
        ls.changed_on_disk({file}, 0)


def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    file = _path(params.text_document.uri)
    buffer = ls.buffers.pop(file, None) if file is not None else None
    if file is None or buffer is None:
        return
    ls.fit_roots()
    for root in ls.roots_of(file):
        if buffer.text != analysis.saved(file):
            ls.analyse(root)


def watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    ls.changed_on_disk({file for change in params.changes if (file := _path(change.uri))}, TYPING)


def folders_changed(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    ls.fit_roots()


async def settings_changed(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    if ls.offers("workspace", "configuration"):
        await ls.ask_settings()
    elif isinstance(params.settings, Mapping):
        ls.take_settings(params.settings.get(SECTION, params.settings))
    ls.analyse_all()


async def pull_document(
    ls: Server, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    items = await ls.pull(params.text_document.uri)
    name = diagnostics.result_id(items)
    if params.previous_result_id == name:
        return types.RelatedUnchangedDocumentDiagnosticReport(name)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=name)


async def pull_workspace(ls: Server, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
    known = {file: given.value for given in params.previous_result_ids if (file := _path(given.uri))}
    found = await ls.pull_all()
    reports: list[types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport] = []
    for file in sorted(found.keys() | known.keys()):
        items = found.get(file, [])
        name = diagnostics.result_id(items)
        buffer = ls.buffers.get(file)
        uri, version = (buffer.uri, buffer.version) if buffer is not None else (Path(file).as_uri(), None)
        if known.get(file) == name:
            reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, name, version))
        else:
            reports.append(types.WorkspaceFullDocumentDiagnosticReport(uri, items, version, result_id=name))
    return types.WorkspaceDiagnosticReport(reports)


async def code_action(ls: Server, params: types.CodeActionParams) -> Sequence[types.CodeAction]:
    file = _path(params.text_document.uri)
    root = ls.root_of(file) if file else None
    if file is None or root is None or file not in ls.buffers:
        return []
    fixes = await ls.fixes(root, file)
    places = ls.places(root)
    if places is None or file not in ls.buffers:
        return []
    versioned = ls.offers("workspace", "workspace_edit", "document_changes")
    desk = actions.Desk(file, ls.buffers[file], places, fixes, versioned)
    return list(actions.of(desk, params.context.diagnostics, params.context.only))


def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    file = _path(params.text_document.uri)
    root = ls.root_of(file) if file else None
    places = ls.places(root) if root else None
    if file is None or places is None:
        return None
    formats: Any = getattr(getattr(ls.client_capabilities.text_document, "hover", None), "content_format", None)
    return views.hover(places, file, params.position, types.MarkupKind.Markdown in (formats or ()))


async def inlay_hint(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    file = _path(params.text_document.uri)
    root = ls.root_of(file) if file else None
    if file is None or root is None:
        return []
    await ls.settled(root)
    places = ls.places(root)
    return list(views.hints(places, file, params.range.start.line, params.range.end.line)) if places else []


HANDLERS: Mapping[str, Callable[..., Any]] = {
    types.INITIALIZE: initialize,
    types.INITIALIZED: initialized,
    types.TEXT_DOCUMENT_DID_OPEN: did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: did_change,
    types.TEXT_DOCUMENT_DID_SAVE: did_save,
    types.TEXT_DOCUMENT_DID_CLOSE: did_close,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: watched_files,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: folders_changed,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: settings_changed,
    types.TEXT_DOCUMENT_CODE_ACTION: code_action,
    types.TEXT_DOCUMENT_HOVER: hover,
    types.TEXT_DOCUMENT_INLAY_HINT: inlay_hint,
}
OPTIONS = {types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions([types.CodeActionKind.QuickFix, actions.FIX_ALL])}


def make() -> Server:
    """A server for one session."""
    server = Server()
    for name, handler in HANDLERS.items():
        server.feature(name, OPTIONS.get(name))(handler)
    return server


def run(tcp: tuple[str, int] | None) -> None:
    """Serves on standard input and output, or the first client on a TCP port."""
    server = make()
    server.alone = True
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # what a rule prints is no message of the protocol
    if tcp is None:
        server.start_io(sys.stdin.buffer, out)
    else:
        server.start_tcp(*tcp)
