"""Programs whose fix is not a matter of order, with what must stand in them afterwards."""

from __future__ import annotations

ANTHROPIC = """\
from anthropic import Anthropic

client = Anthropic()
RULES = "Answer briefly. " * 600
MANUAL = "Turn the screw to the left. " * 600
"""
OPENAI = """\
from datetime import datetime
import time
from openai import OpenAI

client = OpenAI()
RULES = "Answer briefly. " * 600
"""
SEND = 'client.messages.create(model="claude-sonnet-4-5", max_tokens=9, '
ASK = 'client.chat.completions.create(model="gpt-4.1", messages='

MARKERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "blocks are appended in a loop": (
        f"""{ANTHROPIC}
system = []
for part in [RULES, MANUAL, "Three. " * 900, "Four. " * 900, "Five. " * 900]:
    system.append({{"type": "text", "text": part, "cache_control": {{"type": "ephemeral"}}}})  # each
while True:
    {SEND}system=system, messages=[{{"role": "user", "content": input()}}])
""",
        (
            '    system.append({"type": "text", "text": part})  # each\nif system:\n'
            '    system[-1]["cache_control"] = {"type": "ephemeral"}\nwhile True:\n',
        ),
    ),
    "named blocks are appended in a loop": (
        f"""{ANTHROPIC}
SHEETS = {{"one": RULES, "two": MANUAL, "three": "3. " * 900, "four": "4. " * 900, "five": "5. " * 900}}


def ask(question):
    blocks = []
    for title, sheet in SHEETS.items():
        block = {{"type": "text", "text": f"{{title}}: {{sheet}}", "cache_control": {{"type": "ephemeral"}}}}
        blocks.append(block)
    return {SEND}messages=[{{"role": "user", "content": [*blocks, {{"type": "text", "text": question}}]}}])


while True:
    ask(input())
""",
        (
            '"text": f"{title}: {sheet}"}\n        blocks.append(block)\n    if blocks:\n'
            '        blocks[-1]["cache_control"] = {"type": "ephemeral"}\n    return',
        ),
    ),
    "a comprehension makes blocks": (
        f"""{ANTHROPIC}
PARTS = [RULES, MANUAL, "Three. " * 900, "Four. " * 900, "Five. " * 900]


def ask(question):
    system = [
        {{
            "type": "text",
            "text": part,
            "cache_control": {{"type": "ephemeral"}},
        }}
        for part in PARTS
    ]
    return {SEND}system=system, messages=[{{"role": "user", "content": question}}])


while True:
    ask(input())
""",
        ('            "text": part,\n        }\n', '    if system:\n        system[-1]["cache_control"] = {"type"'),
    ),
    "blocks are marked in a loop": (
        f"""{ANTHROPIC}
system = [{{"type": "text", "text": part}} for part in [RULES, MANUAL, "3. " * 900, "4. " * 900, "5. " * 900]]
for block in system:
    block["cache_control"] = {{"type": "ephemeral"}}
while True:
    {SEND}system=system, messages=[{{"role": "user", "content": input()}}])
""",
        ('if system:\n    system[-1]["cache_control"] = {"type": "ephemeral"}\nwhile True:\n',),
    ),
    "lifetimes": (
        f"""{ANTHROPIC}
while True:
    {SEND}system=[
        {{"type": "text", "text": RULES, "cache_control": {{"type": "ephemeral"}}}},  # short
        {{"type": "text", "text": MANUAL, "cache_control": {{"type": "ephemeral", "ttl": "1h"}}}},
    ], messages=[{{"role": "user", "content": input()}}])
""",
        ('"cache_control": {"type": "ephemeral", "ttl": "1h"}},  # short\n',),
    ),
    "three lifetimes": (
        f"""{ANTHROPIC}
while True:
    {SEND}system=[
        {{"type": "text", "text": RULES, "cache_control": {{"type": "ephemeral", "ttl": "5m"}}}},
        {{"type": "text", "text": "Be kind. " * 600, "cache_control": {{"type": "ephemeral"}}}},
        {{"type": "text", "text": MANUAL, "cache_control": {{"type": "ephemeral", "ttl": "1h"}}}},
    ], messages=[{{"role": "user", "content": input()}}])
""",
        (
            'RULES, "cache_control": {"type": "ephemeral", "ttl": "1h"}',
            '600, "cache_control": {"type": "ephemeral", "ttl"',
        ),
    ),
    "empty text": (
        f"""{ANTHROPIC}
while True:
    {SEND}system=[
        {{"type": "text", "text": RULES, "cache_control": {{"type": "ephemeral"}}}},
        {{"type": "text", "text": "", "cache_control": {{"type": "ephemeral"}}}},
    ], messages=[{{"role": "user", "content": input()}}])
""",
        ('{"type": "text", "text": ""},',),
    ),
    "thinking": (
        f"""{ANTHROPIC}
thought = [
    {{"type": "thinking", "thinking": "hm", "signature": "s", "cache_control": {{"type": "ephemeral"}}}},
    {{"type": "text", "text": "Which lease?"}},
]
while True:
    {SEND}system=[
        {{"type": "text", "text": RULES, "cache_control": {{"type": "ephemeral"}}}},
    ], messages=[{{"role": "user", "content": "Hello."}}, {{"role": "assistant", "content": thought}},
        {{"role": "user", "content": input()}}])
""",
        ('"signature": "s"},\n',),
    ),
    "message object": (
        f"""{ANTHROPIC}
first = {{"role": "user", "content": "Read this: " + RULES, "cache_control": {{"type": "ephemeral"}}}}
while True:
    {SEND}messages=[first, {{"role": "user", "content": input()}}])
""",
        (
            'first = {"role": "user", "content": [{"type": "text", "text": "Read this: " + RULES, '
            '"cache_control": {"type": "ephemeral"}}]}\n',
        ),
    ),
}
"""Safe: the API refuses the request until they are fixed."""

