"""Provider facts: who serves a request, what its cache does, and that the file of facts is sound."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from promptlint.knowledge import load
from promptlint.knowledge.rows import KnowledgeError
from promptlint.provider import Facts, facts, family, identify, parse, providers

TEXT = (files("promptlint") / "knowledge/providers.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("provider", "model", "minimum", "known"),
    [
        ("anthropic", "claude-opus-4-5", 4096, True),
        ("anthropic", "claude-opus-4-5-20251101", 4096, True),
        ("anthropic", "claude-opus-4-6", 4096, True),
        ("anthropic", "claude-haiku-4-5", 4096, True),
        ("anthropic", "claude-sonnet-4-5", 1024, True),
        ("anthropic", "claude-sonnet-4-6", 1024, True),
        ("anthropic", "claude-opus-4-1-20250805", 1024, True),
        ("anthropic", "claude-opus-4-7", 2048, True),
        ("anthropic", "claude-opus-4-8", 1024, True),
        ("anthropic", "claude-sonnet-5", 1024, True),
        ("anthropic", "claude-sonnet-5-5", 512, True),
        ("anthropic", "claude-opus-5-20260724", 512, True),
        ("anthropic", "claude-mythos-preview", 2048, True),
        ("anthropic", "claude-3-5-haiku-latest", 2048, True),
        ("anthropic", "claude-3-5-sonnet-20241022", 1024, True),
        ("anthropic", "Claude-Sonnet-4-5", 1024, True),
        ("anthropic", "replicate/anthropic/claude-4.5-haiku", 4096, True),
        ("anthropic", "claude-4-sonnet-20250514", 1024, True),
        ("anthropic", "claude-opus-5-7", 512, False),
        ("anthropic", "claude-next", 512, False),
        ("anthropic", None, 512, False),
        ("bedrock_anthropic", "us.anthropic.claude-opus-4-7-v1:0", 4096, True),
        ("bedrock_anthropic", "anthropic.claude-haiku-4-5-20251001-v1:0", 4096, True),
        ("bedrock_anthropic", None, 512, False),
        ("vertex_anthropic", "claude-sonnet-4-5@20250929", 1024, True),
        ("openai", "gpt-4.1", 1024, True),
        ("openai", "gpt-5.6-sol", 1024, True),
        ("openai", "o3-mini", 1024, True),
        ("openai", "my-deployment", 1024, False),
        ("azure_openai", "gpt-4o", 1024, True),
        ("gemini", "gemini-2.5-flash", 2048, True),
        ("gemini", "gemini-3.6-flash", 4096, True),
        ("gemini", None, 1024, False),
        ("vertex_gemini", "gemini-3.1-pro-preview", 6144, True),
        ("vertex_gemini", "gemini-2.5-pro", 2048, True),
        ("openrouter", "anthropic/claude-opus-4.5", 4096, True),
        ("mistral", "mistral-large-latest", 64, True),
        ("vllm", "anything", 16, True),
        ("llama_cpp", None, 1, True),
        ("unknown", None, 1024, False),
        ("never-heard-of", "some-model", 1024, False),
    ],
)
def test_minimum(provider: str, model: str | None, minimum: int, known: bool) -> None:
    found = facts(provider, model)
    assert (found.minimum, found.minimum_known) == (minimum, known)
    assert (found.provider, found.model) == (provider, model)


@pytest.mark.parametrize(
    ("provider", "model", "trigger"),
    [
        ("anthropic", None, "explicit"),
        ("bedrock_anthropic", "anthropic.claude-sonnet-4-5", "explicit"),
        ("bedrock_nova", "amazon.nova-pro-v1:0", "explicit"),
        ("vertex_anthropic", None, "explicit"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "explicit"),
        ("openai", "gpt-4o", "automatic"),
        ("azure_openai", None, "automatic"),
        ("bedrock_openai", "openai.gpt-5.6-sol", "automatic"),
        ("gemini", "gemini-2.5-pro", "automatic"),
        ("deepseek", "deepseek-chat", "automatic"),
        ("groq", None, "automatic"),
        ("ollama", "llama3:8b", "automatic"),
        ("openrouter", "openai/gpt-4o", "automatic"),
        ("openrouter", "meta-llama/llama-3.3-70b-instruct", "unknown"),
        ("unknown", None, "unknown"),
    ],
)
def test_trigger(provider: str, model: str | None, trigger: str) -> None:
    assert facts(provider, model).trigger == trigger


def test_anthropic_markers() -> None:
    found = facts("anthropic", "claude-sonnet-4-5")
    assert (found.marker, found.max_breakpoints, found.too_many, found.lookback) == ("cache_control", 4, "error", 20)
    assert (found.ttls, found.default_ttl, found.longer_ttl_first) == (("5m", "1h"), "5m", True)
    assert "thinking" in found.unmarkable
    assert found.order == ("tools", "system", "messages")


def test_a_row_overrides_only_what_it_states() -> None:
    found = facts("bedrock_anthropic", "anthropic.claude-3-5-sonnet-20241022-v2:0")
    assert (found.ttls, found.max_breakpoints, found.converse_marker) == (("5m",), 4, "cachePoint")
    assert facts("bedrock_anthropic", "anthropic.claude-sonnet-4-5").ttls == ("5m", "1h")


def test_openai_takes_markers_from_gpt_5_6_on() -> None:
    new, old = facts("openai", "gpt-5.6-sol"), facts("openai", "gpt-4.1")
    assert (new.marker, new.max_breakpoints, new.too_many) == ("prompt_cache_breakpoint", 4, "dropped")
    assert (old.marker, old.max_breakpoints, old.too_many, old.ttls) == ("", None, "", ())
    assert "prompt_cache_breakpoint" in facts("azure_openai", "gpt-5.2").refuses
    assert facts("azure_openai", "gpt-5.6-sol").refuses == ()


@pytest.mark.parametrize(
    ("provider", "model", "caches"),
    [
        ("openai", "gpt-3.5-turbo", False),
        ("openai", "gpt-4-turbo", False),
        ("openai", "gpt-4", False),
        ("openai", "gpt-4o", True),
        ("openai", "gpt-4.1-mini", True),
        ("openai", None, True),
        ("anthropic", "claude-2.1", False),
        ("anthropic", "claude-3-sonnet-20240229", False),
        ("anthropic", "claude-3-7-sonnet-20250219", True),
        ("bedrock", "meta.llama3-70b-instruct-v1:0", False),
    ],
)
def test_models_that_do_not_cache(provider: str, model: str | None, caches: bool) -> None:
    assert facts(provider, model).caches is caches


def test_invalidation() -> None:
    claude = facts("vertex_anthropic", "claude-opus-5")
    thinking = claude.invalidates("thinking")
    assert thinking is not None
    assert (thinking.drops, thinking.may_drop) == (("messages",), ("tools", "system"))
    choice = claude.invalidates("tool_choice")
    assert choice is not None and choice.drops == ("messages",) and choice.may_drop == ()
    assert claude.invalidates("temperature") is None
    assert facts("openai", "gpt-5").invalidates("tool_choice") is None
    schema = facts("azure_openai", "gpt-5").invalidates("response_format")
    assert schema is not None and schema.drops == ("tools", "system", "messages")


def test_source_names_the_row() -> None:
    assert facts("vertex_anthropic", "claude-haiku-4-5").source.startswith(
        "knowledge/providers.toml: anthropic 'haiku-4"
    )
    assert facts("deepseek", None).source == "knowledge/providers.toml: deepseek"


@pytest.mark.parametrize(
    ("api", "base_url", "model", "provider"),
    [
        # the client alone
        ("anthropic.messages.create", None, None, "anthropic"),
        ("openai.chat.completions.create", None, None, "openai"),
        ("openai.chat.completions.create", None, "my-fine-tune", "openai"),
        ("openai", None, "gpt-4o", "openai"),
        ("structural", None, None, "unknown"),
        (None, None, None, "unknown"),
        # another base URL in the OpenAI client
        ("openai.chat.completions.create", "https://api.openai.com/v1", None, "openai"),
        ("openai.chat.completions.create", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", "groq"),
        ("openai.chat.completions.create", "https://api.deepseek.com", "deepseek-chat", "deepseek"),
        ("openai.chat.completions.create", "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4", "openrouter"),
        (
            "openai.chat.completions.create",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "gemini-2.5-flash",
            "gemini",
        ),
        ("openai.chat.completions.create", "https://me.openai.azure.com/openai/v1/", "prod", "azure_openai"),
        ("openai.chat.completions.create", "https://api.x.ai/v1", None, "xai"),
        ("openai.chat.completions.create", "https://api.moonshot.cn/v1", None, "moonshot"),
        ("openai.chat.completions.create", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", None, "dashscope"),
        ("openai.chat.completions.create", "https://api.together.xyz/v1", None, "together"),
        ("openai.chat.completions.create", "https://api.fireworks.ai/inference/v1", None, "fireworks"),
        ("openai.chat.completions.create", "http://localhost:11434/v1", "llama3", "ollama"),
        ("openai.chat.completions.create", "http://localhost:8000/v1", "Qwen/Qwen3-8B", "vllm"),
        ("openai.chat.completions.create", "http://127.0.0.1:8080", None, "llama_cpp"),
        ("openai.chat.completions.create", "http://localhost:30000/v1", None, "sglang"),
        ("openai.chat.completions.create", "http://localhost:5005/v1", "local-model", "local"),
        ("openai.chat.completions.create", "http://localhost:4000", "claude-sonnet-4-5", "anthropic"),
        ("openai.chat.completions.create", "https://llm.example.com/v1", "gpt-4o", "openai"),
        ("openai.chat.completions.create", "https://llm.example.com/v1", "house-model", "unknown"),
        ("openai.chat.completions.create", "https://notgroq.com/v1", None, "unknown"),
        ("openai.chat.completions.create", "https://[{host}/v1", None, "unknown"),
        ("anthropic.messages.create", "https://api.deepseek.com/anthropic", "deepseek-chat", "deepseek"),
        ("anthropic.messages.create", "https://api.minimax.io/anthropic", "MiniMax-M2", "minimax"),
        # the model in an OpenAI client without a base URL: a gateway set by the environment
        ("openai.chat.completions.create", None, "claude-sonnet-4-5", "anthropic"),
        ("openai.chat.completions.create", None, "anthropic/claude-3.5-sonnet", "anthropic"),
        ("openai.chat.completions.create", None, "deepseek-reasoner", "deepseek"),
        ("openai.chat.completions.create", None, "openai/gpt-4o", "openai"),
        # LiteLLM and other prefixes
        ("litellm.completion", None, "anthropic/claude-sonnet-4-5", "anthropic"),
        ("litellm.completion", None, "claude-sonnet-4-5", "anthropic"),
        ("litellm.completion", None, "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock_anthropic"),
        ("litellm.completion", None, "bedrock/converse/us.amazon.nova-pro-v1:0", "bedrock_nova"),
        ("litellm.completion", None, "bedrock/meta.llama3-70b-instruct-v1:0", "bedrock"),
        ("litellm.completion", None, "vertex_ai/claude-sonnet-4@20250514", "vertex_anthropic"),
        ("litellm.completion", None, "vertex_ai/gemini-2.5-pro", "vertex_gemini"),
        ("litellm.completion", None, "gemini/gemini-2.5-pro", "gemini"),
        ("litellm.completion", None, "deepseek/deepseek-chat", "deepseek"),
        ("litellm.completion", None, "azure/my-deployment", "azure_openai"),
        ("litellm.completion", None, "azure_ai/claude-opus-4-5", "foundry_anthropic"),
        ("litellm.completion", None, "openrouter/anthropic/claude-sonnet-4", "openrouter"),
        ("litellm.completion", None, "groq/llama-3.3-70b-versatile", "groq"),
        ("litellm.completion", None, "xai/grok-4.5", "xai"),
        ("litellm.completion", None, "gpt-4o", "openai"),
        ("litellm.completion", None, "o3", "openai"),
        ("litellm.completion", None, "ft:gpt-4o-mini:acme", "openai"),
        ("litellm.completion", None, None, "unknown"),
        (None, None, "anthropic:claude-sonnet-4-0", "anthropic"),
        (None, None, "google-gla:gemini-2.5-flash", "gemini"),
        (None, None, "meta-llama/Llama-3.3-70B-Instruct", "unknown"),
        (None, None, "gpt-oss-120b", "unknown"),
        # Bedrock
        ("boto3.bedrock-runtime.converse", None, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock_anthropic"),
        ("boto3.bedrock-runtime.converse", None, "amazon.nova-lite-v1:0", "bedrock_nova"),
        ("boto3.bedrock-runtime.converse", None, "meta.llama3-1-70b-instruct-v1:0", "bedrock"),
        ("boto3.bedrock-runtime.converse", None, None, "bedrock"),
        ("bedrock_anthropic", None, None, "bedrock_anthropic"),
        (None, None, "us.anthropic.claude-opus-4-1-20250805-v1:0", "bedrock_anthropic"),
        (None, None, "amazon.nova-pro-v1:0", "bedrock_nova"),
        (
            "openai.chat.completions.create",
            "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
            None,
            "bedrock",
        ),
        # other platforms
        ("anthropic.messages.create vertex", None, None, "vertex_anthropic"),
        ("anthropic.messages.create bedrock", None, None, "bedrock_anthropic"),
        ("anthropic.messages.create foundry", None, None, "foundry_anthropic"),
        ("vertex", None, None, "vertex_gemini"),
        ("anthropic.AnthropicVertex.messages.create", None, None, "vertex_anthropic"),
        ("google.genai.models.generate_content", None, "gemini-2.5-flash", "gemini"),
        ("openai.AzureOpenAI.chat.completions.create", None, "gpt-4o", "azure_openai"),
        ("groq.chat.completions.create", None, "openai/gpt-oss-120b", "groq"),
        ("ollama.chat", None, "deepseek-r1:8b", "ollama"),
        ("mistralai.chat.complete", None, "mistral-large-latest", "mistral"),
    ],
)
def test_identify(api: str | None, base_url: str | None, model: str | None, provider: str) -> None:
    assert identify(api=api, base_url=base_url, model=model) == provider


def test_every_provider_name_identifies_itself() -> None:
    """A knowledge row may state the provider; without more to go by, that is the answer."""
    own = {name: identify(api=name, base_url=None, model=None) for name in providers()}
    assert {name: found for name, found in own.items() if found != name} == {}


def test_providers_of_knowledge_rows_are_recognised() -> None:
    rows = load()
    stated = {sink.provider for sink in rows.sinks} | {c.provider for made in rows.clients.values() for c in made}
    unknown = {name for name in stated if identify(api=name, base_url=None, model=None) == "unknown"}
    # LiteLLM goes where the model says; of the other two there are no facts.
    assert unknown <= {"unknown", "litellm", "cohere", "huggingface"}


@pytest.mark.parametrize(
    ("provider", "root"),
    [
        ("bedrock_anthropic", "anthropic"),
        ("foundry_anthropic", "anthropic"),
        ("azure_openai", "openai"),
        ("vertex_gemini", "gemini"),
        ("groq", "groq"),
        ("never-heard-of", "unknown"),
    ],
)
def test_family(provider: str, root: str) -> None:
    assert family(provider) == root


def test_every_provider_has_facts_with_a_date_and_a_source() -> None:
    assert len(providers()) >= 24
    for provider in providers():
        found = facts(provider, None)
        assert found.as_of is not None, provider
        assert found.sources or provider == "unknown", provider
        assert found.minimum > 0, provider


DISPUTED = {  # what the collection of facts lists as contradictions, and where a reader must find each
    "anthropic": ["thinking and effort", "fast mode", "minimums have moved", "for Opus 5 only in some", "rate limits"],
    "vertex_anthropic": ["refused until July 2026", "fast mode"],
    "bedrock_anthropic": ["AWS's table says 4,096", "taken as refused", "thinking and effort"],
    "openai": ["80 breakpoints", "221 tokens", "instructions", "prompt_cache_key", "rate limits", "12h writes"],
    "azure_openai": ["the latest 50", "prompt_cache_key"],
    "gemini": ["1,024 for Flash and 4,096 for Pro"],
    "vertex_gemini": ["6,144 or 4,096", "1,024 for Flash"],
    "dashscope": ["256 tokens"],
}


@pytest.mark.parametrize("provider", DISPUTED)
def test_contradictions_are_said_in_the_row(provider: str) -> None:
    """Those of a provider that one inherits from hold, too."""
    said = " / ".join(facts(provider, None).disputed)
    assert [words for words in DISPUTED[provider] if words not in said] == []


@pytest.mark.parametrize("provider", providers())
def test_the_usual_lifetime_has_a_price(provider: str) -> None:
    known = facts(provider, None)
    assert not known.write or known.default_ttl in dict(known.write)


def test_every_row_says_where_it_is_from() -> None:
    for name, table in tomllib.loads(TEXT)["providers"].items():
        for row in (table, *table.get("models", []), *table.get("invalidation", [])):
            assert {"sources", "as_of", "confidence"} <= row.keys(), (name, row)


def test_every_model_row_can_be_reached() -> None:
    """A row behind a more general one would never be used."""
    examples = {
        "anthropic": "claude-fable-5-2 claude-mythos-5-1 claude-fable-5 claude-mythos-preview claude-opus-5-5 "
        "claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-5 "
        "claude-opus-4-1 claude-sonnet-4-6 claude-sonnet-4-5 claude-haiku-4-5 claude-3-5-haiku-20241022 "
        "claude-3-haiku-20240307 claude-2.1 claude-3-opus-20240229",
        "bedrock_anthropic": "anthropic.claude-opus-4-7 anthropic.claude-v2:1 "
        "anthropic.claude-3-7-sonnet-20250219-v1:0 anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock_nova": "amazon.nova-pro-v1:0",
        "bedrock_openai": "openai.gpt-5.6-sol openai.gpt-oss-120b-1:0",
        "bedrock": "meta.llama3-70b-instruct-v1:0",
        "openai": "gpt-6.2-sol gpt-6.1-sol gpt-5.6-sol gpt-5-pro gpt-5.5 gpt-5 gpt-4.1 gpt-4o gpt-4-turbo",
        "azure_openai": "gpt-5.6-sol gpt-4o",
        "gemini": "gemini-4-argon gemini-3-flash-preview gemini-3.1-pro-preview gemini-3.8-flash gemini-3.6-flash "
        "gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-2.0-flash",
        "vertex_gemini": "gemini-4-argon",
        "moonshot": "kimi-k3.1-pro-highspeed kimi-k3.1-pro kimi-k2.7",
        "deepseek": "deepseek-v4-pro deepseek-v4-flash",
        "xai": "grok-4.5 grok-4.20 grok-code-fast-1",
        "dashscope": "qwen4-max qwen3-max",
        "groq": "openai/gpt-oss-120b",
        "minimax": "minimax-m2.7",
        "openrouter": "anthropic/claude-opus-5 google/gemini-2.5-pro openai/gpt-oss-120b openai/gpt-4o "
        "deepseek/deepseek-chat x-ai/grok-4 moonshotai/kimi-k3 qwen/qwen3-max",
    }
    for name, table in tomllib.loads(TEXT)["providers"].items():
        patterns = [row["pattern"] for row in table.get("models", [])]
        first = [next((p for p in patterns if re.search(p, model)), None) for model in examples.get(name, "").split()]
        assert first == patterns, name


def test_facts_can_be_made_by_hand() -> None:
    """Other parts of the program, and users' rules, build facts with the first five fields only."""
    assert [f.name for f in fields(Facts)][:5] == ["provider", "model", "trigger", "minimum", "minimum_known"]
    assert Facts("x", None, "unknown", 1024, False).caches


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'trigger = "explicit"\norder',
            'trigger = "sometimes"\norder',
            'provider "anthropic", field "trigger": must be one of explicit, automatic, unknown, is \'sometimes\'',
        ),
        ('trigger = "explicit"\norder', "order", 'provider "anthropic", field "trigger": missing'),
        (
            "lookback = 20\nunmarkable",
            "look_back = 20\nunmarkable",
            'provider "anthropic", field "look_back": no such field; did you mean "lookback"?',
        ),
        (
            "'mythos-preview', min_tokens = 2048",
            "'mythos-preview', min_tokens = -1",
            'provider "anthropic", model row 4 (\'mythos-preview\'), field "min_tokens": must be a whole number',
        ),
        (
            "'mythos-preview', min_tokens",
            "'mythos-(preview', min_tokens",
            "model row 4 ('mythos-(preview'), field \"pattern\": 'mythos-(preview' is no regular expression",
        ),
        ('"V1"], as_of = 2026-09-01', '"V1"]', "model row 9 ('gemini-2'), field \"as_of\": missing"),
        (
            'sources = ["MM1", "L"]',
            'sources = ["MM2", "L"]',
            'provider "minimax", field "sources": "MM2" is not explained',
        ),
        (
            'change = "speed switched"\n',
            "",
            'provider "anthropic", invalidation row 4 (\'?\'), field "change": missing',
        ),
        (
            'inherits = "gemini"',
            'inherits = "gemeni"',
            'provider "vertex_gemini", field "inherits": no provider "gemeni"',
        ),
        ('inherits = "gemini"', 'inherits = "vertex_gemini"', 'field "inherits": goes round in a circle'),
        ('groq = "groq"\nmistral = "mistral"', 'groq = "grok"\nmistral = "mistral"', "no provider or channel 'grok'"),
        ("'' = \"vertex_gemini\"\n", "", 'channel "vertex", field "": missing'),
        ("[providers.unknown]", "[providers.other]", 'provider "unknown": missing'),
        ("assumed_min_tokens = 128\n", "", None),
        ("assumed_min_tokens = 16\n", "", 'provider "local", field "assumed_min_tokens": missing'),
        ("schema = 1", "schema = ", "not valid TOML"),
    ],
)
def test_mistakes_are_named(old: str, new: str, problem: str | None) -> None:
    assert TEXT.count(old) == 1
    changed = TEXT.replace(old, new)
    if problem is None:
        parse(changed, "providers.toml")
        return
    with pytest.raises(KnowledgeError, match=r"^providers\.toml[,:]") as caught:
        parse(changed, "providers.toml")
    assert problem in str(caught.value)
