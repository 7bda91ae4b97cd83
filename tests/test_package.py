"""A wheel, the checkout and the command agree on what promptlint is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from promptlint import registry

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this checkout unpacked."""
    dist, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(dist)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = dist.glob("promptlint_cache-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def python(site: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=True).stdout


def test_wheel_and_checkout_list_the_same_rules(site: Path) -> None:
    code = (
        "from promptlint.registry import BUILTIN, load; print(BUILTIN, *(r.code + r.name for r in load()), sep='\\n')"
    )
    folder, *rules = python(site, "-c", code).splitlines()
    assert Path(folder) == site / "promptlint" / "rules"
    assert rules == [info.code + info.name for info in registry.load()]
    assert len(rules) == len([file for file in (ROOT / "rules").glob("*.py") if not file.name.startswith("_")])


def test_wheel_runs_and_holds_the_package_only(site: Path) -> None:
    assert python(site, "-m", "promptlint", "--version").startswith("promptlint ")
    assert (site / "promptlint" / "py.typed").is_file()
    assert {entry.name for entry in site.iterdir() if not entry.name.endswith(".dist-info")} == {"promptlint"}
    shipped = {file.name for file in (site / "promptlint" / "knowledge").glob("*.toml")}
    assert shipped == {file.name for file in (ROOT / "promptlint" / "knowledge").glob("*.toml")} != set()


def test_version_needs_no_heavy_import() -> None:
    code = "import sys; from promptlint import cli; cli.run(['--version']); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"rich", "libcst", "tiktoken", "promptlint.registry", "promptlint.request"}
