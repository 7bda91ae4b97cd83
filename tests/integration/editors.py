"""Runs the language server with real clients: ``python tests/integration/editors.py [--nvim PROGRAM] [--node FOLDER]``.

Not part of the test suite, which has pytest-lsp: Neovim, Emacs with eglot, and Microsoft's
vscode-languageserver-protocol have to be installed. FOLDER is where ``npm install vscode-languageserver-protocol`` was
run. What is not there is left out, and said so. Each client opens a project whose clock is in another file than its
prompt, with é, 日本 and 😀 ahead of it, and prints the text under the diagnostic after opening, after edits of
the other file, with broken syntax, after the comment that ignores it, and after a fix in a third file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent / "editors"
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.server.conftest import CHAT, CLOCK  # noqa: E402
from tests.server.test_fixes import LISTS  # noqa: E402


def clients(nvim: str, node: Path | None) -> Iterator[tuple[str, list[str] | None]]:
    """Name and command of each client; no command where it is not installed."""
    yield "Neovim", [nvim, "--headless", "-u", "NONE", "-n", "-S", str(HERE / "neovim.lua")] if _has(nvim) else None
    yield "Emacs", ["emacs", "--batch", "-l", str(HERE / "eglot.el")] if _has("emacs") else None
    installed = node is not None and (node / "node_modules" / "vscode-languageserver-protocol").is_dir()
    yield "VS Code's protocol", ["node", str(HERE / "vscode.js")] if installed and _has("node") else None


def _has(program: str) -> bool:
    return shutil.which(program) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvim", default="nvim")
    parser.add_argument("--node", type=Path)
    options = parser.parse_args()
    failed = False
    for name, command in clients(options.nvim, options.node):
        print(f"== {name}{'' if command else ': not installed'}", flush=True)
        if command is None:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            project, path = Path(temporary) / "project", Path(temporary) / "bin"
            (project / ".git").mkdir(parents=True)
            (project / "clock.py").write_text(CLOCK, "utf-8")
            (project / "chat.py").write_text(CHAT, "utf-8")
            (project / "tools.py").write_text(LISTS, "utf-8")
            path.mkdir()
            starter = path / "promptlint"
            starter.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m promptlint "$@"\n')
            starter.chmod(0o755)
            environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
            if options.node:
                environment["NODE_PATH"] = str(options.node.resolve() / "node_modules")
            done = subprocess.run(command, cwd=project, env=environment, timeout=180, check=False)
            failed = failed or done.returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
