# card: breakpoints | expect: too-many-breakpoints @ L12
import boto3

client = boto3.client("bedrock-runtime")
CASES = ("a lease without end", "a gift revoked", "a fence on the line", "a well run dry", "a bell at night")


def precedents() -> list[dict]:
    system: list[dict] = []
    for case in CASES:
        system.append({"text": f"In the matter of {case}, " + "the court held as follows. " * 80})
        system.append({"cachePoint": {"type": "default"}})  # <- too-many-breakpoints
    return system


def advise(question: str) -> str:
    response = client.converse(
        modelId="anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=precedents(),
        messages=[{"role": "user", "content": [{"text": question}]}],
    )
    return response["output"]["message"]["content"][0]["text"]


if __name__ == "__main__":
    while matter := input("matter: "):
        print(advise(matter))
