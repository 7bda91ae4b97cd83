"""``cost`` and ``providers``: the figures, the options, and what happens with names that nobody knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from promptlint.cost import Layout, break_even, estimate, padding_pays
from promptlint.output.costs import total
from promptlint.provider import Facts, facts, providers
from tests.cli.conftest import Run

EXAMPLE = ("cost", "--prefix", "100000", "--new", "1000", "--turns", "10", "--model", "claude-sonnet-4-5")


def weights(*args: str, run: Run) -> dict[str, float]:
    return {row["name"]: row["equivalent_tokens"] for row in json.loads(run(*args, "--json").out)["rows"]}


def test_independent_questions(run: Run) -> None:
    """8 writes and 2 reads cost 1,030k; the 655k that is often quoted leaves three turns unpaid."""
    assert weights(*EXAMPLE, run=run) == {
        "no caching": 1_010_000,
        "every turn in time": 225_000,
        "at a gap of 60 s": 225_000,
        "2 of 10 turns hit": 1_030_000,
        "no turn hits": 1_260_000,
    }


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "claude-opus-5", "gpt-4.1", "deepseek-chat", "gemini-2.5-pro"])
def test_each_turn_of_a_conversation_reads_the_one_before(model: str, run: Run) -> None:
    """Whether answers are counted or not: 9,000 tokens and 500 more with each turn, read up to the newest message."""
    for output in (0, 100):
        options = ("--prefix", "9000", "--new", "500", "--turns", "10", "--grow", "--output-tokens", str(output))
        in_time = json.loads(run("cost", *options, "--model", model, "--json").out)["rows"][1]
        whole = sum(9500 + turn * (500 + output) for turn in range(9))
        assert whole - 10 * 128 <= in_time["read"] <= whole, model


@pytest.mark.parametrize(
    ("name", "model", "provider"),
    [
        ("azure", "gpt-5", "azure_openai"),
        ("vertex", "claude-opus-5", "vertex_anthropic"),
        ("bedrock", "amazon.nova-pro", "bedrock_nova"),
    ],
)
def test_platforms_by_the_name_people_use(name: str, model: str, provider: str, run: Run) -> None:
    assert (
        json.loads(run("cost", "--prefix", "9000", "--provider", name, "--model", model, "--json").out)["provider"]
        == provider
    )
    assert run("providers", name, "--model", model).out.startswith(f"{provider}, {model}")
    assert run("providers", name).status == 0


def test_turns_without_anything_new(run: Run) -> None:
    """One write and nine reads, whether the nothing is carried on or not."""
    for kind in ("--grow", "--no-grow"):
        in_time = weights("cost", "--prefix", "9000", "--new", "0", "--model", "claude-opus-5", kind, run=run)
        assert in_time["every turn in time"] == pytest.approx(2.15 * 9000)


def test_a_conversation(run: Run) -> None:
    grown = weights(*EXAMPLE, "--grow", run=run)
    assert grown["no caching"] == 1_055_000
    # one write of 101k, then each turn writes its 1k and reads what stood there before
    assert grown["every turn in time"] == pytest.approx(1.25 * 110_000 + 0.1 * (9 * 101_000 + 36_000))
    answers = weights(*EXAMPLE, "--grow", "--output-tokens", "500", run=run)
    assert answers["no caching"] == 1_055_000 + 45 * 500


def test_the_text_says_what_was_computed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    out = run(*EXAMPLE).out
    assert "not carried on (independent questions)" in out
    for figure in ("1,010k", "225k", "78% saved", "1,030k  2% dearer", "1,260k  25% dearer"):
        assert figure in out
    assert "pays from 2 requests in time (5m) and 3 requests in time (1h)" in out
    assert 'install "promptlint-cache[prices]" for dollars' in out
    assert "carried on to the next turn (a conversation)" in run(*EXAMPLE, "--grow").out


def test_dollars(run: Run) -> None:
    """3 dollars a million tokens of input."""
    rows = json.loads(run(*EXAMPLE, "--json").out)["rows"]
    assert [round(row["dollars"], 3) for row in rows] == [3.03, 0.675, 0.675, 3.09, 3.78]


@pytest.mark.parametrize(("gap", "best"), [("4m", "5m"), ("10m", "1h"), ("2h", None)])
def test_the_lifetime_to_take(run: Run, gap: str, best: str | None) -> None:
    found = json.loads(run(*EXAMPLE, "--gap", gap, "--json").out)
    assert found["best_ttl"] == best
    expired = {"10m": 1_260_000, "2h": 1_260_000}.get(gap)
    assert expired is None or found["rows"][2]["equivalent_tokens"] == expired


def test_the_lifetime_that_was_asked_for(run: Run) -> None:
    assert weights(*EXAMPLE, "--ttl", "1h", "--gap", "50m", run=run)["at a gap of 50 min"] == 300_000
    done = run(*EXAMPLE, "--ttl", "2h")
    assert (done.status, "offers lifetimes of 5m and 1h, not 2h" in done.err) == (2, True)


def test_a_short_prefix(run: Run) -> None:
    out = run("cost", "--prefix", "221", "--model", "gpt-5.6-sol").out
    assert "caching starts at 1,024 tokens" in out and "for 10 requests from 221 tokens on" in out
    assert "Caching the prefix pays" not in out and "take 30m" not in out
    assert "pays from 1,963 requests on" in run("cost", "--prefix", "103", "--model", "gpt-5.6-sol").out
    assert "never pays" in run("cost", "--prefix", "102", "--model", "gpt-5.6-sol").out
    known = facts("openai", "gpt-5.6-sol")
    assert [padding_pays(prefix, known) for prefix in (221, 220, 103, 102)] == [10, 11, 1963, None]
    assert [break_even(requests, known) for requests in (10, 1963, 10**9)] == [221, 103, 103]


def test_two_lifetimes_in_one_request(run: Run) -> None:
    """The prefix is written for an hour, once, and what a conversation adds for five minutes each turn."""
    options = ("--prefix", "100000", "--new", "1000", "--grow", "--model", "claude-sonnet-4-5", "--ttl", "1h,5m")
    found = json.loads(run("cost", *options, "--json").out)
    in_time = found["rows"][1]
    assert in_time["written_by_ttl"] == {"1h": 100_000, "5m": 10_000}
    assert in_time["equivalent_tokens"] == 2 * 100_000 + 1.25 * 10_000 + 0.1 * in_time["read"]
    assert "written 1h  written 5m" in run("cost", *options).out


def test_the_code_as_it_is_written(run: Run, folder: Path) -> None:
    """A clock ahead of a marked prefix: every turn writes it anew, and it could be read."""
    (folder / "app.py").write_text(CLOCK.replace("MARKER", '"cache_control": {"type": "ephemeral"}'))
    out = run("cost", "--from", "app.py:9").out
    assert "behind datetime.now() (app.py:9), which varies" in out
    found = json.loads(run("cost", "--from", "app.py:9", "--new", "0", "--json").out)
    rows = {row["name"]: row for row in found["rows"]}
    assert found["code"]["marked_behind"] and found["code"]["behind"] > 6000
    assert rows["as the code is written"]["hits"] == 0
    assert rows["as the code is written"]["equivalent_tokens"] == pytest.approx(12.5 * found["prefix"], rel=0.01)
    assert rows["every turn in time"]["hits"] == 9


def test_the_code_without_a_marker_pays_in_full(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(CLOCK.replace(", MARKER", "").replace("{datetime.now()}", "late"))
    rows = {r["name"]: r for r in json.loads(run("cost", "--from", "app.py", "--new", "0", "--json").out)["rows"]}
    plain, written = rows["no caching"], rows["as the code is written"]
    assert written["read"] == 0 and written["equivalent_tokens"] == pytest.approx(plain["equivalent_tokens"], rel=0.01)


def test_code_for_a_model_that_writes_by_itself(run: Run, folder: Path) -> None:
    """Without a marker gpt-5.6 writes behind the newest message: with a clock in front nothing of that is read."""
    (folder / "app.py").write_text(
        "from datetime import datetime\nfrom openai import OpenAI\n"
        "RULES = 'Answer in the words of the manual. ' * 500\n"
        "history = []\nwhile True:\n    history.append({'role': 'user', 'content': input()})\n"
        "    system = {'role': 'system', 'content': f'It is {datetime.now()}. {RULES}'}\n"
        "    reply = OpenAI().chat.completions.create(model='gpt-5.6-sol', messages=[system, *history])\n"
        "    history.append({'role': 'assistant', 'content': reply.choices[0].message.content})\n"
    )
    rows = {row["name"]: row for row in json.loads(run("cost", "--from", "app.py:8", "--json").out)["rows"]}
    written = rows["as the code is written"]
    assert written["hits"] == 0 and written["equivalent_tokens"] == pytest.approx(1.25 * written["written"])
    assert rows["every turn in time"]["hits"] == 9


def test_code_that_does_not_say_who_serves_it(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(
        "import litellm, os\n\nRULES = 'Answer in the words of the manual. ' * 500\n\n\ndef ask(question):\n"
        "    user = {'role': 'user', 'content': question}\n"
        "    return litellm.completion(os.environ['MODEL'], [{'role': 'system', 'content': RULES}, user])\n"
    )
    assert "which model? Give --model NAME" in run("cost", "--from", "app.py:8").err
    assert "gpt-5 (openai): a prefix of" in run("cost", "--from", "app.py:8", "--model", "gpt-5").out


def test_the_line_of_a_wrapper_and_the_gap_that_the_code_waits(run: Run, folder: Path) -> None:
    (folder / "llm.py").write_text(
        "from anthropic import Anthropic\n\n\ndef ask(system, question):\n"
        "    blocks = [{'type': 'text', 'text': system, 'cache_control': {'type': 'ephemeral'}}]\n"
        "    return Anthropic().messages.create(\n"
        "        model='claude-sonnet-4-5', max_tokens=9, system=blocks,\n"
        "        messages=[{'role': 'user', 'content': question}],\n"
        "    )\n"
    )
    (folder / "job.py").write_text(
        "import time\nfrom llm import ask\n\nMANUAL = 'Look it up in the manual first. ' * 900\n\n"
        "while True:\n    ask(MANUAL, input())\n    time.sleep(600)\n"
    )
    found = json.loads(run("cost", "--from", "job.py:7", "--json").out)
    assert 6000 < found["prefix"] < 10_000
    assert (found["gap"], found["best_ttl"]) == (600, "1h")


def test_a_cache_object_of_gemini(run: Run) -> None:
    """8,000 tokens made once and kept for an hour at 2.25, ten reads, ten questions of 500 tokens."""
    options = ("cost", "--prefix", "8000", "--model", "gemini-3.1-pro-preview", "--ttl")
    found = json.loads(run(*options, "1h", "--json").out)
    assert found["rows"][2]["equivalent_tokens"] == 8000 + 8000 * 2.25 + 10 * (800 + 500)
    assert found["pays_from_requests"] == {"1h": 4}
    twice = json.loads(run(*options, "20m", "--gap", "4m", "--json").out)["rows"][2]
    assert twice["storage_token_hours"] == pytest.approx(8000 * 2 / 3, abs=0.01)  # made for 20 minutes, and again
    out = run(*options, "1h", "--turns", "2").out
    assert "a cache object does not pay" in out and "kept in a cache object 2.25 an hour" in out
    assert "kept (token hours)" in out and "kept (token hours)" not in run(*options[:-1]).out
    assert "and nothing else: see --ttl 1h" in run(*options[:3], "--model", "gemini-2.0-flash").out
    assert "no price for keeping" in run(*options[:3], "--model", "gemini-4-argon", "--ttl", "1h").out


@pytest.mark.parametrize("provider", providers())
def test_every_provider_can_be_estimated(provider: str) -> None:
    for grow in (False, True):
        found = estimate(Layout(5000, 100, 6, grow=grow), facts(provider, None))
        plain = found.rows[0].weight
        assert 500 <= found.rows[1].weight <= plain * 1.01, provider
        assert all(row.read + row.uncached + total(row.written) == plain for row in found.rows), "none is refused"
        assert found.rows[-1].hits == 0


@pytest.mark.parametrize("model", ["gpt-4", "claude-2.1", "o1-pro"])
def test_a_model_that_does_not_cache(model: str, run: Run) -> None:
    found = json.loads(run("cost", "--prefix", "9000", "--model", model, "--json").out)
    assert len({row["equivalent_tokens"] for row in found["rows"]}) == 1
    assert [row["hits"] for row in found["rows"]] == [0] * len(found["rows"])
    assert set(found["pays_from_requests"].values()) <= {None} and "does not cache prompts" in found["notes"][0]
    assert "written 1.25" not in run("cost", "--prefix", "9000", "--model", model).out


def test_nobody_knows_the_model(run: Run) -> None:
    done = run("cost", "--prefix", "5000", "--model", "glorp-7")
    assert done.status == 0
    assert "nothing is known about caching at unknown: everything is counted as uncached" in done.out
    done = run("cost", "--prefix", "5000", "--model", "claude-opus-9-1")
    assert "no minimum is known for claude-opus-9-1: 512 tokens are assumed" in done.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Give --prefix TOKENS, or --from PATH[:LINE]"),
        (("--prefix", "9000"), "which model?"),
        (("--prefix", "9000", "--provider", "antropic"), 'no provider is called "antropic"; did you mean "anthropic"?'),
        (("--prefix", "9000", "--gap", "soon"), "'soon' is no time"),
        (
            ("--prefix", "9000", "--model", "gpt-5", "--grow", "--turns", "900"),
            "take too long to simulate at openai: take fewer",
        ),
        (
            ("--prefix", "9000", "--model", "gpt-5", "--ttl", "7x"),
            "gpt-5 offers lifetimes of in_memory and 24h, not 7x",
        ),
        (("--prefix", "9000", "--model", "deepseek-chat", "--ttl", "1h"), "offers no choice of lifetimes"),
        (("--prefix", "9000", "--model", "claude-opus-5", "--ttl", "1h,5m"), "this layout takes one lifetime"),
        (("--prefix", "9000", "--grow", "--model", "claude-opus-5", "--ttl", "5m,1h"), "the longer one first"),
        (("--prefix", "9000", "--model", "gemini-3.8-flash", "--ttl", "soon"), "'soon' is no time"),
        (("--prefix", "9000", "--model", "gemini-3.8-flash", "--ttl", "0"), "kept for some time, such as 1h"),
        (("--prefix", "900", "--model", "gemini-3.8-flash", "--ttl", "1h"), "fewer than 4,096 tokens"),
        (("--from", "nowhere.py:3"), "no such file or folder: nowhere.py"),
        (("--from", "app.py:1"), "no request is known at app.py:1"),
    ],
)
def test_bad_usage(run: Run, folder: Path, args: tuple[str, ...], message: str) -> None:
    (folder / "app.py").write_text("x = 1\n")
    done = run("cost", *args)
    assert done.status == 2 and message in done.err and "Traceback" not in done.err


CLOCK = """\
from anthropic import Anthropic
from datetime import datetime
MANUAL = "Look it up in the manual first. " * 900
client = Anthropic()
history = []
while True:
    history.append({"role": "user", "content": input()})
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=history, system=[
        {"type": "text", "text": f"It is {datetime.now()}. {MANUAL}", MARKER}
    ])
    history.append({"role": "assistant", "content": reply.content})
