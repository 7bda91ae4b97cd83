"""PL601 and PL602: writes that nothing reads, and lifetimes that do not fit the time between two requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint.config import Settings
from promptlint.engine import check
from promptlint.finding import Finding, Severity

HEAD = """\
import asyncio
import time
from anthropic import Anthropic, AsyncAnthropic
MANUAL = "Look it up in the manual first. " * 900
client = Anthropic()
"""
ASK = """\
def ask(question, ttl={ttl}):
    return client.messages.create(
        model="claude-sonnet-4-5", max_tokens=9,
        system=[{{"type": "text", "text": MANUAL, "cache_control": {marker}}}],
        messages=[{{"role": "user", "content": question}}],
    )
"""
SHORT, LONG = '{"type": "ephemeral"}', '{"type": "ephemeral", "ttl": "1h"}'


def asking(marker: str = SHORT) -> str:
    return HEAD + ASK.format(marker=marker, ttl="None")


def found(folder: Path, rule: str, *files: tuple[str, str]) -> list[Finding]:
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    return [f for f in check([folder], Settings(root=folder)).findings if f.rule == rule]


LOOP = "while True:\n    ask(input())\n    time.sleep({})\n"


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (LOOP.format("600"), "the loop waits 10 min, and the entry lives 5m"),
        ("EVERY = 15 * 60\n" + LOOP.format("EVERY"), "the loop waits 15 min"),
        ("async def main():\n    while True:\n        ask(input())\n        await asyncio.sleep(300)\n", "waits 5 min"),
        (
            "while True:\n    try:\n        ask(input())\n    finally:\n        time.sleep(600)\n",
            "the loop waits 10 min",
        ),
        (
            "import schedule\ndef job():\n    ask('news?')\nschedule.every(10).minutes.do(job)\n",
            "the schedule waits 10 min",
        ),
        (
            "from fastapi_utils.tasks import repeat_every\n"
            "@repeat_every(seconds=60 * 60)\ndef job():\n    ask('news?')\n",
            "the schedule waits 60 min",
        ),
        (
            "from apscheduler.schedulers.blocking import BlockingScheduler\nscheduler = BlockingScheduler()\n"
            "@scheduler.scheduled_job('cron', minute='*/20')\ndef job():\n    ask('news?')\n",
            "the schedule waits 20 min",
        ),
        (
            "from apscheduler.schedulers.blocking import BlockingScheduler\n"
            "from apscheduler.triggers.cron import CronTrigger\nscheduler = BlockingScheduler()\n"
            "def job():\n    ask('news?')\nscheduler.add_job(job, CronTrigger.from_crontab('0,30 9-17 * * *'))\n",
            "the schedule waits 30 min",
        ),
        (
            "from huey import RedisHuey, crontab\nhuey = RedisHuey()\n"
            "@huey.periodic_task(crontab(minute='*/15'))\ndef job():\n    ask('news?')\n",
            "the schedule waits 15 min",
        ),
    ],
)
def test_entries_that_expire_before_the_next_request(tmp_path: Path, tail: str, says: str) -> None:
    [finding] = found(tmp_path, "ttl-mismatch", ("app.py", asking() + tail))
    assert says in finding.message and finding.severity is Severity.INFO
    assert finding.advice == (
        'ask for "ttl": "1h"' if "60 min" not in says else "leave the breakpoint out: no lifetime is long enough"
    )


def test_an_hour_for_requests_that_follow_each_other(tmp_path: Path) -> None:
    [finding] = found(tmp_path, "ttl-mismatch", ("app.py", asking(LONG) + LOOP.format("30")))
    assert "the loop waits 30 s: 5m, renewed by each read, would do" in finding.message
    assert "1.25 times the input price instead of 2" in finding.advice


@pytest.mark.parametrize(
    "main",
    [
        "from conf import PAUSE\nwhile True:\n    ask(input())\n    time.sleep(PAUSE)\n",
        "import conf\nwhile True:\n    ask(input())\n    time.sleep(conf.PAUSE)\n",
        "def poll(pause=900):\n    while True:\n        ask(input())\n        time.sleep(pause)\npoll()\n",
        "def poll(pause):\n    while True:\n        ask(input())\n        time.sleep(pause)\npoll(900)\n",
        "class Poller:\n    def __init__(self):\n        self.pause = 900\n    def run(self):\n"
        "        while True:\n            ask(input())\n            time.sleep(self.pause)\nPoller().run()\n",
        "from datetime import timedelta\nwhile True:\n    ask(input())\n"
        "    time.sleep(timedelta(minutes=15).total_seconds())\n",
    ],
)
def test_times_that_come_from_elsewhere(tmp_path: Path, main: str) -> None:
    head = "import time\nfrom llm import ask\n"
    files = (("llm.py", asking()), ("conf.py", "PAUSE = 900\n"), ("main.py", head + main))
    [finding] = found(tmp_path, "ttl-mismatch", *files)
    assert "the loop waits 15 min, and the entry lives 5m" in finding.message


def test_a_loop_in_another_module(tmp_path: Path) -> None:
    main = "import time\nfrom llm import ask\nPAUSE = 900\nwhile True:\n    ask(input())\n    time.sleep(PAUSE)\n"
    [finding] = found(tmp_path, "ttl-mismatch", ("llm.py", asking()), ("main.py", main))
    assert [Path(span.path).name for span in (finding.primary, finding.related[0][0])] == ["llm.py", "main.py"]


@pytest.mark.parametrize(
    ("marker", "tail"),
    [
        (SHORT, LOOP.format("60")),
        (LONG, LOOP.format("600")),
        (SHORT, LOOP.format("delay()")),
        (SHORT, "import sys\npause = 900 if sys.argv[1:] else 60\n" + LOOP.format("pause")),
        (SHORT, "import os\n" + LOOP.format("float(os.environ['PAUSE'])")),
        (SHORT, "while True:\n    ask(input())\n    if slow():\n        time.sleep(600)\n"),
        (SHORT, "while True:\n    try:\n        ask(input())\n    except OSError:\n        time.sleep(600)\n"),
        (SHORT, "time.sleep(600)\nfor q in open('questions'):\n    ask(q)\n"),
        (SHORT, "while True:\n    time.sleep(600)\n    for q in open('questions'):\n        ask(q)\n"),
        ("None", LOOP.format("600")),
        (
            SHORT,
            "from apscheduler.schedulers.blocking import BlockingScheduler\nscheduler = BlockingScheduler()\n"
            "@scheduler.scheduled_job('cron', hour='*/2', minute='*')\ndef job():\n    ask('news?')\n",
        ),
    ],
)
def test_lifetimes_that_fit_or_are_not_known(tmp_path: Path, marker: str, tail: str) -> None:
    assert found(tmp_path, "ttl-mismatch", ("app.py", asking(marker) + tail)) == []


def test_a_marker_on_a_request_that_is_sent_once(tmp_path: Path) -> None:
    [finding] = found(tmp_path, "unrecovered-write", ("app.py", asking(LONG) + "print(ask('How long?'))\n"))
    assert "at 2 times the input price, and nothing reads them" in finding.message
    assert finding.severity is Severity.INFO


def test_openai_writes_by_itself(tmp_path: Path) -> None:
    source = """\
