"""What the analysis works out without running a program is what the program does.

Each program is run here, with ``reveal_prompt`` writing down what it gets, and analysed: where nothing comes from
outside, both give the same text to the letter.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings

PROGRAMS = {
    "strings": """
        NAME = "desk"
        reveal_prompt(f"{NAME}: {NAME!s} {3:02d}")
        reveal_prompt("a" + "b" * 3)
        reveal_prompt("{1} {0} {last}".format("x", "y", last="z"))
        reveal_prompt("{head} then {tail}".format(**{"head": "1", "tail": "2"}))
        reveal_prompt("%s and %(n)d"[:2] % "one")
        reveal_prompt("%(n)d of %(of)s" % {"n": 3, "of": "ten"})
        reveal_prompt(", ".join(["a", "b", "c"]))
        reveal_prompt("one two".replace("two", "three"))
        reveal_prompt("  padded ".strip() + "|")
        reveal_prompt("a " "b")
        reveal_prompt("LOUD".lower() + "quiet".upper())
        reveal_prompt("abcdef"[:3])
    """,
    "lists": """
        items = ["a"]
        items.append("b")
        items.extend(["c", "d"])
        items += ["e"]
        items.insert(0, "z")
        reveal_prompt("".join(items))
        del items[0]
        items.pop()
        items[1] = "B"
        reveal_prompt("".join(items))
        reveal_prompt("".join(items[1:]) + items[-1] + items[0])
        first, *rest = items
        reveal_prompt(first + "".join(rest))
        reveal_prompt("".join(x + "!" for x in items if x != "c"))
        reveal_prompt("".join([*items, *("1", "2")]))
        reveal_prompt("".join(reversed(["a", "b"])))
        alias = items
        alias.append("end")
        reveal_prompt("".join(items))
        copied = list(items)
        copied.append("more")
        reveal_prompt("".join(items))
    """,
    "dicts": """
        box = {"a": "1", "b": "2"}
        box["c"] = "3"
        box.update(a="9", d="4")
        box.setdefault("a", "unused")
        box.setdefault("e", "5")
        reveal_prompt("".join(box.values()))
        reveal_prompt("".join(box))
        reveal_prompt("".join(f"{k}={v};" for k, v in box.items()))
        merged = {**box, "a": "0"} | {"f": "6"}
        reveal_prompt(merged["a"] + merged["f"] + merged.get("none", "default"))
        del merged["a"]
        reveal_prompt(" ".join(merged.keys()))
        message = {"role": "user", "content": [{"type": "text", "text": "deep"}]}
        message["content"][0]["text"] += "er"
        reveal_prompt(message["content"][0]["text"])
    """,
    "loops": """
        text = ""
        for number, word in enumerate(("a", "b", "c"), 1):
            text += f"{number}{word} "
        reveal_prompt(text)
        found = []
        for word in ("x", "skip", "y", "stop", "z"):
            if word == "skip":
                continue
            if word == "stop":
                break
            found.append(word)
        reveal_prompt("".join(found))
        pairs = ""
        for left, right in zip(("a", "b"), ("1", "2")):
            pairs += left + right
        reveal_prompt(pairs)
        nested = ""
        for outer in ("a", "b"):
            for inner in ("1", "2"):
                nested += outer + inner
        reveal_prompt(nested)
    """,
    "calls": """
        def tag(name, text, *rest, close=True, **more):
            body = text + "".join(rest) + "".join(more.values())
            return f"<{name}>{body}</{name}>" if close else f"<{name}>{body}"

        def sign(number):
            if number < 0:
                return "minus"
            elif number == 0:
                return "zero"
            return "plus"

        def pair():
            return "left", "right"

        reveal_prompt(tag("b", "x"))
        reveal_prompt(tag("b", "x", "y", "z", close=False))
        reveal_prompt(tag("b", "x", extra="e"))
        reveal_prompt(tag(*("i", "t"), **{"close": False}))
        reveal_prompt(sign(0) + sign(1))
        one, two = pair()
        reveal_prompt(two + one)
        shout = lambda word: word.upper()
        reveal_prompt(shout("hey"))
        reveal_prompt("".join(map(shout, ["a", "b"])))
    """,
    "changed arguments": """
        def add(messages, text):
            messages.append(text)

        def rename(box):
            box["name"] = "new"

        lines = ["a"]
        add(lines, "b")
        add(messages=lines, text="c")
        reveal_prompt("".join(lines))
        box = {"name": "old"}
        rename(box)
        reveal_prompt(box["name"])
    """,
    "closures": """
        def outer(name):
            greeting = "Hello"

            def inner(mark="!"):
                return f"{greeting} {name}{mark}"

            return inner

        reveal_prompt(outer("Ann")())
        reveal_prompt(outer("Bob")("?"))
    """,
    "classes": """
        class Base:
            kind = "base"

            def __init__(self, name):
                self.name = name

            def head(self):
                return f"{self.kind} {self.name}"

            @classmethod
            def make(cls, name):
                return cls(name)

            @staticmethod
            def rule():
                return "----"

        class Child(Base):
            kind = "child"

            def __init__(self, name, age):
                super().__init__(name.upper())
                self.age = age

            def head(self):
                return super().head() + f" ({self.age})"

            @property
            def title(self):
                return "Title " + self.name

            def __str__(self):
                return "<" + self.name + ">"

        reveal_prompt(Base("ann").head())
        reveal_prompt(Child("bob", 3).head())
        reveal_prompt(Child("bob", 3).title)
        reveal_prompt(Base.make("eve").head() + Base.rule())
        reveal_prompt(f"{Child('bob', 3)}")
        reveal_prompt(Child.kind)
    """,
    "dataclasses": """
        from dataclasses import dataclass, field, replace

        @dataclass
        class Part:
            role: str
            text: str = "none"
            tags: list = field(default_factory=lambda: ["t"])

            def render(self):
                return f"{self.role}:{self.text}:{''.join(self.tags)}"

        reveal_prompt(Part("user", "hi").render())
        reveal_prompt(Part(role="user").render())
        reveal_prompt(Part("a", tags=["x", "y"]).render())
        reveal_prompt(replace(Part("a", "b"), text="c").render())
    """,
    "generators": """
        def parts(extra):
            yield "a"
            yield from ("b", "c")
            if extra:
                yield "d"

        reveal_prompt("".join(parts(False)))
        reveal_prompt("".join(parts(True)))
        reveal_prompt("".join(list(parts(True))))
    """,
    "decorators and context managers": """
        import functools
        from contextlib import contextmanager

        def loud(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs).upper()

            return wrapper

        @loud
        def greet(name):
            return "hello " + name

        @contextmanager
        def section(title):
            yield f"# {title}"

        class Part:
            def __enter__(self):
                return "entered"

            def __exit__(self, *error):
                return None

        reveal_prompt(greet("ann"))
        with section("Rules") as head, Part() as state:
            reveal_prompt(head + state)
    """,
    "references": """
        import functools

        def join(left, right, mark="-"):
            return left + mark + right

        class Desk:
            def name(self, suffix=""):
                return "desk" + suffix

        near = functools.partial(join, "near", mark="+")
        method = Desk().name
        table = {"join": join, "near": near}
        reveal_prompt(near("far"))
        reveal_prompt(method("!"))
        reveal_prompt(table["join"]("a", "b") + table["near"]("c"))

        def twice(function, value):
            return function(value) + function(value)

        reveal_prompt(twice(method, "?"))
    """,
    "known tests": """
        DEBUG = False
        MODE = "brief"
        reveal_prompt("long" if DEBUG else "short")
        reveal_prompt({"brief": "Be brief.", "long": "Take your time."}[MODE])
        reveal_prompt("kept" if MODE in ("brief", "terse") else "dropped")
        reveal_prompt((None or "fallback") + ("" or "second"))
        text = "a"
        if MODE == "brief":
            text += "b"
        else:
            text += "c"
        reveal_prompt(text)
    """,
}


def dedent(source: str) -> str:
    lines = source.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines).rstrip() + "\n"


def run(source: str) -> dict[tuple[str, int], str]:
    """What each ``reveal_prompt`` of a program gets when it runs, by path and line."""
    seen: dict[tuple[str, int], str] = {}

    def reveal_prompt(text: str) -> None:
        seen[("main.py", sys._getframe(1).f_lineno)] = '"' + text.replace("\n", "\\n") + '"'

    exec(compile(source, "main.py", "exec"), {"__name__": "__main__", "reveal_prompt": reveal_prompt})
    return seen


@pytest.mark.parametrize("title", PROGRAMS)
def test_as_executed(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = dedent(PROGRAMS[title])
    (tmp_path / "main.py").write_text(source, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert engine.reveal([Path()], Settings()) == run(source)