"""


def test_numbers_from_code(run: Run, folder: Path) -> None:
    (folder / "app.py").write_text(
        "from anthropic import Anthropic\n"
        'MANUAL = "Look it up in the manual first. " * 900\n'
        "client = Anthropic()\n"
        "history = []\n"
        "while True:\n"
        '    history.append({"role": "user", "content": input()})\n'
        "    reply = client.messages.create(\n"
        '        model="claude-sonnet-4-5", max_tokens=100, system=MANUAL, messages=history\n'
        "    )\n"
        '    history.append({"role": "assistant", "content": reply.content})\n'
    )
    out = run("cost", "--from", "app.py:7").out
    assert "Prefix of app.py:7" in out and "a conversation" in out and "claude-sonnet-4-5 (anthropic)" in out
    found = json.loads(run("cost", "--from", "app.py", "--no-grow", "--json").out)
    assert 6000 < found["prefix"] < 10_000 and found["grow"] is False


def test_providers(run: Run) -> None:
    listing = run("providers").out
    assert all(any(line.startswith(f"{name} ") for line in listing.splitlines()) for name in providers())
    page = run("providers", "bedrock_anthropic").out
    assert "the larger is taken" in page.replace("\n      ", " ")  # where sources differ
    assert 'B1: AWS, "Prompt caching for faster model inference"' in page
    model = run("providers", "claude-opus-4-5").out
    assert "anthropic, claude-opus-4-5" in model and "smallest prefix: 4,096 tokens\n" in model
    assert run("providers", "--model", "gpt-4o").out == run("providers", "gpt-4o").out
    assert (
        'no provider or model of a known provider is called "gemeni"; did you mean "gemini"?'
        in run("providers", "gemeni").err
    )


def test_facts_without_any_price() -> None:
    found = estimate(Layout(5000, 100, 3), Facts("x", None, "automatic", 1024, False, policy="blocks"))
    assert found.rows[1].weight == found.rows[0].weight
    assert any("no price for reading is known" in note for note in found.notes)
