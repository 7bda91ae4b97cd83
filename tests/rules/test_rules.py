"""What each rule makes of a request: positives, hard negatives, and the words that users read."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from promptlint.finding import Confidence, Finding, Region, Scope, Severity
from promptlint.request import Axis, Breakpoint, Cause, Kind, Moment, Mutator, Request, Reuse, Segment
from promptlint.span import Span
from promptlint.tokens import Interval
from tests.rules.build import (
    ASSUMED,
    AUTOMATIC,
    BATCH,
    ENTRY,
    EXPLICIT,
    ONCE,
    TURNS,
    cause,
    check,
    everything,
    history,
    hole,
    mark,
    question,
    request,
    text,
    tool,
)

DAY = 86_400.0


def one(found: dict[str, list[Finding]], name: str) -> Finding:
    """The only finding of all, made by the rule of that name."""
    assert list(found) == [name]
    (finding,) = found[name]
    return finding


# --- PL1xx, PL2xx: one rule for each cause ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("time", "volatile-time"),
        ("random", "volatile-random"),
        ("environment", "volatile-environment"),
        ("user", "volatile-user"),
        ("state", "volatile-state"),
        ("counter", "volatile-counter"),
        ("unordered", "unordered-text"),
        ("json", "unstable-json"),
        ("signed", "regenerated-media-url"),
        ("conditional", "conditional-system"),
    ],
)
def test_text_rules(kind: str, rule: str) -> None:
    finding = one(everything(request(hole(cause(kind)), text(2_000), history(), question())), rule)
    assert (finding.severity, finding.confidence, finding.scope) == (Severity.ERROR, Confidence.HIGH, Scope.TURN)
    assert (finding.primary, finding.origin) == (Span("app.py", 30), Span("app.py", 90))
    assert finding.advice
    assert f"the {kind}" in finding.message
    assert "2,000 tokens and the whole history" in finding.message


@pytest.mark.parametrize(
    ("kind", "optional", "rule", "label"),
    [
        ("unordered", False, "unordered-tools", ""),
        ("conditional", False, "changing-tools", ""),
        ("state", True, "changing-tools", ""),
        ("user", True, "changing-tools", ""),
        ("time", True, "volatile-tool-definition", "volatile-time"),
        ("random", False, "volatile-tool-definition", "volatile-random"),
        ("environment", False, "volatile-tool-definition", "volatile-env"),
        ("state", False, "volatile-tool-definition", "volatile-user"),
        ("counter", False, "volatile-tool-definition", ""),
        ("json", False, "volatile-tool-definition", "unsorted-json"),
    ],
)
def test_tool_rules(kind: str, optional: bool, rule: str, label: str) -> None:
    finding = one(everything(request(tool(cause(kind), optional=optional), history(), question())), rule)
    assert (finding.region, finding.kind) == (Region.TOOLS, label)


def test_changing_list_of_tools() -> None:
    subject = request(tool(cause("state"), repeats=True), history(), question())
    assert one(everything(subject), "changing-tools").message == (
        "the set of tools depends on the state and changes on every turn: the whole history cannot be reused"
    )


def test_counter_that_comes_from_a_clock_counts_as_time() -> None:
    elapsed = request(hole(cause("counter", grain=1.0)), history(), question())
    assert one(everything(elapsed), "volatile-counter").kind == "volatile-time"


def test_message_of_a_date() -> None:
    subject = request(hole(cause(grain=DAY)), text(2_400), question(), reuse=ENTRY)
    finding = one(everything(subject), "volatile-time")
    assert finding.message == "the time in the system text changes every day: 2,400 tokens cannot be shared"
    assert finding.severity is Severity.INFO


def test_message_says_that_nothing_is_cached_yet() -> None:
    subject = request(hole(cause()), text(2_400), history(), question(), facts=EXPLICIT)
    assert "no breakpoint is set" in check("volatile-time", subject)[0].message
    assert list(everything(subject)) == ["volatile-time", "missing-breakpoint"]


def test_advice_for_a_clock_warns_of_the_fix_that_backfires() -> None:
    (finding,) = check("volatile-time", request(hole(cause()), history(), question()))
    assert "store it with that message" in finding.advice


def test_later_break_says_so() -> None:
    first, second = hole(cause(line=1)), hole(cause("random", line=2))
    (finding,) = check("volatile-random", request(first, text(3_000), second, text(2_000), question(), reuse=ENTRY))
    assert finding.message.endswith("even once the earlier break (app.py:30) is fixed")


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(request(text(50), question(cause()), reuse=ENTRY), id="clock in a small newest message"),
        pytest.param(request(hole(cause()), text(60), question(), reuse=ENTRY), id="clock in a small prompt"),
        pytest.param(request(hole(cause()), text(5_000), question(), reuse=ONCE), id="clock in a single call"),
        pytest.param(request(text(5_000), history(), question(cause())), id="clock in the newest turn"),
        pytest.param(
            request(text(5_000), hole(cause()), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0),)),
            id="date behind the last breakpoint",
        ),
        pytest.param(
            request(text(5_000), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0),)),
            id="marked constant text",
        ),
        pytest.param(
            request(text(5_000), history(), question(), facts=EXPLICIT, breakpoints=(mark(2, automatic=True),)),
            id="rolling breakpoint",
        ),
        pytest.param(
            request(hole(cause("unordered", Axis.HASH_SEED)), text(100), question(), reuse=ENTRY),
            id="set in a small prompt",
        ),
    ],
)
def test_hard_negatives(subject: Request) -> None:
    assert everything(subject) == {}


# --- PL110 -----------------------------------------------------------------------------------------------------------


def test_rules_behind_the_history() -> None:
    subject = request(history(), text(2_000, Region.MID_HISTORY), question())
    finding = one(everything(subject), "misordered-segments")
    assert (finding.severity, finding.scope) == (Severity.ERROR, Scope.TURN)
    assert finding.tokens_lost == Interval(2_000, 2_000)
    assert "2,000 tokens of constant text stand behind the history" in finding.message


def test_short_reminder_behind_the_history() -> None:
    assert everything(request(text(2_000), history(), text(60, Region.MID_HISTORY), question())) == {}


def test_rules_behind_the_document() -> None:
    segments = (question(cause("state")), text(2_000, Region.LAST_MESSAGE))
    finding = one(everything(request(*segments, reuse=BATCH)), "misordered-segments")
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert everything(request(*segments, reuse=ONCE)) == {}


def test_short_instructions_behind_a_picture() -> None:
    picture = replace(question(cause("state")), kind=Kind.MEDIA)
    local = replace(AUTOMATIC, minimum=16)
    short = request(picture, text(300, Region.LAST_MESSAGE), facts=local, reuse=BATCH)
    assert one(everything(short), "misordered-segments").severity is Severity.INFO
    long = request(picture, text(2_000, Region.LAST_MESSAGE), facts=local, reuse=BATCH)
    assert one(everything(long), "misordered-segments").severity is Severity.WARNING


# --- PL3xx -----------------------------------------------------------------------------------------------------------

RULE_OF = {
    "window": "sliding-window",
    "rewrite": "rewritten-history",
    "prepend": "prepended-history",
    "replay": "lossy-replay",
    "unthink": "stripped-thinking",
}


def mutator(
    kind: str,
    guard: str = "always",
    keeps: int | None = None,
    causes: tuple[Cause, ...] = (),
    features: frozenset[str] = frozenset(),
) -> Mutator:
    return Mutator(kind, Span("app.py", 80), "history[-10:]", guard, keeps, causes=causes, features=features)


@pytest.mark.parametrize(
    ("changed", "severity", "confidence"),
    [
        (mutator("window", keeps=10), Severity.WARNING, Confidence.HIGH),
        (mutator("window", keeps=41), Severity.INFO, Confidence.HIGH),
        (mutator("window", "threshold", 20), Severity.INFO, Confidence.HIGH),
        (mutator("window", "command"), Severity.INFO, Confidence.MEDIUM),
        (mutator("rewrite"), Severity.ERROR, Confidence.HIGH),
        (mutator("rewrite", "threshold"), Severity.INFO, Confidence.HIGH),
        (mutator("rewrite", "command"), Severity.WARNING, Confidence.MEDIUM),
        (mutator("rewrite", "error"), Severity.INFO, Confidence.HIGH),
        (mutator("prepend", causes=(cause("state"),)), Severity.ERROR, Confidence.HIGH),
        (mutator("prepend"), Severity.WARNING, Confidence.MEDIUM),
        (mutator("rewrite", features=frozenset({"unknown-call"})), Severity.ERROR, Confidence.MEDIUM),
        (mutator("unthink"), Severity.WARNING, Confidence.MEDIUM),
        (mutator("unthink", "threshold"), Severity.INFO, Confidence.MEDIUM),
    ],
)
def test_mutators(changed: Mutator, severity: Severity, confidence: Confidence) -> None:
    subject = request(text(2_000), history(), question(), mutators=(changed,))
    finding = one(everything(subject), RULE_OF[changed.kind])
    assert (finding.severity, finding.confidence, finding.primary) == (severity, confidence, Span("app.py", 80))


@pytest.mark.parametrize(("keeps", "severity"), [(41, Severity.WARNING), (101, Severity.INFO)])
def test_windows_that_hold_calls_of_tools_fill_sooner(keeps: int, severity: Severity) -> None:
    subject = request(tool(), text(2_000), history(), question(), mutators=(mutator("window", keeps=keeps),))
    assert one(everything(subject), "sliding-window").severity is severity


def test_window_over_a_kept_history_is_evidence_by_itself() -> None:
    subject = request(text(2_000), history(), question(), reuse=ONCE, mutators=(mutator("window", keeps=10),))
    assert one(everything(subject), "sliding-window").confidence is Confidence.MEDIUM


@pytest.mark.parametrize("kind", ["window", "rewrite", "prepend", "replay", "unthink"])
def test_mutators_without_turns_are_silent(kind: str) -> None:
    assert everything(request(text(2_000), question(), reuse=ENTRY, mutators=(mutator(kind),))) == {}


def test_same_text_prepended_is_stable() -> None:
    fixed = mutator("prepend", causes=(cause("environment", Axis.MACHINE, moment=Moment.IMPORT),))
    assert everything(request(text(2_000), history(), question(), mutators=(fixed,))) == {}


@pytest.mark.parametrize(
    ("breakpoints", "behind", "severity", "words"),
    [
        ((), False, Severity.INFO, "reads it again"),
        ((), True, Severity.WARNING, "nor the steps that were sent behind it"),
        ((mark(2),), False, Severity.ERROR, "the history included, is never read"),
        ((mark(2, automatic=True),), True, Severity.ERROR, "the history included, is never read"),
        ((mark(1), mark(2)), False, Severity.WARNING, "what the breakpoint on it writes to the cache is never read"),
        ((mark(0),), False, Severity.INFO, "reads it again"),
        ((mark(2, problem="empty"),), False, Severity.INFO, "reads it again"),
    ],
)
def test_turn_in_two_forms(breakpoints: tuple[Breakpoint, ...], behind: bool, severity: Severity, words: str) -> None:
    changed = replace(mutator("replay"), position=2, behind=behind)
    subject = request(text(2_000), history(), question(), facts=EXPLICIT, breakpoints=breakpoints, mutators=(changed,))
    (finding,) = check("lossy-replay", subject)
    assert finding.severity is severity
    assert words in finding.message


def test_random_value_in_a_kept_turn_is_the_fault_of_the_replay() -> None:
    finding = one(everything(request(text(2_000), history(cause("random")), question())), "lossy-replay")
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert "the random is put into turns that were already sent" in finding.message
    unsure = one(
        everything(request(text(2_000), history(cause("random", features=frozenset({"fallback"}))))), "lossy-replay"
    )
    assert unsure.confidence is Confidence.MEDIUM
    assert "where none was stored" in unsure.message


def test_thinking_that_the_server_forgets() -> None:
    forgets = replace(EXPLICIT, forgets_thinking=True)
    subject = request(text(2_000), history(), question(), facts=forgets, mutators=(mutator("unthink"),))
    assert check("stripped-thinking", subject) == []


# --- PL4xx -----------------------------------------------------------------------------------------------------------


def marked(*breakpoints: Breakpoint, reuse: Reuse = ENTRY) -> dict[str, list[Finding]]:
    """The findings about six blocks of constant text and a question, with these breakpoints."""
    blocks = [text(2_000, message=i) for i in range(6)]
    return everything(request(*blocks, question(), facts=EXPLICIT, reuse=reuse, breakpoints=breakpoints))


def test_five_breakpoints() -> None:
    finding = one(marked(*(mark(i) for i in range(5))), "too-many-breakpoints")
    assert (finding.severity, finding.scope, finding.primary) == (Severity.ERROR, Scope.REQUEST, mark(4).span)
    assert finding.message == "5 cache breakpoints in one request: the API accepts 4 and refuses it"


def test_api_errors_need_no_reuse() -> None:
    assert "too-many-breakpoints" in marked(*(mark(i) for i in range(5)), reuse=ONCE)


def test_loop_that_writes_six() -> None:
    loop = Span("app.py", 5)
    finding = one(marked(mark(0, count=Interval(6, 6), loop=loop)), "too-many-breakpoints")
    assert (finding.severity, finding.related[0][0]) == (Severity.ERROR, loop)


def test_loop_over_an_unknown_collection() -> None:
    finding = one(marked(mark(0, count=Interval(0, inf), loop=Span("app.py", 5))), "too-many-breakpoints")
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.MEDIUM)


def test_four_or_optional_breakpoints() -> None:
    assert marked(*(mark(i) for i in range(4))) == {}
    assert marked(*(mark(i) for i in range(4)), mark(4, optional=True)) == {}


def test_clock_at_the_end_of_the_marked_block() -> None:
    segments = (text(5_000), hole(cause()), text(2), question())
    finding = one(
        everything(request(*segments, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(2),))), "breakpoint-on-volatile"
    )
    assert (finding.primary, finding.origin) == (mark(2).span, Span("app.py", 90))
    assert (finding.severity, finding.tokens_lost) == (Severity.WARNING, Interval(5_002, 5_002))
    assert finding.message.endswith("changes on every call: 5,002 tokens are written to the cache and never read")
    began = (text(5_000), hole(cause(moment=Moment.SESSION)), text(2), history(), question())
    found = everything(request(*began, facts=EXPLICIT, reuse=TURNS, breakpoints=(mark(2),)))
    (finding,) = found["breakpoint-on-volatile"]
    assert finding.label == "read in one conversation only"
    assert finding.message.endswith("5,002 tokens are written to the cache for one conversation alone")


def test_clock_in_front_of_marked_text_is_the_fault_of_the_clock() -> None:
    segments = (hole(cause()), text(5_000), question())
    subject = request(*segments, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(1),))
    assert one(everything(subject), "volatile-time")


def test_clock_in_a_marked_block_ahead_of_kept_turns_is_two_faults() -> None:
    kept = request(text(5_000), hole(cause()), history(), question(), facts=EXPLICIT, breakpoints=(mark(1),))
    found = everything(kept)
    assert set(found) == {"volatile-time", "breakpoint-on-volatile"}
    (clock,), (marker,) = found["volatile-time"], found["breakpoint-on-volatile"]
    assert (clock.severity, marker.severity) == (Severity.ERROR, Severity.WARNING)
    assert (marker.primary, marker.tokens_lost) == (mark(1).span, kept.before(2))
    assert "and never read" in marker.message


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param((text(5_000), hole(cause(grain=86_400.0))), id="a date"),
        pytest.param((text(50), hole(cause())), id="too short to be written"),
        pytest.param((text(5_000), hole(cause(), message=1)), id="in a block of its own"),
        pytest.param((hole(cause()), text(5_000)), id="at the beginning of the block"),
    ],
)
def test_marked_block_ahead_of_kept_turns_that_is_no_fault(subject: tuple[Segment, ...]) -> None:
    marker = mark(0 if subject[-1].message else 1)
    found = everything(request(*subject, history(), question(), facts=EXPLICIT, breakpoints=(marker,)))
    assert "breakpoint-on-volatile" not in found


def test_automatic_breakpoint_on_the_question() -> None:
    subject = request(text(5_000), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(1, automatic=True),))
    assert "the newest message" in one(everything(subject), "breakpoint-on-volatile").message


def test_missing_breakpoint() -> None:
    kept = request(text(50), history(), question(), facts=EXPLICIT)
    assert one(everything(kept), "missing-breakpoint").severity is Severity.WARNING
    repeated = request(text(2_000), question(), facts=EXPLICIT, reuse=ENTRY)
    assert "the same 2,000 tokens" in one(everything(repeated), "missing-breakpoint").message


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(request(text(200), question(), facts=EXPLICIT, reuse=ENTRY), id="small prefix"),
        pytest.param(request(text(2_000), question(), facts=EXPLICIT, reuse=ONCE), id="single call"),
        pytest.param(request(text(50), history(), question(), facts=EXPLICIT, unseen=("**kwargs",)), id="kwargs"),
        pytest.param(request(text(50), history(), question()), id="automatic cache"),
        pytest.param(
            request(text(50), history(), question(), facts=replace(EXPLICIT, max_breakpoints=None)), id="no markers"
        ),
        pytest.param(request(text(50), history(), question(), facts=replace(EXPLICIT, caches=False)), id="no cache"),
    ],
)
def test_no_breakpoint_needed(subject: Request) -> None:
    assert everything(subject) == {}


@pytest.mark.parametrize("reuse", [ASSUMED, replace(TURNS, features=frozenset({"assumed-entry"}))])
def test_missing_breakpoint_on_an_assumption(reuse: Reuse) -> None:
    subject = request(text(2_000), history(), question(), facts=EXPLICIT, reuse=reuse)
    assert one(everything(subject), "missing-breakpoint").severity is Severity.INFO


def test_turns_that_an_object_keeps_are_no_assumption() -> None:
    kept = replace(TURNS, repeats="assumed")
    subject = request(text(50), history(), question(), facts=EXPLICIT, reuse=kept)
    assert one(everything(subject), "missing-breakpoint").severity is Severity.WARNING


def test_ttl_order() -> None:
    finding = one(marked(mark(0), mark(1, ttl="1h")), "ttl-order")
    assert (finding.severity, finding.primary, finding.related[0][0]) == (Severity.ERROR, mark(1).span, mark(0).span)
    assert one(marked(mark(0, optional=True), mark(1, ttl="1h")), "ttl-order").confidence is Confidence.MEDIUM


def test_ttl_order_that_is_accepted() -> None:
    assert marked(mark(0, ttl="1h"), mark(1, ttl="1h"), mark(2)) == {}
    assert marked(mark(0), mark(1, ttl=None)) == {}


@pytest.mark.parametrize("problem", ["empty", "thinking", "message", "string"])
def test_invalid_breakpoint(problem: str) -> None:
    finding = one(marked(mark(0, problem=problem)), "invalid-breakpoint")
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.HIGH)


def test_prefix_below_minimum() -> None:
    small = request(text(300), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0),))
    finding = one(everything(small), "prefix-below-minimum")
    assert (finding.severity, finding.primary) == (Severity.WARNING, mark(0).span)
    assert "claude-sonnet-4-5 caches nothing below 1,024" in finding.message
    guessed = replace(small, facts=replace(EXPLICIT, model=None, minimum_known=False))
    assert check("prefix-below-minimum", guessed)[0].severity is Severity.INFO


def test_prefix_that_may_reach_the_minimum() -> None:
    assert everything(request(hole(high=inf), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0),))) == {}
    both = (text(300), text(2_000, message=1), question())
    assert everything(request(*both, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0), mark(1)))) == {}


@pytest.mark.parametrize(
    ("added", "breakpoints", "expected"),
    [
        (19, (mark(2),), 1),
        (18, (mark(2),), 0),
        (40, (mark(2, automatic=True),), 1),
        (40, (mark(1), mark(2)), 0),
        (40, (mark(0),), 0),
        (40, (mark(2), mark(3)), 0),
        (40, (mark(2, problem="empty"),), 0),
        (40, (), 0),
    ],
)
def test_lookback(added: int, breakpoints: tuple[Breakpoint, ...], expected: int) -> None:
    facts = replace(EXPLICIT, lookback=20)
    last = text(50, Region.LAST_MESSAGE, message=9)
    subject = request(text(2_000), history(), question(), last, facts=facts, breakpoints=breakpoints)
    found = check("lookback-overflow", replace(subject, added=added))
    assert len(found) == expected
    assert check("lookback-overflow", replace(subject, added=added, reuse=ENTRY)) == []
    assert check("lookback-overflow", replace(subject, added=added, facts=EXPLICIT)) == []
