# card: history | expect: nothing | why: the id is the one that was stored
import json

from flask import Flask, request
from openai import OpenAI

app = Flask(__name__)
client = OpenAI()
RULES = "A parcel is weighed, measured and labelled before it is taken. " * 200


def as_call(row):
    arguments = json.dumps(row["arguments"])
    identifier = row["id"]
    return {"id": identifier, "type": "function", "function": {"name": row["tool"], "arguments": arguments}}


def replayed(rows):
    for row in rows:
        call = as_call(row)
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": call["id"], "content": row["result"]}


@app.post("/ask/<parcel>")
def ask(parcel):
    rows = json.loads(request.json["rows"])
    messages = [{"role": "system", "content": RULES}, *replayed(rows)]
    messages.append({"role": "user", "content": request.json["question"]})
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages)
    return {"answer": reply.choices[0].message.content}
