"""Against a real engine: a program with faults of all kinds and sound calls, run twice, then sent to llama.cpp."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.engines.llama import Llama, server
from promptlint.probe import engine, plan, program
from promptlint.probe.claims import Claim, claims
from promptlint.probe.execute import Result, run
from promptlint.probe.send import Sender
from promptlint.probe.twice import Stage
from tests.probe.build import MANUAL, Body, claude, finding, read, recorded, response, turn

SHOP = Path(__file__).parent / "data" / "shop.py"


@pytest.fixture
def llama() -> Iterator[Llama]:
    with server(1) as running:
        yield running


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> list[Claim]:
    """What is expected of each call of the program, from its runs without a network."""
    folder = tmp_path_factory.mktemp("work") / "shop"
    folder.mkdir()
    shutil.copy(SHOP, folder)
    with Stage("shop:everything", folder) as stage:
        made, _ = program.examine(stage, [], program.reader("llama_cpp", None), lambda *_: None)
        assert stage.notes == []
    return made


def sent(made: list[Claim], llama: Llama) -> Result:
    planned = plan.make(made, base_url=llama.address)
    where = engine.asked(planned)
    assert where is not None
    return run(planned, Sender(), lambda *_: None, engine.counting(where))


def function(claim: Claim) -> str:
    assert claim.pair is not None
    return claim.pair.first.exchange.stack[0].function


def listed(name: str) -> set[str]:
    """The functions in a tuple of the program, which is not imported here."""
    for node in ast.parse(SHOP.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {ast.unparse(item) for item in ast.walk(node.value) if isinstance(item, ast.Name)}
    raise AssertionError(name)


FAULTS, SOUND = listed("FAULTS"), listed("SOUND")


def test_every_verdict_is_right(llama: Llama, examined: list[Claim]) -> None:
    result = sent(examined, llama)
    rulings = {function(verdict.claim): verdict.ruling.value for verdict in result.verdicts}
    assert rulings == dict.fromkeys(FAULTS, "confirmed") | dict.fromkeys(SOUND, "refuted")
    assert (len(FAULTS), len(SOUND)) >= (15, 10)
    for verdict in result.verdicts:
        assert len(verdict.readings) == 3
        for reading in verdict.readings:
            assert (reading.predicted, reading.predicted_total) == (reading.read, reading.total), verdict.claim.site


def test_what_is_expected_beforehand_is_what_comes(examined: list[Claim]) -> None:
    assert {function(c) for c in examined if c.forecast and c.forecast.breaks} == FAULTS
    assert {function(c) for c in examined if c.forecast and not c.forecast.breaks} == SOUND


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param([claude(head="Now: 10:31. "), turn(claude(head="Now: 10:32. "), "Hi.", "And?")], id="messages"),
        pytest.param(
            [response(head="Now: 10:31. "), turn(response(head="Now: 10:32. "), "Hi.", "And?")], id="responses"
        ),
    ],
)
def test_the_other_apis(llama: Llama, pair: list[Body]) -> None:
    api = "messages" if "system" in pair[0] else "responses"
    exchanges = recorded([_plain(body) for body in pair], api)
    made = claims([finding()], read(exchanges, served_by="llama_cpp"))
    [verdict] = sent(made, llama).verdicts
    assert verdict.ruling.value == "confirmed"
    for reading in verdict.readings:
        assert (reading.predicted, reading.predicted_total) == (reading.read, reading.total)


def _plain(body: Body) -> Body:
    """In the form that llama.cpp takes, and short enough for it: no bare texts as items, and no model of a vendor."""
    body = json.loads(json.dumps(body).replace(MANUAL, MANUAL[:2000]))
    if "input" not in body:
        return body | {"model": "tiny"}
    kinds = {"assistant": "output_text"}
    items = [
        {
            "type": "message",
            "role": "system" if item["role"] == "developer" else item["role"],
            "content": item["content"]
            if isinstance(item["content"], list)
            else [{"type": kinds.get(item["role"], "input_text"), "text": item["content"]}],
        }
        for item in body["input"]
    ]
    return body | {"model": "tiny", "input": items}
