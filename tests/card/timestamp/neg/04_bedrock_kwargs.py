# card: timestamp | expect: nothing | why: the clock stands behind the breakpoint, with nothing reusable behind it
import time

import boto3

bedrock = boto3.client("bedrock-runtime")
GUIDE = "Sort each item by material, then by the state it is in. " * 220
SORTS = ("glass jar with lid", "pizza box", "spray can", "fleece jacket", "broken mug")


def request_for(item: str) -> dict:
    clock = {"text": f"Scale reading at {time.time():.0f}."}
    request = {"modelId": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"}
    request["system"] = [{"text": GUIDE}, {"cachePoint": {"type": "default"}}, clock]
    request["messages"] = [{"role": "user", "content": [{"text": item}]}]
    return request


def sort_all() -> list[str]:
    answers = []
    for item in SORTS:
        response = bedrock.converse(**request_for(item))
        answers.append(response["output"]["message"]["content"][0]["text"])
    return answers


if __name__ == "__main__":
    print(sort_all())
