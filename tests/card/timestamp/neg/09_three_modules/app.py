import anthropic
from prompts import build_system


class Surveyor:
    def __init__(self, office: str) -> None:
        self.office = office
        self.client = anthropic.Anthropic()
        self.messages: list[dict] = []

    def say(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        with self.client.messages.stream(
            model="claude-sonnet-5",
            max_tokens=600,
            cache_control={"type": "ephemeral"},
            system=build_system(self.office),
            messages=self.messages,
        ) as stream:
            message = stream.get_final_message()
        self.messages.append({"role": "assistant", "content": message.content})
        return message.content[0].text


if __name__ == "__main__":
    surveyor = Surveyor("the land registry")
    while line := input("> "):
        print(surveyor.say(line))
