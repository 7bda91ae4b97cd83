# card: timestamp | expect: nothing | why: the whole prompt is far below what is cached at all
from datetime import datetime

from fastapi import FastAPI
from openai import OpenAI

app = FastAPI()
client = OpenAI()
RULES = "Return the amount, the currency and the day of payment as JSON. " * 4


@app.post("/receipts")
def receipt(text: str) -> dict[str, str | None]:
    now = datetime.now().replace(microsecond=0)
    response = client.chat.completions.create(
        model="gpt-4.1-mini",
        messages=[
            {"role": "system", "content": f"Today is {now}. {RULES}"},
            {"role": "user", "content": text},
        ],
    )
    return {"json": response.choices[0].message.content}
