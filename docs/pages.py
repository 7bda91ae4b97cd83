"""Pages of the site that are made and not written: one for each rule, with what promptlint prints about its example.

A hook of mkdocs (``mkdocs.yml``). README.md and CONTRIBUTING.md are pages, too, under the names of ``COPIES``.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # what is documented is this very checkout

from promptlint import engine, output, registry  # noqa: E402
from promptlint.config import Settings  # noqa: E402
from promptlint.finding import Confidence, Severity  # noqa: E402
from promptlint.fix import FIXABLE  # noqa: E402
from promptlint.registry import RuleInfo  # noqa: E402

COPIES = {"index.md": "README.md", "write-a-rule.md": "CONTRIBUTING.md"}
"""Pages that stand at the root of the repository, by their name in the site."""
GUIDES = (
    *("adopt", "fixes", "wrappers", "editors", "ci", "cost", "record", "trace", "probe", "how-it-works"),
    "write-a-rule",
)
"""The order of the menu; other pages of the folder follow."""
GROUPS = {
    "PL1": "What varies in the text",
    "PL2": "Tools",
    "PL3": "The history",
    "PL4": "Breakpoints, sizes and cache objects",
    "PL5": "Keys, parameters and other requests",
    "PL6": "Entries that do not pay",
    "PL9": "promptlint itself",
}
_WIDTH = 120
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s]+)(?=\))")


def page(info: RuleInfo) -> str:
    """The page of a rule: its documentation, with what is printed about its example below it."""
    facts = [f"`{info.code}`", f"since {info.since}"]
    facts += ["[may be fixed](../fixes.md)"] if info.name in FIXABLE else []
    text = info.doc
    example = f"```python\n{info.examples[0]}```\n" if info.examples else ""
    if example and example in text:
        text = text.replace(example, f"{example}\nwhich gives\n\n```text\n{printed(info)}```\n", 1)
    return f"# {info.name}\n\n{' · '.join(facts)}\n\n{text}\n"


def printed(info: RuleInfo) -> str:
    """What ``promptlint check app.py`` prints about the example of a rule, without the closing lines."""
    assert info.examples is not None
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            file = Path("app.py")
            file.write_text(info.examples[0], encoding="utf-8")
            report = engine.check([file], Settings(root=Path(folder)))
        finally:
            os.chdir(before)
    loud = [f for f in report.findings if f.severity >= Severity.WARNING and f.confidence >= Confidence.MEDIUM]
    shown = [f for f in loud or report.findings if f.rule == info.name]
    return output.render(report, "full", shown, width=_WIDTH).partition("\nFound ")[0].rstrip() + "\n"


def overview() -> str:
    """The list of rules, by what they are about."""
    parts = ["# Rules\n\nThe letters and numbers are for `--select` and `--ignore`, which take prefixes: `PL3`.\n"]
    for prefix, title in GROUPS.items():
        rows = [
            f"| `{r.code}` | [{r.name}]({r.name}.md) | {r.summary} |" for r in registry.load() if r.code[:3] == prefix
        ]
        parts.append("\n".join([f"## {title}\n", "| code | name | what it reports |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that is made."""
    yield "rules/index.md", overview()
    yield from ((f"rules/{info.name}.md", page(info)) for info in registry.load())
    yield from ((name, (ROOT / source).read_text(encoding="utf-8")) for name, source in COPIES.items())


def linked(name: str, text: str, repository: str) -> str:
    """The text with links that lead from the place of a page in the site to where its source would lead."""
    home = ROOT if name in COPIES else (ROOT / "docs" / name).parent
    back = {source: target for target, source in COPIES.items()}

    def target(found: re.Match[str]) -> str:
        path, mark, anchor = found[1].partition("#")
        whole = Path(os.path.normpath(home / path))
        rule = whole.parent == ROOT / "rules" and f"rules/{whole.stem.replace('_', '-')}.md"
        inside = (
            rule
            or back.get(os.path.relpath(whole, ROOT))
            or (os.path.relpath(whole, ROOT / "docs") if whole.is_relative_to(ROOT / "docs") else None)
        )
        if inside is None:
            return f"{repository}/blob/main/{os.path.relpath(whole, ROOT)}{mark}{anchor}"
        return os.path.relpath(inside, Path(name).parent).replace(os.sep, "/") + mark + anchor

    return _LINK.sub(target, text)


def on_config(config: Any) -> Any:
    """Called by mkdocs: the menu."""
    others = sorted(p.stem for p in (ROOT / "docs").glob("*.md") if p.stem not in GUIDES)
    rules = ["rules/index.md", *(f"rules/{info.name}.md" for info in registry.load())]
    guides = [{"Write a rule": f"{n}.md"} if n == "write-a-rule" else f"{n}.md" for n in (*GUIDES, *others)]
    config["nav"] = ["index.md", {"Guides": guides}, {"Rules": rules}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: the pages that are made."""
    from mkdocs.structure.files import File

    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called by mkdocs for each page."""
    return linked(page.file.src_uri, markdown, config["repo_url"].rstrip("/"))
