"""Programs whose prompt has no fixed order: those with a fix that changes nothing but it, and those without."""

from __future__ import annotations

HEAD = """\
import json
import os
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
{code}


def main():
    history = [{{"role": "system", "content": f"{system}\\n{{RULES}}"}}]
    while True:
        history.append({{"role": "user", "content": input()}})
        reply = client.chat.completions.create(model="gpt-4.1", messages=history{extra})
        history.append({{"role": "assistant", "content": reply.choices[0].message.content}})


main()
"""


def program(system: str, code: str = "", extra: str = "") -> str:
    """A chat whose system text begins with ``system``, the inside of an f-string."""
    return HEAD.format(system=system, code=code.strip("\n"), extra=extra)


NAMES = 'NAMES = {"door", "lift", "roof", "meter", "cellar", "balcony"}\n'
TOOLS = """
from collections import namedtuple

Tool = namedtuple("Tool", "name help")
TOOLS = {Tool("door", "opens"), Tool("lift", "calls"), Tool("roof", "clears"),
         Tool("meter", "reads"), Tool("cellar", "locks"), Tool("balcony", "paints"), Tool("yard", "sweeps")}
"""
FOLDER = 'FOLDER = os.path.join(os.path.dirname(__file__), "notes")\n'

FIXABLE: dict[str, tuple[str, str]] = {
    "join": (program("{', '.join(NAMES)}", NAMES), "', '.join(sorted(NAMES))"),
    "generator": (program("{', '.join(n.upper() for n in NAMES)}", NAMES), "n.upper() for n in sorted(NAMES)"),
    "list": (program("{json.dumps(list(NAMES))}", NAMES), "json.dumps(sorted(NAMES))"),
    "star": (program("{json.dumps([*NAMES])}", NAMES), "[*sorted(NAMES)]"),
    "behind a fixed part": (program("{', '.join(['house', *NAMES])}", NAMES), "['house', *sorted(NAMES)]"),
    "difference": (program("{', '.join(NAMES - {'door'})}", NAMES), "sorted(NAMES - {'door'})"),
    "two in one expression": (
        program("{'/'.join(NAMES)} {'+'.join(OTHERS)}", NAMES + 'OTHERS = {"cat", "dog", "bird", "fish"}'),
        "{'/'.join(sorted(NAMES))} {'+'.join(sorted(OTHERS))}",
    ),
    "set made of sets": (
        program("{', '.join({*NAMES, 'yard'} | {n.upper() for n in NAMES})}", NAMES),
        "join(sorted({*NAMES, 'yard'} | {n.upper() for n in NAMES}))",
    ),
    "set filled from a set": (
        program("{rooms()}", NAMES + "def rooms():\n    seen = set()\n    for n in NAMES:\n"
                "        seen.add(n)\n    return ' '.join(seen)"),
        "    for n in NAMES:\n        seen.add(n)\n    return ' '.join(sorted(seen))",
    ),
    "each once": (
        program("{rooms()}", NAMES + "def rooms():\n    seen, lines = set(), []\n    for n in NAMES:\n"
                "        if n not in seen:\n            seen.add(n)\n            lines.append(n)\n"
                "    return ' '.join(lines)"),
        "for n in sorted(NAMES):",
    ),
    "json of a dict": (
        program("{json.dumps(known)}", NAMES + "known = {n: len(n) for n in NAMES}  # by name"),
        "known = {n: len(n) for n in sorted(NAMES)}  # by name",
    ),
    "text of something else": (
        program("{', '.join(str(n) for n in LIMITS)}", 'LIMITS = {(w, 1) for w in ("a", "b", "c", "d", "e")}'),
        "', '.join(sorted(str(n) for n in LIMITS))",
    ),
    "split": (
        program("{rooms('hall bath attic study porch')}", "def rooms(text):\n    seen = set(text.split())\n"
                "    return ' '.join(f'({room})' for room in seen)"),
        "for room in sorted(seen)",
    ),
    "grown set": (
        program("{rooms()}", "def rooms():\n    seen = set()\n    for room in ('hall', 'bath', 'attic', 'study'):\n"
                "        seen.add(room)\n    return ' '.join(seen)"),
        "' '.join(sorted(seen))",
    ),
    "loop over a listing": (
        program("{notes()}", FOLDER + "def notes():\n    lines = []\n    for name in os.listdir(FOLDER):  # all\n"
                "        lines.append(f'- {name}')\n    return '; '.join(lines)"),
        "for name in sorted(os.listdir(FOLDER)):  # all",
    ),
    "named listing": (
        program("{notes()}", FOLDER + "def notes():\n    files = os.listdir(FOLDER)\n"
                "    return '; '.join(name.upper() for name in files)"),
        "files = sorted(os.listdir(FOLDER))",
    ),
    "field": (
        program(
            "{', '.join(n.upper() for n in SETTINGS.names)}",
            'class Settings:\n    names: frozenset[str] = frozenset({"door", "lift", "roof", "meter", "cellar"})\n\n\n'
            "SETTINGS = Settings()",
        ),
        "for n in sorted(SETTINGS.names)",
    ),
    "tools": (
        program(
            "Hello.",
            NAMES + 'tools = [\n    {"type": "function", "function": {"name": n}}  # one each\n    for n in NAMES\n]',
            ", tools=tools",
        ),
        "# one each\n    for n in sorted(NAMES)\n]",
    ),
    "tools of objects": (
        program(
            "Hello.",
            TOOLS + 'tools = [{"type": "function", "function": {"name": t.name, "description": t[1]}} for t in TOOLS]',
            ", tools=tools",
        ),
        "for t in sorted(TOOLS, key=lambda tool: tool.name)]",
    ),
    "tools of objects in a loop": (
        program(
            "Hello.",
            TOOLS + 'tools = []\nfor t in TOOLS:  # each\n    made = {"name": t.name, "description": t.help}\n'
            '    tools.append({"type": "function", "function": made})',
            ", tools=tools",
        ),
        "for t in sorted(TOOLS, key=lambda tool: tool.name):  # each",
    ),
    "tools of a table": (
        program(
            "Hello.",
            'TABLE = {\n    "door": {"type": "function", "function": {"name": "door"}},\n'
            '    "lift": {"type": "function", "function": {"name": "lift"}},\n'
            '    "roof": {"type": "function", "function": {"name": "roof"}},\n'
            '    "meter": {"type": "function", "function": {"name": "meter"}},\n'
            '    "cellar": {"type": "function", "function": {"name": "cellar"}},\n}\n'
            "chosen = {n for n in TABLE}\ntools = [TABLE[n] for n in chosen]",
            ", tools=tools",
        ),
        "[TABLE[n] for n in sorted(chosen)]",
    ),
    "tools of anything": (
        program(
            "Hello.",
            'THINGS = {("door", 1), ("lift", 2), ("roof", 3), ("meter", 4), ("cellar", 5), ("yard", 6)}\n'
            'tools = [{"type": "function", "function": {"name": "-".join(map(str, x))}} for x in THINGS]',
            ", tools=tools",
        ),
        'for x in THINGS], key=lambda tool: tool["function"]["name"])',
    ),
}  # fmt: skip
"""Each with what must stand in it afterwards."""

