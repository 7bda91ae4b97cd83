# case 09 - history rebuilt from storage with new ids and re-encoded arguments
# source: NousResearch/hermes-agent#3991, stanfordnlp/dspy#10216 (pattern only, code is our own)
# expect: lossy-replay @ L19; lossy-replay @ L20
# why: old tool calls get another id on each request, and the text is not what the model produced
# fix: store the provider's id and the RAW argument string; fall back to a content hash, never uuid4.
#      do NOT blindly add sort_keys: local servers cache what the model generated (unsloth#10845)
import json
import uuid

from openai import OpenAI

client = OpenAI()
ROWS = [{"tool": "read", "args": {"path": "a.py", "mode": "r"}, "result": "print(1)"}]


def rebuild(rows: list[dict]) -> list[dict]:
    out = [{"role": "system", "content": "You fix code. " * 400}]
    for row in rows:
        call_id = row.get("id") or f"call_{uuid.uuid4().hex}"  # <- lossy-replay
        arguments = json.dumps(row["args"], indent=1)  # <- lossy-replay
        out.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": call_id, "type": "function", "function": {"name": row["tool"], "arguments": arguments}}
                ],
            }
        )
        out.append({"role": "tool", "tool_call_id": call_id, "content": row["result"]})
    return out


def turn(text: str) -> None:
    client.chat.completions.create(model="gpt-4.1", messages=[*rebuild(ROWS), {"role": "user", "content": text}])


if __name__ == "__main__":
    for text in ("why?", "and now?", "done?"):
        turn(text)
