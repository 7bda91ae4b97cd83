"""Which files are searched for calls that send a request, and which raw HTTP requests are followed."""

from pathlib import Path

import pytest

from promptlint.codebase import scan
from promptlint.codebase.program import Program
from promptlint.config import Settings
from promptlint.engine import check
from promptlint.files.project import Options, discover
from promptlint.knowledge import load
from promptlint.knowledge.rows import SinkRow


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def searched(text: str, **others: str) -> bool:
    Path("it.py").write_text(text)
    for name, other in others.items():
        Path(f"{name}.py").write_text(other)
    program = Program(discover([Path(".")], Options()), load())
    return "it.py" in [ref.path for ref in scan.files(program, scan.shapes(program))]


@pytest.mark.parametrize("row", load().sinks, ids=lambda row: row.id)
def test_every_row_shows_where_its_library_is_imported(row: SinkRow) -> None:
    *path, last = row.call.split(".")
    library = (row.types[0] if row.types else row.call).partition(".")[0]
    if last == "__call__":
        text = f"from {library} import {row.types[0].rpartition('.')[2]}\n"
    else:
        text = f"x.{'.'.join([*path, last])}(**arguments)\n"
    assert searched(text, clients=f"import {library}\n")


@pytest.mark.parametrize(
    "text",
    [
        "m = client.messages\nreply = m.create(**arguments)\n",
        "reply = send.create(model=model,\n    # the turns so far\n    messages=turns)\n",
        "from .client import create\ncreate(1, **arguments)\n",
        "executor.submit(client.chat.completions\n    .create, **arguments)\n",
        "llm.ask(messages=turns, model=model)\n",
        "client.converse(**self.parameters())\n",
    ],
)
def test_a_call_that_may_be_known_by_its_path_or_its_keywords(text: str) -> None:
    assert searched(text)


@pytest.mark.parametrize(
    "text",
    [
        "Author.objects.create(name=name, **rest)\n",
        "session.post('/orders', json=order)\n",
        "agent.run(task)\n",
        "notes = []\nform.create(request)\n",
        "# requests.post(url, json=body)\n",
    ],
)
def test_a_call_that_nothing_in_the_project_makes_a_request(text: str) -> None:
    assert not searched(text)


POST = """
import requests

def send(body):
    return requests.post({url}, json={body})

def ask(question):
    return send({given})

while True:
    ask(input())
"""


@pytest.mark.parametrize(
    ("url", "body", "given", "asks"),
    [
        ("HOST + '/v1/chat/completions'", "body", '{"model": "m", "messages": [question]}', True),
        ("HOST", '{"model": "m", "prompt": body}', "question", True),
        ("HOST", '{"contents": [body]}', "question", True),
        ("HOST", "body", '{"query": question}', False),
        ("HOST", '{"query": body}', "question", False),
        ("'https://x.example/v3/memories'", "body", '{"messages": [question]}', False),
        ("'https://x.example/v1/embeddings'", "body", '{"model": "m", "input": question}', False),
    ],
)
def test_a_raw_request_is_one_to_a_model_by_address_and_body(url: str, body: str, given: str, asks: bool) -> None:
    Path("it.py").write_text(POST.format(url=url, body=body, given=given))
    assert bool(check([Path("it.py")], Settings()).requests) is asks


def test_one_helper_that_posts_to_several_endpoints() -> None:
    Path("it.py").write_text(
        """
import requests

def send(path, body):
    return requests.post(HOST + path, json=body)

def embed(text):
    return send("/v1/embeddings", {"model": "e", "input": text})

def ask(question):
    return send("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": question}]})

while True:
    embed(input())
    ask(input())
"""
    )
    (request,) = check([Path("it.py")], Settings()).requests
    assert request.site.model == "m"
