from fastapi import FastAPI
from llm import complete
from store import Store

app = FastAPI()
store = Store()
HELP = "A parcel shop keeps a parcel for ten days and then returns it to the sender. " * 200


@app.post("/messages/{session}")
def message(session: str, text: str) -> dict[str, str]:
    store.append(session, "user", text)
    answer = complete(HELP, store.load(session))
    store.append(session, "assistant", answer)
    return {"answer": answer}
