# card: history | expect: rewritten-history @ L18
from openai import OpenAI

client = OpenAI()
GUIDE = "Describe the bird by its song first, and only then by its plumage. " * 200


class Walk:
    def __init__(self) -> None:
        self.items: list[dict] = []

    def preview(self) -> str:
        return " / ".join(item["content"][:40] for item in self.items[:-2])

    def note(self, text: str) -> str:
        self.items.append({"role": "user", "content": text})
        for item in self.items[:-4]:
            item["content"] = item["content"][:80]  # <- rewritten-history
        response = client.responses.create(model="gpt-4.1", instructions=GUIDE, input=self.items, store=False)
        self.items.append({"role": "assistant", "content": response.output_text})
        return response.output_text


if __name__ == "__main__":
    walk = Walk()
    while heard := input("heard: "):
        print(walk.note(heard), walk.preview())
