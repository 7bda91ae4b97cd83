"""Parameters that belong to the prefix: what their change costs, and when nothing is said about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from promptlint import registry
from promptlint.assembly.usage import CACHED, PROMPT
from promptlint.finding import Confidence, Finding, Scope, Severity
from promptlint.provider import facts, providers
from promptlint.request import LEFT_OUT, Axis, Branch, Carrier, Cause, Moment, Parameter, Request, Siblings, Usage
from promptlint.span import Hop, Span, Step
from tests.rules.build import (
    ASSUMED,
    BATCH,
    CLAUDE,
    ENTRY,
    GPT,
    TURNS,
    cause,
    check,
    everything,
    history,
    mark,
    parameter,
    question,
    request,
    text,
)

SAID = cause("user", Axis.TURN, line=12)
EFFORT = parameter("output_config.effort", SAID, values=("low", "medium"))


def claude(*parameters: Parameter, marked: bool = True, **changes: object) -> Request:
    """A chat with Claude whose newest block is marked."""
    markers = (mark(2, automatic=True),) if marked else ()
    subject = request(text(2_000), history(), question(), facts=CLAUDE, breakpoints=markers, parameters=parameters)
    return replace(subject, **changes)  # type: ignore[arg-type]


KEY = parameter("prompt_cache_key", values=("desk",))


def gpt(*parameters: Parameter) -> Request:
    return request(text(2_000), history(), question(), facts=GPT, parameters=(KEY, *parameters))


def compared(name: str, *requests: Request) -> list[Finding]:
    (info,) = registry.load().matching(name)
    return list(info.check(Siblings(requests)))


# --- PL502 -----------------------------------------------------------------------------------------------------------


def test_value_that_may_be_all_that_is_sent_is_not_known_to_change() -> None:
    one = parameter("thinking.budget_tokens", cause("state", Axis.TURN, line=12))
    assert check("toggled-parameter", claude(one))
    kinds = ("state", "random", "environment", "conditional")
    muddle = parameter("thinking.budget_tokens", *(cause(kind, Axis.TURN, line=12) for kind in kinds))
    assert not check("toggled-parameter", claude(muddle))


def test_value_of_one_round_of_a_loop_is_no_change_between_turns() -> None:
    tried = replace(cause("state", Axis.CALL, line=12), carrier=Carrier.LOOP_VARIABLE)
    assert not check("toggled-parameter", claude(parameter("thinking.budget_tokens", tried)))
    assert check("toggled-parameter", claude(parameter("thinking.budget_tokens", tried, values=("1000", "4000"))))


def test_choice_between_two_values() -> None:
    (finding,) = check("toggled-parameter", claude(EFFORT))
    assert (finding.severity, finding.confidence, finding.scope) == (Severity.WARNING, Confidence.HIGH, Scope.TURN)
    assert finding.message == (
        "output_config.effort is chosen by the user: each change drops the cache of the tools, system text and history"
    )
    assert (finding.primary, finding.origin) == (Span("app.py", 55), Span("app.py", 12))


def test_value_made_of_what_grows_changes_on_every_turn() -> None:
    (finding,) = check("toggled-parameter", claude(parameter("thinking.budget_tokens", cause("counter", Axis.TURN))))
    assert finding.severity is Severity.ERROR
    assert "is made of the counter" in finding.message


def test_what_is_lost_follows_from_the_facts_of_the_provider() -> None:
    choice = parameter("tool_choice.type", SAID, values=("any", LEFT_OUT))
    assert check("toggled-parameter", claude(choice))[0].message.endswith("drops the cache of the history")
    assert check("toggled-parameter", gpt(parameter("tool_choice", SAID, values=("required", "auto")))) == []
    (finding,) = check("toggled-parameter", gpt(parameter("text.verbosity", SAID, values=("low", "high"))))
    assert finding.message.endswith("drops the cache of the tools, system text and history")


def test_each_parameter_is_reported_once() -> None:
    fields = (parameter("thinking.type", SAID, values=("enabled", LEFT_OUT)), parameter("thinking.budget_tokens", SAID))
    assert len(check("toggled-parameter", claude(*fields))) == 1


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(claude(EFFORT, marked=False), id="nothing is cached yet"),
        pytest.param(
            claude(replace(EFFORT, causes=(replace(SAID, conditional="command"),))), id="a command of the user"
        ),
        pytest.param(
            claude(parameter("output_config.effort", replace(SAID, carrier=Carrier.PARAMETER))),
            id="an option of the caller",
        ),
    ],
)
def test_what_somebody_asks_for_is_info(subject: Request) -> None:
    (finding,) = check("toggled-parameter", subject)
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(claude(parameter("output_config.effort", values=("low",))), id="one value"),
        pytest.param(claude(parameter("output_config.effort", values=("low", "medium"))), id="nothing decides by turn"),
        pytest.param(
            claude(replace(EFFORT, alternatives=("high", LEFT_OUT))), id="the default and leaving it out are the same"
        ),
        pytest.param(
            claude(replace(EFFORT, causes=(replace(SAID, moment=Moment.SESSION),))), id="decided once a conversation"
        ),
        pytest.param(claude(replace(EFFORT, causes=(cause("environment", Axis.MACHINE),))), id="the environment"),
        pytest.param(claude(replace(EFFORT, causes=(cause("opaque"),))), id="what decides is not known"),
        pytest.param(claude(parameter("temperature", SAID, values=("0", "1"))), id="no part of the prefix"),
        pytest.param(claude(EFFORT, reuse=BATCH), id="no turns are kept"),
        pytest.param(claude(EFFORT, facts=facts("unknown", None)), id="a provider of which nothing is known"),
    ],
)
def test_parameters_that_toggle_nothing(subject: Request) -> None:
    assert "toggled-parameter" not in everything(subject)


ROOT = Span("app.py", 2)
LOOP = Step(Span("app.py", 60), "main() calls ask()", hop=Hop.CALLED)
LAST = Step(Span("app.py", 80), "main() calls ask()", hop=Hop.CALLED)


def side(way: Step, *parameters: Parameter, branches: tuple[Branch, ...] = ()) -> Request:
    return claude(*parameters, root=ROOT, path=(way,), branches=branches)


def branch(*causes: Cause, guard: str = "always") -> Branch:
    return Branch(Span("app.py", 79), True, causes, guard)


MAIN = side(LOOP, parameter("tool_choice.type", values=("auto",)))
NONE = parameter("tool_choice.type", values=("none",))


def test_two_calls_with_different_values() -> None:
    (finding,) = compared("toggled-parameter", MAIN, side(LAST, NONE, branches=(branch(cause("counter", Axis.TURN)),)))
    assert finding.primary == LAST.span
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert finding.message == (
        "this sends the same turns with tool_choice.type none, others with tool_choice.type auto: each change drops "
        "the cache of the history"
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(side(LAST, NONE, branches=(branch(),)), id="an option that does not change"),
        pytest.param(side(LAST, NONE, branches=(branch(guard="error"),)), id="after an error"),
        pytest.param(side(LAST), id="left out, which means the same"),
        pytest.param(replace(side(LAST, NONE), root=Span("other.py", 1)), id="begins elsewhere"),
        pytest.param(replace(side(LAST, NONE), open=("**options",)), id="something unseen may set it"),
        pytest.param(side(LAST, parameter("tool_choice.type", SAID)), id="value not known"),
    ],
)
def test_calls_that_are_not_known_to_differ(other: Request) -> None:
    assert [f for f in compared("toggled-parameter", MAIN, other) if f.primary == LAST.span] == []


def test_side_call_on_a_command_is_info() -> None:
    asked = branch(cause("user", Axis.TURN), guard="command")
    (finding,) = compared("toggled-parameter", MAIN, side(LAST, NONE, branches=(asked,)))
    assert finding.severity is Severity.INFO


# --- PL503 -----------------------------------------------------------------------------------------------------------

ROUTED = parameter("model", SAID, values=("claude-opus-4-8", "claude-haiku-4-5"))


def test_model_that_is_chosen_by_the_turn() -> None:
    (finding,) = check("model-switch", claude(ROUTED))
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert finding.message == (
        "the model (claude-opus-4-8 or claude-haiku-4-5) is chosen by the user: after each switch the whole prompt is "
        "paid for in full"
    )


def test_every_provider_keeps_a_cache_for_each_model() -> None:
    subject = request(text(9_000), history(), question(), facts=facts("groq", None), parameters=(ROUTED,))
    assert check("model-switch", subject)[0].severity is Severity.WARNING


@pytest.mark.parametrize(
    "subject",
    [
        claude(replace(ROUTED, causes=(replace(SAID, conditional="command"),))),
        claude(replace(ROUTED, causes=(replace(SAID, carrier=Carrier.PARAMETER),))),
        claude(ROUTED, facts=facts("unknown", None)),
    ],
    ids=["a command", "the caller", "an unknown provider"],
)
def test_model_that_somebody_chooses_is_info(subject: Request) -> None:
    assert check("model-switch", subject)[0].severity is Severity.INFO


def test_model_of_the_configuration() -> None:
    assert check("model-switch", claude(replace(ROUTED, causes=(cause("environment", Axis.MACHINE),)))) == []
    assert check("model-switch", claude(ROUTED, reuse=BATCH)) == []


def test_model_that_the_code_does_not_name() -> None:
    assert check("model-switch", claude(parameter("model", cause("state")))) == []


def test_side_call_to_another_model_is_info() -> None:
    big, small = (side(way, parameter("model", values=(name,))) for way, name in ((LOOP, "opus"), (LAST, "haiku")))
    (finding,) = compared("model-switch", big, small)
    assert finding.severity is Severity.INFO
    assert "with model haiku, others with model opus" in finding.message


# --- PL505 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "severity"),
    [
        (gpt(parameter("response_format", SAID, values=("Answer", "Plan"))), Severity.WARNING),
        (gpt(parameter("text.format.schema", cause("state"))), Severity.ERROR),
        (claude(parameter("output_config.format.schema", cause("state"))), Severity.ERROR),
    ],
    ids=["two classes", "made of what varies", "Anthropic"],
)
def test_schema_that_depends_on_the_turn(subject: Request, severity: Severity) -> None:
    found = everything(subject)
    assert list(found) == ["varying-output-schema"]
    assert found["varying-output-schema"][0].severity is severity


def test_final_answer_in_a_shape_of_its_own() -> None:
    free = replace(gpt(), root=ROOT, path=(LOOP,))
    shaped = replace(gpt(parameter("response_format", values=("Answer",))), root=ROOT, path=(LAST,))
    (finding,) = compared("varying-output-schema", free, shaped)
    assert finding.severity is Severity.WARNING
    assert "with output schema Answer, others with no output schema" in finding.message


@pytest.mark.parametrize(
    "subject",
    [
        gpt(parameter("response_format.type", SAID, values=("json_object", LEFT_OUT))),
        gpt(parameter("response_format", values=("Answer",))),
        replace(gpt(parameter("response_format", SAID, values=("Answer", "Plan"))), reuse=BATCH),
        request(
            history(),
            question(),
            facts=facts("gemini", None),
            parameters=(parameter("response_schema", SAID, values=("A", "B")),),
        ),
    ],
    ids=["a mode without a schema", "one schema", "no turns are kept", "not known to be in the prompt"],
)
def test_schemas_that_cost_nothing(subject: Request) -> None:
    assert "varying-output-schema" not in everything(subject)


# --- PL501, PL507 ----------------------------------------------------------------------------------------------------

FRESH = cause("random", line=14)
OWNED = cause("user", Axis.USER, Axis.CONVERSATION, moment=Moment.CALL)


def keyed(*causes: Cause, **changes: object) -> Request:
    subject = request(text(2_000), history(), question(), facts=GPT, parameters=(parameter(KEY.name, *causes),))
    return replace(subject, **changes)  # type: ignore[arg-type]


def salted(*causes: Cause, **changes: object) -> Request:
    given = (parameter("cache_salt", *causes),)
    subject = request(text(2_000), history(), question(), facts=facts("vllm", None), parameters=given)
    return replace(subject, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("subject", "rule"), [(keyed(FRESH), "cache-key"), (salted(FRESH), "cache-salt")])
def test_key_or_salt_made_anew_for_each_request(subject: Request, rule: str) -> None:
    (finding,) = check(rule, subject)
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert finding.origin == Span("app.py", 14)
    batch = replace(subject, reuse=ENTRY)
    assert check(rule, batch)[0].severity is Severity.WARNING


@pytest.mark.parametrize(("subject", "rule"), [(keyed(OWNED), "cache-key"), (salted(OWNED), "cache-salt")])
def test_key_or_salt_of_a_user_is_info(subject: Request, rule: str) -> None:
    (finding,) = check(rule, subject)
    assert finding.severity is Severity.INFO
    assert "2,000 tokens" in finding.message


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"reuse": ASSUMED}, id="nothing shows that it is sent again"),
        pytest.param({"segments": (text(100), question()), "reuse": ENTRY}, id="nothing long is shared"),
    ],
)
@pytest.mark.parametrize(("make", "rule"), [(keyed, "cache-key"), (salted, "cache-salt")])
def test_key_or_salt_where_nothing_is_shared(make: object, rule: str, change: dict[str, object]) -> None:
    assert callable(make)
    assert check(rule, make(FRESH, **change)) == []


def test_key_that_is_too_long() -> None:
    (finding,) = check("cache-key", gpt(parameter(KEY.name, values=("x" * 65,))))
    assert (finding.severity, finding.scope) == (Severity.ERROR, Scope.REQUEST)
    assert check("cache-key", gpt(parameter(KEY.name, values=("x" * 64,)))) == []


def test_missing_key_is_a_hint() -> None:
    served = replace(keyed(parameters={}), reuse=replace(TURNS, repeats="entry"))
    (finding,) = check("cache-key", served)
    assert (finding.severity, finding.confidence) == (Severity.INFO, Confidence.LOW)
    assert check("cache-key", replace(served, traffic=60.0)) == [finding]
    (told,) = check("cache-key", replace(served, traffic=5_000.0))
    assert (told.severity, told.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert check("cache-key", replace(served, open=("extra_body",))) == []
    assert check("cache-key", replace(served, reuse=TURNS)) == []
    assert check("cache-key", replace(served, reuse=ENTRY)) == []
    assert check("cache-key", replace(served, facts=facts("openai", "gpt-5.6-sol"))) == []
    assert check("cache-key", replace(claude(), reuse=served.reuse)) == []


# --- PL506, PL603 ----------------------------------------------------------------------------------------------------

FAN = Span("app.py", 33)


def batch() -> Request:
    return claude(segments=(text(2_000), question()), reuse=BATCH, parallel=FAN)


def test_requests_that_start_together() -> None:
    (finding,) = check("parallel-cold-start", batch())
    assert (finding.severity, finding.confidence, finding.primary) == (Severity.INFO, Confidence.HIGH, FAN)
    assert "each pays in full for what they share, 2,000 tokens" in finding.message


def test_requests_that_start_together_without_asking_for_a_cache_are_a_hint() -> None:
    subject = request(text(2_000), question(), facts=GPT, reuse=BATCH)
    assert check("parallel-cold-start", replace(subject, parallel=FAN))[0].confidence is Confidence.LOW


@pytest.mark.parametrize(
    "subject",
    [
        replace(batch(), parallel=None),
        replace(batch(), breakpoints=()),
        replace(batch(), segments=(text(300), question())),
    ],
    ids=["one by one", "nothing is cached", "too little is shared"],
)
def test_requests_that_lose_nothing_by_starting_together(subject: Request) -> None:
    assert check("parallel-cold-start", subject) == []


READ = Usage((Span("app.py", 72),), near=True, cached=False)


def test_counts_of_cached_tokens_that_nobody_reads() -> None:
    (finding,) = check("unread-usage", claude(usage=READ))
    assert (finding.severity, finding.primary) == (Severity.INFO, Span("app.py", 72))
    assert "cache_read_input_tokens" in finding.advice
    assert check("unread-usage", claude(usage=replace(READ, near=False)))[0].confidence is Confidence.LOW
    assert check("unread-usage", claude(usage=replace(READ, cached=True))) == []
    assert check("unread-usage", claude()) == []


def test_cached_tokens_that_are_counted_twice() -> None:
    twice = Usage((), near=True, cached=True, added=(Span("app.py", 73),))
    (finding,) = check("unread-usage", replace(gpt(), usage=twice))
    assert finding.primary == Span("app.py", 73)
    assert check("unread-usage", claude(usage=twice)) == []


def test_names_of_the_counts_are_those_of_the_facts() -> None:
    known = [facts(provider, None) for provider in providers()]
    assert {path.rpartition(".")[2] for f in known for path in f.usage_read} <= CACHED
    assert {path.rpartition(".")[2] for f in known for path in f.usage_input} <= PROMPT
