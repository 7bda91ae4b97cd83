"""Signatures are read out of a wheel as the import of its package would find them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.knowledge.signatures import Signature, Wheels

FILES = {
    "lib/__init__.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from .agent import Agent
from .query import query
_LAZY = {"Client": ".client"}
def __getattr__(name): ...
""",
    "lib/query.py": "async def query(*, prompt, options=None): ...",
    "lib/agent.py": """
from dataclasses import dataclass, KW_ONLY
from .base import Base
@dataclass
class Agent(Base):
    model: str
    _: KW_ONLY
    tools: list = ()
""",
    "lib/base.py": """
from dataclasses import dataclass
@dataclass
class Base:
    name: str
    def run(self, text, *, stream=False, **others): ...
    @classmethod
    def made(cls, *args, **kwargs): ...
""",
    "lib/client.py": """
from functools import cached_property
from typing import Self, overload
from pydantic import BaseModel, Field
class Settings(BaseModel):
    model_name: str = Field(alias="model")
class Messages:
    @overload
    def create(self, model, messages): ...
    @overload
    def create(self, model, messages, *, tools): ...
    def create(self, *args, **kwargs): ...
class Client(Settings):
    @cached_property
    def messages(self) -> Messages: ...
    @property
    def beta(self) -> Self: ...
client = Client()
send = client.messages.create
""",
}


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("lib.Agent", "name, model, *, tools"),
        ("lib.Agent.run", "text, *, stream, **"),
        ("lib.Agent.made", "**"),
        ("lib.query", "*, prompt, options"),
        ("lib.Client", "*, model_name, model"),
        ("lib.Client.messages.create", "model, messages, *, tools, **"),
        ("lib.Client.beta.messages.with_raw_response.create", "model, messages, *, tools, **"),
        ("lib.client.send", "model, messages, *, tools, **"),
        ("lib.Agent.walk", None),
        ("lib.Agnt", None),
    ],
)
def test_a_name_is_found_as_an_import_finds_it(tmp_path: Path, name: str, signature: str | None) -> None:
    with zipfile.ZipFile(tmp_path / "lib-1.2-py3-none-any.whl", "w") as wheel:
        for file, text in FILES.items():
            wheel.writestr(file, text)
    wheels = Wheels(tmp_path)
    found = wheels.signature(name)
    assert (str(found) if found is not None else None) == signature
    assert wheels.versions == {"lib": "1.2"}


@pytest.mark.parametrize("text", ["", "a, b", "a, *, b", "*, b, **", "**"])
def test_a_signature_is_read_as_it_was_written(text: str) -> None:
    assert str(Signature.parse(text)) == text
