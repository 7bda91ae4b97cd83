"""The switch that accepts new output, and the signal that programs under test begin with."""

from __future__ import annotations

import signal

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write what is printed now into golden files and README.md")
    parser.addoption("--programs", type=int, default=300, help="random programs that tests/soundness writes and runs")


def pytest_configure() -> None:
    # A shell has what it runs in the background ignore Ctrl-C, which all its children take over.
    signal.signal(signal.SIGINT, signal.default_int_handler)
