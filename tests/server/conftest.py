"""A project whose clock is in another module than its prompt, and editors to look at it with."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from promptlint.server import serve

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "from datetime import datetime\n\n\ndef stamp():\n    return datetime.now()\n"
CHAT = """from openai import OpenAI
from clock import stamp

client = OpenAI()
RULES = "Answer briefly. " * 600
history = []
while True:
    history.append({"role": "user", "content": input()})
    system = {"role": "system", "content": f"é 日本 😀 {stamp()}.\\n{RULES}"}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *history])
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
STILL = CLOCK.replace("datetime.now()", "'today'")
PATIENCE = 30.0
"""Seconds after which a test gives up waiting; nothing takes that long."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "projet é"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'chat'\n")
    (folder / "clock.py").write_text(CLOCK, "utf-8")
    (folder / "chat.py").write_text(CHAT, "utf-8")
    return folder


class Editor:
    """A client that we did not write, with the few gestures that the tests make."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        self.versions[name] = 1
        text = (self.folder / name).read_text("utf-8") if text is None else text
        item = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def edit(self, name: str, text: str) -> None:
        self.versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def written(self, *names: str) -> None:
        changes = [types.FileEvent(self.uri(name), types.FileChangeType.Changed) for name in names]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))

    def shown(self, name: str) -> list[types.Diagnostic] | None:
        """What was pushed for a file, ``None`` if nothing was yet."""
        found = self.client.diagnostics.get(self.uri(name))
        return None if found is None else list(found)

    def only(self, name: str) -> types.Diagnostic:
        """The one diagnostic of a file."""
        found = self.shown(name) or []
        assert len(found) == 1
        return found[0]

    def rules(self, name: str) -> list[Any] | None:
        found = self.shown(name)
        return None if found is None else [diagnostic.code for diagnostic in found]

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits until something holds."""

        async def wait() -> None:
            while not holds():
                await asyncio.sleep(0.02)

        await asyncio.wait_for(wait(), PATIENCE)

    async def pull(self, name: str, known: str | None = None) -> types.DocumentDiagnosticReport:
        document = types.TextDocumentIdentifier(self.uri(name))
        params = types.DocumentDiagnosticParams(document, previous_result_id=known)
        return await asyncio.wait_for(self.client.text_document_diagnostic_async(params), PATIENCE)

    async def pulled(self, name: str) -> list[Any]:
        """The rules of the diagnostics of a file as it is now."""
        report = await self.pull(name)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return [item.code for item in report.items]


def _serve(server: serve.Server) -> None:
    with suppress(SystemExit):  # what "exit" means to a process of its own
        server.start_tcp("127.0.0.1", 0)


Start = Callable[..., Awaitable[Editor]]


@pytest_asyncio.fixture
async def start(project: Path) -> AsyncIterator[Start]:
    """Starts a server for an editor, in this process unless the real command is asked for."""
    clients: list[LanguageClient] = []

    async def begin(
        spec: str = "neovim@v0.11.0",
        *,
        encodings: list[types.PositionEncodingKind | str] | None = None,
        pull: bool = False,
        options: object = None,
        folders: list[Path] | None = None,
        configuration: dict[str, Any] | None = None,
        watch: bool = False,
        process: bool = False,
    ) -> Editor:
        client = make_test_lsp_client()
        editor = Editor(client, project)
        clients.append(client)
        if process:
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            environment = {**os.environ, "PYTHONPATH": path}
            command = (sys.executable, "-m", "promptlint", "server")
            await client.start_io(*command, cwd=str(project.parent), env=environment)
        else:
            server = serve.make()
            threading.Thread(target=_serve, args=(server,), daemon=True).start()
            await editor.until(lambda: server._server is not None)
            assert isinstance(server._server, asyncio.Server)
            await client.start_tcp("127.0.0.1", server._server.sockets[0].getsockname()[1])
        able = client_capabilities(spec)
        assert able.text_document and able.workspace
        if encodings is not None:
            able.general = types.GeneralClientCapabilities(position_encodings=encodings)
        able.workspace.configuration = configuration is not None
        if configuration is not None:
            client.set_configuration(configuration, section="promptlint")
        able.text_document.diagnostic = types.DiagnosticClientCapabilities() if pull else None
        if pull:
            able.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        able.workspace.did_change_watched_files = types.DidChangeWatchedFilesClientCapabilities(watch)
        listed = [project] if folders is None else folders
        given = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in listed]
        await client.initialize_session(
            types.InitializeParams(capabilities=able, workspace_folders=given, initialization_options=options)
        )
        return editor

    yield begin
    for client in clients:
        await asyncio.wait_for(client.shutdown_session(), PATIENCE)
        await client.stop()  # type: ignore[no-untyped-call]
