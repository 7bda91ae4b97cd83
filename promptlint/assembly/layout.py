"""The parts of a request as segments in wire order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from promptlint.assembly.arguments import Arguments
from promptlint.assembly.markers import for_each, is_not_counted, is_put_on_each, markers_in, own_markers
from promptlint.assembly.prose import deep_text, merged, tool_name
from promptlint.assembly.replay import gives_calls, made_anew, two_forms
from promptlint.code.expression import Phi
from promptlint.code.index import dotted
from promptlint.codebase.program import Program
from promptlint.finding import Region
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.calling import binding
from promptlint.link.joining import join
from promptlint.link.kept import remembered
from promptlint.link.kept.switches import SWITCHED, on_command
from promptlint.link.libraries import prompts
from promptlint.link.texts import strings
from promptlint.link.turns import alike, thinking
from promptlint.link.turns.guards import COMPACTS
from promptlint.link.turns.messages import (
    SYSTEM_ROLES,
    by_role_of_source,
    content_origins,
    is_bare_marker,
    is_fetched,
    is_history_name,
    is_of_reply,
    looks_like_messages,
    message_of,
    positions,
    reads_role,
    retells,
    role_of,
    role_source,
    roles_of,
)
from promptlint.link.values import (
    CALL,
    MARKED_EACH,
    Choice,
    Const,
    Edit,
    Entry,
    External,
    History,
    Hole,
    Instance,
    Item,
    Many,
    Map,
    One,
    Origin,
    Origins,
    Piece,
    Rest,
    Routine,
    Sent,
    Seq,
    Text,
    Value,
    is_marked,
    literal,
    options,
    owner,
    union,
)
from promptlint.request import (
    Axis,
    Breakpoint,
    Carrier,
    Cause,
    Kind,
    Moment,
    Segment,
)
from promptlint.span import Hop, Span, Step
from promptlint.tokens import UNKNOWN, Interval, estimate

MAX_TEXT = 200_000
MANY_SEGMENTS = 80
MAX_BLOCKS = 3
"""Depth of lists of blocks."""
MEDIA = frozenset(
    (
        *("image", "image_url", "input_image", "document", "file", "input_file"),
        *("audio", "input_audio", "video", "video_url"),
    )
)
"""Types of blocks that hold something else than text."""
_METADATA = re.compile(r"(created|updated|sent)(_at)?|timestamp|time|date|(\w+_)?(uu)?id")
"""Fields of a stored message that say when it was made and which it is: APIs know none of them as text."""
_ASKED = frozenset(("user", "input"))
"""Kinds of origins that a kept list depends on which holds what both sides said."""
_WORD = re.compile(r"[a-z]+")
_NUMBERS = frozenset(("int", "float", "bool"))
_SPEAKERS = frozenset(
    (
        *("role", "sender", "speaker", "author", "user", "assistant", "human", "ai", "bot", "agent"),
        *("question", "answer", "query", "response", "reply", "user_message", "bot_response", "prompt"),
    )
)
"""Keys of a record of one turn that tell who spoke, or under which one of two sides stands."""
_ANSWERING = frozenset(("assistant", "model"))
"""Roles of messages that hold what the model said."""
NEAR = 15
"""Lines within which a hole and the text around it are one place to a reader."""


_PICKS = frozenset(("input", "user", "state"))
"""Kinds of origins which, as what an order depends on, say which element comes first."""


class Layout(Arguments):
    """Lays tools, system text and messages out as segments, with the breakpoints among them."""

    def _messages(self) -> list[tuple[Seq, Span]]:
        found: list[tuple[Seq, Span]] = []
        for part in ("messages", "input"):
            for value, span, _ in self.parts.values.get(part, ()):
                if part == "input":
                    value = self._as_messages(value, span)
                merged = [o for o in options(value) if not isinstance(o, Const)]
                if merged:
                    found.append((containers.as_seq(self.ev, join(merged), span), span))
        return found

    def _as_messages(self, value: Value, span: Span) -> Value:
        """A text input is one user message; ``{"messages": [...]}`` is the list in it."""
        made = []
        for option in options(value):
            if isinstance(option, Text) or (isinstance(option, Hole) and not is_history_name(option.name)):
                made.append(Seq("list", (One(message_of("user", option, span), span),), span))
            elif isinstance(option, Map) and "messages" in option.entries:
                made.append(option.entries["messages"].value)  # type: ignore[arg-type]
            else:
                made.append(option)  # type: ignore[arg-type]
        return join(made)

    def _last_message_origins(
        self, messages: list[tuple[Seq, Span]], texts: Sequence[tuple[Value, Span, bool]]
    ) -> Origins:
        found: list[Origins] = [v.origins() for v, _, _ in texts]
        for sequence, _ in messages:
            for item in sequence.items:
                if isinstance(item, (One, History)):
                    found.extend(content_origins(item.value, "user"))
        return union(*found)

    def _lists_told(
        self, messages: list[tuple[Seq, Span]], texts: Sequence[tuple[Value, Span, bool]]
    ) -> Iterator[History | Many]:
        """The lists that one text of the prompt tells; none where turns are sent as messages."""
        items = [i for sequence, _ in messages for i in sequence.items]
        if any(isinstance(i, (History, Rest, Many)) for i in items):
            return
        contents = [e.value for i in items for o in options(i.value) if isinstance(o, Map) and (e := _content(o))]
        contents += [v for v, _, _ in (*texts, *self.parts.values.get("system", ()))]
        told = (p.turns for value in contents for p in _texts_in(value) if p.turns is not None)
        yield from {id(turns): turns for turns in told}.values()

    def _told_as_text(self, lists: Sequence[History | Many]) -> Iterator[History]:
        """The kept lists that one text of the prompt tells, if what is asked and answered by it is kept there as well.

        A side call that looks at the conversation is answered elsewhere.
        """
        sent = {self.span, *(self.ev.span(f, c) for f, c in zip(self.chain.frames, self.chain.calls, strict=True))}
        for turns in lists:
            if isinstance(turns, History):
                told, origins = options(turns.kept), turns.kept.origins()
                if isinstance(turns.root, tuple) and turns.root[0] == remembered.OWN:
                    yield turns
                # Where nobody asks, it is a conversation of models: told by who said what, and from its beginning.
                whole = not any(e.kind == "window" for e in turns.edits)
                asked = any(map(self._may_be_said, origins)) or (whole and all(map(_tells_who, told)))
                answered = any(o.kind == "reply" and _way_back(o) <= sent for o in origins)
                if asked and answered and all(map(_is_turn, told)):
                    yield turns

    def _rows_told(self, lists: Sequence[History | Many]) -> Iterator[Many]:
        """The newest rows of a history that others keep, told by who said what where whatever is said is answered.

        What a command of the user asks about a channel is no turn of it.
        """
        if self.chain.entry is None or any(COMPACTS.search(f.name) or on_command(self.ev, f) for f in self.on_way):
            return
        for rows in lists:
            of = rows.of if isinstance(rows, Many) else None
            if isinstance(rows, Many) and isinstance(of, Hole) and of.window is not None and is_history_name(of.name):
                names = (p.name for p in strings.pieces(self.ev, rows.value, rows.span))
                if not _SPEAKERS.isdisjoint(word for name in names for word in _WORD.findall(name)):
                    yield rows

    def _may_be_said(self, origin: Origin) -> bool:
        """Whether what a kept list depends on may be what the other side said: a number that it gave is not."""
        function = self.ev.program.function_at(origin.span) if origin.kind == "input" else None
        given = function.parameter(origin.name) if function is not None else None
        annotation = given.annotation if given is not None else None
        return origin.kind in _ASKED and (annotation is None or dotted(annotation) not in _NUMBERS)

    def _is_marked_each(self, marker: Breakpoint, item: History) -> bool:
        """Whether kept turns have a marker each, as far as they are of a kind: put on them now, or stored with them."""
        function = self.ev.program.function_at(marker.span)
        if function is None or item.rendered is not None or item.original is not None:
            return False
        put = is_not_counted if any(e.kind == MARKED_EACH for e in item.edits) else is_put_on_each
        return put(function, marker.span.line, tested=marker.optional)

    def _tools(self) -> None:
        for value, span, optional in self.parts.values.get("tools", ()):
            for option in options(value):
                sequence = containers.as_seq(self.ev, option, span)
                for item in sequence.items:
                    self._tool(item, sequence.order, optional)

    def _tool(self, item: Item, order: Origins, optional: bool) -> None:
        value = item.value
        within = self._causes(value.origins())
        pieces = list(deep_text(self.ev, value, item.span))
        if isinstance(value, Routine):
            # The library makes the definition from the function: its name, its signature, its docstring.
            shown = f"{value.function.name} {value.function.docstring}"
            pieces = [Piece(item.span, shown)]
        known = "".join(p.text or "" for p in pieces if p.text)
        holes = [p for p in pieces if p.text is None]
        low = estimate(known).low if known else 0
        high = estimate(known).high if known else 0
        unknown = isinstance(item, (Rest, Many, History)) or isinstance(value, (Hole, External, Instance))
        varying = next((p for p in (*holes, *pieces) if p.deps and self._causes(p.deps, p.span)), None)
        index = len(self.segments)
        shared = [o for o in value.origins() if o.kind != "conditional"]
        name = tool_name(value)
        order = tuple(replace(o, kind="conditional") if o.kind in _PICKS else o for o in order)
        listed = next((s.span for o in order for s in o.steps if s.hop is Hop.LISTED), item.span)
        where = varying.span if varying is not None else listed
        self.segments.append(
            Segment(
                Region.TOOLS,
                Kind.TOOL,
                where,
                Interval(low, inf if unknown or holes else high),
                known or None if not holes and not unknown else None,
                None,
                index,
                (*(replace(c, within=_is_definition(item)) for c in within), *self._causes(union(order))),
                optional or item.optional or isinstance(item, Rest),
                isinstance(item, (Rest, Many)),
                name,
                not shared and not unknown,
            )
        )
        for own in markers_in(value):
            marker = own if isinstance(item, One) else for_each(own, item)
            self.breakpoints.append(replace(marker, segment=index, optional=marker.optional or item.optional))

    def _system(self) -> None:
        for value, span, optional in self.parts.values.get("system", ()):
            for option in options(value):
                self._blocks(option, span, Region.SYSTEM, "system", optional)

    def _blocks(self, value: Value, span: Span, region: Region, role: str | None, optional: bool) -> None:
        """Text, or a list of blocks, as segments of one message."""
        if isinstance(value, Choice):
            for option in value.options:
                self._blocks(option, span, region, role, True)
            return
        if isinstance(value, Seq):
            for item in value.items:
                self._block(item, region, role, optional or item.optional, value.order)
            return
        if isinstance(value, Map):
            self._block(One(value, span), region, role, optional, ())
            return
        inner = self._applied(value)
        if inner is not value:
            if any(isinstance(o, Routine) for o in options(inner)):
                self.parts.open.append(value.function.name if isinstance(value, Routine) else "a template")
            elif not looks_like_messages(inner):
                place = binding.declaration(value.function) if isinstance(value, Routine) else span
                self._blocks(inner, place, region, role, optional)
        elif not isinstance(value, Const):
            self._text(value, span, region, role, optional)

    def _applied(self, value: Value, state: Map | None = None) -> Value:
        """What a function or a template makes when the request is made; anything else is given back as it is."""
        if isinstance(value, Routine):
            if value not in self.made_by:
                self.made_by[value] = self.ev.apply(value, (), self.sink.call, self.frame)
            return self.made_by[value]
        if isinstance(value, External) and value.maker in self.ev.knowledge.templates:
            return prompts.through(self.ev, [value], state or Map({}, self.span), self.sink.call, self.frame)
        return value

    def _block(self, item: Item, region: Region, role: str | None, optional: bool, order: Origins) -> None:
        self.groups += 1
        value = item.value
        for option in options(value):
            self._one_block(option, item, region, role, optional or isinstance(value, Choice), order)

    def _one_block(
        self, value: Value, item: Item, region: Region, role: str | None, optional: bool, order: Origins
    ) -> None:
        repeats = not isinstance(item, One)
        if isinstance(value, Map):
            if is_bare_marker(value):
                self._mark(value, item, len(self.segments) - 1, optional)
                return
            before = len(self.segments)
            inner = next(
                (
                    value.entries[k]
                    for k in ("text", "content", "parts", "input_text", "thinking", "arguments", "output")
                    if k in value.entries
                ),
                None,
            )
            if inner is not None:
                if isinstance(inner.value, (Seq, Map)):
                    self._blocks(inner.value, inner.span, region, role, optional)
                else:
                    self._text(inner.value, inner.span, region, role, optional or inner.optional, repeats, order)
            else:
                self._media(value, item, region, role, optional)
            if len(self.segments) == before and inner is not None and is_marked(value):
                if item.guards:
                    return  # put there only under a test, which is there to see that it is not empty
                self._mark(value, item, max(before - 1, 0), optional, problem="empty")
                return
            kind = literal(value.entries["type"].value) if "type" in value.entries else None
            problem = "thinking" if kind in ("thinking", "redacted_thinking") else None
            self._mark(value, item, len(self.segments) - 1, optional, problem=problem)
            return
        if isinstance(value, Instance):
            self._text(value, item.span, region, role, optional, repeats, order)
            return
        self._text(value, item.span, region, role, optional, repeats, order)

    def _moves_markers(self) -> bool:
        """Whether what is called may put the marker of a message on its last block, as LiteLLM does.

        Source: ``translate_system_message`` and ``anthropic_messages_pt`` of litellm 1.80.
        """
        return self.sink.row.provider not in ("anthropic", "bedrock", "vertex", "foundry")

    def _mark(self, value: Map, item: Item, index: int, optional: bool, problem: str | None = None) -> None:
        for own in own_markers(value):
            marker = own if isinstance(item, One) else for_each(own, item)
            self.breakpoints.append(
                replace(
                    marker,
                    segment=max(index, 0),
                    optional=optional or item.optional or marker.optional,
                    problem=problem,
                )
            )

    def _media(self, value: Map, item: Item, region: Region, role: str | None, optional: bool) -> None:
        kind = literal(value.entries["type"].value) if "type" in value.entries else None
        media = kind in MEDIA
        origins = value.origins()
        self.segments.append(
            Segment(
                region,
                Kind.MEDIA if media else Kind.TEXT,
                item.span,
                UNKNOWN,
                None,
                role,
                self.groups,
                self._causes(origins),
                optional or not isinstance(item, One),
                False,
                kind or "block",
            )
        )

    def _text(
        self,
        value: Value,
        span: Span,
        region: Region,
        role: str | None,
        optional: bool,
        repeats: bool = False,
        order: Origins = (),
    ) -> None:
        self.groups += 1
        pieces = strings.pieces(self.ev, value, span)
        told = [n for n, p in enumerate(pieces) if not repeats and self._is_told(p.turns)]
        if told:
            first = Region.FIRST_MESSAGE if region is Region.LAST_MESSAGE else region
            self._runs(pieces[: told[0]], span, first, role, optional, False, order)
            self._transcript([pieces[n].turns for n in told], pieces[told[0]].span)
            self._runs(pieces[told[-1] + 1 :], span, region, role, optional, False, order)
        else:
            self._runs(pieces, span, region, role, optional, repeats, order)

    def _is_told(self, turns: History | Many | None) -> bool:
        """Whether a piece of text tells turns of the conversation."""
        return bool(self.transcripts) if isinstance(turns, History) else any(turns is rows for rows in self.rows_told)

    def _transcript(self, turns: Iterable[History | Many | None], span: Span) -> None:
        """The part of a text that tells the kept turns."""
        made = (e for kept in turns for e in (kept.edits if isinstance(kept, History) else _windows_of(kept)))
        edits = {(e.kind, e.span): e for e in made if e.kind != "decorate"}
        self.edits.extend((e, len(self.segments)) for e in edits.values())
        self.segments.append(
            Segment(Region.MID_HISTORY, Kind.HISTORY, span, UNKNOWN, None, None, self.groups, (), True, True, "history")
        )

    def _runs(
        self,
        pieces: Sequence[Piece],
        span: Span,
        region: Region,
        role: str | None,
        optional: bool,
        repeats: bool,
        order: Origins,
    ) -> None:
        for piece in merged(pieces):
            # What stands between two parts is there or not together with one of them.
            switched = region is Region.SYSTEM and bool(piece.text and piece.text.strip())
            causes = self._causes(
                (
                    o
                    for o in union(piece.deps, order)
                    if o.kind != "conditional"
                    or (switched and _decides(o))
                    or (region is Region.SYSTEM and piece.text is None and SWITCHED in o.features)
                ),
                piece.span,
            )
            if piece.text is not None and not piece.text:
                continue
            if (repeats or piece.repeats) and region is not Region.SYSTEM:
                # Among messages, what repeats is a message: text that repeats inside of one is text of unknown length.
                piece = replace(
                    piece, text=None, name=piece.name or (piece.text or "").strip()[:40], optional=True, repeats=False
                )
            tokens = estimate(piece.text[:MAX_TEXT]) if piece.text is not None else self._hole_tokens(piece)
            self._append(
                Segment(
                    region,
                    Kind.TEXT,
                    _insertion(self.ev.program, piece, span, causes),
                    tokens,
                    piece.text,
                    role,
                    self.groups,
                    causes,
                    optional or piece.optional,
                    (repeats or piece.repeats) and region is Region.SYSTEM,
                    piece.name,
                    piece.persistent and not causes,
                )
            )

    def _append(self, segment: Segment) -> None:
        """Adds a run of text; runs that may or may not be there and vary alike are told apart no further."""
        last = self.segments[-1] if self.segments else None
        if (
            last is not None
            and last.kind is Kind.TEXT
            and (last.region, last.message) == (segment.region, segment.message)
            and last.optional
            and segment.optional
            and (last.text is None or not last.causes)
            and {(c.kind, c.origin, c.grain) for c in last.causes}
            >= {(c.kind, c.origin, c.grain) for c in segment.causes}
            and (len(self.segments) > MANY_SEGMENTS or (last.text is None and segment.text is None))
        ):
            self.segments[-1] = replace(
                last,
                tokens=Interval(0, last.tokens.high + segment.tokens.high),
                text=None,
                name=last.name or segment.name or "…",
            )
            return
        self.segments.append(segment)

    def _prompt(self, value: Value, span: Span, optional: bool) -> None:
        """User content: one text, or a list of parts or of turns."""
        for option in options(value):
            if isinstance(option, Seq) and any(
                isinstance(i, (History, Rest)) or role_of(i.value) is not None for i in option.items
            ):
                self._emit_messages([(option, span)])
            else:
                self._blocks(option, span, Region.LAST_MESSAGE, "user", optional)

    def _emit_messages(self, messages: list[tuple[Seq, Span]]) -> None:
        for sequence, _ in messages:
            stored = {e.span for i in sequence.items for e in _edits_of(i)}
            self.edits.extend(
                (e, len(self.segments)) for e in sequence.edits if e.kind != "decorate" or e.span not in stored
            )
            items = [i for i in sequence.items if not (isinstance(i, One) and isinstance(i.value, Const))]
            last = len(items) - 1
            leading = True
            prepended = {e.span for i in items for e in _edits_of(i) if e.kind == "prepend"}
            adapted = by_role_of_source(items)
            self.replayed.extend(adapted)
            rounds = [(n, i.root) for n, i in enumerate(items) if isinstance(i, History)]
            cut = any(
                e.kind in ("window", "rewrite") for e in (*sequence.edits, *(e for i in items for e in _edits_of(i)))
            )
            if rounds:
                self.added = positions(items[rounds[-1][0] + 1 :])
            decorated = any(e.kind == "decorate" for e in sequence.edits)
            forms = list(two_forms(self.ev, items)) if rounds and not decorated else []
            for number, item in enumerate(items):
                role = role_of(item.value)
                for form in forms:
                    if form.sent is item:
                        steps = (Step(form.stored, "the turn is stored here"),)
                        edit = Edit("replay", form.span, form.what, steps=steps, behind=form.behind)
                        self.edits.append((edit, len(self.segments)))
                calls = isinstance(item, (One, Many)) and gives_calls(item, items[number + 1 :])
                kept = self._is_history(item) or item in adapted or calls
                if calls:
                    self.called = self.called or item.span
                if leading and isinstance(item, One) and role in SYSTEM_ROLES:
                    region = Region.SYSTEM
                elif number == last and not kept:
                    region, leading = Region.LAST_MESSAGE, False
                elif leading and not kept:
                    region, leading = Region.FIRST_MESSAGE, False
                else:
                    region, leading = Region.MID_HISTORY, False
                if kept:
                    unthought = thinking.taken_out(item.value) if not isinstance(item, One) else None
                    if unthought is not None:
                        self.edits.append((unthought, len(self.segments)))
                    self._history(item, sequence.order, any(isinstance(i, History) for i in items[number + 1 :]))
                else:
                    before = len(self.segments)
                    self._message(item, region, role, sequence.order)
                    appended = rounds and rounds[0][0] < number < rounds[-1][0] and rounds[0][1] is not rounds[-1][1]
                    since = items[rounds[0][0] + 1 : number] if rounds else ()
                    asked = any(isinstance(i, One) and role_of(i.value) == "user" for i in since)
                    # A loop that is over added it behind the newest question, and sent it as it is.
                    appended = appended or (asked and isinstance(item, Many) and _for_a_reply(item))
                    ahead = isinstance(item, One) and not prepended.isdisjoint((item.inserted, item.span))
                    if appended or ahead or (cut and retells(item)):
                        # Told by the mutator that puts it there; or what an outer loop appends ahead of an inner one.
                        self.segments[before:] = [replace(s, causes=()) for s in self.segments[before:]]

    def _message(self, item: Item, region: Region, role: str | None, order: Origins) -> None:
        before, marked = len(self.segments), len(self.breakpoints)
        self._one_message(item, region, role, order)
        if role_of(item.value) in _ANSWERING:  # what this request was answered ahead of a loop is a turn like others
            answer = self.span
            self.segments[before:] = [
                replace(s, causes=tuple(c for c in s.causes if c.origin != answer)) if s.causes else s
                for s in self.segments[before:]
            ]
        if isinstance(item, One):
            self.segments[before:] = _placed(self.segments[before:], item.span)
        else:
            self.segments[before:] = [replace(s, repeats=True) for s in self.segments[before:]]
            self.breakpoints[marked:] = [for_each(b, item) for b in self.breakpoints[marked:]]

    def _one_message(self, item: Item, region: Region, role: str | None, order: Origins) -> None:
        for option in options(item.value):
            optional = item.optional or isinstance(item.value, Choice) or not isinstance(item, One)
            if isinstance(option, Map):
                content = _content(option)
                if content is not None:
                    on_message = is_marked(option) and "type" not in option.entries
                    if on_message and not self._moves_markers():
                        self._mark(option, item, len(self.segments), optional, problem="message")
                    # A local name stands for what it was given, however far up: its value is put in at the message.
                    here = content.span.path == item.span.path
                    far = here and self.ev.program.is_far(content.span, item.span, NEAR)
                    place = item.span if far else content.span
                    self._blocks(content.value, place, region, role, optional or content.optional)
                    if on_message and self._moves_markers():
                        self._mark(option, item, len(self.segments) - 1, optional)
                    continue
                if is_marked(option):
                    self._mark(option, item, len(self.segments) - 1, optional)
                    continue
            elif isinstance(option, Instance):
                content_value = next(
                    (
                        v
                        for n in ("content", "text")
                        if not isinstance(v := self.ev.attribute(option, n, item.span, self.frame), (Hole, Routine))
                    ),
                    None,
                )
                if content_value is not None:
                    self._blocks(content_value, item.span, region, role, optional)
                    continue
            if isinstance(option, Map):
                option = replace(
                    option, entries={k: e for k, e in option.entries.items() if not _METADATA.fullmatch(k)}
                )
            self._text(option, item.span, region, role, optional, order=order)

    def _is_history(self, item: Item) -> bool:
        if isinstance(item, History):
            return True
        if isinstance(item, Rest):
            return isinstance(item.value, (Hole, External, Sent, Instance))
        if isinstance(item, Many):
            named = isinstance(item.of, Hole) and is_history_name(item.of.name)
            return named or role_of(item.value) is None or role_of(item.value) == ""
        return False

    def _history(self, item: Item, order: Origins, steps: bool) -> None:
        """A kept turn, or all of them; ``steps``: behind it stands what this turn of the user has added so far."""
        if isinstance(item, History):
            if not roles_of(item.value) <= SYSTEM_ROLES:
                self.histories.append(item)
            self.edits.extend(
                (replace(self._at_each_turn(e, item), behind=steps), len(self.segments))
                for e in item.edits
                if e.kind != "decorate"
            )
            origins = made_anew(item.value) if item.rendered is not None else ()
        else:
            origins = made_anew(item.value) if isinstance(item, (One, Many)) else ()
            if isinstance(item, Many) and is_fetched(item.of) and item.of is not None:
                # With what the rows were found is not in them.
                looked_up = {(o.kind, o.span) for o in item.of.origins()}
                origins = tuple(o for o in origins if (o.kind, o.span) not in looked_up)
        value = item.value
        name = value.name if isinstance(value, Hole) else "history"
        self.edits.extend((edit, len(self.segments)) for edit in _windows_of(item))
        if isinstance(value, Hole):
            self.named_history.append(value.name)
        for marker in markers_in(value) if not any(e.kind == "unmark" for e in _edits_of(item)) else ():
            kept = marker if marker.optional else for_each(marker, item)
            if isinstance(item, History) and kept.optional and self._is_marked_each(marker, item):
                place = next((e.span for e in item.edits if e.kind == MARKED_EACH), item.span)
                kept = replace(marker, count=Interval(1, inf), loop=place)
            self.breakpoints.append(replace(kept, segment=len(self.segments), optional=True))
        if isinstance(item, Many) and item.of is not None and isinstance(item.of, Hole):
            self.named_history.append(item.of.name)
        if isinstance(item, Many):
            self.named_history.append(role_source(item.value))
            loaded = is_fetched(item.of) or (item.of is None and reads_role(item.value))
            asked = {alike.role_asked(guard) for guard in item.guards}
            told = role_of(item.value) == "" or bool(asked - SYSTEM_ROLES - {None})
            self.loaded = self.loaded or (item.span if loaded and told else None)
        rendered = item.rendered if isinstance(item, History) and origins else None
        self.segments.append(
            Segment(
                Region.MID_HISTORY,
                Kind.HISTORY,
                rendered or item.span,
                UNKNOWN,
                None,
                None,
                self.groups,
                self._causes(union(origins, order)),
                item.optional,
                True,
                name,
            )
        )

    def _at_each_turn(self, edit: Edit, kept: History) -> Edit:
        """The edit of a list that methods share: what one of its calls puts in is new in every turn."""
        if edit.value is None or isinstance(owner(kept.root), Phi):
            return edit
        turn = self.turn_level
        return replace(
            edit, value=edit.value.change(lambda o: replace(o, level=max(o.level, turn)) if o.level >= CALL else o)
        )

    def _marked(self) -> Iterator[Breakpoint]:
        if not self.segments:
            return  # all that is marked is empty
        last = len(self.segments) - 1
        yield from (replace(m, segment=min(m.segment, last)) for m in self.breakpoints if not m.automatic)
        yield from (replace(m, segment=last) for m in self.breakpoints if m.automatic)
        for region, marker in self.placed:
            held = [i for i, s in enumerate(self.segments) if s.region is region]
            if held or region is None:
                yield replace(marker, segment=held[-1] if held else last)


_HOLDERS = frozenset(("function_declarations", "functionDeclarations", "functions", "tools"))
"""Keys of a tool that is a list of definitions."""


def _is_definition(item: Item) -> bool:
    """Whether an element of the tools is one definition, for certain."""
    return isinstance(item, One) and not (isinstance(item.value, Map) and item.value.entries.keys() & _HOLDERS)


def _decides(origin: Origin) -> bool:
    """Whether what a test depends on is something that the user, a clock or a count changes between two turns."""
    typed = origin.axes == {Axis.TURN}
    return (
        typed
        or SWITCHED in origin.features
        or origin.grain is not None
        or origin.guard in ("round", "threshold")
        or origin.carrier is Carrier.PARAMETER
        or origin.kind == "mode"
    )


def _placed(segments: list[Segment], message: Span) -> list[Segment]:
    """The text of a message, which is put in there if it is all of it, and a constant of another place in the code."""
    whole = segments[0] if len(segments) == 1 else None
    if whole is None or whole.text is None or whole.causes or message.line <= 0:
        return segments
    there = whole.span.path == message.path and message.line <= whole.span.line <= message.end_line
    return segments if there else [replace(whole, placed=message)]


def _insertion(program: Program, piece: Piece, content: Span, causes: tuple[Cause, ...]) -> Span:
    """Where a piece becomes prompt text: in the text, or where a vague value enters the message from elsewhere."""
    if piece.span.line <= 0:
        return content
    telling = [c for c in causes if c.moment >= Moment.CALL and c.axes & {Axis.CALL, Axis.TURN}] or causes
    vague = bool(telling) and all(c.kind in ("state", "user") for c in telling)
    elsewhere = program.is_far(piece.span, content, NEAR)
    return content if vague and elsewhere and content.line > 0 else piece.span


def _content(message: Map) -> Entry | None:
    return next((message.entries[k] for k in ("content", "parts", "text") if k in message.entries), None)


def _way_back(reply: Origin) -> set[Span]:
    """The calls that a reply came back through until it was stored."""
    return {reply.span, *(s.span for s in reply.steps if s.hop is Hop.RETURNED)}


def _is_turn(value: Value) -> bool:
    """Whether an element of a list is what somebody said: a text, a pair of texts, or a record that tells who spoke."""
    if isinstance(value, Seq):
        return value.kind == "tuple" and len(value.items) in (2, 3)
    if isinstance(value, Instance):
        return not _SPEAKERS.isdisjoint(value.overrides)
    if isinstance(value, Map):
        return not _SPEAKERS.isdisjoint(value.entries)
    return isinstance(value, (Text, Hole)) or is_of_reply(value)


def _tells_who(value: Value) -> bool:
    """Whether an element of a list of what models said begins with whose words they are."""
    if isinstance(value, Text):
        first = value.pieces[0] if len(value.pieces) > 1 else None
        return first is not None and first.text is None and all(o.kind != "reply" for o in first.deps)
    return isinstance(value, (Seq, Map, Instance)) and _is_turn(value)


def _texts_in(value: Value, depth: int = 0) -> Iterator[Piece]:
    """The runs of text in a content: in one text, or in blocks."""
    if isinstance(value, Text):
        yield from value.pieces
    elif depth < MAX_BLOCKS:
        for option in options(value) if isinstance(value, Choice) else ():
            yield from _texts_in(option, depth + 1)
        for item in value.items if isinstance(value, Seq) else ():
            yield from _texts_in(item.value, depth + 1)
        if isinstance(value, Map) and (inner := _content(value)) is not None:
            yield from _texts_in(inner.value, depth + 1)


def _for_a_reply(item: Many) -> bool:
    """Whether elements were added one by one, or one for each part of a reply: tool calls that were answered."""
    return item.of is None or (isinstance(item.of, Hole) and not is_history_name(item.of.name))


def _windows_of(item: Item | None) -> Iterator[Edit]:
    """The cuts of what a list of messages was loaded from."""
    for loaded in (item.value, item.of) if isinstance(item, Many) else (item.value,) if item is not None else ():
        if isinstance(loaded, Hole) and loaded.window is not None:
            limit = loaded.window
            yield Edit("window", limit.span, limit.what, keeps=limit.rows or None, steps=loaded.cuts, taken=True)


def _edits_of(item: Item) -> tuple[Edit, ...]:
    return item.edits if isinstance(item, History) else ()
