"""What goes wrong on the way: no verdict is made up, nothing is hidden, and what was learnt before is kept."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from promptlint.probe import plan, render
from promptlint.probe.claims import claims
from promptlint.probe.execute import run
from promptlint.probe.send import Sender
from tests.emulator import Fault, Vendor
from tests.emulator.faults import KINDS
from tests.probe.build import Probed, chat, claude, clocks, finding, probed, read, sound
from tests.probe.conftest import KEYS


def two_sites() -> list[Any]:
    """A fault at one place, and a sound conversation at another, with another vendor."""
    from dataclasses import replace

    from promptlint.trace.format import Frame

    other = (Frame("app/other.py", 3, "ask"),)
    return [*clocks(claude), *(replace(e, id=f"o{e.id}", stack=other) for e in sound(chat, "chat"))]


def test_overload_is_waited_out(vendor: Vendor) -> None:
    busy = Fault(status=429, headers={"retry-after": "7"})
    down = Fault(status=529)
    vendor.then(busy, Fault(), down, down, Fault(), busy, Fault())
    done = probed(clocks(claude), vendor.url, [finding()])
    assert done.only.ruling == "confirmed"
    assert done.slept == [7.0, 1.0, 2.0, 7.0]
    assert done.result.sent == len(vendor.received) == 7, "no request is hidden"


def test_milliseconds_and_dates(vendor: Vendor) -> None:
    from email.utils import formatdate
    from time import time

    later = formatdate(time() + 30, usegmt=True)
    vendor.then(Fault(status=429, headers={"retry-after-ms": "250"}), Fault(status=429, headers={"retry-after": later}))
    done = probed(clocks(claude), vendor.url)
    assert done.slept[0] == 0.25
    assert 25 < done.slept[1] <= 30


def test_a_long_wait_is_not_waited(vendor: Vendor) -> None:
    vendor.then(Fault(), Fault(status=429, headers={"retry-after": "3600"}))
    done = probed(clocks(claude), vendor.url, [finding()])
    assert done.short[0] == "inconclusive"
    assert "asks to wait 3600 s" in done.short[1]
    assert done.slept == []
    assert len(done.only.readings) == 1, "what was measured is kept"


def test_three_tries_at_most(vendor: Vendor) -> None:
    vendor.keep = Fault(status=500)
    done = probed(clocks(claude), vendor.url)
    assert done.short == ("inconclusive", "500: Internal server error. (3 tries)")
    assert len(vendor.received) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(status=500), "500: Internal server error."),
        (Fault(cut=0), "the connection failed: "),
        (Fault(delay=1.5), "no answer within 0.5 s"),
    ],
)
def test_the_second_request_is_not_repeated(vendor: Vendor, fault: Fault, words: str) -> None:
    """It might find what its first attempt has stored."""
    vendor.then(Fault(), Fault(), fault)
    done = probed(clocks(claude), vendor.url, timeout=0.5)
    assert done.short[0] == "inconclusive"
    assert done.short[1].startswith(f"the second request: {words}")
    assert len(vendor.received) == 3


def test_a_model_that_is_not_there_spoils_its_own_pair_only(vendor: Vendor) -> None:
    vendor.then(Fault(status=404))
    done = probed(two_sites(), vendor.url)
    assert [v.ruling.value for v in done.result.verdicts] == ["inconclusive", "refuted"]
    assert "404" in done.result.verdicts[0].reason
    assert not done.result.stopped


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_ends_the_run(vendor: Vendor, status: int) -> None:
    vendor.then(Fault(), Fault(), Fault(), Fault(status=status))
    done = probed(two_sites(), vendor.url)
    assert [v.ruling.value for v in done.result.verdicts] == ["confirmed", "inconclusive"], "the first is kept"
    assert done.result.stopped.endswith("The key is not valid." if status == 401 else "no permission for this.")
    assert len(vendor.received) == 4


def test_a_quota_that_is_used_up_ends_the_run(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"message": "You exceeded your quota.", "type": "insufficient_quota", "code": "insufficient_quota"}
    monkeypatch.setattr("tests.emulator.chat.error", lambda *_: {"error": said})
    vendor.then(Fault(status=429))
    done = probed(sound(chat, "chat"), vendor.url)
    assert done.result.stopped.endswith("is used up (You exceeded your quota.)")
    assert len(vendor.received) == 1, "to wait does not help"


def test_interrupted(vendor: Vendor) -> None:
    planned = plan.make(claims((), read(two_sites(), base_url=vendor.url)), base_url=vendor.url)
    steps = 0

    def stop(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == 4:
            raise KeyboardInterrupt

    result = run(planned, Sender(), stop)
    assert [v.ruling.value for v in result.verdicts] == ["confirmed", "inconclusive"]
    assert (result.interrupted, result.sent) == (True, 4)
    assert "interrupted" in render.verdicts(result, color=False, width=100)


def test_a_missing_key(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    planned = plan.make(claims((), read(clocks(claude))))
    result = run(planned, Sender(), lambda *_: None)
    assert result.stopped == "there is no key for https://api.anthropic.com: set ANTHROPIC_API_KEY"
    assert [v.ruling.value for v in result.verdicts] == ["inconclusive"]
    assert result.sent == 0


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_missing_extra(vendor: Vendor, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    result = probed(two_sites(), vendor.url).result
    assert result.stopped == 'the SDKs are missing: install "promptlint-cache[probe]"'
    assert vendor.received == []


def everything(done: Probed) -> str:
    words = render.plan(done.plan, color=True, width=80) + render.verdicts(done.result, color=True, width=80)
    return words + render.as_json(done.plan, done.claims, done.result) + repr(done.result) + repr(done.plan)


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [Fault(status=401)],
        [Fault(status=404)],
        [Fault(), Fault(cut=0)],
    ],
)
def test_keys_are_in_no_output(vendor: Vendor, faults: list[Fault]) -> None:
    vendor.then(*faults)
    text = everything(probed(two_sites(), vendor.url, [finding()]))
    assert [key for key in KEYS.values() if key in text] == []


def test_an_error_that_quotes_the_key(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    key = KEYS["OPENAI_API_KEY"]
    monkeypatch.setitem(KINDS, 401, ("authentication_error", f"Incorrect key: {key}"))
    vendor.then(Fault(status=401))
    done = probed(sound(chat, "chat"), vendor.url)
    assert "Incorrect key: ***" in done.result.stopped
    assert key not in everything(done)


# --- budgets ----------------------------------------------------------------------------------------------------------


def test_requests_are_limited(vendor: Vendor) -> None:
    done = probed(two_sites(), vendor.url, max_requests=3)
    assert done.plan.requests == len(vendor.received) == 3
    assert [reason for _, reason in done.plan.left] == ["not sent: --max-requests allows 3"]
    vendor.reset()
    vendor.then(Fault(status=529))
    short = probed(clocks(claude), vendor.url, max_requests=3)
    assert len(vendor.received) == 3, "repeats count"
    assert short.only.reason.endswith("--max-requests allows 3, and they are used up")


def test_dollars_are_limited(vendor: Vendor) -> None:
    exchanges = two_sites()
    whole = probed(exchanges, vendor.url).plan
    costs = [trial.dollars for trial in whole.trials]
    assert whole.dollars == sum(cost or 0 for cost in costs) > 0
    vendor.reset()
    cheaper = min(cost or 0 for cost in costs)
    part = probed(exchanges, vendor.url, max_usd=cheaper * 1.01)
    assert len(part.plan.trials) == 1
    assert [r.split(":")[0] for _, r in part.plan.left] == ["not sent"]
    assert len(vendor.received) == 3


def test_an_unknown_price_is_no_price(vendor: Vendor) -> None:
    nobody = sound(lambda **more: chat(model="some-model-of-ours", **more), "chat")
    done = probed(nobody, vendor.url, max_usd=100.0)
    assert done.only.reason == ("not sent: the price of some-model-of-ours is not known, and --max-usd allows $100")
    assert "unknown price" in render.plan(plan.make(done.claims, base_url=vendor.url), color=False, width=100)


def test_the_bound_holds(vendor: Vendor) -> None:
    """Tokens that the server counts, all at the price of a write, cost no more than the plan says."""
    done = probed(two_sites(), vendor.url)
    assert done.plan.tokens >= sum(r.total or 0 for v in done.result.verdicts for r in v.readings)


def test_nothing_but_the_plan_is_sent(vendor: Vendor) -> None:
    done = probed(two_sites(), vendor.url)
    planned = [step.body for trial in done.plan.trials for step in trial.steps]
    sent = [{k: v for k, v in received.body.items() if k != "diagnostics"} for received in vendor.received]
    assert sent == planned
    assert [body.get("max_tokens", body.get("max_completion_tokens")) for body in sent] == [0, 0, 0, 16, 16, 16]


def test_addresses_in_a_trace_get_no_key(vendor: Vendor) -> None:
    """Only the vendors' own addresses, or the one that the user names."""
    from dataclasses import replace

    strange = [replace(e, endpoint="https://evil.example/v1/messages") for e in clocks(claude)]
    [left] = plan.make(claims((), read(strange))).left
    assert left[1] == "it went to evil.example: name the address with --base-url to probe there"
