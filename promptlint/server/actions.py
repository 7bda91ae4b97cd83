"""What can be done about a diagnostic. What it carries in ``data`` is enough: nothing is looked up again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from promptlint import ignores, source
from promptlint.server.analysis import Buffer
from promptlint.server.diagnostics import SOURCE
from promptlint.source import Source

REASON = "TODO: say why"
"""Stands in the comment for what only the user knows."""


def of(
    buffer: Buffer, given: Sequence[types.Diagnostic], codec: PositionCodec, versioned: bool
) -> Iterator[types.CodeAction]:
    """The actions for the diagnostics under the cursor. ``versioned`` edits name the version that they are for."""
    file = Source("", Path(), source.to_bytes(buffer.text))
    for diagnostic in given:
        rule = diagnostic.data.get("rule") if isinstance(diagnostic.data, dict) else None
        if diagnostic.source != SOURCE or not isinstance(rule, str) or rule in ignores.CANNOT:
            continue
        change = ignores.insertion(file, diagnostic.range.start.line + 1, rule, REASON)
        if change is not None:
            yield types.CodeAction(
                title=f"Ignore {rule} on this line",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                edit=_edit(buffer, file, change, codec, versioned),
            )


def _edit(
    buffer: Buffer, file: Source, change: ignores.Insertion, codec: PositionCodec, versioned: bool
) -> types.WorkspaceEdit:
    before = file.lines[change.line - 1][: change.column - 1]
    place = types.Position(change.line - 1, codec.client_num_units(before))
    edit = types.TextEdit(types.Range(place, place), change.text)
    if not versioned:
        return types.WorkspaceEdit(changes={buffer.uri: [edit]})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=buffer.uri, version=buffer.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [edit])])
