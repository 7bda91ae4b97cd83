"""What linking asks of files goes through what notes it: else an edit could change a finding and nobody would know."""

from __future__ import annotations

import re
from pathlib import Path

import promptlint.link

LINK = Path(promptlint.link.__file__).parent
UNNOTED = re.compile(
    r"\.source\.(text|data|lines)\b|\bref\.data\b|\.stored\b|\.listed\b|get_docstring|\.hands_out\b|\.declares\b"
    r"|\.keyword_messages\b|\.attribute_stores\b|\.having\(|ast\.walk\((\w+\.)*function\.node\)|function\.node\.body"
)
"""Ways to look into a file that note nothing (``index.Asked``, ``Program.searched`` and ``Project.words`` do)."""
NOTES = {"program.py", "questions.py", "skeleton.py", "scan.py"}
"""The modules that note what is asked, or ask nothing new."""
ALLOWED = {
    'steps = (Step(form.stored, "the turn is stored here"),)',  # another one of that name
    "lines = function.module.source.lines",  # of a call in a body that was looked at
    "known = self._snippets[key] = snippet(frame.module.source.lines, at)",  # of what is evaluated
    "for comment in comments.read(ref.path, ref.source.text):",  # hints: an edit of a file with any links again
    'self._hinting = frozenset(ref.path for ref in program.project.having("promptlint"))',
    "same = module is not None and data == source.data and name == ref.module and module.source.cells == source.cells",
}


def test_nothing_is_asked_without_a_note() -> None:
    found = {
        f"{file.name}: {line.strip()}"
        for file in sorted(LINK.rglob("*.py"))
        if file.name not in NOTES
        for line in file.read_text(encoding="utf-8").splitlines()
        if UNNOTED.search(line) and line.strip() not in ALLOWED
    }
    assert found == set(), "ask through promptlint.code.index or Program, which note it for codebase.questions"
