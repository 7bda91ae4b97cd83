"""A program for the probe: more than fifteen ways to lose the cache, and more than ten to keep it, a function each."""

import json
import random
import time
import uuid
from datetime import date, datetime
from pathlib import Path

import anthropic
import openai

client = openai.OpenAI()
claude = anthropic.Anthropic()
STARTED = uuid.uuid4()

MANUAL = "You are a careful assistant for the order desk of a small shop. Answer briefly. " * 8
EXAMPLES = [f"Example {n}: an order of {n} chairs is answered with the date of delivery." for n in range(12)]
TOPICS = {"chairs", "tables", "lamps", "beds", "shelves", "sofas", "desks", "mirrors"}


def tool(name: str, **more: object) -> dict:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Use {name} for everything that the customer wants to {name}, and say so.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, **more},
        },
    }


NAMES = ("find", "cancel", "order", "return", "pay")
TOOLS = [tool(name) for name in NAMES]
QUESTIONS = ("What is the state of order 17? " * 12, "And of order 18? " * 12, "Then cancel order 18, please. " * 12)


def system(text: str) -> dict:
    return {"role": "system", "content": text}


def user(text: str) -> dict:
    return {"role": "user", "content": text}


# --- faults -----------------------------------------------------------------------------------------------------------


def clock_to_the_microsecond() -> None:
    text = f"It is {datetime.now()}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def clock_to_the_minute() -> None:
    text = f"It is {datetime.now():%H:%M}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def date_of_today() -> None:
    text = f"Today is {date.today()}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def unix_time() -> None:
    text = f"[{int(time.time())}] {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def request_id() -> None:
    text = f"Request {uuid.uuid4()}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def id_of_the_process() -> None:
    text = f"Instance {STARTED}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def shuffled_examples() -> None:
    text = "\n".join(random.sample(EXAMPLES, k=12)) + MANUAL
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def working_directory() -> None:
    text = f"You work in {Path.cwd()}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def text_from_a_set() -> None:
    text = f"We sell {', '.join(TOPICS)}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def tools_from_a_set() -> None:
    tools = [tool(name) for name in set(NAMES)]
    client.chat.completions.create(model="tiny", messages=[system(MANUAL), user("Hello")], tools=tools)


def json_of_a_set() -> None:
    text = json.dumps({"topics": list(TOPICS), "shop": "ours"}) + MANUAL
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def short_id() -> None:
    text = f"Session {uuid.uuid4().hex[:6]}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def step_counter() -> None:
    history = []
    for number, question in enumerate(QUESTIONS, 1):
        history.append(user(question))
        head = system(f"Step {number} of {len(QUESTIONS)}. {MANUAL}")
        answer = client.chat.completions.create(model="tiny", messages=[head, *history])
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def tools_by_the_turn() -> None:
    history = []
    for number, question in enumerate(QUESTIONS, 1):
        history.append(user(question))
        answer = client.chat.completions.create(
            model="tiny", messages=[system(MANUAL), *history], tools=TOOLS[: number + 1]
        )
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def sliding_window() -> None:
    history = []
    for question in (*QUESTIONS, *QUESTIONS):
        history.append(user(question))
        answer = client.chat.completions.create(model="tiny", messages=[system("Be brief."), *history[-5:]])
        history.append({"role": "assistant", "content": (answer.choices[0].message.content or "") * 4})


def rewritten_history() -> None:
    history = []
    for question in QUESTIONS:
        if len(history) > 2:
            history[0] = user("(an old question)")
        history.append(user(question))
        answer = client.chat.completions.create(model="tiny", messages=[system("Be brief."), *history])
        history.append({"role": "assistant", "content": (answer.choices[0].message.content or "") * 4})


def note_in_front_of_the_history() -> None:
    history, notes = [], []
    for question in QUESTIONS:
        notes.append(f"The customer asked: {question[:20]}")
        history.append(user(question))
        messages = [system("Be brief."), user("\n".join(reversed(notes))), *history]
        answer = client.chat.completions.create(model="tiny", messages=messages)
        history.append({"role": "assistant", "content": (answer.choices[0].message.content or "") * 4})


def reminder_that_is_not_kept() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        sent = [*history[:-1], user(f"<reminder>{MANUAL}</reminder>{question}")]
        answer = client.chat.completions.create(model="tiny", messages=[system("Be brief."), *sent])
        history.append({"role": "assistant", "content": (answer.choices[0].message.content or "") * 4})


def answers_cut_when_stored() -> None:
    history = []
    for question in QUESTIONS:
        history = [{**m, "content": m["content"][:12]} for m in history]
        history.append(user(question))
        answer = client.chat.completions.create(model="tiny", messages=[system("Be brief."), *history])
        history.append({"role": "assistant", "content": (answer.choices[0].message.content or "") * 4})


def name_of_the_customer() -> None:
    for name in ("Ada", "Grace"):
        text = f"You speak with {name}. {MANUAL}"
        client.chat.completions.create(model="tiny", messages=[system(text), user(f"{name} says hello")])


def documents_in_the_system_text() -> None:
    history = []
    for number, question in enumerate(QUESTIONS):
        history.append(user(question))
        head = system(f"What was found: {EXAMPLES[number]} {MANUAL}")
        answer = client.chat.completions.create(model="tiny", messages=[head, *history])
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def mode_switched_in_the_middle() -> None:
    history = []
    for number, question in enumerate(QUESTIONS):
        history.append(user(question))
        head = system(("Only plan. " if number == 0 else "Now act. ") + MANUAL)
        answer = client.chat.completions.create(model="tiny", messages=[head, *history])
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def time_in_a_tool() -> None:
    tools = [tool("find", title=f"as of {datetime.now():%H:%M}"), *TOOLS[1:]]
    client.chat.completions.create(model="tiny", messages=[system(MANUAL), user("Hello")], tools=tools)


