"""The site builds, its links lead somewhere, and every page of a rule shows what the rule says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from promptlint import registry
from promptlint.fix import FIXABLE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as built; a link or an anchor that leads nowhere would have ended that."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def text(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_rule_has_a_page_that_shows_it_at_work(site: Path) -> None:
    for info in registry.load():
        shown = text(site / "rules" / info.name / "index.html")
        assert info.code in shown and info.summary in shown
        assert f"[{info.name}]" in shown, f"{info.name}: what it prints is missing"
        assert ("may be fixed" in shown) == (info.name in FIXABLE)


def test_menu_leads_to_every_page(site: Path) -> None:
    menu = set(re.findall(r'href="([^"#]*)"', (site / "index.html").read_text(encoding="utf-8")))
    pages = {page.parent.relative_to(site).as_posix() for page in site.rglob("index.html")} - {"."}
    assert pages <= {link.rstrip("/") for link in menu}


def test_readme_and_guide_are_pages_with_links_of_the_site(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="ci/"' in home and 'href="write-a-rule/"' in home
    assert "/blob/main/examples/README.md" in home


def test_links_to_files_of_the_repository_lead_somewhere() -> None:
    folders = (ROOT, *(ROOT / name for name in ("docs", "examples", "benchmarks", "editors/vscode")))
    for page in (page for folder in folders for page in folder.glob("*.md")):
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            path = link.partition("#")[0]
            assert re.match(r"https?:|mailto:", link) or (page.parent / path).exists(), f"{page.name}: {link}"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*src="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        assert loaded == [], page
