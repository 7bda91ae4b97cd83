"""What ``prompt_cache`` lets pass and what it does not, and that a failure says what differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from promptlint.testing import PromptCache
from promptlint.trace.format import Exchange, Frame

RULES = "You answer questions about the museum. " + "Be kind, be brief, and name the room. " * 4
LONG = "Each picture has a room, a painter and a story that you tell when asked. " * 300
TOOLS = [
    {"name": name, "description": f"Find a {name}.", "input_schema": {"type": "object"}} for name in ("room", "map")
]

Body = dict[str, Any]


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def said(text: str) -> Body:
    return {"role": "assistant", "content": text}


def body(*messages: Body, system: Any = RULES, **more: Any) -> Body:
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": system, "messages": [*messages], **more}


def cache(*bodies: Body, usage: Body | None = None, function: str = "Guide.ask", **more: Any) -> PromptCache:
    url = "https://api.anthropic.com/v1/messages"
    stack = (Frame("app/guide.py", 12, function),)
    given = {"status": 200, "began": 0.5, "lasted": 1.0, **more}
    return PromptCache(
        [
            Exchange(str(n), 1e9 + 5 * n, url, "messages", json.dumps(one), usage=usage, stack=stack, **given)
            for n, one in enumerate(bodies)
        ]
    )


def marked(text: str) -> list[Body]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


FIRST = (user("Where is the Vermeer?"),)
SECOND = (*FIRST, said("In room 4."), user("And the Hals?"))
THIRD = (*SECOND, said("In room 7."), user("Is there a café in this museum?"))

STABLE = {
    "a conversation": (body(*FIRST), body(*SECOND), body(*THIRD)),
    "two conversations": (body(*FIRST), body(*SECOND), body(user("Hi")), body(user("Hi"), said("Hello"), user("Bye"))),
    "questions in a template": [
        body(user(f"Question: {q}\nAnswer in one word.")) for q in ("Who painted it?", "When?")
    ],
    "another purpose": (body(*FIRST), body(*FIRST, system="Name this conversation in five words.")),
    "one request": (body(*FIRST),),
    "tools in a loop": (
        body(*FIRST, tools=TOOLS),
        body(
            *FIRST,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "room", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "4"}]},
            tools=TOOLS,
        ),
    ),
    "a marker that moves": (
        body({"role": "user", "content": marked("Where is the Vermeer?")}),
        body(*FIRST, said("In room 4."), {"role": "user", "content": marked("And the Hals?")}),
    ),
    "the same again": (body(*FIRST), body(*FIRST)),
    "a new history after a summary": (body(*THIRD), body(user("Summary: rooms 4 and 7."), said("Yes."), user("Next?"))),
}

BROKEN: dict[str, tuple[tuple[Body, ...], str]] = {
    "a clock": (
        (body(*FIRST, system=f"It is 12:01:05. {RULES}"), body(*SECOND, system=f"It is 12:02:31. {RULES}")),
        "clock-like in the system",
    ),
    "a clock in separate conversations": (
        (body(*FIRST, system=f"It is 12:01:05. {RULES}"), body(user("Hi"), system=f"It is 12:02:31. {RULES}")),
        "clock-like in the system",
    ),
    "an id in front of a template": (
        (
            body(user(f"Request f81d4fae-7dec-11d0-a765-00a0c91e6bf6. {RULES} What is this?")),
            body(user(f"Request 0b9e7c52-1f1e-4a67-9c80-6bb3f15c5f06. {RULES} Who is that?")),
        ),
        "uuid-like in the messages",
    ),
    "old messages dropped": ((body(*THIRD), body(*THIRD[2:], said("Yes."), user("Where?"))), "front deleted"),
    "an old message edited": (
        (body(*SECOND), body(user("(asked)"), *SECOND[1:], said("In room 7."), user("Thanks"))),
        "middle replaced in the messages",
    ),
    "a decoration that is not kept": (
        (body(user(f"[mood: curious, time: noon]\n{RULES}")), body(user(RULES), said("Fine."), user("And now?"))),
        "in the messages",
    ),
    "tools reordered": ((body(*FIRST, tools=TOOLS), body(*SECOND, tools=TOOLS[::-1])), "tools reordered"),
    "a tool more": (
        (body(*FIRST, tools=TOOLS), body(*SECOND, tools=[TOOLS[0], {**TOOLS[1], "name": "x"}, TOOLS[1]])),
        "tool",
    ),
}


@pytest.mark.parametrize("bodies", STABLE.values(), ids=STABLE)
def test_sound_programs_pass(bodies: tuple[Body, ...]) -> None:
    cache(*bodies).prefix_stable()


@pytest.mark.parametrize(("bodies", "kind"), BROKEN.values(), ids=BROKEN)
def test_a_prefix_that_changes_is_shown(bodies: tuple[Body, ...], kind: str) -> None:
    with pytest.raises(AssertionError) as failure:
        cache(*bodies).prefix_stable()
    text = str(failure.value)
    assert text.startswith("request 2 (app/guide.py:12 Guide.ask) does not begin as request 1 did: ")
    assert kind in text.split("\n")[0]


def test_another_model_or_parameter_is_a_break_too() -> None:
    small = {**body(*SECOND, system=LONG), "model": "claude-haiku-4-5"}
    with pytest.raises(AssertionError, match="model: claude-sonnet-4-5 -> claude-haiku-4-5"):
        cache(body(*FIRST, system=marked(LONG)), small).prefix_stable()


def test_a_failure_is_readable() -> None:
    one, two = (body(*FIRST, system=f"{RULES}It is {time} in the museum.") for time in ("12:01:05", "12:02:31"))
    with pytest.raises(AssertionError) as failure:
        cache(one, two).prefix_stable()
    assert str(failure.value).split("\n") == [
        "request 2 (app/guide.py:12 Guide.ask) does not begin as request 1 did: clock-like in the system",
        "    system, character 201",
        "    request 1: …brief, and name the room. It is 12:01:05 in the museum.",
        "    request 2: …brief, and name the room. It is 12:02:31 in the museum.",
        "                                                    ^",
        "    about 11 tokens from there on were sent before, and are paid for again",
        "    Keep the text constant: put the time into the newest message, and keep that message as it was sent.",
    ]


def test_errors_are_shown_and_refusals_foreseen() -> None:
    cache(body(*FIRST)).no_errors()
    with pytest.raises(AssertionError, match=r"request 1 \(.*\) failed with status 429: rate_limit_error: Slow down"):
        cache(body(*FIRST), status=429, error="rate_limit_error: Slow down").no_errors()
    many = [block for n in range(5) for block in marked(f"Part {n}. {RULES}")]
    with pytest.raises(AssertionError, match=r"would be refused: .*5"):
        cache(body(*FIRST, system=many)).no_errors()


TURNS = [body(*turn, system=marked(LONG)) for turn in (FIRST, SECOND, THIRD)]


def test_the_hit_ratio_of_a_faked_network_is_simulated() -> None:
    for usage in (None, {"input_tokens": 10, "output_tokens": 5}):
        cache(*TURNS, usage=usage).min_hit_ratio(0.9)


def test_the_hit_ratio_of_a_real_network_is_what_it_reported() -> None:
    usage = {"input_tokens": 5000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    with pytest.raises(AssertionError, match="0% of the input tokens were read from the cache, and 90% are demanded"):
        cache(*TURNS, usage=usage).min_hit_ratio(0.9)


LOSSES: dict[str, tuple[Callable[[], PromptCache], str]] = {
    "a clock": (
        lambda: cache(*[body(*FIRST, system=marked(f"It is 12:0{n}. {LONG}")) for n in (1, 2)]),
        "clock-like",
    ),
    "no marker": (lambda: cache(body(*FIRST, system=LONG), body(*SECOND, system=LONG)), "no marker"),
    "too short": (lambda: cache(body(*FIRST), body(*SECOND)), "4,096|1,024"),
}


@pytest.mark.parametrize(("make", "reason"), LOSSES.values(), ids=LOSSES)
def test_a_low_hit_ratio_says_why(make: Callable[[], PromptCache], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        make().min_hit_ratio(0.9)


def test_what_proves_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="no request to a language model was seen"):
        cache().prefix_stable()
    with pytest.raises(AssertionError, match="no request of this test could read from the cache"):
        cache(body(*FIRST)).min_hit_ratio(0.5)
    with pytest.raises(ValueError, match="between 0 and 1, not 90"):
        cache(body(*FIRST)).min_hit_ratio(90)


def test_a_cache_object_that_a_test_did_not_make_is_no_error() -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
    asks = {"contents": [{"parts": [{"text": "And?"}]}], "cachedContent": "cachedContents/7"}
    seen = Exchange("1", 1e9, url, "generate", json.dumps(asks), status=200, began=0.5, lasted=1.0)
    PromptCache([seen]).no_errors()
    both = replace(seen, body=json.dumps(asks | {"systemInstruction": {"parts": [{"text": RULES}]}}))
    with pytest.raises(AssertionError, match="would be refused: CachedContent can not be used with"):
        PromptCache([both]).no_errors()
