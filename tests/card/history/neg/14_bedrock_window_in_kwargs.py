# card: history | expect: nothing | why: all turns are sent
import boto3

class Ranger:
    def __init__(self, region: str = "eu-north-1") -> None:
        self.client = boto3.client("bedrock-runtime", region_name=region)
        self.history: list[dict] = []

    def parameters(self) -> dict:
        return {
            "modelId": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "system": [{"text": "A fire is lit only in a ring of stone. " * 300}, {"cachePoint": {"type": "default"}}],
            "messages": self.history,
        }

    def ask(self, text: str) -> None:
        self.history.append({"role": "user", "content": [{"text": text}]})
        response = self.client.converse(**self.parameters())
        self.history.append(response["output"]["message"])


if __name__ == "__main__":
    ranger = Ranger()
    while question := input("hiker: "):
        ranger.ask(question)
