"""Room for deep recursion: what a function does is the same, and the system is not asked for memory at each call."""

from __future__ import annotations

import pytest

from promptlint.frames import roomy

resource = pytest.importorskip("resource", reason="page faults are not counted here")


def deep(number: int) -> int:
    return deep(number - 1) + 1 if number else 0


def at_every_depth() -> None:
    """Calls and returns across each place where a piece of memory for frames may end."""

    def below(number: int) -> None:
        if number:
            below(number - 1)
        else:
            for _ in range(200):
                deep(4)

    for number in range(300):
        below(number)


def test_recursion_across_any_depth_takes_no_new_memory() -> None:
    work = roomy(at_every_depth)
    work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 2_000


def test_the_function_is_the_same_otherwise() -> None:
    @roomy
    def divided(number: int, *, by: int = 2) -> float:
        """Number over by."""
        return number / by

    assert divided(6) == 3
    assert divided(6, by=3) == 2
    assert (divided.__name__, divided.__doc__) == ("divided", "Number over by.")
    with pytest.raises(ZeroDivisionError):
        divided(1, by=0)


def test_each_has_its_own_room() -> None:
    first, second = roomy(lambda: deep(500)), roomy(lambda: first() + deep(400))
    assert second() == 900
