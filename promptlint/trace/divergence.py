"""The first place where one request stops being what an earlier one was, and what kind of change that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptlint.trace.parts import IDS, Part, dumps
from promptlint.trace.texts import Change, Difference, difference


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a request stops being equal to an earlier one.

    ``index`` is the first part that differs. ``path`` is its place in the later body, ``char`` the character in the
    text there (``None`` where no text is compared). ``before`` and ``after`` show the two. ``names`` are the tools that
    came or went. ``kept`` are the parts behind the place, as pairs of index and share, that the earlier request has,
    too: what was paid for again. ``newest``: the place is in the last message of the earlier request.
    """

    change: Change
    region: str
    index: int
    path: str
    char: int | None
    before: str
    after: str
    names: tuple[str, ...] = ()
    kept: tuple[tuple[int, float], ...] = ()
    newest: bool = False
    moved: int = 0
    """Parts that were taken out (below zero) or put in ahead of what both have."""


def common(earlier: Sequence[Part], later: Sequence[Part]) -> int:
    """The number of leading parts that are equal."""
    pairs = zip(earlier, later, strict=False)
    return next((n for n, (one, two) in enumerate(pairs) if not same(one, two)), min(len(earlier), len(later)))


def same(one: Part, other: Part) -> bool:
    """Whether the model sees the same."""
    return _key(one) == _key(other)


def _key(part: Part) -> tuple[str, str, str, str]:
    return part.region, part.role, part.kind, part.text


def compare(earlier: Sequence[Part], later: Sequence[Part]) -> Divergence | None:
    """The first divergence of ``later``; ``None`` when one of the two begins with all of the other."""
    index = common(earlier, later)
    if index in (len(earlier), len(later)):
        return None
    one, two = earlier[index], later[index]
    kept = _kept(earlier[index:], later[index:], index)
    if "tools" in (one.region, two.region):
        return _tools(earlier, later, index, kept)
    if one.region != two.region:
        region = "system" if "system" in (one.region, two.region) else one.region
        return _whole(Change.TEXT, region, index, one, two, kept)
    if one.region == "messages":
        ahead = sum(part.region == "messages" for part in later[:index])
        return _messages(earlier[index:], later[index:], index, kept, ahead)
    return _leaf(one, two, index, kept)


def _kept(earlier: Sequence[Part], later: Sequence[Part], index: int) -> tuple[tuple[int, float], ...]:
    """Of the parts of the later request from ``index`` on those that the earlier has somewhere behind it, too."""
    left = Counter(_nameless(part) for part in earlier)
    kept = []
    for number, part in enumerate(later, index):
        if left[_nameless(part)] > 0:
            left[_nameless(part)] -= 1
            kept.append((number, 1.0))
    return tuple(kept)


def _nameless(part: Part) -> tuple[str, str, str, str]:
    return part.region, part.role, part.kind, part.nameless


def _whole(
    change: Change,
    region: str,
    index: int,
    one: Part,
    two: Part,
    kept: tuple[tuple[int, float], ...],
    moved: int = 0,
    newest: bool = False,
) -> Divergence:
    before, after = (_start(part) for part in (one, two))
    return Divergence(change, region, index, two.path, 0, before, after, kept=kept, moved=moved, newest=newest)


def _start(part: Part) -> str:
    text = part.text if part.kind == "text" else f"{part.kind}: {part.text}"
    return text if len(text) <= 72 else text[:72] + "…"


def _leaf(
    one: Part, two: Part, index: int, kept: tuple[tuple[int, float], ...], newest: bool = False, older: bool = False
) -> Divergence:
    """Two parts in the same place: down to the text in them that differs."""
    if (one.role, one.kind) != (two.role, two.kind):
        return _whole(Change.MIDDLE if older else Change.TEXT, two.region, index, one, two, kept, newest=newest)
    path, found = next(_differences(one.value, two.value, two.path))
    change = Change.MIDDLE if older and found.change is Change.TEXT else found.change
    share = found.kept * (1 - min(1.0, found.at / max(1, len(two.text))))
    if share and (index, 1.0) not in kept:
        kept = ((index, share), *kept)
    return Divergence(change, two.region, index, path, found.at, found.before, found.after, kept=kept, newest=newest)


