"""Fixes in an editor: offered for a finding, for a whole document, and applied where the editor counts them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from tests.server.conftest import CHAT, Editor, Start

LISTS = """from openai import OpenAI

client = OpenAI()
NAMES = {"é", "日本", "😀"}
OTHERS = {"a", "b", "c"}
RULES = "Answer briefly. " * 600
history = [{"role": "system", "content": f"日本 😀 {', '.join(NAMES)}\\n{RULES}"}]
tools = [{"type": "function", "function": {"name": name}} for name in OTHERS]
while True:
    history.append({"role": "user", "content": input()})
    reply = client.chat.completions.create(model="gpt-4.1", messages=history, tools=tools)
    history.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
TEXT_FIXED = LISTS.replace("join(NAMES)", "join(sorted(NAMES))")
TIME = CHAT.replace("from clock import stamp", "from datetime import datetime").replace(
    "{stamp()}", "{datetime.now():%Y-%m-%d %H:%M}"
)
ALL = {"minSeverity": "info"}
RULES = ["unordered-text", "unordered-tools"]


async def opened(editor: Editor, text: str, rules: Sequence[str]) -> dict[object, types.Diagnostic]:
    """The diagnostics of chat.py with this text, by rule."""
    editor.open("chat.py", text)
    await editor.until(lambda: sorted(editor.rules("chat.py") or []) == sorted(rules))
    return {found.code: found for found in editor.shown("chat.py") or []}


async def asked(editor: Editor, *found: types.Diagnostic, only: Sequence[str] = ()) -> list[types.CodeAction]:
    """What the server offers for diagnostics of chat.py."""
    where = found[0].range if found else types.Range(types.Position(0, 0), types.Position(0, 0))
    context = types.CodeActionContext([*found], only=[*only] or None)
    params = types.CodeActionParams(types.TextDocumentIdentifier(editor.uri("chat.py")), where, context)
    given = await editor.client.text_document_code_action_async(params)
    return [action for action in given or [] if isinstance(action, types.CodeAction)]


def applied(editor: Editor, text: str, action: types.CodeAction, encoding: str) -> str:
    """The text of chat.py as an editor has it after an action, which concerns no other file."""
    assert action.edit is not None
    if action.edit.document_changes:
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (
            editor.uri("chat.py"),
            editor.versions["chat.py"],
        )
        edits = list(change.edits)
    else:
        ((uri, some),) = (action.edit.changes or {}).items()
        assert uri == editor.uri("chat.py")
        edits = list(some)
    codec, lines = PositionCodec(encoding), text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        assert isinstance(edit, types.TextEdit) and edit.range.start.line == edit.range.end.line
        where = codec.range_from_client_units(lines, edit.range)
        line = lines[where.start.line]
        lines[where.start.line] = line[: where.start.character] + edit.new_text + line[where.end.character :]
    return "".join(lines)


@pytest.mark.parametrize(
    ("spec", "encoding"), [("neovim@v0.7.0", "utf-16"), ("neovim@v0.11.0", "utf-8"), ("emacs@v29.1", "utf-32")]
)
async def test_a_fix_is_offered_and_ends_its_finding(start: Start, spec: str, encoding: str) -> None:
    editor = await start(spec, options=ALL)
    found = await opened(editor, LISTS, RULES)
    for rule in RULES:
        fix, ignore, *rest = await asked(editor, found[rule])
        assert (fix.title, fix.kind, fix.is_preferred) == ("Sort it where it is listed", "quickfix", True)
        assert ignore.title == f"Ignore {rule} on this line"
        assert [action.kind for action in rest] == ["source.fixAll.promptlint"]
    (fix, *_) = await asked(editor, found["unordered-text"], only=["quickfix"])
    text = applied(editor, LISTS, fix, encoding)
    assert text == TEXT_FIXED
    editor.edit("chat.py", text)
    await editor.until(lambda: editor.rules("chat.py") == ["unordered-tools"])


@pytest.mark.parametrize("only", ["source.fixAll", "source", "source.fixAll.promptlint"])
async def test_all_safe_fixes_of_a_document_together(start: Start, only: str) -> None:
    editor = await start(options=ALL)
    await opened(editor, LISTS, RULES)
    (action,) = await asked(editor, only=[only])
    text = applied(editor, LISTS, action, "utf-8")
    assert text == TEXT_FIXED.replace("in OTHERS]", "in sorted(OTHERS)]")
    editor.edit("chat.py", text)
    await editor.until(lambda: editor.rules("chat.py") == [])
    assert await asked(editor, only=[only]) == []


async def test_a_fix_that_changes_the_prompt_says_so_and_is_not_part_of_all(start: Start) -> None:
    editor = await start()
    found = await opened(editor, TIME, ["volatile-time"])
    fix, other, _ = await asked(editor, found["volatile-time"])
    assert fix.title == "Print the day and nothing finer (changes what is sent)" and not fix.is_preferred
    assert other.title == "Say it in the newest message, which is stored (changes what is sent)"
    assert applied(editor, TIME, fix, "utf-8") == TIME.replace(" %H:%M}", "}")
    assert await asked(editor, only=["source.fixAll"]) == []


async def test_a_text_that_was_not_analysed_gets_no_fix(start: Start) -> None:
    editor = await start(options=ALL)
    found = await opened(editor, LISTS, RULES)
    editor.edit("chat.py", f"(\n{LISTS}")  # no Python while it is being typed: what was found stays
    assert await asked(editor, *found.values(), only=["source.fixAll"]) == []
    assert all("Sort" not in action.title for action in await asked(editor, *found.values()))