SHARED: dict[str, tuple[str, tuple[str, ...]]] = {
    "format": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    now = datetime.now().strftime("%d %B %Y, %H:%M:%S")
    system = {{"role": "system", "content": f"Today is {{now}}. {{RULES}}"}}
    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ('strftime("%d %B %Y")',),
    ),
    "format in an f-string": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    system = {{"role": "system", "content": f"Today is {{datetime.now():%Y-%m-%d %H:%M}}. {{RULES}}"}}
    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("{datetime.now():%Y-%m-%d}",),
    ),
    "ISO text": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    system = {{"role": "system", "content": "Today is " + datetime.now().isoformat(timespec="seconds") + RULES}}
    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("datetime.now().date().isoformat() + RULES",),
    ),
    "text of a clock": (
        f"""{OPENAI}
def head():
    now = datetime.now()
    return f"Today is {{now}}. {{RULES}}"


history = []
while True:
    history.append({{"role": "user", "content": input()}})
    reply = {ASK}[{{"role": "system", "content": head()}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("{now:%Y-%m-%d}",),
    ),
    "time.strftime": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    system = {{"role": "system", "content": f"Today is {{time.strftime('%A %d %B %Y %H:%M')}}. {{RULES}}"}}
    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("time.strftime('%A %d %B %Y')",),
    ),
    "clock of a helper": (
        f"""{OPENAI}
def local_time():
    return datetime.now()


history = []
while True:
    history.append({{"role": "user", "content": input()}})
    system = {{"role": "system", "content": f"Shop time: {{local_time():%A %d %B %Y, %H:%M:%S}}. {{RULES}}"}}
    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("{local_time():%A %d %B %Y}",),
    ),
    "inserted": (
        f"""{OPENAI}
history = [{{"role": "system", "content": RULES}}]
while True:
    history.append({{"role": "user", "content": input()}})
    history.insert(1, {{"role": "user", "content": f"Today is {{datetime.now()}}."}})
    reply = {ASK}history)
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ('history.append({"role": "user", "content": f"Today is',),
    ),
    "window": (
        f"""{OPENAI}
KEPT = 4
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    history = history[-KEPT:]  # the newest
    reply = {ASK}[{{"role": "system", "content": RULES}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("    if len(history) > 15 * KEPT:\n        history = history[-KEPT:]  # the newest\n",),
    ),
    "tested window": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    if len(history) > 4:
        history = history[-4:]
    reply = {ASK}[{{"role": "system", "content": RULES}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("    if len(history) > 60:\n        history = history[-4:]\n",),
    ),
    "window behind an early return": (
        f"""{OPENAI}
class Chat:
    def __init__(self):
        self.history = []

    def trim(self, most=4):
        if len(self.history) <= most:
            return
        print("dropped", len(self.history) - most)
        self.history = self.history[-most:]

    def ask(self, question):
        self.history.append({{"role": "user", "content": question}})
        self.trim()
        reply = {ASK}[{{"role": "system", "content": RULES}}, *self.history])
        self.history.append({{"role": "assistant", "content": reply.choices[0].message.content}})


chat = Chat()
while True:
    chat.ask(input())
""",
        (
            "        if len(self.history) <= 15 * most:\n            return\n",
            "\n        self.history = self.history[-most:]\n",
        ),
    ),
    "evicted": (
        f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    while len(history) > 4:
        history.pop(0)
    reply = {ASK}[{{"role": "system", "content": RULES}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
        ("    if len(history) > 60:\n        del history[:-4]\n",),
    ),
}
"""Unsafe: afterwards each request begins with all that the one before it sent."""

LOOP = """
history = []
while True:
"""
ASKS = """    history.append({"role": "user", "content": input()})
"""
TURN = LOOP + ASKS
ANSWER = f"""    reply = {ASK}[system, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
"""

MOVED: dict[str, tuple[str, tuple[str, ...]]] = {
    "line of an f-string": (
        f"""{OPENAI}{TURN}\
    system = {{"role": "system", "content": f"It is {{datetime.now():%H:%M:%S}}.\\n{{RULES}}"}}
{ANSWER}""",
        ('input() + f"\\n\\nIt is {datetime.now():%H:%M:%S}."})', '"content": RULES}\n'),
    ),
    "values with names": (
        f"""{OPENAI}{TURN}\
    now = datetime.now()
    clock = now.strftime("%H:%M:%S")
    system = {{"role": "system", "content": f"You are a clerk. Your clock says {{clock}}. " + RULES}}
{ANSWER}""",
        (
            """input() + f'\\n\\nYour clock says {datetime.now().strftime("%H:%M:%S")}.'})\n    system = {""",
            '"content": "You are a clerk. " + RULES}\n',
        ),
    ),
    "methods of a class": (
        f"""{OPENAI}
class Chat:
    def __init__(self):
        self.history = []

    def system(self) -> str:
        return f'''You are a clerk.
It is {{datetime.now():%H:%M:%S}}.
{{RULES}}'''

    def ask(self, question: str):
        user = {{"role": "user", "content": question}}
        reply = {ASK}[{{"role": "system", "content": self.system()}}, *self.history, user])
        self.history += [user, {{"role": "assistant", "content": reply.choices[0].message.content}}]


chat = Chat()
while True:
    chat.ask(input())
""",
        (
            """f'''You are a clerk.\n{RULES}'''""",
            """"content": f"{question}\\n\\nIt is {datetime.now():%H:%M:%S}."}""",
        ),
    ),
    "two of them": (
        f"""{OPENAI}import uuid


def ask(history, text: str):
    history.append({{"role": "user", "content": f"Dear clerk, {{text}}"}})
    system = f"Clock: {{datetime.now():%H:%M:%S}}\\n{{RULES}}\\nTicket {{uuid.uuid4()}}"
    reply = {ASK}[{{"role": "system", "content": system}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})


history = []
while True:
    ask(history, input())
""",
        (
            'f"Dear clerk, {text}" + f"\\n\\nClock: {datetime.now():%H:%M:%S}" + f"\\n\\nTicket {uuid.uuid4()}"',
            "    system = RULES\n",
        ),
    ),
}
"""Unsafe: what changed ahead of the history is said in the newest message, and stored with it."""

UNMOVED: dict[str, str] = {
    "the message may be no text": f"""{OPENAI}
def ask(history, text):
    history.append({{"role": "user", "content": text}})
    system = {{"role": "system", "content": f"It is {{datetime.now():%H:%M:%S}}.\\n{{RULES}}"}}
{ANSWER}

history = []
while True:
    ask(history, input())
""",
    "the message is not kept": f"""{OPENAI}{LOOP}\
    question = input()
    user = {{"role": "user", "content": question}}
    system = {{"role": "system", "content": f"It is {{datetime.now():%H:%M:%S}}.\\n{{RULES}}"}}
    reply = {ASK}[system, *history, user])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
""",
    "there are two messages": f"""{OPENAI}{TURN}\
    history.append({{"role": "user", "content": "Be quick."}})
    system = {{"role": "system", "content": f"It is {{datetime.now():%H:%M:%S}}.\\n{{RULES}}"}}
{ANSWER}""",
    "something else is on the line": f"""{OPENAI}{TURN}\
    system = {{
        "role": "system", "content": f"{{RULES}} at {{datetime.now():%H:%M:%S}}\\nBye."
    }}
{ANSWER}""",
    "the value is not there yet": f"""{OPENAI}{TURN}\
    zone = datetime.now().astimezone().tzinfo if history else None
    system = {{"role": "system", "content": f"It is {{datetime.now(zone):%H:%M:%S}}.\\n{{RULES}}"}}
{ANSWER}""",
    "another request says it, too": f"""{OPENAI}
def system():
    return f"It is {{datetime.now():%H:%M:%S}}.\\n{{RULES}}"

{TURN}\
    reply = {ASK}[{{"role": "system", "content": system()}}, *history])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
    {ASK}[{{"role": "system", "content": system()}}, {{"role": "user", "content": "Name a title."}}])
""",
    "its form is not written out": f"""{OPENAI}
FORM = "%H:%M:%S"
{TURN}\
    system = {{"role": "system", "content": f"It is {{datetime.now():{{FORM}}}}.\\n{{RULES}}"}}
{ANSWER}""",
    "it is in brackets with more": f"""{OPENAI}{TURN}\
    system = {{"role": "system", "content": f"A clerk (approx. {{datetime.now():%H:%M:%S}})\\n{{RULES}}"}}
{ANSWER}""",
    "backslashes are letters": f"""{OPENAI}{TURN}\
    system = {{"role": "system", "content": rf"It is {{datetime.now():%H:%M}}.\\n{{RULES}}"}}
{ANSWER}""",
}
"""Where it is not certain that the text can be moved."""

FROZEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "id": (
        f"""{OPENAI}import uuid
{LOOP}\
    history.append(dict(role="user", content=input()))
    system = {{"role": "system", "content": f"Request {{uuid.uuid4()}}\\n{{RULES}}"}}
{ANSWER}""",
        ("session_id = uuid.uuid4()\nwhile True:\n", 'f"Request {session_id}\\n{RULES}"'),
    ),
    "value with a name": (
        f"""{OPENAI}import os


def main():
    history = []
    while True:
        history.append({{"role": "user", "content": input()}})
        open(f"file{{len(history)}}", "w").close()
        # The files
        files = os.popen("ls").read()  # all of them
        system = {{"role": "system", "content": f"Files: {{files}}\\n{{RULES}}"}}
        reply = {ASK}[system, *history])
        history.append({{"role": "assistant", "content": reply.choices[0].message.content}})


main()
""",
        ('    history = []\n    # The files\n    files = os.popen("ls").read()  # all of them\n    while True:\n',),
    ),
    "function": (
        f"""{OPENAI}import os


def files():
    return "Files: " + os.popen("ls").read()

{TURN}\
    open(f"part{{len(history)}}", "w").close()
    system = {{"role": "system", "content": f"{{files()}}\\n{{RULES}}"}}
{ANSWER}""",
        ("import functools\nimport time\n", "@functools.cache\ndef files():\n"),
    ),
}
"""Unsafe: what was read anew for each turn is read once."""

LESS = frozenset(["id"])
"""Programs whose fix leaves a finding of a lesser loss: conversations still differ."""

UNFROZEN: dict[str, str] = {
    "it depends on the turn": f"""{OPENAI}import os
{LOOP}\
    question = input()
    history.append({{"role": "user", "content": question}})
    files = os.popen(f"ls {{question}}").read()
    system = {{"role": "system", "content": f"Files: {{files}}\\n{{RULES}}"}}
{ANSWER}""",
    "what it depends on may have changed": f"""{OPENAI}import os

desk = {{"folder": "."}}
{LOOP}\
    history.append(dict(role="user", content=input()))
    desk["folder"] = history[-1]["content"]
    files = os.popen("ls " + desk["folder"]).read()
    system = {{"role": "system", "content": f"Files: {{files}}\\n{{RULES}}"}}
{ANSWER}""",
    "it reads what the program changes": f"""{OPENAI}import os

SEEN = {{}}


def files():
    return "Files: " + os.popen("ls").read() + str(SEEN)

{TURN}\
    SEEN["last"] = history[-1]["content"]
    system = {{"role": "system", "content": f"{{files()}}\\n{{RULES}}"}}
{ANSWER}""",
    "the result can be changed": f"""{OPENAI}import os


def parts(found=None):
    return ["Files: ", os.popen("ls").read()]

{TURN}\
    system = {{"role": "system", "content": "".join(parts()) + RULES}}
{ANSWER}""",
}
"""Where reading once would change more."""

RARER = f"""{OPENAI}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    reply = {ASK}[{{"role": "system", "content": RULES}}, *history[-4:]])
    history.append({{"role": "assistant", "content": reply.choices[0].message.content}})
"""
"""Unsafe: afterwards every other request begins with what the one before it sent, where none did before."""

UNMARKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "conversation": (
        f"""{ANTHROPIC}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    reply = {SEND}system=RULES, messages=history)
    history.append({{"role": "assistant", "content": reply.content[0].text}})
""",
        ('messages=history, cache_control={"type": "ephemeral"})',),
    ),
    "call over several lines": (
        f"""{ANTHROPIC}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9,
        system=RULES,
        messages=history,  # all
    )
    history.append({{"role": "assistant", "content": reply.content[0].text}})
""",
        ('        messages=history,  # all\n        cache_control={"type": "ephemeral"},\n    )\n',),
    ),
    "arguments without a comma at the end": (
        f"""{ANTHROPIC}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    reply = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9,
        messages=history,
        system=RULES
        # system="Be brief.",
    )
    history.append({{"role": "assistant", "content": reply.content[0].text}})
""",
        ('        system=RULES,\n        cache_control={"type": "ephemeral"}\n        # system',),
    ),
    "arguments in a dict": (
        f"""{ANTHROPIC}
history = []
while True:
    history.append({{"role": "user", "content": input()}})
    params = {{"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": history}}
    params["system"] = RULES
    reply = client.messages.create(**params)
    history.append({{"role": "assistant", "content": reply.content[0].text}})
""",
        ('create(**params, cache_control={"type": "ephemeral"})',),
    ),
    "system text in a dict": (
        f"""{ANTHROPIC}
while True:
    params = {{
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": RULES,
        "messages": [{{"role": "user", "content": input()}}],
    }}
    client.messages.create(**params)
""",
        ('"system": [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],\n',),
    ),
    "system text put into a dict": (
        f"""{ANTHROPIC}
def ask(question: str):
    params = dict(model="claude-sonnet-4-5", max_tokens=9, messages=[{{"role": "user", "content": question}}])
    if RULES:
        params["system"] = RULES
    return client.messages.create(**params)


while True:
    ask(input())
""",
        ('        params["system"] = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]\n',),
    ),
    "system text": (
        f"""{ANTHROPIC}
while True:
    reply = {SEND}system=RULES, messages=[{{"role": "user", "content": input()}}])
""",
        ('system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}], ',),
    ),
    "last of several blocks": (
        f"""{ANTHROPIC}
while True:
    reply = {SEND}system=[
        {{"type": "text", "text": RULES}},
        {{"type": "text", "text": MANUAL}},  # long
    ], messages=[{{"role": "user", "content": input()}}])
""",
        ('"text": RULES},\n', '"text": MANUAL, "cache_control": {"type": "ephemeral"}},  # long\n'),
    ),
}
"""Unsafe: requests that are alike and ask for no cache."""

OBJECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "moved into the object": (
        """\
from google import genai
from google.genai import types

client = genai.Client()
RULES = "Answer briefly."
cache = client.caches.create(
    model="gemini-2.5-flash", config=types.CreateCachedContentConfig(contents=["long manual " * 3000])
)
while True:
    client.models.generate_content(
        model="gemini-2.5-flash",
        contents=input(),
        config=types.GenerateContentConfig(
            cached_content=cache.name,
            system_instruction=RULES,
            temperature=0.5,
        ),
    )
""",
        (
            'contents=["long manual " * 3000], system_instruction=RULES)',
            "            cached_content=cache.name,\n            temperature=0.5,\n",
        ),
    ),
    "in the object already": (
        """\
from google import genai

client = genai.Client()
RULES = "Answer briefly."
cache = client.caches.create(
    model="gemini-2.5-flash", config={"contents": ["long manual " * 3000], "system_instruction": RULES}
)
while True:
    client.models.generate_content(
        model="gemini-2.5-flash",
        contents=input(),
        config={"system_instruction": RULES, "cached_content": cache.name},
    )
""",
        ('        config={"cached_content": cache.name},\n',),
    ),
}
"""Safe: the API refuses what belongs into the cache object."""
