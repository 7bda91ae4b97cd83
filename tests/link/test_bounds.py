"""Programs that look harmless must not use up the work that one request may cost."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.assembly import build, chains
from promptlint.config import Settings
from promptlint.link import evaluate
from promptlint.link.libraries import sinks

NAMES = ("goal", "plan", "draft", "score", "notes", "best", "worst")
STEPS = "\n    ".join(f"{n} = weigh(answer, {', '.join(o for o in NAMES if o != n)})" for n in NAMES)
ENTANGLED = f"""\
from openai import OpenAI

client = OpenAI()
{" = ".join(NAMES)} = "nothing yet"
turns = []


def weigh(*texts):
    return max(texts, key=len)


while True:
    turns.append({{"role": "user", "content": " ".join([{", ".join(NAMES)}])}})
    reply = client.chat.completions.create(model="gpt-4.1", messages=turns)
    answer = reply.choices[0].message.content
    {STEPS}
    turns.append({{"role": "assistant", "content": answer}})
"""


def test_variables_of_a_loop_that_depend_on_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.py").write_text(ENTANGLED, "utf-8")
    monkeypatch.chdir(tmp_path)
    project, ev = engine._open([Path()], Settings(), None)
    (module,) = filter(None, map(ev.program.parse, project.files))
    (sink,) = (s for f in sinks.candidates(ev, module) for s in sinks.in_function(ev, f))
    (request,) = (r for chain in chains.of(ev, sink) for r in build.requests(ev, sink, chain))
    assert request.reuse.turns
    assert not ev.hit_bound


AGENT = """\
from datetime import datetime

from agno.agent import Agent
from agno.db.sqlite import SqliteDb

RULES = "Answer briefly and name your source. " * 300


def made(name):
    when = f"It is {datetime.now():%H:%M}."
    return Agent(name=name, role=when + RULES, db=SqliteDb(), add_history_to_context=True, num_history_runs=300)


async def answer(name, text, session):
    agent = made(name)
    return await agent.arun(text, session_id=session)
"""


def test_an_object_of_a_library_is_known_where_what_it_is_made_of_is_too_much_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How far a function could be followed matters for texts; what it made, and with what, is known."""
    (tmp_path / "main.py").write_text(AGENT, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate.Evaluator, "share", lambda _, query: (query(), True))
    assert "volatile-time" in {f.rule for f in engine.check([Path()], Settings()).findings}
