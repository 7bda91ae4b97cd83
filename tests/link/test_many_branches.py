"""Bodies with a great many branches: what is asked of each of them is asked once."""

from __future__ import annotations

from promptlint.code.expression import NOWHERE, After, Call, Either, Expr, Global
from promptlint.codebase.program import reference_name

RUN = Call(NOWHERE, Global(NOWHERE, "run"), (), ())


def branched(node: Expr, times: int) -> Expr:
    """A name that each of many branches may have handed to a call, one behind the other."""
    for _ in range(times):
        node = Either(NOWHERE, Global(NOWHERE, "flag"), (After(NOWHERE, RUN, 0, "", node), node))
    return node


def test_a_name_behind_many_branches_is_found_without_taking_each_way() -> None:
    assert reference_name(branched(Global(NOWHERE, "tool"), 200)) == "tool"


def test_two_names_are_none() -> None:
    either = Either(NOWHERE, None, (Global(NOWHERE, "one"), branched(Global(NOWHERE, "other"), 200)))
    assert reference_name(branched(either, 200)) is None
