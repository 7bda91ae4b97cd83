"""The pytest plugin: ``prompt_cache``. Nothing is imported before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from promptlint.testing import PromptCache
    from promptlint.trace.format import Exchange


@pytest.fixture
def prompt_cache() -> Iterator[PromptCache]:
    """The requests that this test makes to language models, with the network faked or real.

    Offers ``prefix_stable()``, ``no_errors()`` and ``min_hit_ratio(0.9)``, which fail with what differs, and
    ``requests``, the requests themselves.
    """
    from promptlint.recorder.session import listening
    from promptlint.testing import PromptCache

    requests: list[Exchange] = []
    with listening(requests.append):
        yield PromptCache(requests)