UNCERTAIN: dict[str, str] = {
    "elements of unknown type": program("{', '.join(['x', *things()])}", "def things():\n    return {None, 1, 'a'}"),
    "tuples": program("{json.dumps(list(LIMITS))}", 'LIMITS = {(w, 1) for w in ("a", "b", "c")}'),
    "field that may be a list": program(
        "{', '.join(n.upper() for n in SETTINGS.names)}",
        'class Settings:\n    names: list[str] = frozenset({"door", "lift", "roof", "meter", "cellar"})\n\n\n'
        "SETTINGS = Settings()",
    ),
    "text of a set": program("{NAMES}", NAMES),
    "some of them": program("{', '.join(list(NAMES)[:3])}", NAMES),
    "some of them later": program("{', '.join(some[:3])}", NAMES + "some = list(NAMES)"),
    "one of them": program(
        "{rooms()}",
        NAMES + "def rooms():\n    lines = []\n    for n in NAMES:\n        lines.append(n)\n"
        "    return ' '.join(lines) + lines[0]",
    ),
    "set that must stay a set": program(
        "{notes()}",
        FOLDER + "def notes():\n    files = set(os.listdir(FOLDER))\n    files.add(1)\n"
        "    return json.dumps(list(files))",
    ),
    "ends early": program(
        "{rooms()}",
        NAMES + "def rooms():\n    lines = []\n    for n in NAMES:\n        lines.append(n)\n"
        "        if len(lines) > 3:\n            break\n    return ' '.join(lines)",
    ),
    "sorted is something else": program("{', '.join(NAMES)}", NAMES + "def sorted(values):\n    return values"),
    "sort_keys does not sort a list": program("{json.dumps({'a': list(things)}, sort_keys=True)}",
                                              "things = {1, 'b', None}"),
    "parameter that may be a list": program(
        "{rooms(NAMES)}{rooms(['b', 'a'])}", NAMES + "def rooms(names):\n    return ', '.join(names)"
    ),
}  # fmt: skip
