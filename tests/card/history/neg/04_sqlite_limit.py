# card: history | expect: nothing | why: the query returns all turns
import sqlite3

from fastapi import FastAPI
from openai import OpenAI

app = FastAPI()
client = OpenAI()
db = sqlite3.connect("talk.db")
db.execute("CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, member TEXT, role TEXT, content TEXT)")
SYSTEM = {"role": "system", "content": "You help members of the allotment society. " * 200}


def save(member: str, role: str, content: str) -> None:
    db.execute("INSERT INTO turns (member, role, content) VALUES (?, ?, ?)", (member, role, content))
    db.commit()


def load(member: str) -> list[dict]:
    rows = db.execute(
        "SELECT role, content FROM turns WHERE member = ? ORDER BY id DESC",
        (member,),
    ).fetchall()
    return [{"role": role, "content": content} for role, content in reversed(rows)]


@app.post("/talk/{member}")
def talk(member: str, text: str) -> dict[str, str | None]:
    save(member, "user", text)
    reply = client.chat.completions.create(model="gpt-4.1", messages=[SYSTEM, *load(member)])
    answer = reply.choices[0].message.content or ""
    save(member, "assistant", answer)
    return {"answer": answer}
