"""``--redact-content``: a body keeps its shape, and each text in it becomes a row of hashes that can be compared.

A text is cut into pieces, and each piece is written as its kind, its length in characters and a hash under a key that
is never written: ``#[w21:1f0c2d3e4a5b t8:0a1b2c3d4e5f | e1b2... c3d4...]``. Equal pieces have equal hashes, so the
first difference, what was moved, added or taken out, and the kind of what differs (a time of day, a date, an
identifier, a number, spaces) can still be told, and nothing else. Behind the bar stand two hashes of the whole: of the
text without its spaces, and of its words in any order.

Kept as they are: names of fields and values that belong to the protocols themselves (``VOCABULARY``), the name of the
model, booleans and numbers that are parameters. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from promptlint.trace.hiding import Bodies

KINDS = {
    "w": "words",
    "s": "spaces",
    "n": "a number",
    "d": "a date",
    "t": "a time of day",
    "u": "a uuid",
    "i": "an identifier",
}
"""What a piece can be."""

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_PIECES = re.compile(
    rf"""(?P<u>[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}})
    |(?P<t>(?:\d{{4}}-\d\d-\d\d[T ])?\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d|\s?[AaPp][Mm]\b)?
        |(?<![\w.])1[4-9]\d{{8}}(?:\d{{3}}|\d{{6}}|\.\d+)?(?![\w.]\d))
    |(?P<d>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}
        |\b{_MONTH}\ \d{{1,2}}(?:,?\ \d{{4}})?\b|\b\d{{1,2}}\ {_MONTH}(?:\ \d{{4}})?\b|\b{_DAY}day\b)
    |(?P<i>(?<![A-Za-z0-9])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])
        (?:[A-Za-z0-9_-]{{12,}}|[0-9a-f]{{8,11}}(?![A-Za-z0-9_-])))
    |(?P<n>\d+(?:[.,]\d+)*)
    |(?P<s>[^\S\n]*\n\s*|\s{{2,}}|^\s|\s$)""",
    re.VERBOSE,
)
_WORDS = re.compile(r"\s?\S{1,32}(?:\s\S{1,32}){0,3}\s?|\s")
_FORM = re.compile(r"#\[((?:[a-z]\d+:[0-9a-f]{12} )*)\| ([0-9a-f]{12}) ([0-9a-f]{12})\]")
_PIECE = re.compile(r"([a-z])(\d+):([0-9a-f]{12})")

_PROTOCOL = """
add_generation_prompt additionalProperties allOf allowed_tools answer anthropic_beta anthropic_version anyOf any
api_key args arguments array assistant audio auto base64 betas boolean budget_tokens cache_control cachePoint
cached_content cachedContent call_id citations clear_at_least clear_thinking_20251015 clear_tool_inputs
clear_tool_uses_20250919 compact_20260112 completion content contents context_management conversation custom
custom_tool_call custom_tool_call_output data default defer_loading definitions description detail developer
diagnostics disabled display document edits effort enabled encrypted_content enum ephemeral exclude_tools explicit
extra_body file file_data file_id fileData filename format frequency_penalty function function_call
function_call_output functionCall functionCallingConfig functionDeclarations functionResponse functions
generationConfig guardrailConfig high id image image_url imageUrl in_memory include include_usage inferenceConfig
inline_data inlineData input input_audio input_file input_image input_schema input_text inputSchema inputText
instructions integer items json json_object json_schema keep low logit_bias logprobs max max_completion_tokens
max_output_tokens max_tokens maxItems maxLength maxOutputTokens maxTokens maximum media_type medium message messages
metadata mimeType minItems minLength minimal minimum mode model modelId modalities n name none null num_ctx
num_predict number object oneOf options output output_config output_format output_text parallel_tool_calls
parameters parts pattern presence_penalty previous_message_id previous_response_id prompt prompt_cache_breakpoint
prompt_cache_key prompt_cache_options prompt_cache_retention properties reasoning reasoning_content
reasoning_details reasoningContent reasoningText redacted_thinking redactedContent refusal repetition_penalty
required response response_format role safety_settings safetySettings schema search_result seed service_tier
session_id signature source speed standard_only status stop stop_sequences stopSequences store strict stream
stream_options string suffix summary system system_instruction systemInstruction temperature text thinking
thinking_budget thinkingBudget thinkingConfig thinkingLevel thought thoughtSignature title tool tool_call_id
tool_calls tool_choice tool_config tool_result tool_search tool_use tool_use_id toolChoice toolConfig toolResult
toolSpec toolUse toolUseId tools top_k top_p topK topP trigger truncation ttl type url use_cache user verbosity
value video web_search xhigh
24h 5m 1h
image/png image/jpeg image/gif image/webp application/pdf application/json text/plain
"""
VOCABULARY = frozenset(_PROTOCOL.split())
"""Words of the protocols: never anything that a user wrote."""

_WORDED = (
    *("role", "type", "ttl", "effort", "mode", "detail", "media_type", "mimeType", "format", "status", "service_tier"),
    *("speed", "verbosity", "tool_choice", "toolChoice", "prompt_cache_retention", "thinkingLevel", "display", "keep"),
    *("truncation", "reasoning_effort"),
)
"""Fields whose value is a word of the protocol."""

_COUNTS = re.compile(
    r"max_(?:completion_|output_)?tokens|max(?:Output)?Tokens|budget_tokens|thinking_?[bB]udget|num_(?:ctx|predict)"
    r"|temperature|top_?[pPkK]|seed|[a-z]+_penalty|top_logprobs|n"
)
"""Fields whose number is a parameter."""

_LONGEST_WORD = 1000
_LONGEST_KEPT = 1 << 15
"""Characters above which a text, such as a picture, is not kept in memory."""
_SPACE = re.compile(r"\s")
_MODEL = re.compile(r"[\w.:/@-]{1,120}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a redacted text: a key of ``KINDS``, its length in characters, and its hash."""

    kind: str
    length: int
    hash: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """What is left of a text. ``spaceless`` and ``bag`` are equal where only spaces, or only the order, differ."""

    pieces: tuple[Piece, ...]
    spaceless: str
    bag: str


