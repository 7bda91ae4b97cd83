"""The emulator for the tests of the probe, and keys that must not show up anywhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emulator import Vendor, emulator

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}


@pytest.fixture(scope="session")
def running() -> Iterator[Vendor]:
    with emulator() as vendor:
        yield vendor


@pytest.fixture
def vendor(running: Vendor) -> Vendor:
    running.reset()
    return running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