def _differences(one: Any, two: Any, path: str) -> Iterator[tuple[str, Difference]]:
    """What differs inside two values, in the order of the second, down to single texts."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        if one == two and list(one) != list(two):
            yield path, _said(Change.KEYS, dumps(list(one)), dumps(list(two)), kept=1.0)
            return
        for key in two:
            if key not in one:
                yield f"{path}.{key}", _said(Change.TEXT, "[no such field]", dumps(two[key]))
            elif dumps(one[key]) != dumps(two[key]):
                yield from _inside(one[key], two[key], f"{path}.{key}", str(key))
        yield from (
            (f"{path}.{key}", _said(Change.TEXT, dumps(one[key]), "[left out]")) for key in one if key not in two
        )
    elif isinstance(one, list) and isinstance(two, list):
        if Counter(map(dumps, one)) == Counter(map(dumps, two)):
            yield path, _said(Change.PERMUTATION, dumps(one), dumps(two), kept=1.0)
            return
        for number, (old, new) in enumerate(zip(one, two, strict=False)):
            if dumps(old) != dumps(new):
                yield from _inside(old, new, f"{path}[{number}]", "")
        yield path, _said(Change.TEXT, dumps(one[len(two) :]), dumps(two[len(one) :]))
    elif isinstance(one, str) and isinstance(two, str):
        yield path, difference(one, two)
    else:
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, two))
        yield path, _said(Change.NUMBER if numbers else Change.TEXT, dumps(one), dumps(two))


def _inside(one: Any, two: Any, path: str, key: str) -> Iterator[tuple[str, Difference]]:
    for where, found in _differences(one, two, path):
        if key in IDS and isinstance(two, str):
            found = Difference(Change.IDS, found.at, found.kept, found.before, found.after)
        yield where, found


def _said(change: Change, before: str, after: str, kept: float = 0.0) -> Difference:
    return Difference(change, 0, kept, *(text if len(text) <= 72 else text[:72] + "…" for text in (before, after)))


def _tools(
    earlier: Sequence[Part], later: Sequence[Part], index: int, kept: tuple[tuple[int, float], ...]
) -> Divergence:
    old, new = ([part for part in parts if part.region == "tools"] for parts in (earlier, later))
    before, after = [tool_name(part) for part in old], [tool_name(part) for part in new]
    came, went = Counter(after) - Counter(before), Counter(before) - Counter(after)
    names = (*(f"+{name}" for name in came), *(f"-{name}" for name in went))
    shown = (", ".join(before[index : index + 6]), ", ".join(after[index : index + 6]))
    path = later[index].path
    if names:
        change = Change.TOOL_ADDED if came else Change.TOOL_REMOVED
        return Divergence(change, "tools", index, path, None, *shown, names=names, kept=kept)
    if before != after:
        return Divergence(Change.TOOL_REORDERED, "tools", index, path, None, *shown, kept=kept)
    return _leaf(earlier[index], later[index], index, kept)


def tool_name(part: Part) -> str:
    """What a tool is called; its type where it has no name."""
    value = part.value if isinstance(part.value, Mapping) else {}
    for inner in (value, value.get("function"), value.get("toolSpec")):
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            return str(inner["name"])
    return str(value.get("type") or next(iter(value), "tool"))


def _messages(
    earlier: Sequence[Part], later: Sequence[Part], index: int, kept: tuple[tuple[int, float], ...], ahead: int
) -> Divergence:
    """``ahead`` counts the parts of messages that are equal."""
    old, new = [_key(part) for part in earlier], [_key(part) for part in later]
    one, two = earlier[0], later[0]
    if gone := _offset(old, new):
        return _whole(
            Change.FRONT if ahead <= _PINNED else Change.MIDDLE, "messages", index, one, two, kept, moved=-gone
        )
    if come := _offset(new, old):
        return _whole(Change.PREPENDED, "messages", index, one, two, kept, moved=come)
    if len(old) > 1 and Counter(old) == Counter(new[: len(old)]):
        return _whole(Change.PERMUTATION, "messages", index, one, two, kept)
    last = _message(earlier[-1])
    return _leaf(one, two, index, kept, newest=_message(one) == last, older=True)


_PINNED = 2
"""Parts that may be kept ahead of what a sliding window drops."""


def _message(part: Part) -> str:
    """The message that a part is in."""
    return part.path.partition("]")[0]


def _offset(one: Sequence[object], two: Sequence[object]) -> int:
    """How many items of ``one`` have to go so that ``two`` begins with its rest: two items of it or all."""
    for start in (i for i, item in enumerate(one) if i and item == two[0]):
        size = min(len(one) - start, len(two))
        if list(one[start : start + size]) == list(two[:size]) and (size > 1 or start + size == len(one)):
            return start
    return 0
