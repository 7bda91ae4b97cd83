"""Runs programs one after the other in this process and writes down what they send.

usage: driver.py PROGRAMS.json OUT.json START HOST

``PROGRAMS.json`` is a list of folders with a ``main.py``; ``START`` is what the clock shows when each of them starts.
The clock goes on by a little with each look at it, and by a minute and a half with each request.
"""

import builtins
import contextlib
import datetime
import io
import json
import os
import runpy
import socket
import sys
import time
import traceback
import uuid
from pathlib import Path

import recorder

QUESTIONS = ["How long is the lease?", "Who pays for the lift?", "Is there a deposit?", "May I keep a dog?"]
SCRIPT = [*QUESTIONS, "And a cat?", "Where is the meter?", "Who clears the snow?", "Thanks.", "quit"] * 2
REAL_DATETIME, REAL_DATE, REAL = datetime.datetime, datetime.date, {n: getattr(time, n) for n in ("strftime", "gmtime")}


class Clock:
    now = 0.0

    def read(self):
        self.now += 0.37
        return self.now

    def tick(self):
        self.now += 95


clock = Clock()


class FakeDatetime(REAL_DATETIME):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(clock.read(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.now()


class FakeDate(REAL_DATE):
    @classmethod
    def today(cls):
        return REAL_DATETIME.fromtimestamp(clock.read()).date()


def install(host):
    datetime.datetime, datetime.date = FakeDatetime, FakeDate
    time.time = time.monotonic = time.perf_counter = clock.read
    time.gmtime = time.localtime = lambda seconds=None: REAL["gmtime"](clock.read() if seconds is None else seconds)
    time.strftime = lambda form, when=None: REAL["strftime"](form, when or time.gmtime())
    socket.gethostname = lambda: host
    listed = os.listdir
    os.listdir = lambda path=".": sorted(listed(path), key=hash)  # in no order that lasts
    recorder.tick = clock.tick


def run(folder, start):
    """What one program sent, or the traceback of its failure."""
    clock.now = start
    recorder.bodies, recorder.conversation, recorder.sent = [], 0, 0
    lines = iter(SCRIPT)

    def answer(prompt=""):
        line = next(lines, None)
        if line is None:
            raise EOFError
        if line == "quit":
            recorder.conversation += 1
        return line

    builtins.input = answer
    known = set(sys.modules)
    sys.path.insert(0, folder)
    problem = None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(Path(folder) / "main.py"), run_name="__main__")
    except EOFError:
        pass
    except Exception:
        problem = traceback.format_exc()
    sys.path.remove(folder)
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and folder in sys.modules[name].__file__:
            del sys.modules[name]
    return {"requests": recorder.bodies, "problem": problem}


def main():
    programs, out, start, host = sys.argv[1:]
    os.environ["TZ"] = "UTC"
    time.tzset()
    install(host)
    results = [run(folder, float(start)) for folder in json.loads(Path(programs).read_text("utf-8"))]
    Path(out).write_text(json.dumps(results, default=str), "utf-8")


main()
