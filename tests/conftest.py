"""The switch that accepts new output."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write what is printed now into golden files and README.md")
    parser.addoption("--programs", type=int, default=300, help="random programs that tests/soundness writes and runs")
