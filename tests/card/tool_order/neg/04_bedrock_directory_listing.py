# card: tool_order | expect: nothing | why: sorted() fixes the order
import json
from pathlib import Path

import boto3

client = boto3.client("bedrock-runtime")
FOLDER = Path(__file__).parent / "specs"
BRIEF = "A dive is planned on the deepest point and the shortest breath. " * 220


def tool_config() -> dict:
    specs = [json.loads(path.read_text()) for path in sorted(FOLDER.iterdir())]
    return {"tools": [{"toolSpec": spec} for spec in specs]}


def converse(messages: list[dict]) -> dict:
    response = client.converse(
        modelId="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=[{"text": BRIEF}, {"cachePoint": {"type": "default"}}],
        toolConfig=tool_config(),
        messages=messages,
    )
    return response["output"]["message"]


if __name__ == "__main__":
    dives: list[dict] = []
    for plan in ("thirty metres, nitrox", "twelve metres, drift", "a wreck at forty"):
        dives.append({"role": "user", "content": [{"text": plan}]})
        dives.append(converse(dives))
