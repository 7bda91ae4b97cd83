# card: timestamp | expect: volatile-time @ L14
from datetime import datetime

from flask import Flask, request
from openai import OpenAI

app = Flask(__name__)
client = OpenAI()
FORM = "Time of the call: %s\n%s"
TRIAGE = "Ask whether the person is awake and breathing before anything else. " * 200


def build() -> str:
    return FORM % (datetime.now().ctime(), TRIAGE)  # <- volatile-time


@app.post("/triage")
def triage() -> str:
    response = client.chat.completions.create(
        model="gpt-4.1",
        messages=[{"role": "system", "content": build()}, {"role": "user", "content": request.get_json()["text"]}],
    )
    return response.choices[0].message.content or ""
