"""Every row of a library that is installed is walked through that library: classes, attributes, parameters."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_overloads

import pytest

import promptlint
from promptlint.knowledge import load
from promptlint.knowledge.rows import ClientRow, SinkRow
from tests.knowledge import signatures

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # litellm asks the network for prices otherwise

KNOWLEDGE = load()
FILES = sorted(
    f.name for f in files("promptlint.knowledge").iterdir() if f.name.endswith(".toml") and f.name != "providers.toml"
)
SDKS = ("anthropic", "openai", "litellm", "google.genai", "boto3", "huggingface_hub", "requests", "httpx", "aiohttp")
EARLIER = (
    "claude_code_sdk.",  # its name before it was claude_agent_sdk
    "google.generativeai.", "vertexai.",  # before google.genai
    "langchain.PromptTemplate", "langchain.agents.AgentExecutor", "langchain.agents.agent.", "langchain.chains.",
    "langchain.agents.create_openai_", "langchain.agents.create_tool_calling_agent", "langchain.chat_models.Chat",
    "langchain.llms.",
    "langchain.memory.", "langchain.prompts.", "langchain.schema.",  # before 1.0
    "langchain_community.chat_models.", "langchain_community.llms.",  # before packages of their own
    "langgraph.graph.graph.",  # before 1.0
    "mirascope.core.",  # before 2.0
    "mistralai.Mistral",  # before 3.0
    "openai.ChatCompletion.",  # before 1.0
)  # fmt: skip
"""Beginnings of names of versions before those whose signatures were read."""
EARLIER_ARGUMENTS = {"history_processors"}  # pydantic-ai 1
UNREAD = (
    "dspy.Signature", "dspy.signatures.signature.Signature",  # made by a metaclass
    "langfuse.openai.",  # classes of openai
    "aioboto3.", "aiobotocore.", "botocore.",  # clients of boto3
    "dspy.ProgramOfThought.aforward", "dspy.predict.program_of_thought.ProgramOfThought.aforward",
)  # fmt: skip
"""Names that are no definitions in their packages."""


LOCAL = (*SDKS, *sys.stdlib_module_names, "builtins")
AWS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
INSTANCES = ("anthropic", "openai", "google", "huggingface_hub")
"""Packages whose clients get their resources only when they are made."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "AWS": {"api_key": "x", "workspace_id": "x", "aws_region": "us-east-1"},
    "Bedrock": {"aws_region": "us-east-1", "aws_access_key": "x", "aws_secret_key": "x"},
    "BedrockMantle": {"aws_region": "us-east-1", "api_key": "x"},
    "Vertex": {"region": "us-east5", "project_id": "x", "access_token": "x"},
    "GoogleCloud": {"project": "x", "location": "us-east5", "workspace_id": "x", "token_provider": lambda: "x"},
    "Foundry": {"resource": "x", "api_key": "x"},
    "AzureOpenAI": {"azure_endpoint": "https://example.invalid", "api_version": "1", "api_key": "x"},
    "BedrockOpenAI": {"aws_region": "us-east-1", "api_key": "x"},
}
"""Constructor arguments of clients that want more than a key, by what follows the vendor in the class name."""


def belongs(name: str, packages: tuple[str, ...] = LOCAL) -> bool:
    return any(name == p or name.startswith(f"{p}.") for p in packages)


def resolve(name: str) -> Any:
    """The object of a qualified name; attributes below a client's class are those of an instance."""
    root, *words = name.split(".")
    path, found = root, importlib.import_module(root)
    for word in words:
        if inspect.isclass(found) and found.__module__.partition(".")[0] in INSTANCES:
            found = instance(found.__module__, found.__qualname__)
        path = f"{path}.{word}"
        found = getattr(found, word) if hasattr(found, word) else importlib.import_module(path)
    return found


@cache
def instance(module: str, name: str) -> Any:
    """A client with made-up keys; classes that are not made that way stand for themselves."""
    cls = getattr(importlib.import_module(module), name)
    if (module, name) == ("google.genai.client", "AsyncClient"):
        return resolve("google.genai.Client.aio")
    kind = re.sub(r"^(Async)?(Anthropic)?", "", name)
    try:
        return cls(**ARGUMENTS.get(kind, {"api_key": "x"}))
    except TypeError:
        return cls


@cache
def service() -> Any:
    boto3 = importlib.import_module("boto3")
    return boto3.client("bedrock-runtime", **AWS).meta.service_model


def targets(sink: SinkRow) -> Iterator[Any]:
    """The functions that a sink row speaks of, one for each class."""
    for name in [f"{t}.{sink.call}" for t in sink.types] or [sink.call]:
        yield resolve(name)


