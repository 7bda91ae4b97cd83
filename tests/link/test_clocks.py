"""How often a text changes that is made of a clock, by what is left of the time in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.config import Settings
from promptlint.finding import Confidence, Severity

APP = """\
import time
from datetime import date, datetime

import arrow
import pandas as pd
import pendulum
from openai import OpenAI

client = OpenAI()
turns = []
while True:
    turns.append({"role": "user", "content": input()})
    system = {"role": "system", "content": str(EXPRESSION) + "Answer briefly. " * 600}
    reply = client.chat.completions.create(model="gpt-4.1", messages=[system, *turns])
    turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
EVERYTHING = Settings(min_severity=Severity.INFO, min_confidence=Confidence.LOW)


@pytest.mark.parametrize(
    ("expression", "often"),
    [
        ("datetime.now().isoformat()[:10]", "every day"),
        ("datetime.now().isoformat()[:13]", "every hour"),
        ("datetime.now().isoformat()[:16]", "every minute"),
        ("datetime.now().isoformat()[:19]", "on every turn"),
        ("datetime.now().isoformat()", "on every turn"),
        ("datetime.now().isoformat()[11:]", "on every turn"),
        ('datetime.now().isoformat().split("T")[0]', "every day"),
        ('datetime.now().isoformat().split("T")[1]', "on every turn"),
        ('datetime.now().isoformat().partition(":")[0]', "every hour"),
        ('str(datetime.now()).split(" ")[0]', "every day"),
        ("str(datetime.now()).split()[0]", "every day"),
        ('str(datetime.now()).split(".")[0]', "on every turn"),
        ("str(datetime.now()).split()[1]", "on every turn"),
        ('datetime.now().isoformat().replace("T", " ")', "on every turn"),
        ("date.today().isoformat()[:7]", "every day"),
        ('format(datetime.now(), "%Y-%m-%d")', "every day"),
        ('format(datetime.now(), "%H:%M")', "every minute"),
        ("int(time.time() // 3600)", "every hour"),
        ("time.time() // 86400", "every day"),
        ("int(time.time() / 60)", "every minute"),
        ("int(time.time() / x)", "on every turn"),
        ("int(time.time() * 1000)", "on every turn"),
        ("datetime.now().timetuple().tm_yday", "every day"),
        ("time.localtime().tm_min", "every minute"),
        ('arrow.utcnow().format("YYYY-MM-DD")', "every day"),
        ('arrow.utcnow().format("dddd, D MMMM [of] YYYY")', "every day"),
        ('arrow.utcnow().format("YYYY-MM-DD HH:mm")', "every minute"),
        ('arrow.utcnow().format("HH:mm:ss")', "on every turn"),
        ('pendulum.now().format("D. M. YYYY")', "every day"),
        ("pendulum.now().to_date_string()", "every day"),
        ("pendulum.now().to_datetime_string()", "on every turn"),
        ('arrow.now().floor("hour")', "every hour"),
        ("pd.Timestamp.now().normalize()", "every day"),
        ('pd.Timestamp.now().floor("h")', "every hour"),
        ("pd.Timestamp.now().floor(UNIT)", "on every turn"),
    ],
)
def test_what_is_left_of_a_time(expression: str, often: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text(APP.replace("EXPRESSION", expression), "utf-8")
    monkeypatch.chdir(tmp_path)
    found = [f for f in engine.check([Path()], EVERYTHING).findings if f.rule == "volatile-time"]
    assert [f.message.partition(": ")[0].rpartition("changes ")[2] for f in found] == [often]