def parse(text: str) -> Redacted | None:
    """A redacted text taken apart; ``None`` for a text that is none."""
    found = _FORM.fullmatch(text)
    if not found:
        return None
    pieces = tuple(Piece(kind, int(length), digest) for kind, length, digest in _PIECE.findall(found[1]))
    return Redacted(pieces, found[2], found[3])


def original_length(text: str) -> int | None:
    """The characters that a text with redacted ones in it had; ``None`` where none is in it."""
    hidden = list(_FORM.finditer(text))
    if not hidden:
        return None
    before = sum(int(length) for form in hidden for _, length, _ in _PIECE.findall(form[1]))
    return len(text) - sum(len(form[0]) for form in hidden) + before


class Redactor:
    """Redacts under one key, of at most 64 bytes. ``name`` tells keys apart and says nothing about them."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.name = hashlib.blake2b(b"name", key=key, digest_size=4).hexdigest()
        self._kept = lru_cache(maxsize=256)(self._text)
        self._bodies = Bodies(self._value, self._field, self._name)

    def text(self, text: str) -> str:
        """A text as its pieces. The last ones are kept at hand: a conversation is sent again with every turn."""
        return self._kept(text) if len(text) <= _LONGEST_KEPT else self._text(text)

    def body(self, body: str) -> str:
        """The JSON text with every text in it redacted; what is no JSON is redacted as one text."""
        try:
            return self._bodies(body)
        except (ValueError, RecursionError):
            pass
        try:
            return self._value(json.loads(body), "")
        except (ValueError, RecursionError):
            return self._said(body)

    def usage(self, usage: Any) -> Any:
        """The numbers of a usage object under the names that they have."""
        if isinstance(usage, dict):
            kept = {key: self.usage(value) for key, value in usage.items() if re.fullmatch(r"[A-Za-z0-9_]{1,60}", key)}
            return {key: value for key, value in kept.items() if value is not None}
        return usage if isinstance(usage, int | float) else None

    def _field(self, value: Any, key: str) -> str:
        """The JSON of a field of the body itself: there, the name of the model stays."""
        if key == "model" and isinstance(value, str) and _MODEL.fullmatch(value):
            return json.dumps(value)
        return self._value(value, key)

    def _value(self, value: Any, key: str) -> str:
        """The JSON of a value. Words of protocols and redacted texts need no escapes."""
        if isinstance(value, str):
            return f'"{value}"' if key in _WORDED and value in VOCABULARY else self._said(value)
        if isinstance(value, dict):
            return f"{{{','.join([f'{self._name(name)}:{self._value(item, name)}' for name, item in value.items()])}}}"
        if isinstance(value, list):
            return f"[{','.join([self._value(item, key) for item in value])}]"
        if isinstance(value, bool) or value is None or _COUNTS.fullmatch(key):
            return json.dumps(value)
        return self._said(json.dumps(value))

    def _name(self, name: str) -> str:
        return f'"{name}"' if name in VOCABULARY else self._said(name)

    def _said(self, text: str) -> str:
        return f'"{self.text(text)}"'

    def _text(self, text: str) -> str:
        pieces = "".join(f"{kind}{len(piece)}:{self._hash(piece)} " for kind, piece in cut(text))
        words = text.split()
        return f"#[{pieces}| {self._hash(''.join(words))} {self._hash(' '.join(sorted(words)))}]"

    def _hash(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=6).hexdigest()


def cut(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text with their kinds; joined they are the text."""
    if len(text) > _LONGEST_WORD and not _SPACE.search(text):  # a picture
        yield "i", text
        return
    end = 0
    for found in _PIECES.finditer(text):
        yield from (("w", piece) for piece in _WORDS.findall(text[end : found.start()]))
        yield str(found.lastgroup), found[0]
        end = found.end()
    yield from (("w", piece) for piece in _WORDS.findall(text[end:]))
