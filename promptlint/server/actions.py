"""What can be done about diagnostics: a fix that was tried, all of a file together, and a comment that ignores."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from promptlint.answers import ignores
from promptlint.files import source
from promptlint.files.source import Source
from promptlint.finding import Applicability, Edit, Fix
from promptlint.fix.edits import meet
from promptlint.server.analysis import Buffer
from promptlint.server.diagnostics import SOURCE
from promptlint.server.places import Places

REASON = "TODO: say why"
"""Stands in the comment for what only the user knows."""
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"


@dataclass(frozen=True, slots=True)
class Desk:
    """The document that is asked about, and what is known of it. ``versioned`` edits name the version they are for."""

    file: str
    buffer: Buffer
    places: Places
    fixes: Mapping[str, tuple[Fix, ...]]
    """What ends each finding, by its fingerprint, best first."""
    versioned: bool


def of(
    desk: Desk, given: Sequence[types.Diagnostic], only: Sequence[types.CodeActionKind | str] | None
) -> Iterator[types.CodeAction]:
    """The actions for the diagnostics under the cursor, and for the whole document, of the kinds that are asked for."""
    if _asked(types.CodeActionKind.QuickFix.value, only):
        for diagnostic in given:
            data = diagnostic.data if isinstance(diagnostic.data, dict) else {}
            if diagnostic.source == SOURCE and isinstance(data.get("rule"), str):
                for fix in desk.fixes.get(str(data.get("fingerprint")), ()):
                    yield from _fix(desk, diagnostic, fix)
                yield from _ignore(desk, diagnostic, data["rule"])
    if _asked(FIX_ALL, only):
        yield from _fix_all(desk)


def _asked(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    wanted = [asked.value if isinstance(asked, types.CodeActionKind) else asked for asked in only or ()]
    return not wanted or any(kind == asked or kind.startswith(f"{asked}.") for asked in wanted)


def _fix(desk: Desk, diagnostic: types.Diagnostic, fix: Fix) -> Iterator[types.CodeAction]:
    edit = _changes(desk, fix.edits)
    if edit is None:
        return
    safe = fix.applicability is Applicability.SAFE
    yield types.CodeAction(
        title=_sentence(fix.title) if safe else f"{_sentence(fix.title)} (changes what is sent)",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=safe or None,
        edit=edit,
    )


def _fix_all(desk: Desk) -> Iterator[types.CodeAction]:
    """The safe fixes that concern no other document, together."""
    chosen: list[Edit] = []
    for fix, *_ in desk.fixes.values():
        here = all(os.path.abspath(edit.span.path) == desk.file for edit in fix.edits)
        if here and fix.applicability is Applicability.SAFE:
            if not any(meet(edit, other) for edit in fix.edits for other in chosen):
                chosen += fix.edits
    edit = _changes(desk, chosen)
    if edit is not None:
        yield types.CodeAction(title="Fix all that promptlint can fix safely", kind=FIX_ALL, edit=edit)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _changes(desk: Desk, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
    """The edits of all files; ``None`` without any, and where a document has changed since it was analysed."""
    by_path: defaultdict[str, list[types.TextEdit]] = defaultdict(list)
    for edit in sorted(set(edits)):
        where = desk.places.range(edit.span) if desk.places.is_current(edit.span.path) else None
        if where is None:
            return None
        by_path[edit.span.path].append(types.TextEdit(where, edit.text))
    if not by_path:
        return None
    uris = {desk.places.uri(path): (path, changes) for path, changes in by_path.items()}
    if not desk.versioned:
        return types.WorkspaceEdit(changes={uri: changes for uri, (_, changes) in uris.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=desk.places.version(path)), [*changes]
            )
            for uri, (path, changes) in uris.items()
        ]
    )


def _ignore(desk: Desk, diagnostic: types.Diagnostic, rule: str) -> Iterator[types.CodeAction]:
    if rule in ignores.CANNOT:
        return
    file = Source("", Path(), source.to_bytes(desk.buffer.text))
    change = ignores.insertion(file, diagnostic.range.start.line + 1, rule, REASON)
    if change is None:
        return
    before = file.lines[change.line - 1][: change.column - 1]
    place = types.Position(change.line - 1, desk.places.codec.client_num_units(before))
    edit = types.TextEdit(types.Range(place, place), change.text)
    document = types.OptionalVersionedTextDocumentIdentifier(uri=desk.buffer.uri, version=desk.buffer.version)
    whole = (
        types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [edit])])
        if desk.versioned
        else types.WorkspaceEdit(changes={desk.buffer.uri: [edit]})
    )
    yield types.CodeAction(
        title=f"Ignore {rule} on this line",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=whole,
    )
