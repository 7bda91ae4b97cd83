"""Copies of records: as those of the standard library, whatever a class does when it is made."""

from __future__ import annotations

import dataclasses
from dataclasses import field

import pytest

from promptlint.frozen import record, replace


@record(frozen=True, slots=True)
class Plain:
    cls: str
    made: int = 0
    new: tuple[int, ...] = ()
    kept: int | None = field(default=None, init=False)


@record(frozen=True, slots=True)
class Checked:
    width: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.width)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    size: int = 1


@pytest.mark.parametrize(
    ("made", "changes"),
    [
        (Plain("a", 1, (2,)), {"cls": "b"}),
        (Plain("a", 1, (2,)), {"made": 0, "new": ()}),
        (Plain("a"), {}),
        (Checked(3), {"width": 5}),
        (Frozen("a", 2), {"size": 3}),
    ],
)
def test_a_copy_is_that_of_the_standard_library(made: Plain | Checked | Frozen, changes: dict[str, object]) -> None:
    before = repr(made)
    assert replace(made, **changes) == dataclasses.replace(made, **changes)  # type: ignore[arg-type]
    assert repr(made) == before


def test_what_an_object_has_found_out_about_itself_is_not_copied() -> None:
    made = Plain("a")
    object.__setattr__(made, "kept", 7)
    assert replace(made, made=1).kept is None


def test_a_field_that_a_class_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="other"):
        replace(Plain("a"), other=1)  # type: ignore[call-arg]
