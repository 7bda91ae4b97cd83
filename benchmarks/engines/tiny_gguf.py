"""A model file for llama.cpp with 118,000 random weights, written with the standard library: 134 KB in 0.05 s.

Its tokens are the 256 bytes and three marks, so that ids can be chosen freely; its output favours a few signs, so that
an answer never ends early, and is never by chance how a recorded answer begins: a server caches what it generated too,
and would find a token more than the prompts have in common. It knows nothing, and a cache does not mind.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

TEMPLATE = (
    "{%- if tools %}<|im_start|>tools\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Tools first, then the system text, then the turns: the order that Anthropic documents."""

SIGNS = "#$%&*+=@^~"
"""What an answer is made of."""

VOCABULARY = range(256)
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_U32, _F32, _I32, _STRING, _ARRAY = 4, 6, 5, 8, 9
_Q8, _FLOAT = 8, 0


def _characters() -> list[str]:
    """GPT-2's printable character for each byte."""
    kept = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in kept else chr(next(spare)) for byte in range(256)]


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _number(key: str, value: int) -> bytes:
    return _text(key) + struct.pack("<II", _U32, value)


def _string(key: str, value: str) -> bytes:
    return _text(key) + struct.pack("<I", _STRING) + _text(value)


def _strings(key: str, values: list[str]) -> bytes:
    return _text(key) + struct.pack("<IIQ", _ARRAY, _STRING, len(values)) + b"".join(map(_text, values))


def write(path: Path, context: int = 32_768, width: int = 64, layers: int = 2) -> None:
    """Writes the model to ``path``."""
    rng = random.Random(0)
    characters = _characters()
    tokens = [*characters, "Ġt", *MARKS]
    kinds = [1] * (len(tokens) - len(MARKS)) + [3] * len(MARKS)
    first_mark, heads, inner = len(tokens) - len(MARKS), 4, width * 2
    meta = [
        _string("general.architecture", "llama"),
        _string("general.name", "tiny-random"),
        _number("llama.context_length", context),
        _number("llama.embedding_length", width),
        _number("llama.block_count", layers),
        _number("llama.feed_forward_length", inner),
        _number("llama.attention.head_count", heads),
        _number("llama.attention.head_count_kv", heads),
        _number("llama.rope.dimension_count", width // heads),
        _number("llama.vocab_size", len(tokens)),
        _text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _F32, 1e-5),
        _string("tokenizer.ggml.model", "gpt2"),
        _string("tokenizer.ggml.pre", "gpt-2"),
        _strings("tokenizer.ggml.tokens", tokens),
        _text("tokenizer.ggml.token_type") + struct.pack(f"<IIQ{len(kinds)}i", _ARRAY, _I32, len(kinds), *kinds),
        _strings("tokenizer.ggml.merges", ["Ġ t"]),
        _number("tokenizer.ggml.bos_token_id", first_mark),
        _number("tokenizer.ggml.eos_token_id", first_mark + 2),
        _string("tokenizer.chat_template", TEMPLATE),
    ]
    signs = [127 if token in SIGNS else -127 for token in tokens]

    def matrix(columns: int, rows: int, scale: float, bias: list[int] | None = None, bias_scale: float = 0.0) -> bytes:
        """Random Q8_0 weights; ``bias`` replaces the first 32 of each row by one large one."""
        ordinary, large = struct.pack("<e", scale), struct.pack("<e", bias_scale)
        blocks = []
        for row in range(rows):
            raw = rng.randbytes(columns)
            for start in range(0, columns, 32):
                if bias is not None and start == 0:
                    blocks.append(large + struct.pack("b", bias[row]) + bytes(31))
                else:
                    blocks.append(ordinary + raw[start : start + 32])
        return b"".join(blocks)

    ones = struct.pack(f"<{width}f", *[1.0] * width)
    tensors: list[tuple[str, tuple[int, ...], int, bytes]] = [
        ("token_embd.weight", (width, len(tokens)), _Q8, matrix(width, len(tokens), 0.01, [127] * len(tokens), 0.05))
    ]
    for layer in range(layers):
        name = f"blk.{layer}."
        tensors += [(f"{name}{part}_norm.weight", (width,), _FLOAT, ones) for part in ("attn", "ffn")]
        shapes = [(f"attn_{part}", width, width) for part in ("q", "k", "v", "output")]
        shapes += [("ffn_gate", width, inner), ("ffn_up", width, inner), ("ffn_down", inner, width)]
        tensors += [
            (f"{name}{part}.weight", (columns, rows), _Q8, matrix(columns, rows, 0.0005))
            for part, columns, rows in shapes
        ]
    tensors.append(("output_norm.weight", (width,), _FLOAT, ones))
    tensors.append(("output.weight", (width, len(tokens)), _Q8, matrix(width, len(tokens), 0.002, signs, 0.1)))

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta)) + b"".join(meta)
    offset = 0
    for name, shape, kind, data in tensors:
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        offset += len(data) + -len(data) % 32
    padded = [data + bytes(-len(data) % 32) for *_, data in tensors]
    path.write_bytes(head + bytes(-len(head) % 32) + b"".join(padded))
