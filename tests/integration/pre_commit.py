"""Runs the hooks of this repository with the real pre-commit: ``python tests/integration/pre_commit.py``.

Not part of the test suite: pre-commit builds an environment of its own and fetches our dependencies into it. Needs
pre-commit on the path, git, and a clean work tree (hooks are taken from a commit). Prints what it checks, and how long
a warm hook takes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUIET = "def add(a, b):\n    return a + b\n"


def run(folder: Path, *command: str, ok: bool | None = True) -> str:
    """Runs a command and returns what it prints; ``ok`` says whether it is to succeed (``None``: either)."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ok is not None and (done.returncode == 0) != ok:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def project(folder: Path, hook: str) -> None:
    """A repository that uses one of the hooks; the example service is committed already, and one file is new."""
    commit = run(ROOT, "git", "rev-parse", "HEAD").strip()
    shutil.copytree(ROOT / "examples" / "chat_service", folder / "chat_service")
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {ROOT.as_posix()}\n    rev: {commit}\n    hooks:\n      - id: {hook}\n"
    )
    run(folder, "git", "init", "--quiet")
    run(folder, "git", "add", ".")
    run(folder, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--no-verify", "-m", "first")


def stage(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    run(folder, "git", "add", name)


def expect(what: str, holds: bool, output: str) -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}")
    if not holds:
        sys.exit(output)


def whole_project(folder: Path) -> None:
    project(folder, "promptlint")
    stage(folder, "notes.txt", "nothing")
    output = run(folder, "pre-commit", "run")
    expect("promptlint is skipped when no Python file changed", "Skipped" in output, output)
    stage(folder, "quiet.py", QUIET)
    output = run(folder, "pre-commit", "run", ok=False)
    expect("promptlint reports the whole project when one changed", "chat_service/context.py:17" in output, output)
    started = time.monotonic()
    output = run(folder, "pre-commit", "run", "--all-files", ok=False)
    seconds = time.monotonic() - started
    expect(f"promptlint with --all-files, warm, in {seconds:.1f} s", "error[volatile-time]" in output, output)
    shutil.rmtree(folder / "chat_service")
    run(folder, "git", "add", "--all")
    output = run(folder, "pre-commit", "run", "--all-files")
    expect("promptlint passes a project without findings", "Passed" in output, output)


def changed_files(folder: Path) -> None:
    project(folder, "promptlint-files")
    stage(folder, "quiet.py", QUIET)
    output = run(folder, "pre-commit", "run")
    expect("promptlint-files passes when the changed file is clean", "Passed" in output, output)
    stage(folder, "broken.py", "def f(:\n")
    output = run(folder, "pre-commit", "run", ok=False)
    expect("promptlint-files reports the changed file", "broken.py:1" in output and "context.py" not in output, output)
    output = run(folder, "pre-commit", "run", "--all-files", ok=False)
    expect("promptlint-files with --all-files", "context.py:17" in output and "broken.py:1" in output, output)
    run(folder, "pre-commit", "install")
    output = run(folder, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "second", ok=False)
    expect("promptlint-files stops a commit with findings", "broken.py:1" in output, output)


def main() -> None:
    if shutil.which("pre-commit") is None:
        sys.exit("pre-commit is not on the path")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["PRE_COMMIT_HOME"] = str(Path(temporary) / "home")
        for check in (whole_project, changed_files):
            folder = Path(temporary) / check.__name__
            folder.mkdir()
            check(folder)


if __name__ == "__main__":
    main()
