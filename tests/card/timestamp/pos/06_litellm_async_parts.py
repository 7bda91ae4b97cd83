# card: timestamp | expect: volatile-time @ L18
import logging
from datetime import datetime

import litellm
from fastapi import FastAPI

app = FastAPI()
log = logging.getLogger(__name__)
RULES = "Explain every step of a proof and name the theorem it uses. " * 220
SESSIONS: dict[str, list[dict]] = {}


def build_system(subject: str) -> str:
    started = datetime.now().isoformat(timespec="milliseconds")
    log.info("prompt for %s built at %s", subject, started)
    parts = [f"Subject: {subject}"]
    parts.append(f"Lesson time: {started}")  # <- volatile-time
    parts.append(RULES)
    return "\n\n".join(parts)


@app.post("/lessons/{pupil}")
async def lesson(pupil: str, text: str) -> dict[str, str]:
    history = SESSIONS.setdefault(pupil, [])
    history.append({"role": "user", "content": text})
    system = {"role": "system", "content": build_system("geometry")}
    response = await litellm.acompletion(model="openai/gpt-4.1", messages=[system, *history])
    answer = response.choices[0].message.content
    history.append({"role": "assistant", "content": answer})
    return {"answer": answer}
