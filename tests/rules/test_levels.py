"""Every level, and every gate in front of it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from promptlint.finding import Confidence, Region, Scope, Severity
from promptlint.gates.levels import breaks, how_often, in_words, reaches_minimum, shared_prefix, under_guard
from promptlint.request import Axis, Break, Moment, Request, Reuse, Segment
from promptlint.tokens import UNKNOWN, Interval
from tests.rules.build import (
    ASSUMED,
    AUTOMATIC,
    BATCH,
    ENTRY,
    EXPLICIT,
    ONCE,
    TURNS,
    cause,
    history,
    hole,
    mark,
    question,
    request,
    text,
    tool,
)

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


def only(subject: Request) -> Break:
    (broken,) = subject.breaks
    return broken


def level(subject: Request) -> tuple[Scope, Severity]:
    return only(subject).scope, only(subject).severity


# --- the next turn ---------------------------------------------------------------------------------------------------


def test_number_of_the_request_for_the_tools_is_not_in_them() -> None:
    listed = tool(cause("counter", Axis.TURN), repeats=True)
    assert request(listed, text(2_000), history(), question()).breaks == ()
    counted = tool(cause("counter", Axis.TURN))
    assert level(request(counted, text(2_000), history(), question())) == (Scope.TURN, Severity.ERROR)


@pytest.mark.parametrize(
    ("said", "words"), [(True, "changes with what the user says"), (False, "changes on a command of the user")]
)
def test_words_for_a_text_that_a_command_or_any_utterance_switches(said: bool, words: str) -> None:
    switched = replace(cause("conditional", Axis.TURN), said=said, conditional="command")
    assert how_often(only(request(hole(switched), text(2_000), history(), question()))) == words


@pytest.mark.parametrize("grain", [1e-6, 1.0, MINUTE])
def test_clock_ahead_of_history_is_an_error(grain: float) -> None:
    subject = request(hole(cause(grain=grain)), text(2_000), history(), question())
    assert level(subject) == (Scope.TURN, Severity.ERROR)
    assert only(subject).lost == Interval(2_000, inf)


@pytest.mark.parametrize("grain", [HOUR, DAY])
def test_slow_clock_ahead_of_history_is_information(grain: float) -> None:
    assert level(request(hole(cause(grain=grain)), history(), question())) == (Scope.TURN, Severity.INFO)


def test_clock_no_slower_than_the_gap_is_an_error() -> None:
    subject = request(hole(cause(grain=HOUR)), history(), question())
    assert [b.severity for b in breaks(subject, gap=HOUR)] == [Severity.ERROR]


@pytest.mark.parametrize("kind", ["random", "state", "user", "counter", "environment", "conditional", "unordered"])
@pytest.mark.parametrize("axis", [Axis.CALL, Axis.TURN])
def test_whatever_differs_per_turn_ahead_of_history_is_an_error(kind: str, axis: Axis) -> None:
    assert level(request(hole(cause(kind, axis)), history(), question())) == (Scope.TURN, Severity.ERROR)


def test_label_that_comes_and_goes_with_a_value_is_told_with_the_value() -> None:
    label, value = hole(cause("conditional", line=7)), hole(cause("environment", Axis.CALL, line=7))
    subject = request(label, value, text(2_000), history(), question())
    assert [(b.cause.kind, b.severity) for b in subject.breaks] == [("environment", Severity.ERROR)]
    other = hole(cause("conditional", line=8))
    kinds = {b.cause.kind for b in request(other, value, text(2_000), history(), question()).breaks}
    assert kinds == {"conditional", "environment"}


def test_text_behind_the_history_moves_anyway() -> None:
    assert request(history(), hole(cause(), region=Region.MID_HISTORY), text(5_000, Region.MID_HISTORY)).breaks == ()


def test_a_guess_ahead_does_not_hide_what_is_more_certain() -> None:
    guess = hole(cause("state", Axis.TURN, line=12, features=frozenset({"opaque-call", "bound"})))
    known = hole(cause("user", Axis.TURN, features=frozenset({"opaque-call"})))
    found = request(guess, text(2_000), known, history(), question()).breaks
    assert [(b.severity, b.confidence) for b in found] == [
        (Severity.ERROR, Confidence.LOW),
        (Severity.ERROR, Confidence.MEDIUM),
    ]
    found = request(known, text(2_000), guess, history(), question()).breaks
    assert [b.severity for b in found] == [Severity.ERROR, Severity.INFO]


def test_newest_message_never_breaks() -> None:
    assert request(text(5_000), history(), question(cause())).breaks == ()


def test_value_made_once_per_conversation_keeps_the_turns() -> None:
    subject = request(hole(cause(moment=Moment.SESSION)), text(2_000), history(), question())
    assert level(subject) == (Scope.CONVERSATION, Severity.WARNING)


def test_per_call_counts_as_per_turn_only_when_the_history_outlives_the_call() -> None:
    segments = (hole(cause("random", moment=Moment.CALL)), history(), question())
    assert level(request(*segments, reuse=TURNS)) == (Scope.TURN, Severity.ERROR)
    assert request(*segments, reuse=BATCH).breaks == ()


def test_loop_is_a_conversation_only_where_turns_are_kept() -> None:
    assert request(hole(cause()), history(), question(), reuse=BATCH).breaks == ()
    assert level(request(hole(cause()), history(), question(), reuse=TURNS)) == (Scope.TURN, Severity.ERROR)


def test_turns_without_a_visible_history_need_the_size() -> None:
    assert request(hole(cause()), text(500), question()).breaks == ()
    assert level(request(hole(cause()), text(1_024), question())) == (Scope.TURN, Severity.ERROR)
    subject = request(hole(cause()), hole(high=inf), question())
    assert level(subject) == (Scope.TURN, Severity.INFO)


def test_old_messages_rendered_with_a_clock_spoil_themselves() -> None:
    assert level(request(text(2_000), history(cause(grain=MINUTE)), question())) == (Scope.TURN, Severity.ERROR)
    assert request(text(2_000), history(cause("user"), cause("state")), question()).breaks == ()


@pytest.mark.parametrize("kind", ["environment", "counter"])
def test_what_a_tool_found_out_is_kept_as_it_was(kind: str) -> None:
    found = replace(hole(cause(kind), region=Region.MID_HISTORY, high=inf), repeats=True, role="tool")
    assert request(text(2_000), found).breaks == ()
    assert request(text(2_000), replace(found, role="user")).breaks


def test_answers_of_tools_rendered_with_a_clock_spoil_themselves() -> None:
    found = replace(hole(cause("time"), region=Region.MID_HISTORY, high=inf), repeats=True, role="tool")
    assert request(text(2_000), found).breaks


@pytest.mark.parametrize("kind", ["environment", "time", "counter"])
def test_what_a_finished_loop_added_behind_kept_turns_stays_as_it_is(kind: str) -> None:
    """Results of tools that a loop appended; other ways to build the list put kept turns behind them again."""
    added = replace(hole(cause(kind), region=Region.MID_HISTORY, high=inf), repeats=True)
    assert breaks(request(text(2_000), history(), added, history(), question()), 300) == ()
    assert level(request(text(2_000), added, history(), question())) == (Scope.TURN, Severity.ERROR)


def test_repeated_template_among_the_first_messages_is_a_history() -> None:
    turns = replace(hole(cause(), region=Region.FIRST_MESSAGE, high=inf), repeats=True)
    assert level(request(text(100), turns, question())) == (Scope.TURN, Severity.ERROR)


@pytest.mark.parametrize(
    ("guard", "severity", "confidence"),
    [
        ("threshold", Severity.INFO, Confidence.HIGH),
        ("error", Severity.INFO, Confidence.HIGH),
        ("configuration", Severity.INFO, Confidence.HIGH),
        ("command", Severity.WARNING, Confidence.MEDIUM),
        (None, Severity.ERROR, Confidence.HIGH),
    ],
)
def test_guards(guard: str | None, severity: Severity, confidence: Confidence) -> None:
    broken = only(request(hole(cause("conditional", conditional=guard)), history(), question()))
    assert (broken.severity, broken.confidence) == (severity, confidence)


def test_always_is_no_guard() -> None:
    assert under_guard("always", Severity.ERROR, Confidence.HIGH) == (Severity.ERROR, Confidence.HIGH)


# --- other conversations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", ["entry", "template", "loop"])
def test_clock_ahead_of_constant_text_is_a_warning(repeats: str) -> None:
    subject = request(hole(cause(grain=HOUR)), text(1_024), question(), reuse=Reuse(False, repeats, ""))
    assert level(subject) == (Scope.CONVERSATION, Severity.WARNING)
    assert only(subject).lost == Interval(1_024, 1_024)


def test_date_is_information() -> None:
    subject = request(hole(cause(grain=DAY)), text(5_000), question(), reuse=ENTRY)
    assert level(subject) == (Scope.CONVERSATION, Severity.INFO)


@pytest.mark.parametrize("kind", ["user", "state", "environment", "conditional"])
def test_text_about_user_or_place_is_information(kind: str) -> None:
    subject = request(hole(cause(kind, Axis.CALL, Axis.USER)), text(5_000), question(), reuse=ENTRY)
    assert level(subject) == (Scope.CONVERSATION, Severity.INFO)


def test_random_value_is_a_warning() -> None:
    subject = request(hole(cause("random", moment=Moment.SESSION)), text(5_000), question(), reuse=ENTRY)
    assert level(subject) == (Scope.CONVERSATION, Severity.WARNING)


def test_size_gate() -> None:
    assert request(hole(cause()), text(1_023), question(), reuse=ENTRY).breaks == ()
    unknown = request(hole(cause()), hole(high=inf), question(), reuse=ENTRY)
    assert level(unknown) == (Scope.CONVERSATION, Severity.INFO)
    optional = request(hole(cause()), text(5_000, optional=True), question(), reuse=ENTRY)
    assert level(optional) == (Scope.CONVERSATION, Severity.INFO)


def test_file_read_at_import_counts_as_constant() -> None:
    known = replace(hole(), tokens=Interval(2_000, inf), persistent=True)
    assert level(request(hole(cause()), known, question(), reuse=ENTRY)) == (Scope.CONVERSATION, Severity.WARNING)


def test_reuse_gate() -> None:
    segments = (hole(cause()), text(5_000), question())
    assert request(*segments, reuse=ONCE).breaks == ()
    assert level(request(*segments, reuse=ASSUMED)) == (Scope.CONVERSATION, Severity.INFO)


def test_value_made_ahead_of_a_batch_is_the_same_for_all_items() -> None:
    assert request(hole(cause("user", moment=Moment.CALL)), text(5_000), question(), reuse=BATCH).breaks == ()


def test_history_of_another_conversation_is_not_shared() -> None:
    assert request(hole(cause(moment=Moment.SESSION)), history(), question(), reuse=ENTRY).breaks == ()


def test_text_behind_the_question_is_not_shared() -> None:
    behind = text(5_000, Region.LAST_MESSAGE)
    assert request(hole(cause()), question(), behind, reuse=ENTRY).breaks == ()


def test_shared_prefix_ends_at_the_first_difference() -> None:
    assert shared_prefix(request(text(300), hole(high=50), text(200), hole(cause()), text(900))) == Interval(500, 550)
    assert shared_prefix(request(text(300), history(), text(900, Region.MID_HISTORY))) == Interval(300, 300)
    asked = hole(region=Region.LAST_MESSAGE)
    assert shared_prefix(request(text(300), asked, text(900, Region.LAST_MESSAGE))) == Interval(300, 1_210)
    assert shared_prefix(request(text(300), hole(), text(900))) == Interval(1_200, 1_210)


# --- other processes -------------------------------------------------------------------------------------------------


def test_set_order_of_tools_is_a_warning_and_of_text_information() -> None:
    unordered = cause("unordered", Axis.HASH_SEED, moment=Moment.IMPORT)
    tools = request(tool(unordered), text(2_000), history(), question())
    assert (level(tools), only(tools).lost) == ((Scope.PROCESS, Severity.WARNING), Interval(2_000, 2_000))
    words = request(hole(unordered), text(2_000), history(), question())
    assert (level(words), only(words).lost) == ((Scope.PROCESS, Severity.INFO), Interval(2_000, 2_000))


def test_set_order_with_little_behind_is_silent() -> None:
    assert request(tool(cause("unordered", Axis.HASH_SEED)), text(100), history(), question()).breaks == ()


def test_clock_at_import_differs_between_workers_only() -> None:
    subject = request(hole(cause(moment=Moment.IMPORT)), text(2_000), history(), question())
    assert level(subject) == (Scope.PROCESS, Severity.INFO)
    assert request(hole(cause(moment=Moment.IMPORT, grain=DAY)), text(2_000), history(), question()).breaks == ()


def test_working_directory_is_information() -> None:
    subject = request(hole(cause("environment", Axis.MACHINE)), text(2_000), history(), question())
    assert level(subject) == (Scope.PROCESS, Severity.INFO)


# --- explicit caches -------------------------------------------------------------------------------------------------


def test_date_behind_the_last_breakpoint_costs_nothing() -> None:
    segments = (text(5_000), hole(cause()), question())
    assert request(*segments, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0),)).breaks == ()


def test_clock_behind_a_breakpoint_still_precedes_the_history() -> None:
    segments = (text(5_000), hole(cause()), history(), question())
    for breakpoints in [(mark(0),), (mark(0), mark(3, automatic=True))]:
        subject = request(*segments, facts=EXPLICIT, breakpoints=breakpoints)
        assert level(subject) == (Scope.TURN, Severity.ERROR)
        assert only(subject).lost == Interval(0, inf)


def test_clock_ahead_of_a_breakpoint_spoils_it_with_the_text_on_both_sides() -> None:
    segments = (text(3_000), hole(cause(), message=1), text(2_000, message=2), text(900, message=3), question())
    subject = request(*segments, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(2),))
    assert level(subject) == (Scope.CONVERSATION, Severity.WARNING)
    assert only(subject).lost == Interval(5_000, 5_000)
    saved = request(*segments, facts=EXPLICIT, reuse=ENTRY, breakpoints=(mark(0), mark(2)))
    assert only(saved).lost == Interval(2_000, 2_000)


def test_without_a_breakpoint_nothing_is_cached_yet() -> None:
    single = request(hole(cause()), text(5_000), question(), facts=EXPLICIT, reuse=ENTRY)
    assert level(single) == (Scope.CONVERSATION, Severity.INFO)
    kept = request(hole(cause()), text(5_000), history(), question(), facts=EXPLICIT)
    assert level(kept) == (Scope.TURN, Severity.ERROR)


def test_breakpoint_on_the_question_is_never_read() -> None:
    breakpoints = (mark(1, automatic=True),)
    subject = request(text(5_000), question(), facts=EXPLICIT, reuse=ENTRY, breakpoints=breakpoints)
    assert level(subject) == (Scope.CONVERSATION, Severity.WARNING)
    rolling = request(text(5_000), history(), question(), facts=EXPLICIT, breakpoints=(mark(2),))
    assert rolling.breaks == ()


def test_model_that_does_not_cache() -> None:
    assert request(hole(cause()), history(), question(), facts=replace(AUTOMATIC, caches=False)).breaks == ()


# --- several breaks, confidence, words -------------------------------------------------------------------------------


def test_later_breaks_are_reported_with_what_they_cost_themselves() -> None:
    first, second = hole(cause(line=1)), hole(cause("random", line=2))
    found = request(first, text(3_000), second, text(2_000), question(), reuse=ENTRY).breaks
    assert [(b.segment, b.lost.low, b.earliest) for b in found] == [(0, 5_000, True), (2, 2_000, False)]
    small = request(first, text(3_000), second, text(200), question(), reuse=ENTRY).breaks
    assert [b.segment for b in small] == [0]


def test_one_origin_is_reported_once() -> None:
    clock = cause()
    assert len(request(hole(clock), hole(clock), text(2_000), history(), question()).breaks) == 1


def test_unknown_values_are_no_evidence() -> None:
    assert request(hole(cause("opaque")), text(5_000), history(), question()).breaks == ()


@pytest.mark.parametrize(
    ("features", "of_reuse", "of_request", "expected"),
    [
        ("", "", Confidence.HIGH, Confidence.HIGH),
        ("annotation", "", Confidence.HIGH, Confidence.MEDIUM),
        ("", "assumed-entry", Confidence.HIGH, Confidence.MEDIUM),
        ("", "", Confidence.MEDIUM, Confidence.MEDIUM),
        ("annotation", "factory", Confidence.MEDIUM, Confidence.MEDIUM),
        ("opaque-call", "assumed-entry", Confidence.HIGH, Confidence.LOW),
        ("", "", Confidence.LOW, Confidence.LOW),
    ],
)
def test_approximations_lower_the_confidence(
    features: str, of_reuse: str, of_request: Confidence, expected: Confidence
) -> None:
    reuse = replace(TURNS, features=frozenset(of_reuse.split()))
    volatile = hole(cause(features=frozenset(features.split())))
    assert only(request(volatile, history(), question(), reuse=reuse, confidence=of_request)).confidence is expected


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (Interval(2_400, 2_400), "2,400 tokens"),
        (Interval(1, 1), "1 token"),
        (Interval(2_400, inf), "at least 2,400 tokens"),
        (Interval(2_400, 3_000.0), "2,400 to 3,000 tokens"),
        (Interval(0, 3_000), "up to 3,000 tokens"),
        (UNKNOWN, "an unknown number of tokens"),
    ],
)
def test_words_for_tokens(tokens: Interval, words: str) -> None:
    assert in_words(tokens) == words


def test_minimum() -> None:
    assert reaches_minimum(Interval(1_024, 1_024), AUTOMATIC) == "yes"
    assert reaches_minimum(Interval(0, 1_024), AUTOMATIC) == "maybe"
    assert reaches_minimum(Interval(0, 1_023), AUTOMATIC) == "no"


def test_where_many_ways_are_joined_a_vague_value_may_stand_anywhere() -> None:
    lists, parts = [history()] * 9, [text(9, message=n) for n in range(80)]

    def confidence(kind: str, *more: Segment) -> Confidence:
        return only(request(hole(cause(kind)), text(2_000), *more, question())).confidence

    assert confidence("state", *lists) is confidence("state", *parts, history()) is Confidence.HIGH
    assert confidence("state", *parts, *lists) is Confidence.LOW
    assert confidence("time", *parts, *lists) is Confidence.HIGH
    kept = request(*parts, history(cause("time")), *lists, question())
    assert only(kept).confidence is Confidence.LOW
