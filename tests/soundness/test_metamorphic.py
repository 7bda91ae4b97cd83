"""What a program does decides what is reported of it, not how it is spelled."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from promptlint import engine
from promptlint.assembly import chains
from promptlint.config import Settings
from promptlint.finding import Confidence, Severity
from promptlint.link import evaluate
from promptlint.link.classes import objects
from tests.soundness.judge import marks
from tests.soundness.programs import CALL, CHOICES, IMPORT, Plan, plans, render, sensible

EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)
EXAMPLES = settings(
    max_examples=60,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

Told = set[tuple[str, str, str, str, frozenset[str]]]


def told(files: dict[str, str], folder: Path) -> Told:
    """Rule, severity, scope, region and origin of each finding; the origin by the mark of its line."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.py"):
        old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    lines = marks(files)
    found = set()
    for f in engine.check([folder], EVERYTHING).findings:
        place = f.origin or f.primary
        origin = lines.get((Path(place.path).name, place.line), frozenset())
        found.add((f.rule, f.severity.name, f.scope.value, f.region.value, origin))
    return found


def one_value(plan: Plan) -> Plan:
    """The plan with its first value only: each mark then has a line of its own."""
    return replace(plan, slots=plan.slots[:1])


SPELLINGS: dict[str, tuple[str, tuple[object, ...]]] = {
    "how the text is put together": ("text", CHOICES["text"]),
    "in place, in a function, in another module": ("builder", CHOICES["builder"]),
    "how the request is sent": ("send", CHOICES["send"]),
    "how a turn is kept": ("keep", ("append", "grow", "extend", "again")),
    "how the turns are copied": ("sent", CHOICES["sent"]),
}


@pytest.mark.parametrize("what", SPELLINGS)
def test_spelling(what: str, tmp_path: Path) -> None:
    field, ways = SPELLINGS[what]

    @EXAMPLES
    @given(plans().map(one_value), st.sampled_from(ways))
    def same(plan: Plan, way: object) -> None:
        changed: dict[str, object] = {field: way}
        other = sensible(replace(plan, **changed))  # type: ignore[arg-type]
        assume(getattr(plan, field) in ways and other != plan)
        assume(replace(other, **{field: getattr(plan, field)}) == plan)  # nothing else had to change
        assert told(render(plan), tmp_path / "p") == told(render(other), tmp_path / "p"), f"{plan}\n{other}"

    same()


def test_extracting_the_value(tmp_path: Path) -> None:
    """A value may stand where it is used, or come from a function, a method, a closure, another module ..."""

    @EXAMPLES
    @given(plans().map(one_value), st.integers(0, len(CALL) * len(IMPORT) - 1))
    def same(plan: Plan, how: int) -> None:
        assume(plan.slots and plan.slots[0].when in ("call", "import"))
        other = sensible(replace(plan, slots=(replace(plan.slots[0], how=how),)))
        assume(other != plan)
        assert told(render(plan), tmp_path / "p") == told(render(other), tmp_path / "p"), f"{plan}\n{other}"

    same()


def test_renaming_locals(tmp_path: Path) -> None:
    names = {"turns": "kept", "answer": "said", "reply": "given", "listed": "rows", "text_": "whole", "marked": "shown"}

    @EXAMPLES
    @given(plans())
    def same(plan: Plan) -> None:
        files = render(plan)
        renamed = {
            name: re.sub(r"\b(" + "|".join(names) + r")\b", lambda m: names[m[1]], text) for name, text in files.items()
        }
        assert told(files, tmp_path / "p") == told(renamed, tmp_path / "p"), str(plan)

    same()


@pytest.mark.parametrize(
    ("module", "bound", "small"),
    [
        (evaluate, "MAX_CALL_DEPTH", 4),
        (evaluate, "MAX_WORK", 400),
        (evaluate, "MAX_TOTAL", 400),
        (chains, "MAX_DEPTH", 2),
        (objects, "MAX_STATE", 20),
    ],
)
def test_growing_a_bound(module: object, bound: str, small: int, tmp_path: Path) -> None:
    """What is found within a small bound is found within a larger one."""

    @EXAMPLES
    @given(plans().map(one_value))
    def more(plan: Plan) -> None:
        files = render(plan)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, bound, small)
            few = told(files, tmp_path / "p")
        many = told(files, tmp_path / "p")
        kinds = {(rule, origin) for rule, *_, origin in many}
        assert {(rule, origin) for rule, *_, origin in few} <= kinds, str(plan)

    more()