def accepts(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """Names of the parameters, and whether any other keyword is taken. A catch-all with overloads is not one."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    owner = type(getattr(function, "__self__", None))
    inherited = [getattr(base, function.__name__, None) for base in owner.__mro__] if names else []
    overloads = [o for f in (function, *inherited) if inspect.isfunction(f) for o in get_overloads(f)]
    for overload in overloads:
        names += [n for n in inspect.signature(overload).parameters if n not in ("self", *names)]
    return names, not overloads and any(p.kind is p.VAR_KEYWORD for p in parameters)


def complaints(sink: SinkRow) -> list[str]:
    """What a row says that the installed library does not know."""
    named = [n for n, part in sink.parts.items() if part != "ignore"] + list(sink.positional) + list(sink.requires)
    if belongs(sink.types[0] if sink.types else "", ("boto3",)):
        operations = {re.sub(r"(?<!^)(?=[A-Z])", "_", o).lower(): o for o in service().operation_names}
        if sink.call not in operations:
            return [f"no operation {sink.call}"]
        members = service().operation_model(operations[sink.call]).input_shape.members
        return [f"{sink.call} takes no {n}" for n in named if n not in members]
    found = []
    try:
        functions = list(targets(sink))
    except (ImportError, AttributeError) as error:
        return [str(error)]
    for function in functions:
        names, anything = accepts(function)
        found += [f"{sink.call} takes no {n}" for n in named if n not in names and not anything]
        if len(names) >= len(sink.positional) and names[: len(sink.positional)] != list(sink.positional):
            found.append(f"{sink.call} takes {names} by position")
    return found


SINKS = [
    s
    for s in KNOWLEDGE.sinks
    if belongs((*s.types, s.call)[0]) and not s.because.startswith("knowledge/openai_legacy.toml")
]
CLIENTS = [c for rows in KNOWLEDGE.clients.values() for c in rows if belongs(c.maker)]


@pytest.mark.parametrize("sink", SINKS, ids=lambda s: f"{s.id}-{s.call}")
def test_sink_resolves(sink: SinkRow) -> None:
    assert complaints(sink) == []


@pytest.mark.parametrize("package", SDKS)
def test_every_sdk_is_checked(package: str) -> None:
    assert any(belongs((*s.types, s.call)[0], (package,)) for s in SINKS)


@pytest.mark.parametrize(
    ("call", "change"),
    [
        ("messages.create", {"parts": {"sytem": "system"}}),
        ("messages.create", {"call": "messages.creat"}),
        ("messages.create", {"types": ("anthropic.Antropic",)}),
        ("responses.create", {"parts": {"instruction": "system"}}),
        ("models.generate_content", {"requires": ("content",)}),
        ("converse", {"parts": {"modelID": "model"}}),
        ("converse", {"call": "convers"}),
        ("interactions.create", {"parts": {"inputs": "input"}}),
        ("requests.post", {"positional": ("url", "json")}),
    ],
)
def test_a_misspelled_row_is_caught(call: str, change: dict[str, Any]) -> None:
    row = next(s for s in SINKS if s.call == call)
    assert complaints(row) == []
    assert complaints(replace(row, **change)) != []


def test_nested_parts_are_fields() -> None:
    types = importlib.import_module("google.genai.types")
    tools = service().operation_model("Converse").input_shape.members["toolConfig"].members
    for sink in SINKS:
        for argument, nested in sink.nested.items():
            named = {n for n, part in nested.items() if part != "ignore"}
            if argument == "config":
                assert named <= set(types.GenerateContentConfig.model_fields), sink.call
            elif argument == "toolConfig":
                assert named <= set(tools), sink.call
            elif argument == "requests":
                create = accepts(resolve(f"anthropic.Anthropic.{sink.call.split('messages')[0]}messages.create"))[0]
                assert named - {"mcp_servers"} <= set(create), sink.call


@pytest.mark.parametrize("client", CLIENTS, ids=lambda c: f"{c.maker}-{c.provider}")
def test_client_resolves(client: ClientRow) -> None:
    names, anything = accepts(resolve(client.maker))
    named = {
        *client.when,
        *client.constructor_parts,
        *client.positional,
        *([client.base_url] if client.base_url else []),
    }
    named -= {n for n, part in client.constructor_parts.items() if part == "ignore"}
    assert anything or named <= set(names)


VERSIONS, SIGNATURES = signatures.table()
ROWS = [row for row in signatures.rows(KNOWLEDGE) if not belongs(row.name)]


@pytest.mark.parametrize("library", sorted({row.name.partition(".")[0] for row in ROWS}))
def test_rows_fit_the_signatures_of_their_library(library: str) -> None:
    """A row spans versions: some of its arguments must be known to the one that was read, in the order that it says."""
    for row in ROWS:
        if row.name.partition(".")[0] != library or row.name.startswith((*EARLIER, *UNREAD)):
            continue
        assert row.name in SIGNATURES, f"{row.name} is not known: misspelled, or of a version before {VERSIONS}"
        assert list(signatures.complaints(row, SIGNATURES[row.name])) == []


def test_every_argument_is_taken_by_some_call_of_its_row() -> None:
    taken: dict[frozenset[str], set[str]] = {}
    for row in ROWS:
        known = SIGNATURES.get(row.name) if not row.name.startswith(UNREAD) else None
        if known is not None:
            took = row.arguments if known.anything else row.arguments & set(known.names)
            taken.setdefault(row.arguments, set()).update(took)
    unknown = {name: sorted(row - took) for row, took in taken.items() for name in row - took}
    assert set(unknown) - EARLIER_ARGUMENTS == set()


def test_exceptions_are_needed() -> None:
    names = [row.name for row in ROWS if row.name not in SIGNATURES or row.name.startswith(UNREAD)]
    local = [row.name for row in signatures.rows(KNOWLEDGE) if belongs(row.name)]
    assert [e for e in (*EARLIER, *UNREAD) if not any(n.startswith(e) for n in (*names, *local))] == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("agents.Runner.run", {"positional": ("input", "starting_agent")}),
        ("crewai.LLM.call", {"arguments": frozenset({"mesages"})}),
        ("langchain.agents.create_agent", {"positional": ("tools", "model")}),
        ("smolagents.CodeAgent", {"positional": ("model", "tools")}),
    ],
)
def test_a_row_that_is_wrong_does_not_fit(name: str, change: dict[str, Any]) -> None:
    row = next(row for row in ROWS if row.name == name)
    assert list(signatures.complaints(row, SIGNATURES[name])) == []
    assert list(signatures.complaints(row._replace(**change), SIGNATURES[name])) != []


def test_signatures_are_of_the_versions_that_are_downloaded() -> None:
    wanted = (Path(signatures.__file__).parent / "frameworks.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in wanted if line and not line.startswith("#"))
    assert pinned == VERSIONS


def test_types_of_sinks_have_a_maker() -> None:
    made = {c.type for rows in KNOWLEDGE.clients.values() for c in rows}
    made |= {p.type for p in KNOWLEDGE.pipes.values()}
    abstract = re.compile(
        r"ChatEngine$|\.BaseChatModel$|\.CompiledGraph$|\.AsyncClient$|ChatSession$|\.Chat$|AsyncInstructor$|\.LLMModel$"
    )
    orphans = {t for s in KNOWLEDGE.sinks for t in s.types} - made
    assert {t for t in orphans if not abstract.search(t)} == set()


def test_types_of_clients_have_a_sink() -> None:
    known = {t for s in KNOWLEDGE.sinks for t in s.types}
    made = {c.type for rows in KNOWLEDGE.clients.values() for c in rows}
    # Sent by the agent that they are given to.
    given = re.compile(
        r"\.models\.|\.middleware\.|\.memory\.|^pydantic_ai\.capabilities\.|\.model_context\.|ConversationManager$"
        r"|^google\.adk\.agents|^crewai\.(task\.)?Task$"
    )
    makers = tuple(KNOWLEDGE.clients)
    assert {t for t in made - known if not given.search(t) and not any(m.startswith(f"{t}.") for m in makers)} == set()


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n in (
            *KNOWLEDGE.sources,
            *KNOWLEDGE.memoisers,
            *KNOWLEDGE.windows,
            *(e.pattern for e in KNOWLEDGE.entries if e.how in ("base", "register", "decorator")),
        )
        if "." in n and belongs(n)
    ),
)
def test_names_of_local_libraries_resolve(name: str) -> None:
    assert resolve(name) is not None


def test_windows_and_registering_calls_name_parameters() -> None:
    for window in KNOWLEDGE.windows.values():
        if belongs(window.name, SDKS):
            names, _ = accepts(resolve(window.name))
            assert {window.messages, window.limit, *window.positional} <= set(names)
    for entry in KNOWLEDGE.entries:
        if entry.argument and belongs(entry.pattern):
            assert entry.argument in accepts(resolve(entry.pattern))[0]


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_where_its_facts_come_from(name: str) -> None:
    text = (files("promptlint.knowledge") / name).read_text("utf-8")
    header = tomllib.loads(text)
    assert text.startswith("# ")
    assert header["package"]
    assert len(header["reference"]) > 20
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", header["as-of"])
    assert re.search(r"https?://|/work|/tmp", text) is None


# anthropic 2 no longer takes the sampling parameters, which earlier versions do
@pytest.mark.parametrize(
    ("name", "older"),
    [("anthropic.toml", {"temperature", "top_k", "top_p"}), ("openai.toml", set()), ("bedrock.toml", set())],
)
def test_ignored_names_are_parameters_of_some_call(name: str, older: set[str]) -> None:
    header = tomllib.loads((files("promptlint.knowledge") / name).read_text("utf-8"))
    taken: set[str] = set()
    for sink in SINKS:
        if not sink.because.startswith(f"knowledge/{name}:"):
            continue
        if name == "bedrock.toml":
            taken |= {n for o in service().operation_names for n in service().operation_model(o).input_shape.members}
        else:
            taken |= {n for function in targets(sink) for n in accepts(function)[0]}
    assert set(header["ignore"]) - taken == older


def test_code_cites_rows_that_exist() -> None:
    code = "\n".join(file.read_text("utf-8") for file in Path(promptlint.__file__).parent.rglob("*.py"))
    cited = set(re.findall(r'"knowledge/(\w+\.toml): ([\w.]+)"', code))
    assert cited
    folder = files("promptlint.knowledge")
    assert [(file, name) for file, name in cited if f'"{name}"' not in folder.joinpath(file).read_text("utf-8")] == []