def answers_written_anew() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        answer = client.chat.completions.create(model="tiny", messages=[system("Be brief."), *history])
        history = [{**m, "content": m["content"].replace('", "', '","')} for m in history]
        said = {"text": answer.choices[0].message.content, "topics": sorted(TOPICS), "manual": MANUAL}
        history.append({"role": "assistant", "content": json.dumps(said)})


def lead(text: str) -> dict:
    return {"role": "developer", "content": [{"type": "input_text", "text": text}]}


def asked(text: str) -> dict:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def answered(text: str) -> dict:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def clock_in_responses() -> None:
    text = f"It is {datetime.now()}. {MANUAL}"
    client.responses.create(model="tiny", input=[lead(text), asked("Hello")])


def rewritten_items_of_responses() -> None:
    items = []
    for question in QUESTIONS:
        if len(items) > 2:
            items[0] = asked("(an old question)")
        items.append(asked(question))
        reply = client.responses.create(model="tiny", input=[lead("Be polite."), *items])
        items.append(answered(reply.output_text * 4))


def clock_in_messages() -> None:
    text = f"It is {datetime.now()}. {MANUAL}"
    claude.messages.create(model="tiny", max_tokens=50, system=text, messages=[user("Hello")])


def tools_of_messages_from_a_set() -> None:
    tools = [{"name": name, "description": f"Use {name}. " * 12, "input_schema": tool(name)["function"]["parameters"]} for name in set(NAMES)]
    claude.messages.create(model="tiny", max_tokens=50, system=MANUAL, messages=[user("Hello")], tools=tools)


def window_of_messages() -> None:
    history = []
    for question in (*QUESTIONS, *QUESTIONS):
        history.append(user(question))
        reply = claude.messages.create(model="tiny", max_tokens=50, system="Be polite.", messages=history[-5:])
        history.append({"role": "assistant", "content": reply.content[0].text * 4})


# --- sound ------------------------------------------------------------------------------------------------------------


def the_same_again() -> None:
    client.chat.completions.create(model="tiny", messages=[system(MANUAL), user("Hello")])


def conversation() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        answer = client.chat.completions.create(model="tiny", messages=[system(MANUAL), *history])
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def time_in_the_newest_message() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(f"{question} (asked at {datetime.now()})"))
        answer = client.chat.completions.create(model="tiny", messages=[system(MANUAL), *history])
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def sorted_set() -> None:
    text = f"We sell {', '.join(sorted(TOPICS))}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def tools_in_order() -> None:
    tools = [tool(name) for name in sorted(set(NAMES))]
    client.chat.completions.create(model="tiny", messages=[system(MANUAL), user("Hello")], tools=tools)


def json_with_sorted_keys() -> None:
    text = json.dumps({name: len(name) for name in set(NAMES)}, sort_keys=True) + MANUAL
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def seeded_examples() -> None:
    text = "\n".join(random.Random(7).sample(EXAMPLES, k=12)) + MANUAL
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def name_of_the_folder() -> None:
    text = f"You work in {Path.cwd().name}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def year_only() -> None:
    text = f"It is the year {date(2026, 1, 1):%Y}. {MANUAL}"
    client.chat.completions.create(model="tiny", messages=[system(text), user("Hello")])


def id_outside_of_the_prompt() -> None:
    headers = {"x-request-id": str(uuid.uuid4())}
    client.chat.completions.create(
        model="tiny", messages=[system(MANUAL), user("Hello")], extra_headers=headers, seed=int(time.time())
    )


def streamed_conversation() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        chunks = client.chat.completions.create(model="tiny", messages=[system(MANUAL), *history], stream=True)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        history.append({"role": "assistant", "content": text})


def conversation_in_responses() -> None:
    items = []
    for question in QUESTIONS:
        items.append(asked(question))
        reply = client.responses.create(model="tiny", input=[lead(MANUAL), *items])
        items.append(answered(reply.output_text))


def conversation_in_messages() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        reply = claude.messages.create(model="tiny", max_tokens=50, system=MANUAL, messages=history)
        history.append({"role": "assistant", "content": reply.content[0].text})


def stream_of_messages() -> None:
    history = []
    for question in QUESTIONS:
        history.append(user(question))
        with claude.messages.stream(model="tiny", max_tokens=50, system=MANUAL, messages=history) as stream:
            history.append({"role": "assistant", "content": stream.get_final_text()})


FAULTS = (
    clock_to_the_microsecond,
    clock_to_the_minute,
    date_of_today,
    unix_time,
    request_id,
    id_of_the_process,
    shuffled_examples,
    working_directory,
    text_from_a_set,
    tools_from_a_set,
    json_of_a_set,
    short_id,
    step_counter,
    tools_by_the_turn,
    sliding_window,
    rewritten_history,
    note_in_front_of_the_history,
    reminder_that_is_not_kept,
    answers_cut_when_stored,
    name_of_the_customer,
    documents_in_the_system_text,
    mode_switched_in_the_middle,
    time_in_a_tool,
    answers_written_anew,
    clock_in_responses,
    rewritten_items_of_responses,
    clock_in_messages,
    tools_of_messages_from_a_set,
    window_of_messages,
)
SOUND = (
    the_same_again,
    conversation,
    time_in_the_newest_message,
    sorted_set,
    tools_in_order,
    json_with_sorted_keys,
    seeded_examples,
    name_of_the_folder,
    year_only,
    id_outside_of_the_prompt,
    streamed_conversation,
    conversation_in_responses,
    conversation_in_messages,
    stream_of_messages,
)


def everything() -> None:
    for function in (*FAULTS, *SOUND):
        function()