from openai import OpenAI
MANUAL = "Look it up in the manual first. " * 900
print(OpenAI().responses.create(model="gpt-5.6-sol", instructions=MANUAL, input="How long?"{}))
"""
    [finding] = found(tmp_path, "unrecovered-write", ("app.py", source.format("")))
    assert "1.25 times" in finding.message and "prompt_cache_options" in finding.advice
    options = ', prompt_cache_options={"mode": "explicit"}'
    assert found(tmp_path, "unrecovered-write", ("app.py", source.format(options))) == []
    older = source.format("").replace("gpt-5.6-sol", "gpt-5")
    assert found(tmp_path, "unrecovered-write", ("app.py", older)) == []


@pytest.mark.parametrize(
    "tail",
    [
        "for q in open('questions'):\n    print(ask(q))\n",
        "",  # a library: it may be called again and again
        "print(ask('How long?'))\nprint(ask('How often?'))\n",
        "from flask import Flask\napp = Flask(__name__)\n@app.route('/')\ndef page():\n    return ask('How long?')\n",
    ],
)
def test_writes_that_may_be_read(tmp_path: Path, tail: str) -> None:
    assert found(tmp_path, "unrecovered-write", ("app.py", asking() + tail)) == []


def test_a_marked_text_too_short_to_be_written(tmp_path: Path) -> None:
    short = asking().replace("* 900", "* 9")
    assert found(tmp_path, "unrecovered-write", ("app.py", short + "print(ask('How long?'))\n")) == []


PAGES = """
def answer(pages, questions):
    for p in pages:
        page = open(p).read()
        {loop}client.messages.create(
            model="claude-sonnet-4-5", max_tokens=9,
            system=[{{"type": "text", "text": MANUAL{first}}},
                    {{"type": "text", "text": page, "cache_control": {{"type": "ephemeral"}}}}],
            messages=[{{"role": "user", "content": {question}}}],
        )
"""
MARKED = ', "cache_control": {"type": "ephemeral"}'


def test_a_marker_on_text_of_one_iteration(tmp_path: Path) -> None:
    source = HEAD + PAGES.format(loop="", first=MARKED, question="'Sum it up'") + "answer(['a', 'b'], [])\n"
    [finding] = found(tmp_path, "unrecovered-write", ("app.py", source))
    assert "the loop variable p is another one in each iteration" in finding.message
    assert "at 1.25 times the input price each time" in finding.message
    assert (finding.primary.line, finding.severity) == (13, Severity.INFO)


@pytest.mark.parametrize(
    ("loop", "first", "question", "tail"),
    [
        ("for q in questions: ", MARKED, "q", ""),  # the page is read by the next question
        ("", "", "'Sum it up'", ""),  # told by breakpoint-on-volatile
        ("[", MARKED, "'Sum it up'", "        ask(page)\n"),
    ],
)
def test_markers_that_are_read_or_told_elsewhere(
    tmp_path: Path, loop: str, first: str, question: str, tail: str
) -> None:
    code = PAGES.format(loop=loop.rstrip("["), first=first, question=question)
    source = asking() + code + tail + "answer(['a', 'b'], ['c', 'd'])\n"
    assert found(tmp_path, "unrecovered-write", ("app.py", source)) == []
