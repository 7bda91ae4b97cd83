"""Opens the HTML pages in a headless Chromium and uses them: ``python tests/integration/browser.py [--keep FOLDER]``.

Not part of the test suite: Chromium has to be installed (Debian's package, or ``--chromium PROGRAM``). A project of 200
requests is checked and mapped; ``browser/page.js`` clicks, presses keys and filters in each page, without a network. A
message on the page's console, or anything that is not as it should be, fails. FOLDER gets the pages and screenshots,
light and dark.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).resolve().parent / "browser" / "page.js"
REQUESTS = 200
SLOW = 1000
"""Milliseconds in which a page of that many requests must answer a click or a key."""

PROMPTS = """from datetime import datetime

RULES = "Answer in the words of the manual, and name the page. " * 400


def greeting():
    return f"It is {datetime.now()}."
"""
CLIENTS = {
    "anthropic": """from anthropic import Anthropic

client = Anthropic()


def send(system, messages):
    blocks = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=blocks, messages=messages).content
""",
    "openai": """from openai import OpenAI

client = OpenAI()


def send(system, messages):
    sent = [{"role": "system", "content": system}, *messages]
    return client.chat.completions.create(model="gpt-4.1", messages=sent).choices[0].message.content
""",
}
CHAT = """
from prompts import RULES, greeting


def chat():
    history = []
    while True:
        history.append({{"role": "user", "content": input()}})
        history.append({{"role": "assistant", "content": send({system}, history)}})
"""


def project(folder: Path) -> None:
    """A project with that many requests: two providers, half of them with a clock ahead of their rules."""
    (folder / "prompts.py").write_text(PROMPTS)
    for number in range(REQUESTS):
        client = CLIENTS["anthropic" if number % 3 else "openai"]
        system = "greeting() + RULES" if number % 2 else "RULES"
        (folder / f"app_{number:03}.py").write_text(client + CHAT.format(system=system))


def page(folder: Path, command: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "promptlint", *command, "--output-format", "html", "."],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def browse(chromium: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Chromium without a network, its own profile, and the page's console on its standard error."""
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
                *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", f"--user-data-dir={profile}"),
                *options,
                file.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )


def use(chromium: str, folder: Path, name: str, text: str) -> list[str]:
    """What is wrong with a page; prints what was seen."""
    (folder / f"{name}.html").write_text(text, "utf-8")
    used = folder / f"{name}-used.html"
    used.write_text(text.replace("</body>", f"<script>{SCRIPT.read_text('utf-8')}</script></body>"), "utf-8")
    done = browse(chromium, used, "--dump-dom", "--window-size=1200,900")
    faults = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    if found is None:
        return [*faults, "the script did not come to its end"]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    faults += seen.pop("failures")
    faults += [f"{what} took {seen[what]} ms" for what in ("click", "filter", "search") if seen[what] > SLOW]
    print(f"{name}: {len(text):,} bytes, {seen}")
    browse(chromium, folder / f"{name}.html", f"--screenshot={folder / name}.png", "--window-size=1200,1400")
    browse(
        chromium,
        folder / f"{name}.html",
        f"--screenshot={folder / name}-dark.png",
        "--window-size=1200,1400",
        "--blink-settings=preferredColorScheme=0",
    )
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    if shutil.which(chosen.chromium) is None:
        print(f"{chosen.chromium} is not installed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        code, pages = Path(scratch) / "code", chosen.keep or Path(scratch) / "pages"
        code.mkdir()
        pages.mkdir(parents=True, exist_ok=True)
        project(code)
        texts = {"map": page(code, ["map"]), "check": page(code, ["check", "--exit-zero"])}
        faults = [
            f"{name}: {fault}" for name, text in texts.items() for fault in use(chosen.chromium, pages, name, text)
        ]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
