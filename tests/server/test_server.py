"""The language server over its protocol, with clients of another make."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import PositionCodec

from promptlint import __version__, engine
from promptlint.server import serve
from tests.server.conftest import CHAT, CLOCK, ROOT, STILL, Editor, Start

PRIMARY = "stamp()"
COMMAND = "visual_studio_code@v1.65.2"
"""The client that starts the real command; it shows paths relative to the folder."""


def text_at(text: str, where: types.Range, encoding: str) -> str:
    """The text that a range covers, counted as the client counts."""
    codec = PositionCodec(encoding)
    found = codec.range_from_client_units(text.splitlines(), where)
    assert found.start.line == found.end.line
    return text.splitlines()[found.start.line][found.start.character : found.end.character]


@pytest.mark.parametrize(
    ("spec", "encodings", "expected"),
    [
        ("neovim@v0.7.0", None, "utf-16"),
        ("neovim@v0.11.0", None, "utf-8"),
        ("emacs@v29.1", None, "utf-32"),
        ("visual_studio_code@v1.65.2", None, "utf-16"),
        ("neovim@v0.11.0", ["utf-16"], "utf-16"),
    ],
)
async def test_columns_are_those_of_the_client(
    start: Start, spec: str, encodings: list[types.PositionEncodingKind | str] | None, expected: str
) -> None:
    editor = await start(spec, encodings=encodings, process=spec == COMMAND)
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    found = editor.only("chat.py")
    assert PRIMARY in text_at(CHAT, found.range, expected)
    assert (found.code, found.severity, found.source) == (
        "volatile-time",
        types.DiagnosticSeverity.Error,
        "promptlint",
    )
    assert "Lost: " in found.message and found.code_description is not None
    assert found.code_description.href.endswith("/rules/volatile_time.py")
    related = found.related_information or []
    assert related[0].message.startswith("1. ")
    assert related[0].location.uri == editor.uri("clock.py")
    assert "datetime.now()" in text_at(CLOCK, related[0].location.range, expected)
    assert [entry.message for entry in related if entry.message.startswith("sent to openai")]
    assert "projet" not in (await hover(editor, CHAT, PRIMARY, expected) or "projet") or spec != COMMAND


async def test_an_edit_in_another_file_changes_what_is_shown(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    editor.open("clock.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    editor.edit("clock.py", STILL)
    await editor.until(lambda: editor.rules("chat.py") == [])
    editor.edit("clock.py", CLOCK)
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])


async def test_what_was_not_saved_is_forgotten_when_it_is_closed(start: Start) -> None:
    editor = await start(pull=True)
    editor.open("clock.py", STILL)
    editor.open("chat.py")
    assert await editor.pulled("chat.py") == []
    editor.close("clock.py")
    assert await editor.pulled("chat.py") == ["volatile-time"]


async def test_files_that_are_not_open_are_shown_too_and_followed_on_the_disk(start: Start) -> None:
    editor = await start()
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    (editor.folder / "clock.py").write_text(STILL, "utf-8")
    editor.written("clock.py")
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_an_edit_that_changes_nothing_of_interest_moves_what_is_shown(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_chat.py").write_text("x = 1\n")
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    before = editor.only("chat.py").range.start.line
    monkeypatch.setattr(engine, "analyse", None)
    text = CHAT.replace("client =", "\n# the client\n\nclient =")
    editor.edit("chat.py", text)
    await editor.until(lambda: editor.only("chat.py").range.start.line == before + 3)
    found = editor.only("chat.py")
    sent = [r for r in found.related_information or [] if r.message.startswith("sent to")]
    assert [r.location.range.start.line for r in sent] == [before + 4]
    assert "Answer briefly" in (await hover(editor, text, "Answer briefly") or "")
    editor.open("tests/test_chat.py", "x = 2\n")  # no part of what is analysed
    editor.edit("chat.py", text.replace("    system = {", "    # promptlint: ignore[volatile-time]\n    system = {"))
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_broken_syntax_keeps_the_last_good_result(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    line = (editor.shown("chat.py") or [])[0].range.start.line
    editor.edit("chat.py", "def f(:\n\n" + CHAT)
    await editor.until(lambda: [d.range.start.line for d in editor.shown("chat.py") or ()] == [line + 2])
    editor.edit("chat.py", "def f():\n    pass\n" + CHAT.replace("{stamp()}", "now"))
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_a_line_that_is_being_typed_into_keeps_no_finding(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    editor.edit("chat.py", CHAT.replace("{stamp()}", "{stamp(}"))
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_pull(start: Start) -> None:
    editor = await start(pull=True)
    editor.open("chat.py")
    editor.open("clock.py")
    first = await editor.pull("chat.py")
    assert isinstance(first, types.RelatedFullDocumentDiagnosticReport)
    assert [item.code for item in first.items] == ["volatile-time"]
    again = await editor.pull("chat.py", first.result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    editor.edit("clock.py", STILL)
    after = await editor.pull("chat.py", first.result_id)
    assert isinstance(after, types.RelatedFullDocumentDiagnosticReport) and not after.items
    assert editor.shown("chat.py") is None, "nothing is pushed to a client that pulls"


async def test_a_client_that_pulls_is_told_when_to_do_it_again(start: Start) -> None:
    editor = await start(pull=True)
    asked: list[object] = []
    editor.client.protocol.fm.features.pop(types.WORKSPACE_DIAGNOSTIC_REFRESH, None)
    editor.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)(lambda *_: asked.append(1))
    editor.open("clock.py")
    await editor.pull("clock.py")
    before = len(asked)
    editor.edit("clock.py", STILL)
    await editor.until(lambda: len(asked) > before)


async def test_pull_of_the_workspace(start: Start) -> None:
    editor = await start(pull=True)
    ask = editor.client.workspace_diagnostic_async
    full = (await ask(types.WorkspaceDiagnosticParams([]))).items
    assert [(report.uri, report.kind) for report in full] == [(editor.uri("chat.py"), "full")]
    known = [types.PreviousResultId(report.uri, report.result_id or "") for report in full]
    same = (await ask(types.WorkspaceDiagnosticParams(known))).items
    assert [report.kind for report in same] == ["unchanged"]
    (editor.folder / "clock.py").write_text(STILL, "utf-8")
    editor.written("clock.py")
    (gone,) = (await ask(types.WorkspaceDiagnosticParams(known))).items
    assert isinstance(gone, types.WorkspaceFullDocumentDiagnosticReport) and not gone.items


async def test_a_pull_that_is_cancelled_is_answered_so_and_the_next_one_works(start: Start) -> None:
    editor = await start(pull=True)
    editor.open("chat.py")
    editor.edit("chat.py", CHAT + "\n")
    document = types.TextDocumentIdentifier(editor.uri("chat.py"))
    params = types.DocumentDiagnosticParams(document)
    request = editor.client.protocol.send_request(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="slow")
    editor.client.cancel_request(types.CancelParams("slow"))
    with pytest.raises(JsonRpcException, match="cancel"):
        await asyncio.wrap_future(request)
    assert await editor.pulled("chat.py") == ["volatile-time"]


async def actions(editor: Editor, found: types.Diagnostic) -> list[types.CodeAction]:
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(editor.uri("chat.py")), found.range, types.CodeActionContext([found])
    )
    given = await editor.client.text_document_code_action_async(params)
    return [action for action in given or [] if isinstance(action, types.CodeAction)]


@pytest.mark.parametrize("spec", ["neovim@v0.7.0", "emacs@v29.1"])
async def test_the_ignore_action_answers_the_finding(start: Start, spec: str) -> None:
    editor = await start(spec)
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    found = editor.only("chat.py")
    fix, action = await actions(editor, found)
    assert fix.title == "Say it in the newest message, which is stored (changes what is sent)"
    assert (action.title, action.kind) == ("Ignore volatile-time on this line", "quickfix")
    assert action.edit is not None
    if action.edit.document_changes:
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
        (edit,) = change.edits
    else:
        ((edit,),) = (action.edit.changes or {}).values()
    assert isinstance(edit, types.TextEdit)
    lines = CHAT.splitlines(keepends=True)
    number = edit.range.start.line
    lines[number] = lines[number].rstrip("\n") + edit.new_text + "\n"  # it is at the end of the line
    editor.edit("chat.py", "".join(lines))
    await editor.until(lambda: editor.rules("chat.py") == [])
    assert "  # promptlint: ignore[volatile-time] TODO: say why\n" in lines[number]


async def test_actions_for_diagnostics_of_others_are_left_to_them(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    found = editor.only("chat.py")
    assert await actions(editor, types.Diagnostic(found.range, "x", source="other", data={"rule": "a"})) == []
    assert await actions(editor, types.Diagnostic(found.range, "x", source="promptlint", data=["a"])) == []


async def hover(editor: Editor, text: str, needle: str, encoding: str = "utf-8") -> str | None:
    line = next(number for number, line in enumerate(text.splitlines()) if needle in line)
    before = text.splitlines()[line].partition(needle)[0]
    place = types.Position(line, PositionCodec(encoding).client_num_units(before) + 1)
    document = types.TextDocumentIdentifier(editor.uri("chat.py"))
    found = await editor.client.text_document_hover_async(types.HoverParams(document, place))
    if found is None:
        return None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def test_hover_shows_the_map(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    at_call = await hover(editor, CHAT, "client.chat.completions")
    assert at_call is not None and at_call.startswith("```text\n") and at_call.endswith("\n```")
    for word in ("gpt-4.1", "per call", "shared with the next turn ends here", "Answer briefly.", "cost: that of "):
        assert word in at_call
    assert await hover(editor, CHAT, "stamp()}") == at_call
    assert await hover(editor, CHAT, '"Answer briefly.') == at_call
    assert await hover(editor, CHAT, "OpenAI()") is None


async def test_hover_follows_the_text(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.shown("chat.py"))
    broken = "def f(:\n\n" + CHAT
    editor.edit("chat.py", broken)
    assert await hover(editor, broken, "stamp()}") is not None


async def test_a_hint_at_the_call_says_what_can_be_cached(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    document = types.TextDocumentIdentifier(editor.uri("chat.py"))
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    (hint,) = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(document, everything)) or ()
    line = next(number for number, line in enumerate(CHAT.splitlines()) if "create(" in line)
    assert hint.position == types.Position(line, len(CHAT.splitlines()[line]))
    assert isinstance(hint.label, str) and "tokens stay the same, caching starts at 1,024: too few" in hint.label
    above = types.Range(types.Position(0, 0), types.Position(line - 1, 0))
    assert not await editor.client.text_document_inlay_hint_async(types.InlayHintParams(document, above))


async def test_the_settings_of_the_project_are_read_again(start: Start) -> None:
    editor = await start()
    editor.open("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    file = editor.folder / "pyproject.toml"
    file.write_text("[tool.promptlint]\nignore = ['volatile-time']\n")
    editor.written("pyproject.toml")
    await editor.until(lambda: editor.rules("chat.py") == [])
    file.write_text("[tool.promptlint]\nignroe = []\n")
    editor.written("pyproject.toml")
    await editor.until(lambda: editor.client.messages)
    assert 'unknown key "ignroe"' in editor.client.messages[-1].message
    file.write_text("[tool.promptlint]\n")
    editor.written("pyproject.toml")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])


async def test_the_settings_of_the_editor_go_before_those_of_the_project(start: Start) -> None:
    editor = await start(configuration={"ignore": ["volatile-time"], "minSeverity": "loud"})
    editor.open("chat.py")
    await editor.until(lambda: editor.client.messages)
    assert editor.client.messages[-1].message == "promptlint: minSeverity is one of info, warning, error, not 'loud'"
    editor.client.set_configuration({"minSeverity": "info"}, section="promptlint")
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
    await editor.until(lambda: "volatile-time" in (editor.rules("chat.py") or ()))


async def test_options_of_the_start_and_pushed_settings(start: Start) -> None:
    editor = await start(options={"ignore": ["volatile-time"]}, pull=True)
    editor.open("chat.py")
    assert await editor.pulled("chat.py") == []
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"promptlint": {}}))
    assert await editor.pulled("chat.py") == ["volatile-time"]


async def test_folders_come_and_go(start: Start, project: Path) -> None:
    editor = await start(folders=[])
    added = types.WorkspaceFolder(project.as_uri(), "chat")
    change = editor.client.workspace_did_change_workspace_folders
    change(types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([added], [])))
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    change(types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([], [added])))
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_a_file_of_no_folder_is_seen_in_its_project(start: Start) -> None:
    editor = await start(folders=[])
    editor.open("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    editor.close("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == [])


async def test_a_file_that_was_never_saved(start: Start) -> None:
    editor = await start()
    editor.open("other.py", CHAT)
    await editor.until(lambda: editor.rules("other.py") == ["volatile-time"])


async def test_documents_that_are_no_files_are_left_alone(start: Start) -> None:
    editor = await start()
    item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, CHAT)
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    assert "untitled:Untitled-1" not in editor.client.diagnostics


SLOW_RULE = '''"""Slow."""

import time
from collections.abc import Iterator

from promptlint.api import Finding, Request, rule


@rule("XX001", kind="other", since="1")
def check(request: Request) -> Iterator[Finding]:
    time.sleep(1.5)
    yield from ()
'''


async def test_progress_is_shown_where_it_takes_long(start: Start) -> None:
    editor = await start("visual_studio_code@v1.65.2", folders=[])
    (editor.folder / "lint").mkdir()
    (editor.folder / "lint" / "slow.py").write_text(SLOW_RULE)
    (editor.folder / "pyproject.toml").write_text("[tool.promptlint]\nrule-paths = ['lint']\n")
    editor.open("chat.py")
    await editor.until(lambda: editor.rules("chat.py") == ["volatile-time"])
    (reports,) = editor.client.progress_reports.values()
    assert isinstance(reports[0], types.WorkDoneProgressBegin) and reports[0].title == "promptlint: projet é"
    await editor.until(lambda: isinstance(reports[-1], types.WorkDoneProgressEnd))


def test_without_pygls_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from promptlint import cli; sys.exit(cli.run(['server']))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("promptlint: error: the language server needs pygls")
    assert "pip install 'promptlint-cache[lsp]'" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--tcp", "x"], "--tcp takes a port"), (["--stdio", "--tcp", "1"], "exclude each other")],
)
def test_wrong_addresses(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    from promptlint import cli

    assert cli.run(["server", *options]) == 2
    assert message in capsys.readouterr().err


def test_the_extension_offers_the_settings_that_the_server_takes() -> None:
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text("utf-8"))
    offered = {key.removeprefix("promptlint.") for key in package["contributes"]["configuration"]["properties"]}
    assert offered == {"command", *serve.CHOICES, *serve.LISTS}
    assert package["version"] == __version__


async def test_a_map_of_very_many_parts_is_cut_and_says_so(start: Start) -> None:
    parts = "".join(f"{{a{number}()}} and " for number in range(60))
    text = CHAT.replace("{stamp()}", parts + "{stamp()}")
    editor = await start(pull=True)
    editor.open("chat.py", text)
    await editor.pull("chat.py")
    found = await hover(editor, text, "client.chat.completions")
    assert found is not None and "the prefix shared with the next turn ends here" in found
    assert re.search(r"\n  and \d+ more segments: promptlint map shows them all\n", found)
    assert len(found.splitlines()) < 45
