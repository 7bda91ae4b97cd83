"""Random conversations as blocks of token ids: appended to, edited, cut, reordered, and sent in copies at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import GEN_CLOSED, getgeneratorstate

from promptlint.simulator import Block, Call
from promptlint.simulator.exchange import flat

EDITS = ("append", "append", "append", "append", "repeat", "edit", "truncate", "tools", "system", "shorten", "parallel")
"""What happens between two requests; appending is what usually happens."""

Prompt = tuple[Block, ...]
Answer = tuple[int, ...]
Conversation = Generator[list[Prompt], Answer, None]
"""Yields groups of prompts that are sent at once (most hold one), and is sent what the engine answers to the first."""


def conversation(seed: int, vocabulary: Sequence[int], requests: int = 8) -> Conversation:
    """One conversation.

    Two of three conversations share their tools and system text with others, so that engines which remember them find
    something; the copies of one group are equal, since which of several requests is first is up to the engine. Half of
    the appended turns follow the answer that was given, the others one that was written by somebody else.
    """
    own = random.Random(seed)
    shared = random.Random(seed % 5 if seed % 3 else seed)

    def text(source: random.Random, region: str, low: int, high: int, role: str = "user") -> Block:
        ids = tuple(source.choice(vocabulary) for _ in range(source.randint(low, high)))
        return Block(region, ids, role=role)

    tools = [text(shared, "tools", 5, 60) for _ in range(shared.randint(0, 4))]
    system = text(shared, "system", 20, 150)
    turns = [text(own, "messages", 3, 60)]
    answer: Answer = ()
    for _ in range(requests):
        copies = 1
        match own.choice(EDITS):
            case "append":
                said = Block("messages", answer, role="assistant") if own.random() < 0.5 else None
                turns += [said or text(own, "messages", 3, 60, "assistant"), text(own, "messages", 3, 60)]
            case "edit":
                turns[own.randrange(len(turns))] = text(own, "messages", 3, 60)
            case "truncate":
                del turns[: min(2, len(turns) - 1)]
            case "tools":
                own.shuffle(tools)
            case "system":
                system = text(own, "system", 20, 150)
            case "shorten":
                kept = max(1, len(turns[-1].tokens) // 2)
                turns[-1] = replace(turns[-1], tokens=turns[-1].tokens[:kept])
            case "parallel":
                copies = own.randint(2, 4)
        answer = yield [(*tools, system, *turns)] * copies


def _interleaved(count: int, vocabulary: Sequence[int], first: int) -> Iterator[Conversation]:
    """The conversation that each group belongs to: one after the other, now and then two of them taking turns."""
    seeds = iter(range(first, first + count))
    for seed in seeds:
        talks = [conversation(seed, vocabulary)]
        if seed % 4 == 0 and (other := next(seeds, None)) is not None:
            talks.append(conversation(other, vocabulary))
        while talks:
            for talk in tuple(talks):
                yield talk
                if getgeneratorstate(talk) == GEN_CLOSED:
                    talks.remove(talk)


@dataclass(frozen=True, slots=True)
class Sent:
    """A group of calls as the simulator takes them, and the cached tokens that the engine reported for them."""

    calls: tuple[Call, ...]
    cached: tuple[int, ...]


Send = Callable[[Sequence[Sequence[int]]], tuple[Sequence[int], Sequence[Sequence[int]]]]
"""Sends prompts at once: the cached tokens and the ids of the answer of each."""


def drive(count: int, vocabulary: Sequence[int], send: Send, first: int = 0) -> list[Sent]:
    """Has that many conversations with an engine, a second between two groups, each running for half of one."""
    waiting: dict[Conversation, Answer | None] = {}
    sent: list[Sent] = []
    for talk in _interleaved(count, vocabulary, first):
        answer = waiting.get(talk)
        try:
            group = next(talk) if answer is None else talk.send(answer)
        except StopIteration:
            continue
        cached, answers = send([flat(prompt) for prompt in group])
        waiting[talk] = tuple(answers[0])
        calls = (
            Call(prompt, at=float(len(sent)), begins=0.5, lasts=0.5, answer=tuple(ids))
            for prompt, ids in zip(group, answers, strict=True)
        )
        sent.append(Sent(tuple(calls), tuple(sorted(cached))))
    return sent
